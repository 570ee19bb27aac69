"""The history of an open model, as far as it is on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.checkpoints.transfer import Transfer
from geometry.history.gathering import Gathering
from geometry.history.history import History
from geometry.history.origins import find_history, list_snapshots
from geometry.history.plan import plan_history
from geometry.history.record import read_history
from geometry.history.versions import versions_of
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import default_cache
from geometry.models.matrices import read_positions
from geometry.models.model import PositionalModel
from geometry.models.sources.history_steps import StepStore, steps_inside
from geometry.models.sources.layer_tables import LayerStore

T = TypeVar("T")

ATTEMPTS = 5
"""Attempts to measure a history that a training run rewrites meanwhile. A run that writes faster
than the history can be read is not followed."""


class NoHistory(HelixscopeError):
    """The model has no training history."""


class NotFetched(NoHistory):
    """The model is on the Hub, and none of its history, if it has one, is on this machine."""


def history_here(model: PositionalModel) -> History:
    """Read the history of an open model, without the network.

    From a folder of many checkpoints, the default selection; for a model on the Hub, from the
    cached checkpoints. Of positions inside a model, the layers are the history.

    Raises NoHistory: there is none, or none on this machine; SourceError: it cannot be read.
    """
    origin = find_history(model)
    if isinstance(model.store, StepStore) and model.home is not None:
        raise NoHistory(
            "this is one step of a training history",
            f"Open the folder “{model.home.name}” to see all of it.",
        )
    if origin is None:
        raise NoHistory("this model has no training history")
    file = versions_of(model) if origin.kind == "rewritten" else None
    if origin.kind == "file" or file is not None:
        return read_history(file or Path(origin.source), name=origin.name, shape=origin.shape)
    if isinstance(model.store, LayerStore):
        return history_of_layers(model.store)
    if origin.kind == "inside":
        return history_inside(model)
    network = None
    if origin.kind == "hub":
        network = Network(Hub(offline=True), default_cache(), Transfer())
    snapshots = [snapshot for snapshot in list_snapshots(origin, network) if snapshot.here]
    if not snapshots:
        raise NotFetched("its training history is not on this machine")
    return Gathering(plan_history(origin, snapshots), network).run()


def history_of_layers(store: LayerStore) -> History:
    """Return the layers of a network as a history: its steps are the layers, 0 the embedding."""
    tables = store.tables
    n_layers, *shape = tables.shape
    return History(
        tables.name,
        str(tables.file.path),
        np.arange(n_layers),
        (shape[0], shape[1]),
        tables.table,
        unit="layer",
        reference=store.layer,
    )


def history_inside(model: PositionalModel) -> History:
    """Return the state dicts in a model's file as a history, see ``steps_inside``."""
    store, place, tables = model.store, model.layers.architecture, steps_inside(model)
    names = list(tables.values())
    return History(
        model.name,
        model.source.id,
        np.array([*tables]),
        (model.n_positions, model.d_model),
        lambda index: read_positions(store, replace(place, table=names[index])),
        reference=names.index(place.table),
    )


def of_one_version(
    read: Callable[[], History], measure: Callable[[History], T], history: History | None = None
) -> T:
    """Measure a history; again from the start if a training run rewrites it meanwhile.

    Parameters
    ----------
    read
        Reads the history as it is now.
    measure
        Computes the result from a history whose tables are all of the same version.
    history
        The history to start with; ``read()`` if None.

    Raises
    ------
    FileChanged
        The history changed during every attempt.
    HelixscopeError
        As ``read`` and ``measure``.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return measure(read() if history is None else history)
        except FileChanged:
            history = None
    return measure(read())
