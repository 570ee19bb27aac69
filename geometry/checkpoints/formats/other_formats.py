"""Files that are often taken for weights, and that are described instead of opened."""

from __future__ import annotations

import re

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import shortened

_TAKE_OUT = "Unpack it, and open what is in it:"
_CONVERTED = "Open the model that it was converted from."
_WEIGHTS = "Open the file with the model's weights."

OTHER_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"version https://git-lfs",
        "is a Git LFS pointer: the weights themselves were not downloaded",
        "Run `git lfs pull` in its folder.",
    ),
    (
        rb"MATLAB",
        "is a MATLAB file",
        "Convert it: numpy.save('P.npy', scipy.io.loadmat('FILE')['P']), or with h5py if it is of "
        "version 7.3.",
    ),
    (
        rb"(\xef\xbb\xbf)?\s*<",
        "is a web page, not a weights file",
        "Download the file itself; if that needs a login, log in first.",
    ),
    (
        rb"lmgg|fmgg|tjgg|algg",
        "is in GGML's format of before GGUF, as of llama.cpp until 2023 and of whisper.cpp",
        f"{_CONVERTED} Of Llama, llama.cpp converts it: convert_llama_ggml_to_gguf.py.",
    ),
    (rb"....TFL3", "is a model for TensorFlow Lite", _CONVERTED),
    (rb"[fp]trt", "is an engine of TensorRT, made for one kind of GPU", _CONVERTED),
    (rb"..\0\0..\w+Spec\0", "is a model for CTranslate2", _CONVERTED),
    (
        rb"\xba\x16\x4f\x2f",
        "is a model of fastText",
        "Save its vectors as text: gensim.models.fasttext.load_facebook_vectors('FILE')"
        '.save_word2vec_format("vectors.txt").',
    ),
    (
        rb"\d{1,9} \d{1,5}\n.*[^\t\n\r -~]",
        "has word2vec's vectors in its binary format",
        "Save them as text: KeyedVectors.load_word2vec_format('FILE', binary=True)"
        '.save_word2vec_format("vectors.txt").',
    ),
    (
        rb"MZqFpD",
        "is a llamafile: a program with a GGUF file in it",
        "Take that out, and open it: unzip FILE '*.gguf'.",
    ),
    *(
        (
            magic,
            f"is compressed, by {name}",
            f"{_TAKE_OUT} {program} FILE; of archives, tar xf FILE.",
        )
        for magic, name, program in (
            (rb"\x1f\x8b", "gzip", "gunzip"),
            (rb"BZh", "bzip2", "bunzip2"),
            (rb"\xfd7zXZ\0", "xz", "unxz"),
            (rb"\x28\xb5\x2f\xfd", "Zstandard", "unzstd"),
        )
    ),
    (rb"7z\xbc\xaf|Rar!", "is an archive of 7-Zip or RAR", f"{_TAKE_OUT} 7z x FILE."),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF", "is a picture or a document", _WEIGHTS),
    (rb"\x7fELF|MZ|\xcf\xfa\xed\xfe", "is a program", _WEIGHTS),
    (rb"SQLite format 3", "is a database of SQLite", _WEIGHTS),
)
"""First bytes of such files as regular expressions, with a description and advice."""

OTHER_SUFFIXES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    ((".mlmodel",), "is a model for Core ML", _CONVERTED),
    (
        (".engine", ".plan", ".trt"),
        "is an engine of TensorRT, made for one kind of GPU",
        _CONVERTED,
    ),
    (
        (".meta",),
        "is the graph of a TensorFlow checkpoint, without its numbers",
        "Open the .index file beside it.",
    ),
    (
        (".pb",),
        "is a graph of TensorFlow",
        "Of a SavedModel, open variables/variables.index beside it.",
    ),
    ((".rknn", ".mnn", ".ncnn", ".dlc", ".om"), "is a model for a runtime of devices", _CONVERTED),
)
"""The same by suffixes, for those whose first bytes do not tell."""

UNFINISHED = (".part", ".partial", ".crdownload", ".incomplete", ".download", ".aria2")
"""Suffixes of downloads that have not ended."""

_TEXT = re.compile(rb"[\t\n\r -~]+")
_SHOWN = 60


def other_format(name: str, head: bytes) -> SourceError | None:
    """Return the error for a file in a format that is not opened, by its first bytes, or None."""
    for pattern, description, advice in OTHER_FORMATS:
        if re.match(pattern, head, re.DOTALL):
            return SourceError(f"{name} {description}.", advice.replace("FILE", name))
    return None


def unknown_format(name: str, head: bytes) -> SourceError | None:
    """Return the error for a file whose first bytes are of no known format, or None."""
    for suffixes, description, advice in OTHER_SUFFIXES:
        if name.endswith(suffixes):
            return SourceError(f"{name} {description}.", advice)
    if _TEXT.fullmatch(head):
        shown = shortened(" ".join(head.decode("ascii").split()), _SHOWN)
        return SourceError(
            f"{name} is not a weights file, but a text (“{shown}”).",
            "Download the file itself, or save rows of numbers as .csv or .txt.",
        )
    return None
