"""From a folder of text to token ids, by a byte-level BPE trained on the text itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.whole_files import write_json
from geometry.models.tokens import load_tokenizer
from geometry.training.run_folder import atomically
from geometry.training.settings import TrainingError, TrainingSettings

END = "<|endoftext|>"
"""End of a document; the first token of every vocabulary."""

_LEARNT_FROM = 50_000_000
"""Characters of text used to train the merges; more hardly change them."""

_AT_ONCE = 256
"""Documents encoded at once, enough to use all cores."""

_MIN_WINDOWS = 2
"""Minimum length of the text, in steps."""


class Corpus:
    """The .txt files of a folder and its subfolders, in the random order of a seed.

    Raises TrainingError: there is no such folder, or no text in it.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        if not folder.is_dir():
            raise TrainingError(f"The folder {str(folder)!r} does not exist.", "Check --corpus.")
        files = sorted(path for path in folder.rglob("*.txt") if path.is_file())
        self._files = [path for path in files if path.stat().st_size]
        if not self._files:
            raise TrainingError(f"The folder {str(folder)!r} contains no .txt file.")
        self._folder = folder
        self.order = np.random.default_rng(seed).permutation(len(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def fingerprint(self) -> str:
        """Return an identifier of this text, from the names and sizes of its files."""
        names = (
            f"{path.relative_to(self._folder).as_posix()} {path.stat().st_size}\n"
            for path in self._files
        )
        return hashlib.sha256("".join(names).encode("utf-8", "replace")).hexdigest()[:16]

    def documents(self) -> Iterator[str]:
        """Yield the documents in order; invalid UTF-8 is replaced."""
        for index in self.order:
            path = self._files[index]
            try:
                yield path.read_text("utf-8", "replace")
            except OSError as error:
                raise TrainingError(f"{path} cannot be read: {error.strerror}.") from error


def learn_tokens(corpus: Corpus, vocabulary: int) -> Any:
    """Train a byte-level BPE on the first documents; 257 tokens are the bytes, without merges.

    Raises TrainingError: the text is too short for that many tokens.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_up_to(_LEARNT_FROM, corpus.documents()), trainer=trainer)
    if tokenizer.get_vocab_size() < vocabulary:
        raise TrainingError(
            f"The text is too short for a vocabulary of {vocabulary:,} tokens: it makes "
            f"{tokenizer.get_vocab_size():,}.",
            "Use more text or a smaller vocabulary.",
        )
    return tokenizer


def _up_to(length: int, documents: Iterator[str]) -> Iterator[str]:
    for document in documents:
        yield document
        length -= len(document)
        if length <= 0:
            return


def write_tokens(
    corpus: Corpus,
    tokenizer: Any,
    settings: TrainingSettings,
    file: Path,
    on_documents: Callable[[int], None] | None = None,
) -> None:
    """Write the text as one row of uint16 token ids, each document with an end token.

    Parameters
    ----------
    corpus, tokenizer, settings
        The text, its tokenizer, and the run's settings.
    file
        The .npy file, written atomically.
    on_documents
        Called with the number of documents done.

    Raises
    ------
    TrainingError
        The text is shorter than two windows.
    """
    end = tokenizer.token_to_id(END)
    parts: list[np.ndarray[Any, Any]] = []
    documents, done = corpus.documents(), 0
    while batch := list(islice(documents, _AT_ONCE)):
        encodings = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        parts.extend(np.asarray([*encoding.ids, end], np.uint16) for encoding in encodings)
        done += len(batch)
        if on_documents is not None:
            on_documents(done)
    n_tokens = sum(len(part) for part in parts)
    if n_tokens < _MIN_WINDOWS * settings.positions:
        raise TrainingError(
            f"The text is too short: {n_tokens:,} tokens do not fill {_MIN_WINDOWS} windows of "
            f"{settings.positions:,} positions.",
            "Use more text or fewer positions.",
        )
    # In parts: a single array would take the memory twice, and a full disk would end a
    # process that writes into a memory map.
    header = {"descr": "<u2", "fortran_order": False, "shape": (n_tokens,)}
    with atomically(file) as temporary, temporary.open("wb") as tokens:
        np.lib.format.write_array_header_1_0(tokens, header)
        for part in parts:
            tokens.write(part.astype("<u2", copy=False).data)


def read_tokens(folder: Path, file: Path, vocabulary: int) -> tuple[np.ndarray[Any, Any], int]:
    """Read what :func:`write_tokens` and :func:`write_tokenizer` have written.

    Parameters
    ----------
    folder
        The tokenizer's folder.
    file
        The file of the tokens, read completely: with a memory map, the process would end if the
        file was truncated meanwhile.
    vocabulary
        Number of tokens of the tokenizer.

    Returns
    -------
    tokens : (n,) uint16
        The text.
    end : int
        Id of the end-of-document token.

    Raises
    ------
    HelixscopeError
        One of them is damaged.
    """
    end = load_tokenizer(folder).id_of(END)
    with reading(str(file), "Remove its folder to start again.", error=TrainingError):
        tokens = np.load(file, allow_pickle=False)
        if tokens.dtype != np.dtype("<u2") or tokens.ndim != 1:
            raise ValueError(f"an array of {tokens.dtype} with {tokens.ndim} axes")
        if end is None or tokens.max(initial=0) >= vocabulary:
            raise ValueError("tokens that the tokenizer lacks")
    return tokens, end


def write_tokenizer(tokenizer: Any, folder: Path, positions: int) -> None:
    """Write ``tokenizer.json``, and the configuration that transformers needs to load it."""
    with atomically(folder / "tokenizer.json") as temporary:
        # The library's own `save` does not raise an OSError on a full disk.
        temporary.write_text(tokenizer.to_str(pretty=True), "utf-8", newline="\n")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "unk_token": END,
        "clean_up_tokenization_spaces": False,
        "model_max_length": positions,
    }
    write_json(config, folder / "tokenizer_config.json", TrainingError)
