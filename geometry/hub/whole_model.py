"""All files needed to run a model on the Hub: their size, and their download.

They are stored in the Hub cache of transformers and huggingface_hub: ``blobs`` has the contents by
their identity, ``snapshots`` a link to each under its name, by commit, and ``refs`` the commit of
each branch or tag.

huggingface_hub's ``snapshot_download`` is not used. Its requests do not follow the rules of
:mod:`geometry.hub.connections` (offline switch, limits on answers, cancellation). It also restarts
interrupted files, since its partial files have random names and are deleted; it checks the sizes of
files, not their contents; and its threads can only be stopped with the process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import WEIGHTS
from geometry.checkpoints.formats.sharded_store import is_file_name, read_weight_map
from geometry.checkpoints.result import result
from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.suffixes import GGUF
from geometry.checkpoints.transfer import Transfer
from geometry.checkpoints.whole_files import reason, replace, write_text
from geometry.hub.address import COMMIT, SERVER_FILE, HubAddress, server_name
from geometry.hub.client import HEAD_BYTES, Hub
from geometry.hub.faults import BrokenTransfer, HubError, NotOnHub
from geometry.hub.hub_files import only_gguf
from geometry.hub.hub_tokenizer import tokenizer_files
from geometry.hub.listings import Listing

log = logging.getLogger(__name__)

PARTIAL = ".helixscope.incomplete"
"""Suffix of a file that is being downloaded; `hf cache` lists such files."""
ANOTHER = "Choose another model."
ROOM = "Free some space, or set HF_HOME to a folder on another disk."

_ETAG = re.compile(r"[0-9A-Za-z_-]{1,128}")
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file of a model.

    Attributes
    ----------
    name
        Its name, without a folder.
    nbytes
        Its size.
    etag
        As in :class:`geometry.hub.listings.Listing`; "" if unknown.
    """

    name: str
    nbytes: int
    etag: str


@result
class WholeModel:
    """The files needed to run a model, at a commit.

    Attributes
    ----------
    address
        The requested address.
    commit
        40 hexadecimal digits; this commit is downloaded even if the branch moves.
    files
        Configuration, tokenizer and weights, or one GGUF file. Never Python files.
    folder
        Folder of this model in the Hub cache.
    """

    address: HubAddress
    commit: str
    files: tuple[WantedFile, ...]
    folder: Path

    @property
    def snapshot(self) -> Path:
        """The folder with the files under their names."""
        return self.folder / "snapshots" / self.commit

    @property
    def missing(self) -> tuple[WantedFile, ...]:
        """The files that are not in the snapshot."""
        return tuple(
            file for file in self.files if not _has(self.snapshot / file.name, file.nbytes)
        )

    @property
    def nbytes(self) -> int:
        """Bytes to download, without files shared with other commits and parts already downloaded.

        A damaged partial file is downloaded again in addition.
        """
        return sum(self._left(file) for file in self.missing)

    def blob(self, etag: str) -> Path:
        """Return the path of a content."""
        return self.folder / "blobs" / etag

    def partial(self, etag: str) -> Path:
        """Return the path of a content while it is downloaded."""
        return self.folder / "blobs" / f"{etag}{PARTIAL}"

    def _left(self, file: WantedFile) -> int:
        if not file.etag:
            return file.nbytes
        if _has(self.blob(file.etag), file.nbytes):
            return 0
        done = _size_of(self.partial(file.etag))
        return file.nbytes - done if done <= file.nbytes else file.nbytes


# ---- what is needed --------------------------------------------------------------------------


def list_model(address: HubAddress, hub: Hub, cache: Path, transfer: Transfer) -> WholeModel:
    """Request the list of a model's files from the Hub.

    One request for the list of files, and one for the index of weights in several files; nothing is
    written.

    Parameters
    ----------
    address
        Without a GGUF file, it stands for the model in transformers' layout, or for the only GGUF
        file of the repository.
    cache
        The Hub cache.

    Raises
    ------
    SourceError
        It has no weights for transformers, no tokenizer, or several GGUF files.
    HubError, Cancelled
        As :meth:`geometry.hub.client.Hub.list_files`.
    """
    with reading(f"The list of files of {address}", ANOTHER, error=HubError):
        listing = hub.list_files(address, transfer)
        names = _needed(address, listing, hub, transfer)
        files = tuple(_wanted(address, listing, name) for name in dict.fromkeys(names))
    folder = cache / f"models--{address.repo.replace('/', '--')}"
    return WholeModel(address, listing.commit, files, folder)


def _needed(address: HubAddress, listing: Listing, hub: Hub, transfer: Transfer) -> list[str]:
    # Files in folders are variants for other programs.
    here = sorted(name for name in listing.files if is_file_name(name))
    if address.file:
        if not address.file.endswith(GGUF):
            raise SourceError(
                f"{address} is a file of weights, which transformers does not load by itself.",
                f"Name the whole model: {address.repo}.",
            )
        return [address.file]
    weights = next((name for name in WEIGHTS if name in here), None)
    if weights is None:
        gguf_files = [name for name in here if name.endswith(GGUF)]
        if not gguf_files:
            raise SourceError(
                f"{address} has no weights that transformers loads: neither safetensors, .bin nor "
                "GGUF.",
                ANOTHER,
            )
        return [only_gguf(address, gguf_files)]
    if "config.json" not in here:
        raise SourceError(f"{address} has no config.json, so transformers cannot load it.", ANOTHER)
    tokenizer = tokenizer_files(here)
    if not tokenizer:
        raise SourceError(
            f"{address} has no tokenizer, so texts cannot be split into tokens.", ANOTHER
        )
    names = ["config.json", *tokenizer, weights]
    if weights.endswith(".json"):
        content = hub.fetch(HubAddress(address.repo, listing.commit), weights, transfer)
        shards = read_weight_map(weights, parse_json(weights, content))
        names += sorted(set(shards.values()))
    return names


def _wanted(address: HubAddress, listing: Listing, name: str) -> WantedFile:
    if name not in listing.files:
        raise NotOnHub(
            f"{address} has no file {name}.", "Check the files on its page.", missing="file"
        )
    nbytes = listing.files[name]
    if nbytes is None:
        raise HubError(f"The Hub does not give the size of {name} of {address}.", ANOTHER)
    return WantedFile(name, nbytes, listing.etags.get(name, ""))


# ---- download --------------------------------------------------------------------------------


def fetch_model(model: WholeModel, hub: Hub, transfer: Transfer) -> Path:
    """Download and verify the missing files, and record the snapshot's revision.

    After an interruption, the partial files are kept, and the next call continues from them.

    Parameters
    ----------
    transfer
        Its progress is in bytes of all files together.

    Returns
    -------
    Path
        The folder of the snapshot, which is complete.

    Raises
    ------
    HubError
        A file cannot be downloaded or written, differs from the Hub's description, or is being
        downloaded by another program.
    Cancelled
        ``transfer`` was cancelled.
    """
    nbytes = model.nbytes
    _check_room(model, nbytes)
    with transfer.combined(nbytes), _writing(model):
        model.snapshot.mkdir(parents=True, exist_ok=True)
        write_text(server_name(hub.endpoint), model.folder / SERVER_FILE)
        (model.folder / "blobs").mkdir(exist_ok=True)
        for file in model.missing:
            transfer.check()
            _fetch(model, file, hub, transfer)
        revision = model.address.revision
        if not COMMIT.fullmatch(revision):
            # Last, so that a complete older commit opens until this one is complete.
            reference = model.folder / "refs" / revision
            reference.parent.mkdir(parents=True, exist_ok=True)
            write_text(model.commit, reference)
    return model.snapshot


def _fetch(model: WholeModel, file: WantedFile, hub: Hub, transfer: Transfer) -> None:
    """Download a file, and link it into the snapshot."""
    if file.etag and _has(model.blob(file.etag), file.nbytes):
        _link(model, file, file.etag)
        return
    at_commit = HubAddress(model.address.repo, model.commit)
    # A small file takes one request; of others the first byte is requested, for the headers.
    head = HEAD_BYTES if file.nbytes <= HEAD_BYTES else 1
    opened = hub.open_file(at_commit, file.name, transfer, head=head, whole=True)
    etag = file.etag or opened.etag
    if opened.size() != file.nbytes or not _ETAG.fullmatch(etag):
        raise BrokenTransfer(f"{file.name} of {model.address} is not the one that the Hub lists.")
    with _alone(model, file, etag):
        partial = model.partial(etag)
        with open(partial, "ab", opener=_not_followed) as out:
            if out.tell() > file.nbytes:
                out.truncate(0)
            done = out.seek(0, os.SEEK_END)
            if done:
                transfer.extend(min(head, file.nbytes))  # which were received again

            def write(chunk: Any) -> None:
                with _writing(model):
                    out.write(chunk)

            opened.save(done, write)
            out.flush()
            os.fsync(out.fileno())
        if not _is_sound(partial, file, etag, transfer):
            partial.unlink()
            raise BrokenTransfer(f"{file.name} of {model.address} was damaged in transfer.")
        replace(partial, model.blob(etag))
    _link(model, file, etag)


def _not_followed(path: str, flags: int) -> int:
    """Open a file without following links."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _link(model: WholeModel, file: WantedFile, etag: str) -> None:
    """Put a content into the snapshot, under its name."""
    place, blob = model.snapshot / file.name, model.blob(etag)
    place.unlink(missing_ok=True)
    try:
        place.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:  # Windows without permission to create links; as huggingface_hub does
        replace(blob, place)


def _is_sound(path: Path, file: WantedFile, etag: str, transfer: Transfer) -> bool:
    """Return whether a file has the content of its etag, as far as this can be checked."""
    if path.stat().st_size != file.nbytes:
        return False
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", etag):
        return True
    if len(etag) == 64:
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(b"blob %d\0" % file.nbytes, usedforsecurity=False)
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            transfer.check()
            digest.update(chunk)
    return digest.hexdigest() == etag


@contextmanager
def _alone(model: WholeModel, file: WantedFile, etag: str) -> Iterator[None]:
    """Hold the lock that huggingface_hub uses for this content."""
    from filelock import FileLock, Timeout

    place = model.folder.parent / ".locks" / model.folder.name / f"{etag}.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place, timeout=0, mode=0o664)
    try:
        lock.acquire()
    except Timeout as error:
        raise HubError(
            f"{file.name} of {model.address} is being downloaded by another program.",
            "Wait until it has ended.",
            retryable=True,
        ) from error
    except NotImplementedError:  # a file system without locks
        log.warning("%s cannot be locked", place)
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _check_room(model: WholeModel, nbytes: int) -> None:
    """Raise HubError if the disk is too full."""
    place = model.folder
    while not place.exists() and place != place.parent:
        place = place.parent
    with suppress(OSError):  # then writing raises the error
        free = shutil.disk_usage(place).free
        if free < nbytes:
            raise HubError(
                f"{model.address} takes {size_text(nbytes)}, and the disk of {place} has only "
                f"{size_text(free)} left.",
                ROOM,
            )


@contextmanager
def _writing(model: WholeModel) -> Iterator[None]:
    """Raise HubError for an OSError in the block."""
    try:
        yield
    except OSError as error:
        why = reason(error)[0]
        raise HubError(
            f"{model.address} cannot be written to {model.folder.parent}: {why}.", ROOM
        ) from error


def _has(path: Path, nbytes: int) -> bool:
    return os.path.isfile(path) and _size_of(path) == nbytes


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
