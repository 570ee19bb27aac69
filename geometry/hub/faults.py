"""What can go wrong on the way to the Hub, each as one plain sentence with what to do.

The clients' own errors name addresses (which may be signed) and requests; here only hosts, models
and files are named, and never an access token.
"""

from __future__ import annotations

from typing import Literal

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.sizes import size_text


class HubError(SourceError):
    """Something from the Hub that could not be had.

    Attributes
    ----------
    retryable
        Whether asking for the same later may help: a button "Try again" makes sense.
    passing
        Whether it is often over within seconds: it has been tried again already.
    """

    def __init__(
        self, message: str, advice: str = "", *, retryable: bool = False, passing: bool = False
    ) -> None:
        super().__init__(message, advice)
        self.retryable = retryable or passing
        self.passing = passing


class NotOnHub(HubError):
    """There is no such repository, revision or file; ``missing`` says which of them."""

    def __init__(
        self, message: str, advice: str = "", *, missing: Literal["repository", "revision", "file"]
    ) -> None:
        super().__init__(message, advice)
        self.missing = missing


class AccessDenied(HubError):
    """The model is gated or private, or the access token is not accepted."""


class Offline(HubError):
    """The network may not be used: the offline switch, or HF_HUB_OFFLINE."""


class NoNetwork(HubError):
    """Nobody answered: no name, no way, refused, silent, or not who it says it is."""

    def __init__(self, message: str, advice: str = "", *, passing: bool = False) -> None:
        super().__init__(message, advice, retryable=True, passing=passing)


class HubBusy(HubError):
    """The server asks to come back later, or is broken at the moment.

    ``wait_s`` is the wait it asks for in seconds, None if it does not say.
    """

    def __init__(self, message: str, advice: str = "", *, wait_s: float | None = None) -> None:
        super().__init__(message, advice, passing=True)
        self.wait_s = wait_s


class BrokenTransfer(HubError):
    """What came is not what was asked for, or did not come to its end."""

    def __init__(self, message: str, advice: str = "", *, passing: bool = False) -> None:
        super().__init__(
            message, advice or "Try again; what came is not kept.", retryable=True, passing=passing
        )


class WholeDownload(HubError):
    """The server does not send parts of files; ``nbytes`` is what the whole ``filename`` costs.

    ``nbytes`` is None where the server does not say how long the file is.
    """

    def __init__(self, filename: str, nbytes: int | None, host: str = "The server") -> None:
        everything = "all of" if nbytes is None else f"all {size_text(nbytes)} of"
        unknown = ", and it does not say how much that is" if nbytes is None else ""
        super().__init__(
            f"{host} does not send parts of files: {everything} {filename} would have to be "
            f"downloaded{unknown}.",
            "Download the whole file, or open the model from another place.",
        )
        self.filename = filename
        self.nbytes = nbytes


class LargeTokenizer(HubError):
    """A tokenizer so large that the user is asked first; it takes ``nbytes``."""

    def __init__(self, model: str, nbytes: int) -> None:
        super().__init__(
            f"The tokenizer of {model} takes {size_text(nbytes)} from the Hub.",
            "Fetch it, or go on without a prompt.",
        )
        self.nbytes = nbytes


def duration_text(seconds: float) -> str:
    """Say a wait: "12 seconds", "5 minutes", "2 hours"."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        count = max(1, round(seconds / size))
        if count > 1 or unit == "second":
            break
    return f"{count} {unit}{'s' if count != 1 else ''}"
