"""Single checkpoints of a history: download order, and what is kept of each."""

from __future__ import annotations

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.history.history import Floats
from geometry.history.origins import Snapshot
from geometry.hub.address import parse_address
from geometry.hub.checkpoint import known_commit
from geometry.hub.faults import BrokenTransfer, HubError, NotOnHub
from geometry.hub.tensor_cache import TensorCache
from geometry.models.model import PositionalModel


def is_its_own(error: HelixscopeError) -> bool:
    """Return whether an error concerns one checkpoint, and not the access to all of them."""
    if isinstance(error, NotOnHub):
        return error.missing != "repository"
    if isinstance(error, BrokenTransfer):
        return not error.passing
    return not isinstance(error, HubError)


def compact(model: PositionalModel) -> Floats:
    """Return a model's table, in half precision if stored so."""
    stored = model.store.tensors.get(model.table)
    half = stored is not None and stored.dtype == "F16"
    table: Floats = np.ascontiguousarray(model.W_pos, np.float16 if half else np.float32)
    table.setflags(write=False)
    return table


def coarse_first(snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Order snapshots from coarse to fine, so that any first part covers the history evenly."""
    order: dict[int, None] = {}
    stride = 1 << max(0, len(snapshots) - 1).bit_length()
    while stride:
        order.update(dict.fromkeys(range(len(snapshots) - 1, -1, -stride)))
        stride //= 2
    return tuple(snapshots[i] for i in order)


def has_moved(snapshot: Snapshot, cache: TensorCache) -> bool:
    """Return whether a branch on the Hub has moved since it was downloaded."""
    address = parse_address(snapshot.source)
    assert address is not None, "its source was made from an address"
    known = known_commit(cache, address)
    return known is not None and snapshot.commit not in (None, known)
