"""Detection of file formats by their first bytes, and the weights file of a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from geometry.checkpoints.adapters import ADAPTER, ADAPTER_CONFIG, adapter_error, is_adapter
from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.config import load_json, parse_file, read_json
from geometry.checkpoints.errors import NoStepYet, SourceError
from geometry.checkpoints.formats.archives import UNTAR, UNZIP, in_archive, members_of
from geometry.checkpoints.formats.array_store import NpzStore, open_npy
from geometry.checkpoints.formats.openvino_store import open_openvino
from geometry.checkpoints.formats.other_formats import UNFINISHED, other_format, unknown_format
from geometry.checkpoints.formats.safetensors_store import MAX_HEADER, open_safetensors, read_header
from geometry.checkpoints.formats.sharded_store import Shards, open_sharded, read_weight_map
from geometry.checkpoints.formats.zip_records import read_directory
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.readers import plugin_for, read_with
from geometry.checkpoints.settings_beside import MAX_BYTES, NAMES, read_settings_file
from geometry.checkpoints.steps import step_of, steps_of
from geometry.checkpoints.stores import (
    ByteFile,
    FileIndex,
    LocalFile,
    Part,
    Region,
    RegionStore,
    TensorStore,
    cannot_read,
    open_regular,
    reading_file,
)
from geometry.checkpoints.suffixes import (
    ARCHIVES,
    LOCAL_SUFFIXES,
    OPENVINO,
    PICKLES,
    SCRIPT_SUFFIXES,
    SUFFIXES,
)
from geometry.checkpoints.whole_files import WORK_FOLDER

KINDS = "a .safetensors file, a zip-format .bin or .pt file, a .npy or a .npz file"

WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Names of weights files in order of preference, as in transformers."""
OF_OPEN_CLIP = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
"""The same of open_clip, which saves both."""
_SHARD_OF = re.compile(r"-\d{5}-of-\d{5}\.(safetensors|bin)$")
"""The end of the names of a model's parts as transformers saves it."""
_PROJECTED = re.compile(r"(.*[_-])?(tensors?|vectors?|vecs|embeddings?)\.tsv")
"""The rows of a table for TensorFlow's Embedding Projector, with metadata.tsv beside it."""
_ON_DISK = (*LOCAL_SUFFIXES, *SCRIPT_SUFFIXES)
_OTHER_LIBRARIES = ("tf_model.h5", "flax_model.msgpack", "rust_model.ot")
"""The same model as transformers saves it for other libraries, in order of preference."""

LLMC = (20240326).to_bytes(4, "little")
"""The first bytes of a checkpoint of llm.c."""

INDEX = ".index"
"""Suffix of the index of a TensorFlow checkpoint."""
_NUMBERS = re.compile(r"\.data-\d{5}-of-\d{5}$")
"""The end of the names of the files with its numbers."""

SHARD, METADATA = ".distcp", ".metadata"
"""Suffix of the parts that torch.distributed.checkpoint writes, and the name of their index."""

_ZERO = "zero_pp_rank"
"""Part of the names of files that DeepSpeed's ZeRO writes."""
_JOIN = (
    "In the run's folder, where DeepSpeed wrote zero_to_fp32.py: python zero_to_fp32.py . joined; "
    "then open “joined” there."
)

_OBJECTS = b"'descr': '|O'"
"""The dtype of an array of objects in the header of NumPy's files."""
_FLAX = re.compile(rb"[\x81-\x8f][\xa1-\xbf][\w.]")
"""The first bytes of a map with a name in MessagePack: Flax writes files without a suffix, too."""
_LEGACY = b"l\xfc\x9cF\xf9 j\xa8P\x19."
"""The number in the first pickle of a file of PyTorch's legacy format."""

_PIPELINE = "config.cfg"
_OF_SPACY = ((_PIPELINE, "transformer/model"), ("cfg", "model"))
"""A file in spaCy's folders of a pipeline and of its transformer, and the path of the weights."""

_OF_ORBAX = (
    "is a checkpoint of Orbax, of JAX, whose arrays are cut into small files",
    "Restore it with orbax.checkpoint, and save its arrays with numpy.savez.",
)
OTHER_FOLDERS: tuple[tuple[str, str, str], ...] = (
    ("_CHECKPOINT_METADATA", *_OF_ORBAX),
    ("manifest.ocdbt", *_OF_ORBAX),
    *(
        (
            name,
            "is a group of arrays of Zarr",
            "Save them: numpy.savez('P.npz', P=zarr.open(FOLDER)['P']).",
        )
        for name in (".zgroup", ".zarray", "zarr.json")
    ),
    ("Manifest.json", "is a model for Core ML", "Open the model that it was converted from."),
    (
        _PIPELINE,
        "is a pipeline of spaCy without a transformer",
        "Open one with a transformer, such as en_core_web_trf.",
    ),
    (
        "zero_to_fp32.py",
        "is a training with DeepSpeed's ZeRO, whose steps have the weights in parts",
        _JOIN,
    ),
    (
        "latest_checkpointed_iteration.txt",
        "is a training of Megatron, with a folder iter_… for each saved step",
        "Open mp_rank_00/model_optim_rng.pt in one of them.",
    ),
)
"""A file in the folders of other programs, with a description and advice."""

NOT_WEIGHTS = re.compile(
    r"(optim|optimizer|scheduler|rng_state|random_state|sampler|scaler|mmproj)s?(?![a-z])"
    r"|openvino_(?!.*model\.xml)|training_args\.bin|history\.safetensors|state_\d+_\d+\.bin|meta\.pkl"
    rf"|(bf16_)?{_ZERO}"
)
"""The beginnings of names of other files that training scripts write next to the weights."""

LATEST = ("last", "checkpoint_last")
"""Names, without suffix, of the file to open among several of the same training."""

PARTS = ("modules.json", "model_index.json")
"""The files of sentence-transformers and diffusers that name folders with networks: of the first,
the first folder, of the other, those of transformers."""

_LAST_FOLDER, _NAMES_LAST = "checkpoint-last", "latest"
"""The folder to open among several of the same training, and DeepSpeed's file with the name of its
last one."""

_OF_A_BEGINNING = frozenset(
    {
        "lightning_logs",
        "logs",
        "mlruns",
        "runs",
        "tb_logs",
        "tensorboard",
        "wandb",
    }
)
"""What trainers write into a folder before its first checkpoint."""

_MAX_FOLDERS, _MAX_BYTES = 1_000, 1_000_000
"""Maximum number of searched folders, and bytes of a file that names them."""

_LEVELS = re.compile(
    r"lightning_logs|version_\d+|checkpoints?|ckpts?|weights|models?|outputs?|out"
    r"|pytorch_model_fsdp(_\d+)?|mp_rank_00(_\d+)?",
    re.IGNORECASE,
)
"""Names of folders that training scripts make inside that of a training."""
_MAX_LEVELS = 2
"""How many such folders may be inside each other, below the first folder of any name."""


def open_store(path: Path) -> TensorStore:
    """Open a weights file of any supported format by reading only its index.

    Raises
    ------
    SourceError
        It is not a weights file, is damaged, or is an adapter of another model.
    """
    store = open_part(path)
    if is_adapter(path.name, store.tensors):
        raise adapter_error(path.name, adapter_settings(path) or {})
    return store


def open_part(path: Path) -> TensorStore:
    """Open a weights file as :func:`open_store`, also an adapter of another model."""
    with reading_file(path):
        head = _head(path)
        if path.name.endswith(".index.json"):
            return open_sharded(path)
        if path.name == METADATA:
            from geometry.checkpoints.formats.distributed_store import DistributedStore

            return DistributedStore(path)
        plugin = plugin_for(path.name)
        store = _opener(path, head)(path) if plugin is None else read_with(plugin, path)
        if not store.tensors:
            raise SourceError(
                f"{path.name} holds no tensors.", "Open the file with the model's weights."
            )
        return store


def adapter_settings(weights: Path) -> dict[str, Any] | None:
    """Return the settings of an adapter, if these are its weights; {} without any, else None."""
    if weights.stem != ADAPTER:
        return None
    beside = weights.with_name(ADAPTER_CONFIG)
    return read_json(beside) if beside.is_file() else {}


def _head(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(HEAD)
    except OSError as error:
        raise cannot_read(path, error) from error


def _opener(path: Path, head: bytes) -> Callable[[Path], TensorStore]:
    if path.suffix == ".bin" and (graph := path.with_suffix(OPENVINO)).is_file():
        return lambda _: open_openvino(graph)
    kind = kind_of(path.name, head)
    if kind == "tar":
        return ArchiveStore
    if kind == "zip":
        return _opener_of_zip(path)
    if kind == "legacy torch":
        from geometry.checkpoints.formats.legacy_torch_store import open_legacy

        return open_legacy
    if kind == "gguf":
        from geometry.checkpoints.formats.gguf_store import open_gguf

        return open_gguf
    if kind == "onnx":
        from geometry.checkpoints.formats.onnx_store import open_onnx

        return open_onnx
    if kind == "hdf5":
        from geometry.checkpoints.formats.hdf5_store import Hdf5Store

        return Hdf5Store
    if kind == "flax":
        from geometry.checkpoints.formats.flax_store import open_flax

        return open_flax
    if kind == "openvino":
        return open_openvino
    if kind == "pickle" or (kind == "npy" and _OBJECTS in head):
        from geometry.checkpoints.formats.pickled_store import open_pickle

        return open_pickle
    if kind == "tensorflow":
        from geometry.checkpoints.formats.tensorflow_store import open_tensorflow

        return open_tensorflow
    if kind == "llm.c":
        from geometry.checkpoints.formats.llmc_store import open_llmc

        return open_llmc
    return open_npy if kind == "npy" else open_safetensors


HEAD = 512
"""Bytes from which a file's format is known: the header of a tar archive's first member."""

Kind = Literal[
    "safetensors",
    "npy",
    "zip",
    "legacy torch",
    "gguf",
    "llm.c",
    "tensorflow",
    "pickle",
    "hdf5",
    "onnx",
    "flax",
    "openvino",
    "tar",
]


def kind_of(name: str, head: bytes) -> Kind:
    """Return a weights file's format, from its first :data:`HEAD` bytes.

    Raises
    ------
    SourceError
        It is empty or not a weights file.
    """
    if not head:
        raise SourceError(f"{name} is empty.", AGAIN)
    if name.endswith(SHARD):
        raise SourceError(
            f"{name} is a part of a distributed checkpoint: which tensors are in it, and where, is "
            "in the file .metadata beside it.",
            "Open its folder.",
        )
    if _ZERO in name:
        raise SourceError(
            f"{name} is a part of a checkpoint of DeepSpeed's ZeRO: it has a share of each tensor.",
            _JOIN,
        )
    if match := _NUMBERS.search(name):
        raise SourceError(
            f"{name} has the numbers of a TensorFlow checkpoint: which tensors they are is in "
            f"{name[: match.start()]}{INDEX} beside it.",
            "Open that file, or the folder.",
        )
    # Eight bytes of header length, then JSON. Checked first, since the length can be any bytes.
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= MAX_HEADER:
        return "safetensors"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PK") and not name.endswith(".keras"):
        return "zip"
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith(b"<?xml"):
        return "openvino"
    if other := other_format(name, head):
        raise other
    if name.endswith(INDEX):
        return "tensorflow"
    if name.endswith(".onnx"):
        return "onnx"
    if head.startswith(b"\x89HDF") or name.endswith(".keras"):
        return "hdf5"
    if head.startswith(b"GGUF"):
        return "gguf"
    if head.startswith(LLMC):
        return "llm.c"
    if _LEGACY in head:
        return "legacy torch"
    if head.startswith(b"\x80") or name.endswith(PICKLES):
        return "pickle"
    if name.endswith(".msgpack") or _FLAX.match(head):
        return "flax"
    if other := unknown_format(name, head):
        raise other
    if name.endswith(".safetensors"):
        # The safetensors reader gives the error message.
        return "safetensors"
    raise SourceError(f"{name} is not a weights file.", f"Open {KINDS}, or a folder.")


def _opener_of_zip(path: Path) -> Callable[[Path], TensorStore]:
    # Imported lazily: most models do not need it.
    from geometry.checkpoints.formats.torch_store import open_torch

    try:
        names = [entry.filename for entry in read_directory(LocalFile(path))]
    except SourceError:  # these readers give the error message
        return NpzStore if path.suffix == ".npz" else open_torch
    if path.suffix == ".npz" or any(name.endswith(".npy") for name in names):
        return NpzStore
    if any(name.endswith("/archive_format") for name in names):
        raise SourceError(
            f"{path.name} is a program that torch.export saved.",
            f"Save its weights: torch.save(torch.export.load('{path.name}').state_dict, "
            "'weights.pt').",
        )
    if any(name.endswith("/data.pkl") for name in names):
        return open_torch
    inside = any(_has_weights([name.rpartition("/")[2]]) for name in names)
    return ArchiveStore if inside else open_torch


class ArchiveStore(RegionStore):
    """A checkpoint in a tar or a zip archive, with its settings in ``config.json`` or another file.

    Raises
    ------
    SourceError
        See :func:`read_archive`.
    """

    def __init__(self, path: Path) -> None:
        file = LocalFile(path)
        index = read_archive(file)
        super().__init__(index.regions, [file], index.settings)


def read_archive(
    file: ByteFile, seekable: Callable[[ByteFile], ByteFile] = lambda file: file
) -> FileIndex:
    """Find the tensors of the checkpoint in an archive, and its settings.

    Parameters
    ----------
    file
        A tar or a zip archive.
    seekable
        Returns a member as a file whose end is read in many pieces.

    Raises
    ------
    SourceError
        It is damaged, has no checkpoint or several, or one that cannot be read in place.
    """
    members = members_of(file)
    path = choose_path(members, f"The archive {file.name}", _unpacking(file))
    weights = path.rpartition("/")[2]
    begin = path.removesuffix(weights)

    def regions_in(name: str) -> dict[str, Region]:
        return read_member(name).regions

    def read_member(name: str) -> FileIndex:
        if begin + name not in members:
            raise SourceError(f"{file.name} lacks {name}, a part of its weights.", AGAIN)
        member = members[begin + name]()
        index = _read_in_place(file, member, seekable)
        placed = {tensor: in_archive(r, member) for tensor, r in index.regions.items()}
        return FileIndex(placed, index.settings)

    if weights.endswith(".index.json"):
        places = read_weight_map(weights, parse_file(members[begin + weights]()))
        index = FileIndex(dict(Shards(weights, places, regions_in)))
    else:
        index = read_member(weights)
    for settings in ("config.json", *NAMES):
        for path in dict.fromkeys((begin + settings, settings)):
            if path in members and (member := members[path]()).size() <= MAX_BYTES:
                content = member.read_at(0, member.size()).tobytes()
                if found := read_settings_file(settings, content):
                    return FileIndex(index.regions, found)
    return index


def _unpacking(file: ByteFile) -> str:
    zipped = file.name.endswith(".zip")
    return (UNZIP if zipped else UNTAR).format(file.name)


def _read_in_place(
    file: ByteFile, member: Part, seekable: Callable[[ByteFile], ByteFile]
) -> FileIndex:
    kind = kind_of(member.name, member.read_at(0, min(HEAD, member.size())).tobytes())
    if kind == "safetensors":
        return read_header(member)
    if kind == "zip":
        from geometry.checkpoints.formats.torch_store import read_places

        return read_places(seekable(member))
    if kind == "legacy torch":
        from geometry.checkpoints.formats.legacy_torch_store import read_legacy_places

        return read_legacy_places(member)
    raise SourceError(
        f"{file.name} is an archive with {member.name} in it, which cannot be read there.",
        _unpacking(file),
    )


def weights_in(folder: Path) -> Path:
    """Find the weights file of a folder, of its last checkpoint, or of its only subfolder.

    Raises
    ------
    NoStepYet
        The folder is empty, or has only the logs of a training that has just begun.
    SourceError
        There are none, or the choice is ambiguous.
    """
    names = _names_in(folder)
    if not names:
        raise NoStepYet(f"The folder {folder} is empty.", "Open a folder with a checkpoint.")
    if not _has_weights(names):
        if len(own := [name for name in names if plugin_for(name) is not None]) == 1:
            return folder / own[0]
        if (inner := _inner_folder(folder)) is not None:
            return weights_in(inner)
    if _OF_A_BEGINNING.issuperset(names):
        logs = f"The folder {folder} has no checkpoint yet, only {some_of(names, 4)}."
        raise NoStepYet(logs, "Wait for the first one.")
    for beside, weights in _OF_SPACY:
        if beside in names and (folder / weights).is_file():
            return folder / weights
    other_formats = any(_is_weights(name, SUFFIXES) for name in names)
    suffixes = SUFFIXES if other_formats else LOCAL_SUFFIXES
    return folder / choose_weights(names, f"The folder {folder}", suffixes=suffixes)


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise cannot_read(folder, error) from error


def _has_weights(names: Iterable[str]) -> bool:
    return any(_is_weights(name, (*_ON_DISK, SHARD)) or name in WEIGHTS for name in names)


def _inner_folder(folder: Path) -> Path | None:
    """Return the subfolder named by a file beside it, the last step, or the only one with weights.

    None if there is none; raises SourceError if there are several, or if that file is damaged.
    """
    paths = sorted(path for path in folder.iterdir() if path.name != WORK_FOLDER)
    candidates = list[Path]()
    for names in (_named(folder), [_LAST_FOLDER]):
        inside = (path for path in paths if path.name in names)
        candidates = candidates or list(islice(_with_weights(inside), 20))
    if not candidates and (steps := checkpoints_in(folder)):
        return steps[-1][1]
    candidates = candidates or list(islice(_with_weights(paths[:_MAX_FOLDERS]), 20))
    if len(candidates) > 1:
        some = some_of([path.name for path in candidates], 4)
        raise SourceError(
            f"The folder {folder} has no weights of its own; several folders in it have: {some}.",
            "Open one of these folders.",
        )
    return candidates[0] if candidates else None


def _with_weights(paths: Iterable[Path], levels: int = _MAX_LEVELS) -> Iterator[Path]:
    for path in paths:
        with suppress(OSError, SourceError):
            if not path.is_dir():
                continue
            names = _names_in(path)
            below = (path / name for name in names if _LEVELS.fullmatch(name))
            if _has_weights(names) or (
                levels and (checkpoints_in(path) or any(_with_weights(below, levels - 1)))
            ):
                yield path


def _named(folder: Path) -> list[str]:
    """Return the folders of networks for text, or the last step, as named by a file beside them."""
    for name in PARTS:
        if (content := _content(folder / name)) is not None:
            return parts_in(name, content)
    latest = _content(folder / _NAMES_LAST)
    return [] if latest is None else [latest.decode("utf-8", "replace").strip()]


def parts_in(name: str, content: bytes) -> list[str]:
    """Return the folders of networks for text that one of :data:`PARTS` names.

    Raises
    ------
    SourceError
        It is not valid JSON.
    """
    parts = load_json(name, content)
    if isinstance(parts, list):
        return [p.get("path", "") for p in parts[:1] if isinstance(p, dict)]
    if isinstance(parts, dict):
        return [name for name, part in parts.items() if _is_of_transformers(part)]
    return []


def _is_of_transformers(part: Any) -> bool:
    return isinstance(part, list) and part[:1] == ["transformers"]


def _content(path: Path) -> bytes | None:
    """Return the content of a small file, or None if there is none."""
    if not path.is_file():
        return None
    file = LocalFile(path)
    return file.read_at(0, file.size()).tobytes() if file.size() <= _MAX_BYTES else None


def checkpoints_in(folder: Path) -> tuple[tuple[int, Path], ...]:
    """List the steps of a training in a folder as (step, path), by increasing step.

    They are folders such as ``checkpoint-1000``, otherwise two or more files such as
    ``ckpt_1000.pt``, see :func:`geometry.checkpoints.steps.steps_of`.

    Raises
    ------
    SourceError
        The folder cannot be read.
    """
    try:
        paths = {path.name: path for path in folder.iterdir() if step_of(path.name) is not None}
        inside = {name for name, path in paths.items() if path.is_dir()}
        # A number alone is the name of other folders, too.
        unsure = {name for name in inside if name.isdigit()}
        if unsure:
            weighty = islice(_with_weights((paths[name] for name in sorted(unsure)), 0), 1_000)
            inside -= unsure - {path.name for path in weighty}
        steps = steps_of(sorted(inside))
        if not steps:
            steps = steps_of(name for name in sorted(paths) if _is_weights(name, _ON_DISK))
            steps = steps if len(steps) > 1 else {}
    except OSError as error:
        raise cannot_read(folder, error) from error
    return tuple((step, paths[name]) for name, step in steps.items())


def steps_around(path: Path) -> tuple[tuple[int, Path], ...]:
    """List the steps of which a file or folder, or a folder that it is in, is one; () for none.

    Some codes write folders into that of a step: one level in between is searched.
    """
    for step in (path, *path.parents[:2]):
        if step_of(step.name) is not None:
            steps = checkpoints_in(step.parent)
            if step in (path for _, path in steps):
                return steps
    return ()


def _is_weights(name: str, suffixes: tuple[str, ...]) -> bool:
    return name.endswith(suffixes) and not NOT_WEIGHTS.match(name) and not is_later_part(name)


def is_later_part(name: str) -> bool:
    """Return whether a file is a part of a split GGUF file, but not the first: "x-00002-of-…"."""
    return re.search(r"-(?!00001)\d{5}-of-\d{5}\.gguf$", name) is not None


def choose_weights(
    names: list[str],
    where: str,
    advice: str = "Open one of the files.",
    *,
    suffixes: tuple[str, ...] = SUFFIXES,
) -> str:
    """Choose the weights among the files of a folder or a repository.

    Parameters
    ----------
    names
        The files' names, sorted. Of the steps of a training, the last is chosen, or the only other
        file.
    where
        Name of the container, as the start of a sentence.
    advice
        Advice if the choice is ambiguous.
    suffixes
        Suffixes of weights files; :data:`SCRIPT_SUFFIXES` are used if no file has these.

    Raises
    ------
    SourceError
        There are none, or the choice is ambiguous.
    """
    for name in (*WEIGHTS, *OF_OPEN_CLIP):
        if name in names:
            return name
    if METADATA in names and any(name.endswith(SHARD) for name in names):
        return METADATA
    weights = [name for name in names if _is_weights(name, suffixes)]
    for others in (SCRIPT_SUFFIXES, ARCHIVES):
        weights = weights or [name for name in names if _is_weights(name, others)]
    weights = [name for name in _OTHER_LIBRARIES if name in weights][:1] or weights
    latest = [name for name in weights if name.partition(".")[0] in LATEST]
    if len(weights) == 1 or len(latest) == 1:
        return (latest or weights)[0]
    if len(steps := steps_of(weights)) > 1:
        rest = [name for name in weights if name not in steps and "best" not in name.lower()]
        if len(rest) < 2:
            return (rest or [*steps])[-1]
    if weights and all(map(_SHARD_OF.search, weights)):
        raise SourceError(
            f"{where} holds parts of a model, without the index of what is in each: "
            f"{some_of(weights, 4)}.",
            "Download model.safetensors.index.json or pytorch_model.bin.index.json, too.",
        )
    if weights:
        raise SourceError(
            f"{where} holds {len(weights)} weights files and no model.safetensors: "
            f"{some_of(weights, 4)}.",
            advice,
        )
    if len(projected := [name for name in names if _PROJECTED.fullmatch(name)]) == 1:
        return projected[0]
    raise _without_weights(names, where)


def choose_path(paths: Iterable[str], where: str, advice: str, named: Collection[str] = ()) -> str:
    """Choose the weights in folders inside each other: in the least deep folder with weights.

    Parameters
    ----------
    paths
        Paths of all files.
    where, advice
        As of :func:`choose_weights`.
    named
        Folders of which one is taken, if several are as deep.

    Raises
    ------
    SourceError
        There are none, or the choice is ambiguous.
    """
    folders = dict[str, list[str]]()
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    depths = {f: f.count("/") + bool(f) for f, names in folders.items() if _has_weights(names)}
    first = [f for f, depth in depths.items() if depth == min(depths.values())]
    first = [folder for folder in first if folder in named] or first
    if len(first) > 1:
        raise SourceError(f"{where} has weights in several folders: {some_of(first, 4)}.", advice)
    folder = first[0] if first else ""
    weights = choose_weights(folders.get(folder, sorted(paths)), where, advice)
    return f"{folder}/{weights}" if folder else weights


def _without_weights(names: list[str], where: str) -> SourceError:
    if unfinished := [name for name in names if name.endswith(UNFINISHED)]:
        return SourceError(
            f"{where} has no weights, only a part of a download: {some_of(unfinished, 4)}.",
            "Download the model again, or wait for the download to end.",
        )
    if any(name.endswith(SHARD) for name in names):
        return SourceError(
            f"{where} has parts of a distributed checkpoint ({SHARD}), and no {METADATA}.",
            f"Copy {METADATA} into it, which says which tensors are in the parts, and where.",
        )
    if any(_ZERO in name for name in names):
        return SourceError(f"{where} is a checkpoint of DeepSpeed's ZeRO, in parts.", _JOIN)
    for name, description, advice in OTHER_FOLDERS:
        if name in names:
            return SourceError(f"{where} {description}.", advice)
    return SourceError(
        f"{where} has no weights, only {some_of(names, 4)}.", f"A checkpoint needs {KINDS}."
    )
