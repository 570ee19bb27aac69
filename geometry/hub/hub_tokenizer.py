"""The tokenizer of a model on the Hub, downloaded on first use into its own folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.checkpoints.tokenizer_files import BESIDE, VOCABULARIES
from geometry.checkpoints.whole_files import write_bytes, writing
from geometry.hub.client import FETCH_BYTES
from geometry.hub.faults import LargeTokenizer
from geometry.hub.hub_files import HubFiles
from geometry.hub.network import LARGE, Network
from geometry.hub.pieces import Bytes

_NAMES = frozenset({*VOCABULARIES, *BESIDE, "tokenizer.json"})

_LIST = "tokenizer"
"""Cached entry with the files and their checksums; without it, the folder is incomplete."""


def tokenizer_folder(files: HubFiles, network: Network, beside: str = "") -> Path:
    """Return a folder with the tokenizer's files, downloaded unless complete.

    They are those in the folder ``beside``, which ends with "/", or else in the main one.

    Raises
    ------
    TensorUnavailable
        The model has none.
    LargeTokenizer
        The user has not agreed to the download.
    HelixscopeError
        They cannot be downloaded or written.
    """
    address, transfer = files.address, files.transfer
    folder = network.cache.folder(address.repo, address.revision) / beside
    if _is_complete(folder, files.kept(_LIST + beside)):
        return folder
    listed = network.hub.list_files(address, transfer).files
    own = [name.removeprefix(beside) for name in listed if name.startswith(beside)]
    place, wanted = beside, tokenizer_files(own)
    if not wanted:
        place, wanted = "", tokenizer_files(listed)
    if not wanted:
        raise TensorUnavailable(
            f"{address.repo} has no tokenizer, so a prompt cannot be split into tokens.",
            "Open a model that has one, such as openai-community/gpt2.",
        )
    sizes = [listed[place + name] or 0 for name in wanted]
    if sum(sizes) > LARGE and not files.tokenizer_agreed:
        raise LargeTokenizer(address.repo, sum(sizes))
    sums = {}
    for name in wanted:
        content = network.hub.fetch(address, place + name, transfer)
        _write(folder / name, content)
        sums[name] = hashlib.sha256(content).hexdigest()
    files.keep(_LIST + beside, json.dumps(sums).encode("ascii"))
    return folder


def gguf_tokenizer(files: HubFiles, network: Network, name: str) -> Path:
    """Return a GGUF file with the tokenizer of another GGUF file, whose index has been read.

    Raises HelixscopeError: it cannot be downloaded or written.
    """
    path = network.cache.folder(files.address.repo, files.address.revision) / "tokenizer.gguf"
    _write(path, files.gguf_tokenizer(name).tobytes())
    return path


def tokenizer_files(names: Iterable[str]) -> list[str]:
    """Return the files of a tokenizer among those of a model; empty if there are none."""
    here = set(names)
    if "tokenizer.json" in here:
        return [name for name in ("tokenizer_config.json", "tokenizer.json") if name in here]
    if here.isdisjoint(VOCABULARIES):
        return []
    return [name for name in (*BESIDE, *VOCABULARIES) if name in here]


def _is_complete(folder: Path, listed: Bytes | None) -> bool:
    """Return whether all files exist with the listed checksums."""
    if listed is None:
        return False
    try:
        with reading("The list of a tokenizer's files"):
            sums = parse_json("The list of a tokenizer's files", listed.tobytes())
            return bool(sums) and all(
                name in _NAMES and _checksum(folder / name) == checksum
                for name, checksum in sums.items()
            )
    except (OSError, SourceError):
        return False


def _checksum(path: Path) -> str:
    """Return a file's SHA-256; "" if it is not a regular file, or larger than any written here."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > FETCH_BYTES:
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, also in place of something else, such as a folder."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif not path.is_file():
            path.unlink(missing_ok=True)
        write_bytes(content, path, durable=False)  # its checksum is verified when it is read
