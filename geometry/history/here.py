"""The history of an open model as far as it is on this machine."""

from __future__ import annotations

from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.transfer import Transfer
from geometry.history.gathering import Gathering
from geometry.history.history import History
from geometry.history.origins import find_history, list_snapshots
from geometry.history.plan import plan_history
from geometry.history.record import read_history
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import default_cache
from geometry.models.model import PositionalModel


class NoHistory(HelixscopeError):
    """A model comes without a history of its training."""


class NotFetched(NoHistory):
    """The model is on the Hub; of its history, if it has one, nothing is on this machine."""


def history_here(model: PositionalModel) -> History:
    """Read the history of an open model; nothing is asked of any network.

    Of a folder of many checkpoints, the usual choice of them; of a model on the Hub, of those that
    were fetched before.

    Raises
    ------
    NoHistory
        There is none, or none here.
    SourceError
        It cannot be read.
    """
    origin = find_history(model)
    if origin is None:
        raise NoHistory("this model comes without a history of its training")
    if origin.kind == "file":
        return read_history(Path(origin.source), name=origin.name, shape=origin.shape)
    network = None
    if origin.kind == "hub":
        network = Network(Hub(offline=True), default_cache(), Transfer())
    snapshots = [one for one in list_snapshots(origin, network) if one.here]
    if not snapshots:
        raise NotFetched("no history of its training has been fetched")
    return Gathering(plan_history(origin, snapshots), network).run()
