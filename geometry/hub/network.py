"""The services used to open a model from the Hub."""

from __future__ import annotations

from collections.abc import Sequence

from geometry.checkpoints.result import result
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress, server_name
from geometry.hub.client import Hub, Revision
from geometry.hub.tensor_cache import TensorCache, default_cache

LARGE = 20_000_000
"""Maximum download of a single tensor, in bytes, without asking the user."""


@result
class Network:
    """Client, cache, progress and options of an opening.

    Attributes
    ----------
    hub
        The Hub client.
    cache
        The cache of earlier downloads.
    transfer
        Progress and cancellation of the opening; later reads have their own.
    whole
        Whether the user agreed to a large download: of whole files, if the server does not support
        ranges, or of a large tensor from which a source is made.
    fresh
        Whether to request the revision's current commit even if one is cached.
    snapshot
        Whether the model is opened as one step of a history: it is cached like any other, but not
        listed among the cached models.
    """

    hub: Hub
    cache: TensorCache
    transfer: Transfer
    whole: bool = False
    fresh: bool = False
    snapshot: bool = False

    def __post_init__(self) -> None:
        """Use the cache for the client's current endpoint, even if that changes later."""
        cache = self.cache.of_server(server_name(self.hub.endpoint))
        object.__setattr__(self, "cache", cache)

    def revisions(self, repo: str) -> Sequence[Revision]:
        """List a model's branches and tags by one request; offline, the cached ones.

        Raises HubError, Cancelled: as :meth:`geometry.hub.client.Hub.list_revisions`.
        """
        if not self.hub.offline:
            return self.hub.list_revisions(HubAddress(repo), self.transfer)
        kept = (held for held in self.cache.commits() if held.repo == repo)
        return [Revision(name, held.commit) for held in kept for name in held.revisions]


def default_network() -> Network:
    """Return the environment's Hub, the user's cache, and an unobserved transfer."""
    return Network(Hub(), default_cache(), Transfer())
