"""What opening a model from the Hub goes through."""

from __future__ import annotations

from dataclasses import dataclass

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub
from geometry.hub.tensor_cache import TensorCache, default_cache

#: Whoever needs a tensor of more bytes than this from the network says so first.
LARGE = 20_000_000


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """The Hub, what was fetched from it before, and how this time is told of.

    Attributes
    ----------
    hub
        Who is asked.
    cache
        What was fetched before, and where it is kept.
    transfer
        What tells of the opening, and stops it; what is read later has its own.
    whole
        Whether the user agreed to a whole download, where the server sends no parts of files.
    fresh
        Whether to ask which commit the revision is now, though one is known.
    snapshot
        Whether the model is opened as one step of a history: it is kept as any other, and not
        listed among the models that are here.
    """

    hub: Hub
    cache: TensorCache
    transfer: Transfer
    whole: bool = False
    fresh: bool = False
    snapshot: bool = False


def default_network() -> Network:
    """Return the Hub of the environment, the user's cache, and a transfer that nobody watches."""
    return Network(Hub(), default_cache(), Transfer())
