"""Opening a model on the Hub: its commit, its index and its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geometry.config import parse_json
from geometry.files import WEIGHTS, choose_weights
from geometry.hub.address import HubAddress
from geometry.hub.faults import NotOnHub
from geometry.hub.hub_files import HubFiles, tensor_key
from geometry.hub.hub_store import HubStore
from geometry.hub.hub_tokenizer import tokenizer_folder
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.sharded_store import Shards, read_weight_map
from geometry.stores import Region

_COMMIT = re.compile(r"[0-9a-f]{40}")

#: Kept entries: the name of the weights file or of the shards' index; the table of positions.
_WEIGHTS, _POSITIONS = "weights", "positions"


@dataclass(frozen=True, eq=False, slots=True)
class HubCheckpoint:
    """A model on the Hub at one commit, opened by its index alone.

    Attributes
    ----------
    address
        As it was asked for.
    commit
        40 hexadecimal digits.
    store
        Its tensors, fetched one by one.
    config
        Its ``config.json``; empty if it has none.
    """

    address: HubAddress
    commit: str
    store: HubStore
    config: Mapping[str, Any]
    _files: HubFiles
    _network: Network

    def keep(self, table: str, *, chosen: bool) -> None:
        """Keep what was fetched, for the next time: the model has been opened and is sound.

        Parameters
        ----------
        table
            The tensor that holds the positions; "" if they are computed.
        chosen
            Whether someone asked for this table: then it is not the one that the model opens with.
        """
        if not chosen and not self._files.has(_POSITIONS):
            self._files.keep(_POSITIONS, json.dumps(table).encode("ascii"))
        self._files.keep_all(self.address.revision)

    def tokenizer_folder(self) -> Path:
        """Return a folder with the model's tokenizer, fetched if need be.

        Raises
        ------
        TensorUnavailable
            The model has none.
        HubError, Cancelled
            It cannot be had.
        """
        return tokenizer_folder(self._files, self._network)


def open_checkpoint(address: HubAddress, network: Network) -> HubCheckpoint:
    """Open a model by its index and its configuration; no tensor is read.

    For a model in one safetensors file that takes two requests, and then one for each tensor; for
    one that was opened before, none. Nothing is kept before :meth:`HubCheckpoint.keep`.

    Raises
    ------
    HubError
        It cannot be had: see geometry.hub.faults.
    Cancelled
        Someone cancelled the transfer.
    SourceError
        It has no weights that are read, or they are damaged.
    """
    files, weights = _find(address, network)
    regions: Mapping[str, Region] | None = None
    if not weights.endswith(".json"):
        regions = files.index(weights)
    content = files.small("config.json")
    config = {} if content is None else parse_json("config.json", content)
    if regions is None:
        places = read_weight_map(weights, parse_json(weights, files.small(weights) or b""))
        regions = Shards(weights, places, files.index)
    commit = files.address.revision
    return HubCheckpoint(address, commit, HubStore(files, regions), config, files, network)


def _find(address: HubAddress, network: Network) -> tuple[HubFiles, str]:
    """Find the commit and the weights; both are known of a model that was opened before."""
    moves = not _COMMIT.fullmatch(address.revision)
    commit = None if network.fresh and moves else known_commit(network.cache, address)
    if commit is not None:
        address = HubAddress(address.repo, commit)
        files = HubFiles(address, network)
        weights = files.kept(_WEIGHTS)
        if weights is not None:
            return files, weights.tobytes().decode("utf-8")
    files, name = _ask(address, network)
    files.keep(_WEIGHTS, name.encode("utf-8"))
    return files, name


def _ask(address: HubAddress, network: Network) -> tuple[HubFiles, str]:
    # Most models have this file, and its first bytes hold the index: so it is asked for first.
    try:
        first = network.hub.open_file(address, WEIGHTS[0], network.transfer, whole=network.whole)
        return HubFiles(HubAddress(address.repo, first.commit), network, first), first.name
    except NotOnHub as error:
        if error.missing != "file":
            raise
    listing = network.hub.list_files(address, network.transfer)
    names = sorted(name for name in listing.files if "/" not in name)
    advice = "Download the one you want and open it."
    weights = choose_weights(names, f"{address}", advice)
    return HubFiles(HubAddress(address.repo, listing.commit), network), weights


def known_commit(cache: TensorCache, address: HubAddress) -> str | None:
    """Return the commit that an address is, as far as that is known without asking; or None."""
    if _COMMIT.fullmatch(address.revision):
        return address.revision
    return cache.commit_of(address.repo, address.revision)


def is_kept(cache: TensorCache, address: HubAddress) -> bool:
    """Tell whether a model opens without the network; its entries may still prove damaged."""
    commit = known_commit(cache, address)
    if commit is None:
        return False
    kept = cache.get(address.repo, commit, _POSITIONS)
    if kept is None:
        return False
    table = json.loads(kept.tobytes())
    return not table or cache.has(address.repo, commit, tensor_key(table))


def kept_config(cache: TensorCache, repo: str, commit: str) -> dict[str, Any]:
    """Return a kept model's configuration; empty if there is none."""
    content = cache.get(repo, commit, "file/config.json")
    return {} if content is None else parse_json("config.json", content.tobytes())
