"""The files of a model at one commit, from the cache or from the Hub."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import load_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import HEAD, KINDS, kind_of, read_archive
from geometry.checkpoints.formats.gguf_store import (
    GgufIndex,
    joined_index,
    part_names,
    read_index,
    tensor_bytes,
    without_tensors,
)
from geometry.checkpoints.formats.legacy_torch_store import read_legacy_places
from geometry.checkpoints.formats.safetensors_store import read_header
from geometry.checkpoints.formats.torch_store import read_places
from geometry.checkpoints.formats.zip_records import Record
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import ByteFile, Consent, FileIndex, Region
from geometry.checkpoints.suffixes import GGUF
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.faults import BrokenTransfer, NotOnHub, WholeDownload
from geometry.hub.keeping import keep_soon
from geometry.hub.kept_index import VERSION, dump_index, load_index
from geometry.hub.network import Network
from geometry.hub.pieces import Bytes
from geometry.hub.ranged_file import RangedFile
from geometry.hub.whole_file import fitting, read_all

log = logging.getLogger(__name__)

DAMAGED = "The file on the Hub is damaged; tell its authors."
"""Advice for a file that is invalid, although it was received as sent."""

GGUF_TOKENIZER = "gguf tokenizer"
"""Cached entries: a GGUF file's settings alone, which include its tokenizer."""

_NONE_OF_THESE = "absent/{}settings"
"""A cached mark: a folder of the model has no file with settings other than ``config.json``."""

_TURN_S = 0.05
"""Interval at which a thread that waits for its turn checks for cancellation."""


class HubFiles:
    """A model's files, read in pieces; these are cached once the model has opened.

    Parameters
    ----------
    address
        The model, and the file if one is named; its revision is a commit.
    network
        Client, cache and transfer.
    opened
        Files that were opened to resolve the commit.
    """

    def __init__(self, address: HubAddress, network: Network, *opened: RangedFile) -> None:
        self.address, self._file = replace(address, file=""), address.file
        # A renamed model is requested under its new name, and cached under this one.
        self._asked = opened[0].address if opened else self.address
        self._network = network
        self._opened = {file.name: file for file in opened}
        # Not on disk yet: the model has not opened, or writing is slow.
        self._held: dict[str, Bytes] = {}
        self._sound = False
        # Written to the cache before the model has opened.
        self._early: list[str] = []
        self._whole = network.whole
        self._sends_parts = True
        self.tokenizer_agreed = False
        self._turn = threading.RLock()
        self._own = threading.local()

    @property
    def server(self) -> str:
        """The endpoint of these files, see :func:`geometry.hub.address.server_name`."""
        return self._network.cache.server

    # ---- transfers ---------------------------------------------------------------------

    @property
    def transfer(self) -> Transfer:
        """The opening's transfer until it ends, then this thread's own, or an unobserved one.

        So later reads of a model do not report to the observer of its opening.
        """
        named: Transfer | None = getattr(self._own, "transfer", None)
        if named is not None:
            return named
        return Transfer() if self._sound else self._network.transfer

    @contextmanager
    def through(self, transfer: Transfer) -> Iterator[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them."""
        before = getattr(self._own, "transfer", None)
        self._own.transfer = transfer
        try:
            yield
        finally:
            self._own.transfer = before

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the model is open."""
        if to == "tokenizer":
            self.tokenizer_agreed = True
            return
        self._whole = True
        for file in list(self._opened.values()):
            file.whole = True

    # ---- cache -------------------------------------------------------------------------

    def kept(self, name: str) -> Bytes | None:
        """Return the bytes cached or just downloaded under a name, or None."""
        held = self._held.get(name)
        if held is not None:
            return held
        return self._network.cache.get(self.address.repo, self.address.revision, name)

    def has(self, name: str) -> bool:
        """Return whether a name is cached."""
        return name in self._held or self._is_kept(name)

    def keep(self, name: str, data: bytes | Bytes) -> None:
        """Cache bytes in the background; during an opening, not before :meth:`keep_all`."""
        self._held[name] = np.frombuffer(data, np.uint8)
        if self._sound:
            self._soon(lambda: self._write([name], core=False))

    def keep_all(self, revision: str, mark: str | None, *, confirmed: bool) -> None:
        """Cache the opening's downloads, and the commit of the revision, in the background.

        Called when the model has opened; inconsistent data are discarded with this object.

        Parameters
        ----------
        revision
            The opened commit, or a name of it.
        mark
            Mark to set on the commit if everything is cached; None for none.
        confirmed
            Whether the Hub has just resolved the revision.
        """
        self._sound = True
        self._early.clear()
        names = list(self._held)
        repo, commit = self.address.repo, self.address.revision

        def write() -> None:
            self._write(names, core=True)
            # On a full disk nothing is cached, and no mark is set.
            if mark is not None and self.kept(mark) is None and all(map(self._is_kept, names)):
                self._network.cache.put(repo, commit, mark, b"", core=True)
            # Last: a remembered revision implies a commit that has been opened.
            self._network.cache.remember(repo, revision, commit, confirmed=confirmed)

        self._soon(write)

    def drop(self) -> None:
        """Remove the data cached early, if the model could not be opened."""
        for name in self._early:
            self._network.cache.discard(self.address.repo, self.address.revision, name)
        self._early.clear()

    def _soon(self, write: Callable[[], None]) -> None:
        keep_soon(self._network.cache.root, self.address.repo, write)

    def _write(self, names: Iterable[str], *, core: bool) -> None:
        for name in names:
            data = self._held.get(name)
            if data is None:
                continue
            self._network.cache.put(self.address.repo, self.address.revision, name, data, core=core)
            self._held.pop(name, None)  # may have been kept twice

    def _is_kept(self, name: str) -> bool:
        return self._network.cache.has(self.address.repo, self.address.revision, name)

    # ---- small files -------------------------------------------------------------------

    def small(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if the model has no such file."""
        data = self.kept(file_key(name))
        if data is not None:
            return data.tobytes()
        if self.has(f"absent/{name}"):
            return None
        try:
            fetched = self._network.hub.fetch(self._asked, name, self.transfer)
        except NotOnHub as error:
            if error.missing != "file":
                raise
            # Verified, since few models lack the file, and its absence is cached permanently.
            if name in self._network.hub.list_files(self._asked, self.transfer).files:
                raise BrokenTransfer(f"The Hub lists {name} but does not send it.") from error
            self.keep(f"absent/{name}", b"")
            return None
        self.keep(file_key(name), fetched)
        return fetched

    def first_small(self, folder: str, names: Iterable[str]) -> tuple[str, bytes] | None:
        """Return the path of the first of several small files that there is, and its content.

        None if there is none in the folder, which is "" or ends with "/".

        This takes a request for the list of files, and one for the file.
        """
        if self.has(none := _NONE_OF_THESE.format(folder)):
            return None
        names = tuple(folder + name for name in names)
        name = next((name for name in names if self.has(file_key(name))), None)
        if name is None:
            listed = self._network.hub.list_files(self._asked, self.transfer).files
            name = next((name for name in names if name in listed), None)
        content = None if name is None else self.small(name)
        if name is None or content is None:
            self.keep(none, b"")
            return None
        return name, content

    # ---- weights -----------------------------------------------------------------------

    def index(self, name: str) -> FileIndex:
        """Read the regions of the tensors in a weights file, and the settings beside them.

        Raises SourceError: it is damaged, or cannot be read in pieces.
        """
        key = f"index {VERSION}/{name}"
        index = self._kept_index(key, name)
        if index is None:
            with self.turn():
                # Another thread may have read it meanwhile.
                index = self._kept_index(key, name)
                if index is None:
                    file = self._open(name)
                    with reading(name, DAMAGED):
                        places = self._gguf(file) if name.endswith(GGUF) else _places(file)
                        written = dump_index(places, file.size(), file.etag)
                    index = self._load(written, name)
                    self.keep(key, written)
        return index

    def _gguf(self, file: RangedFile) -> FileIndex:
        """Read the index of a GGUF file; its settings and its tokenizer are kept as well."""
        whole = WithHead(file)
        index = read_index(whole)
        settings = {"settings": dict(index.settings), "lengths": dict(index.lengths)}
        self.keep(f"settings {VERSION}/{file.name}", json.dumps(settings).encode("ascii"))
        head = whole.read_at(0, index.settings_end).tobytes()
        self.keep(f"{GGUF_TOKENIZER}/{file.name}", without_tensors(head))
        return FileIndex(dict(index.regions))

    def gguf_index(self, name: str) -> GgufIndex:
        """Return the index of a GGUF file with its settings; of all parts if it is split.

        See :meth:`index`.
        """
        return joined_index([self._gguf_index(part) for part in part_names(name)], name)

    def _gguf_index(self, name: str) -> GgufIndex:
        regions = self.index(name).regions
        data = self._kept_of_gguf(f"settings {VERSION}", name)
        with reading(f"The kept settings of {name}"):
            stored = load_json(f"The kept settings of {name}", data.tobytes())
            settings = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in stored["settings"].items()
            }
            return GgufIndex(settings, dict(stored["lengths"]), regions)

    def gguf_tokenizer(self, name: str) -> Bytes:
        """Return a GGUF file with only the settings of another, which include its tokenizer."""
        return self._kept_of_gguf(GGUF_TOKENIZER, part_names(name)[0])

    def _kept_of_gguf(self, what: str, name: str) -> Bytes:
        """Return what :meth:`_gguf` has cached of a file, which is read again if it was evicted."""
        data = self.kept(f"{what}/{name}")
        if data is None:
            with self.turn(), reading(name, DAMAGED):
                self._gguf(self._open(name))
            data = self.kept(f"{what}/{name}")
            assert data is not None
        return data

    def _kept_index(self, key: str, name: str) -> FileIndex | None:
        """Return a kept index, or None if there is none; a damaged one is removed."""
        data = self.kept(key)
        if data is None:
            return None
        try:
            return self._load(data.tobytes(), name)
        except SourceError:
            log.warning("The kept index of %s is removed", name, exc_info=True)
            self._held.pop(key, None)
            self._network.cache.discard(self.address.repo, self.address.revision, key)
            return None

    def _load(self, index: bytes, name: str) -> FileIndex:
        return load_index(index, lambda size, etag: _Remote(self, name, size, etag))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Serialise downloads of threads; a waiting thread can be cancelled."""
        transfer = self.transfer
        while not self._turn.acquire(timeout=_TURN_S):
            transfer.check()
        try:
            yield
        finally:
            self._turn.release()

    def tensor_key(self, name: str) -> str:
        """Return the key of a tensor in the cache: other files may have others of its name."""
        return f"tensor of {self._file}/{name}" if self._file else f"tensor/{name}"

    def kept_tensor(self, region: Region) -> Bytes | None:
        """Return a tensor's bytes if they are cached."""
        data = self.kept(self.tensor_key(region.info.name))
        return data if data is not None and len(data) == tensor_bytes(region) else None

    def cost(self, regions: Iterable[Region]) -> int:
        """Return the bytes to download for tensors; of whole files if ranges are not supported."""
        whole, nbytes = {}, 0
        for region in regions:
            if self._in_parts(region.file.name):
                nbytes += tensor_bytes(region)
            else:
                whole[region.file.name] = region.file.size()
        return nbytes + sum(whole.values())

    def _in_parts(self, name: str) -> bool:
        """Return whether a file can be read in parts, as far as known from all files."""
        opened = self._opened.get(name)
        if opened is not None:
            return opened.in_parts
        return self._sends_parts and all(file.in_parts for file in list(self._opened.values()))

    def fetch_tensor(self, region: Region) -> Bytes:
        """Download a tensor's bytes, with consent as part of a whole file without range support.

        Raises WholeDownload: the server does not support ranges, and the user has not agreed to a
        whole download; HubError: they cannot be downloaded, or contradict the file's directory.
        """
        nbytes = tensor_bytes(region)
        record = region.file if isinstance(region.file, Record) else None
        whole = nbytes if record is None else record.extent(region.offset, nbytes)[1]
        self.transfer.begin(region.info.name, whole)
        file = self._current(region.file)
        if file.in_parts or not nbytes:
            fetched = region.file.read_at(region.offset, nbytes)
        else:
            fetched = self._fetch_all(file, region)
        if record is not None and not record.is_sound(fetched):
            raise BrokenTransfer(f"{region.info.name} was damaged in transfer.")
        return fetched

    def _fetch_all(self, file: RangedFile, wanted: Region) -> Bytes:
        """Download a whole file for a tensor, and cache its other tensors if there is room."""
        further = [
            region
            for name, region in self.index(wanted.file.name).regions.items()
            if name != wanted.info.name and not self.has(self.tensor_key(name))
        ]
        room = self._network.cache.room() - tensor_bytes(wanted)
        return read_all(file, wanted, fitting(further, room), self._keep_passing)

    def _keep_passing(self, name: str, data: Bytes) -> None:
        """Cache a tensor that has not been requested yet."""
        key = self.tensor_key(name)
        if not self._sound:
            self._early.append(key)
        self._network.cache.put(self.address.repo, self.address.revision, key, data)

    def read(self, remote: _Remote, offset: int, nbytes: int) -> Bytes:
        """Read a piece of a file."""
        with self.turn():
            return self._current(remote).read_at(offset, nbytes)

    def _current(self, wanted: ByteFile) -> RangedFile:
        """Return an open, unchanged file with the current transfer."""
        remote = wanted.file if isinstance(wanted, Record) else wanted
        assert isinstance(remote, _Remote)
        file = self._opened.get(remote.name) or self._open(remote.name, head=1)
        if file.size() != remote.length or (remote.etag and file.etag not in ("", remote.etag)):
            raise BrokenTransfer(f"{remote.name} of {self.address} has changed.")
        file.transfer = self.transfer
        return file

    def _open(self, name: str, head: int | None = None) -> RangedFile:
        if name not in self._opened:
            options = {} if head is None else {"head": head}
            try:
                self._opened[name] = self._network.hub.open_file(
                    self._asked, name, self.transfer, whole=self._whole, **options
                )
            except WholeDownload:
                self._sends_parts = False
                raise
        return self._opened[name]


def file_key(name: str) -> str:
    """Return the key of a small file in the cache."""
    return f"file/{name}"


def only_gguf(address: HubAddress, names: list[str]) -> str:
    """Return the only GGUF file of a repository. Raises SourceError if it has several."""
    if len(names) == 1:
        return names[0]
    some = some_of(names, 3)
    raise SourceError(
        f"{address} holds {len(names)} GGUF files: {some}.",
        f"Name one of them, such as {address.repo}/{names[0]}.",
    )


def _places(file: RangedFile) -> FileIndex:
    kind = kind_of(file.name, file.read_at(0, min(HEAD, file.size())).tobytes())
    if kind == "safetensors":
        return read_header(file)
    if kind == "zip":
        return read_places(WithTail(file))
    if kind == "legacy torch":
        return read_legacy_places(file)
    if kind == "tar":
        return read_archive(file, WithTail)
    raise SourceError(
        f"{file.name} can only be read from this machine.",
        f"Download it and open it there; from the Hub, open {KINDS.split(', or')[0]}.",
    )


@dataclass(frozen=True, slots=True)
class _Remote:
    """One of the files, a :class:`geometry.checkpoints.stores.ByteFile` opened on first read."""

    files: HubFiles
    name: str
    length: int
    etag: str

    def size(self) -> int:
        return self.length

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        return self.files.read(self, offset, nbytes)


TAIL_BYTES = 65_536
"""Bytes read from the end of a file: the directory of gpt2-xl's 580 storages takes 52 kB."""

FIRST_BYTES = 1_000_000
"""Bytes of the first request for a GGUF file; each further request doubles the bytes read. The
settings of a model with 128,000 tokens take 7 MB."""


@dataclass(eq=False, slots=True)
class _PartlyKept:
    """A :class:`geometry.checkpoints.stores.ByteFile`, of which a part is downloaded once."""

    file: ByteFile
    _kept: Bytes = field(default_factory=lambda: np.empty(0, dtype=np.uint8), init=False)

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file.name

    def size(self) -> int:
        """Length in bytes."""
        return self.file.size()


class WithTail(_PartlyKept):
    """A file whose end is kept.

    Python's zipfile searches for the directory in several small reads near the end. The pickle is
    at the beginning, which was read when the file was opened.
    """

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        """Return exactly ``nbytes`` bytes from ``offset``."""
        start = max(0, self.size() - TAIL_BYTES)
        if offset < start or offset + nbytes > self.size():
            return self.file.read_at(offset, nbytes)
        if not len(self._kept):
            self._kept = self.file.read_at(start, self.size() - start)
        return self._kept[offset - start :][:nbytes]


class WithHead(_PartlyKept):
    """A file whose beginning is kept; each read must begin near the end of the previous ones."""

    def read_at(self, offset: int, nbytes: int) -> Bytes:
        """Return exactly ``nbytes`` bytes from ``offset``."""
        known, stop = len(self._kept), offset + nbytes
        if stop > known:
            until = min(max(stop, 2 * known, FIRST_BYTES), self.size())
            more = self.file.read_at(known, until - known)
            self._kept = np.concatenate([self._kept, more])
        return self._kept[offset:stop]
