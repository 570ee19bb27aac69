"""Errors of requests to the Hub, each as one plain sentence with advice.

The HTTP clients' own errors contain URLs, which may be signed; these name only hosts, models and
files, and never an access token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.sizes import size_text


class HubError(SourceError):
    """Something could not be downloaded from the Hub.

    Attributes
    ----------
    retryable
        Whether trying again later may help, so that a button "Try again" is useful.
    passing
        Whether the fault usually ends within seconds; the request has already been retried.
    """

    def __init__(
        self, message: str, advice: str = "", *, retryable: bool = False, passing: bool = False
    ) -> None:
        super().__init__(message, advice)
        self.retryable = retryable or passing
        self.passing = passing


class NotOnHub(HubError):
    """There is no such repository, revision or file; ``missing`` is one of these words."""

    def __init__(
        self, message: str, advice: str = "", *, missing: Literal["repository", "revision", "file"]
    ) -> None:
        super().__init__(message, advice)
        self.missing = missing


class AccessDenied(HubError):
    """The model is gated or private, or the access token is not accepted."""


class Offline(HubError):
    """The network is disabled by the offline switch or HF_HUB_OFFLINE."""


class NotAsked(HubError):
    """A project or link names models that would be looked up, and the user has not agreed."""

    def __init__(self, models: Sequence[str], server: str, *, by: str = "project") -> None:
        single = len(models) == 1
        super().__init__(
            f"This {by} names {'a model that is' if single else 'models that are'} not on this "
            f"machine: {', '.join(models)}.",
            f"Look {'it' if single else 'them'} up on {server} if you trust the {by}.",
            retryable=True,
        )


class NoNetwork(HubError):
    """No connection: no name, no route, refused, timed out, or a wrong certificate."""

    def __init__(self, message: str, advice: str = "", *, passing: bool = False) -> None:
        super().__init__(message, advice, retryable=True, passing=passing)


class HubBusy(HubError):
    """The server is overloaded, limits the rate, or is temporarily broken.

    ``wait_s`` is the requested wait in seconds; None if there is none.
    """

    def __init__(self, message: str, advice: str = "", *, wait_s: float | None = None) -> None:
        super().__init__(message, advice, passing=True)
        self.wait_s = wait_s


class BrokenTransfer(HubError):
    """The data received is incomplete or not what was requested."""

    def __init__(self, message: str, advice: str = "", *, passing: bool = False) -> None:
        super().__init__(
            message,
            advice or "Try again; the partial data was discarded.",
            retryable=True,
            passing=passing,
        )


class NeedsConsent(HubError):
    """A download to which the user has not agreed, of ``nbytes`` bytes; None if that is unknown."""

    nbytes: int | None = None


class BaseAway(NeedsConsent):
    """The model of an adapter is not on this machine, but may be on the Hub."""

    def __init__(self, adapter: str, base: str) -> None:
        super().__init__(
            f"{adapter} is an adapter of {base}, which is not on this machine.",
            f"Download what is needed of {base} from the Hub.",
        )


class WholeDownload(NeedsConsent):
    """The server does not support ranges; ``nbytes`` is the size of the whole ``filename``.

    ``nbytes`` is None if the server does not give the size.
    """

    def __init__(self, filename: str, nbytes: int | None, host: str = "The server") -> None:
        everything = "all of" if nbytes is None else f"all {size_text(nbytes)} of"
        unknown = ", of unknown size" if nbytes is None else ""
        super().__init__(
            f"{host} cannot send parts of files: {everything} {filename} would have to be "
            f"downloaded{unknown}.",
            "Download the whole file, or open the model from another source.",
        )
        self.filename = filename
        self.nbytes = nbytes


class LargeTensor(NeedsConsent):
    """A tensor of ``nbytes`` bytes, so large that the user is asked before a model is opened."""

    def __init__(self, name: str, nbytes: int) -> None:
        super().__init__(
            f"{name} take {size_text(nbytes)} from the Hub.",
            "Download them, or open a copy on this machine.",
        )
        self.nbytes = nbytes


class LargeTokenizer(HubError):
    """A tokenizer of ``nbytes`` bytes, so large that the user is asked first."""

    def __init__(self, model: str, nbytes: int) -> None:
        super().__init__(
            f"The tokenizer of {model} takes {size_text(nbytes)} from the Hub.",
            "Download it, or continue without a prompt.",
        )
        self.nbytes = nbytes


def duration_text(seconds: float) -> str:
    """Format a duration: "12 seconds", "5 minutes", "2 hours"."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        count = max(1, round(seconds / size))
        if count > 1 or unit == "second":
            break
    return f"{count} {unit}{'s' if count != 1 else ''}"
