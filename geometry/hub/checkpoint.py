"""Opening a model on the Hub: its commit, its index and its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from geometry.checkpoints.adapters import ADAPTER, ADAPTER_CONFIG
from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import PARTS, WEIGHTS, choose_path, is_later_part, parts_in
from geometry.checkpoints.formats.gguf_store import TOKENS, GgufIndex
from geometry.checkpoints.formats.sharded_store import Shards, read_weight_map
from geometry.checkpoints.result import result
from geometry.checkpoints.settings_beside import MAX_BYTES, NAMES, read_settings_file
from geometry.checkpoints.stores import NO_SETTINGS
from geometry.checkpoints.suffixes import GGUF, SUFFIXES
from geometry.hub.address import COMMIT, HubAddress
from geometry.hub.faults import NotOnHub, Offline
from geometry.hub.hub_files import DAMAGED, HubFiles, file_key, only_gguf
from geometry.hub.hub_store import HubStore
from geometry.hub.hub_tokenizer import gguf_tokenizer, tokenizer_folder
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache

_WEIGHTS, _COMPLETE, _SNAPSHOT = "weights", "complete", "snapshot"
"""Cached entries: the name of the weights file or of the shards' index; and two marks for cached
models, which need no download to open: for listed models and for steps of a history."""


@result
class HubCheckpoint:
    """A model on the Hub at a commit, opened by its index alone.

    Attributes
    ----------
    address
        The requested address.
    commit
        40 hexadecimal digits.
    store
        Its tensors, downloaded individually.
    config
        Its ``config.json``; empty if it has none.
    file
        The path of the weights, or of their index.
    gguf
        The index of the GGUF file; None for other formats.
    adapter
        The settings of an adapter, whose tensors are changes of another model's; None for a model.
    """

    address: HubAddress
    commit: str
    store: HubStore
    config: Mapping[str, Any]
    _files: HubFiles
    _network: Network
    _asked: bool
    file: str
    gguf: GgufIndex | None = None
    adapter: Mapping[str, Any] | None = None

    def keep(self, *, chosen: bool) -> None:
        """Cache what was downloaded; called when the model has been opened successfully.

        Parameters
        ----------
        chosen
            Whether the user chose the position table: opening the model again then needs more
            data than now cached.
        """
        mark = None if chosen else _SNAPSHOT if self._network.snapshot else _mark(self.address)
        self._files.keep_all(self.address.revision, mark, confirmed=self._asked)

    def drop(self) -> None:
        """Remove the data cached so far, if the model could not be opened."""
        self._files.drop()

    def tokenizer_folder(self) -> Path:
        """Return a folder with the model's tokenizer, or a GGUF file; downloaded if necessary.

        Raises TensorUnavailable: the model has none; HubError, Cancelled: it cannot be downloaded.
        """
        if self.gguf is not None and TOKENS in self.gguf.lengths:
            return gguf_tokenizer(self._files, self._network, self.file)
        return tokenizer_folder(self._files, self._network, _folder_of(self.file))


def open_checkpoint(address: HubAddress, network: Network) -> HubCheckpoint:
    """Open a model by its index and configuration, reading no tensor.

    A model in one safetensors file takes two requests, then one per tensor; a cached model none.
    Nothing is cached before :meth:`HubCheckpoint.keep`.

    Raises
    ------
    HubError
        It cannot be downloaded: see geometry.hub.faults.
    Cancelled
        The transfer was cancelled.
    SourceError
        It has no supported weights, or they are damaged.
    """
    with reading(f"{address}", DAMAGED):
        files, weights, asked = _find(address, network)
        if weights.endswith(GGUF):
            index = files.gguf_index(weights)
            store, commit = HubStore(files, index.regions), files.address.revision
            return HubCheckpoint(address, commit, store, {}, files, network, asked, weights, index)
        single = None if weights.endswith(".json") else files.index(weights)
        folder = _folder_of(weights)
        content = files.small(f"{folder}config.json")
        config = {} if content is None else parse_json("config.json", content)
        adapter = None
        if weights.removeprefix(folder).startswith(f"{ADAPTER}."):
            beside = files.small(folder + ADAPTER_CONFIG)
            adapter = parse_json(ADAPTER_CONFIG, beside or b"{}")
        if single is not None:
            settings = single.settings
            if content is None and not settings:
                settings = _settings_beside(files, folder)
            store = HubStore(files, single.regions, settings)
        else:
            places = read_weight_map(weights, parse_json(weights, files.small(weights) or b""))
            store = HubStore(
                files, Shards(weights, places, lambda shard: files.index(folder + shard).regions)
            )
    commit = files.address.revision
    return HubCheckpoint(
        address, commit, store, config, files, network, asked, weights, adapter=adapter
    )


def _folder_of(path: str) -> str:
    """Return the folder of a file, with "/" at its end; "" for the main one."""
    return path.removesuffix(path.rpartition("/")[2])


def _settings_beside(files: HubFiles, folder: str) -> Mapping[str, Any]:
    """Return the settings in another file than ``config.json``; {} if they cannot be used."""
    try:
        found = files.first_small(folder, NAMES)
    except Offline:  # of a model that was cached without them
        found = None
    if found is None or len(found[1]) > MAX_BYTES:
        return NO_SETTINGS
    with suppress(SourceError):  # they may be of something else
        return read_settings_file(*found)
    return NO_SETTINGS


def _find(address: HubAddress, network: Network) -> tuple[HubFiles, str, bool]:
    """Return the model's files, its weights file and whether a request was sent.

    No request is sent for a cached model.
    """
    wait_until_kept(network.cache.root, address.repo)
    moves = not COMMIT.fullmatch(address.revision)
    commit = None if network.fresh and moves else known_commit(network.cache, address)
    if commit is not None:
        address = HubAddress(address.repo, commit, address.file)
        files = HubFiles(address, network)
        if address.file:
            return files, address.file, False
        weights = files.kept(_WEIGHTS)
        if weights is not None:
            return files, weights.tobytes().decode("utf-8", "replace"), False
    files, name = _ask(address, network)
    if not address.file:
        files.keep(_WEIGHTS, name.encode("utf-8"))
    return files, name, True


def _ask(address: HubAddress, network: Network) -> tuple[HubFiles, str]:
    # Requested first because most models have it, and its first bytes contain the index.
    try:
        wanted = address.file or WEIGHTS[0]
        first = network.hub.open_file(address, wanted, network.transfer, whole=network.whole)
        found = HubAddress(address.repo, first.commit, address.file)
        return HubFiles(found, network, first), first.name
    except NotOnHub as error:
        if error.missing != "file" or address.file:
            raise
    listing = network.hub.list_files(address, network.transfer)
    files = HubFiles(HubAddress(address.repo, listing.commit), network)
    names = sorted(name for name in listing.files if "/" not in name)
    advice = f"Name one of them, as in {address.repo}/FILE, or download it and open it."
    gguf_files = [name for name in names if name.endswith(GGUF) and not is_later_part(name)]
    if gguf_files and not any(name.endswith((*SUFFIXES, WEIGHTS[1])) for name in names):
        weights = only_gguf(address, gguf_files)
    else:
        contents = ((name, files.small(name)) for name in PARTS if name in names)
        named = [part for name, content in contents if content for part in parts_in(name, content)]
        weights = choose_path(listing.files, f"{address}", advice, named)
    return files, weights


def known_commit(cache: TensorCache, address: HubAddress) -> str | None:
    """Return the cached commit of an address, or None."""
    if COMMIT.fullmatch(address.revision):
        return address.revision
    return cache.commit_of(address.repo, address.revision)


def is_kept(cache: TensorCache, address: HubAddress) -> bool:
    """Return whether a model opens without the network; its cached files are not verified."""
    return _is_marked(cache, address, _mark(address))


def is_snapshot_kept(cache: TensorCache, address: HubAddress) -> bool:
    """Like :func:`is_kept`, including commits opened only as a step of a history."""
    return _is_marked(cache, address, _mark(address), _SNAPSHOT)


def _mark(address: HubAddress) -> str:
    """Return the name of the entry that marks a model as completely cached."""
    return f"{_COMPLETE} of {address.file}" if address.file else _COMPLETE


def _is_marked(cache: TensorCache, address: HubAddress, *marks: str) -> bool:
    wait_until_kept(cache.root, address.repo)
    commit = known_commit(cache, address)
    return commit is not None and any(cache.has(address.repo, commit, mark) for mark in marks)


def kept_models(cache: TensorCache) -> Iterator[tuple[HubAddress, dict[str, Any]]]:
    """List the models that open without the network, with their configurations.

    Most recently used first; a model cached at several revisions occurs several times.
    """
    for kept in cache.commits():
        if cache.has(kept.repo, kept.commit, _COMPLETE):
            content = cache.peek(kept.repo, kept.commit, file_key("config.json"))
            config: dict[str, Any] = {}
            with suppress(SourceError):  # such a model is still listed, to be removed
                config = {} if content is None else parse_json("config.json", content.tobytes())
            for revision in kept.revisions:
                yield HubAddress(kept.repo, revision), config
