"""Plain-language messages for errors of huggingface_hub and its HTTP client.

Both libraries are imported only to explain one of their errors.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from geometry.hub.address import HubAddress, endpoint, origin, without_login
from geometry.hub.faults import (
    AccessDenied,
    BrokenTransfer,
    HubBusy,
    HubError,
    NoNetwork,
    NotOnHub,
    Offline,
    duration_text,
)
from geometry.hub.retry_policy import wait_asked_for

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

CONNECTION = "Check the connection and try again; models downloaded before open without it."
"""Advice for faults of the connection."""


def explained(
    error: Exception, address: HubAddress | None = None, filename: str = "", hub: str = ""
) -> HubError:
    """Return a HubError that explains an error of huggingface_hub or its HTTP client.

    Parameters
    ----------
    error
        The error; a :class:`HubError` is returned unchanged.
    address, filename
        What was requested; empty for a search.
    hub
        The Hub's address, by default :func:`~geometry.hub.address.endpoint`. Errors of storage
        hosts, to which the Hub redirects for large files, do not concern access or existence.

    Returns
    -------
    HubError
        Neither its text nor that of its cause contains a token or a signed URL.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HubError):
        return error
    fault = _explained(error, address, filename, hub)
    # An error of an answer quotes its URL, which storage hosts sign; an error of a URL quotes the
    # faulty part, perhaps a password. Neither may appear in a traceback.
    quotes = isinstance(error, (HfHubHTTPError, httpx2.InvalidURL))
    fault.__cause__ = None if quotes else error
    return fault


def _explained(error: Exception, address: HubAddress | None, filename: str, hub: str) -> HubError:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        return offline(address, by_environment=True)
    if isinstance(error, HfHubHTTPError):
        elsewhere = origin(str(error.response.url)) != origin(hub or endpoint())
        return _not_stored(error) if elsewhere else _refused(error, address, filename)
    host = host_of(error)
    if isinstance(error, httpx2.TimeoutException):
        return NoNetwork(f"{host} did not answer in time.", CONNECTION, passing=True)
    if isinstance(error, httpx2.ProxyError):
        return NoNetwork(
            f"The proxy refused the connection to {host}.",
            "Check HTTPS_PROXY and the proxy's login.",
        )
    if isinstance(error, httpx2.ConnectError):
        return _not_connected(error, host)
    if isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError)):
        return BrokenTransfer(f"The connection to {host} was interrupted.", passing=True)
    if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.InvalidURL)):
        return NoNetwork(
            "HF_ENDPOINT is not a web address.",
            "Correct HF_ENDPOINT, e.g. https://huggingface.co, or unset it.",
        )
    if isinstance(error, httpx2.TooManyRedirects):
        return BrokenTransfer(f"{host} redirects endlessly.")
    # The text of an unknown error may contain a URL or a header, so only its type is shown.
    return HubError(
        f"The request to {host} failed: {type(error).__name__}.",
        "See the log for details.",
        retryable=True,
    )


def offline(address: HubAddress | None, *, by_environment: bool) -> Offline:
    """Return the error for a request while the network is disabled."""
    problem = "The Hub cannot be reached" if address is None else f"{address} cannot be downloaded"
    return Offline(
        f"{problem}: Helixscope is offline.",
        "Unset HF_HUB_OFFLINE to use the network."
        if by_environment
        else "Turn off offline mode to use the network.",
    )


def host_of(error: Exception | httpx2.Response) -> str:
    """Return the name of the requested host: "huggingface.co", or its storage host."""
    try:
        # huggingface_hub's errors have a response, those of the HTTP client only a request.
        source: Any = getattr(error, "response", error)
        request: httpx2.Request = source.request
    except (AttributeError, RuntimeError):
        return "The Hub"
    return request.url.netloc.decode("ascii", "replace") or "The Hub"


# ---- error statuses -------------------------------------------------------------------------


def _refused(error: HfHubHTTPError, address: HubAddress | None, filename: str) -> HubError:
    """Explain an error status of the Hub; huggingface_hub has parsed its error code."""
    from huggingface_hub.errors import (
        DisabledRepoError,
        GatedRepoError,
        RemoteEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    host, status = host_of(error), error.response.status_code
    model = "The model" if address is None else address.repo
    has_token = "authorization" in error.response.request.headers
    if isinstance(error, GatedRepoError):
        return _gated(model, has_token)
    if isinstance(error, RepositoryNotFoundError):
        return _no_repository(host, model, has_token)
    if isinstance(error, RevisionNotFoundError):
        revision = "such revision" if address is None else f"revision {address.revision!r}"
        return NotOnHub(
            f"{model} has no {revision}.",
            "Check the name of the branch, tag or commit on the model's page.",
            missing="revision",
        )
    if isinstance(error, RemoteEntryNotFoundError):
        return NotOnHub(
            f"{address or model} has no file {filename or 'of that name'}.",
            "Check the files on the model's page.",
            missing="file",
        )
    if isinstance(error, DisabledRepoError):
        return AccessDenied(f"{host} has disabled {model}.", "Open another model.")
    if status in (401, 403):
        return _not_allowed(host, model, status, has_token)
    if status == 404:
        return NotOnHub(
            f"{host} found nothing at the address of {address or 'the model'}.",
            "Check the id and, if HF_ENDPOINT is set, that it is a Hub.",
            missing="repository",
        )
    return _status(host, status, error.response)


def _not_stored(error: HfHubHTTPError) -> HubError:
    """Explain an error of the storage host to which the Hub redirected."""
    host, status = host_of(error), error.response.status_code
    if status >= 500 or status in (408, 416, 429):
        return _status(host, status, error.response)
    return BrokenTransfer(
        f"{host}, which stores the file for the Hub, did not send it: it answered {status}.",
        "Try again; if this persists, tell the authors of the model.",
    )


def _gated(model: str, has_token: bool) -> AccessDenied:
    page = f"{without_login(endpoint())}/{model}"
    if has_token:
        return AccessDenied(
            f"{model} is gated, and this machine's access token has no access to it.",
            f"Ask for access on {page}; once it is granted, try again.",
        )
    return AccessDenied(
        f"{model} is gated: it requires a request for access.",
        f"Ask for access on {page}, then {_how_to_set_a_token()}",
    )


def _no_repository(host: str, model: str, has_token: bool) -> NotOnHub:
    if has_token:
        return NotOnHub(
            f"{host} has no model {model}, or this machine's access token may not see it.",
            "Check the id: organisation/name, as on the model's page.",
            missing="repository",
        )
    return NotOnHub(
        f"{host} has no model {model}, or it is private.",
        f"Check the id; if it is private, {_how_to_set_a_token()}",
        missing="repository",
    )


def _not_allowed(host: str, model: str, status: int, has_token: bool) -> AccessDenied:
    if has_token and status == 401:
        return AccessDenied(
            f"{host} does not accept this machine's access token.",
            f"Create a new one and {_how_to_set_a_token()}",
        )
    if has_token:
        return AccessDenied(
            f"{host} does not let this machine's access token read {model}.",
            "Give the token read access in its settings on the Hub.",
        )
    return AccessDenied(
        f"{host} restricts access to {model}.", f"If you have access, {_how_to_set_a_token()}"
    )


def _how_to_set_a_token() -> str:
    return (
        f"set HF_TOKEN to an access token ({without_login(endpoint())}/settings/tokens) or run "
        "“hf auth login”."
    )


def _status(host: str, status: int, response: httpx2.Response) -> HubError:
    """Explain a status that does not concern the model."""
    from httpx2 import codes

    if status == 429:
        wait = wait_asked_for(response.headers)
        later = "later" if wait is None else f"in {duration_text(wait)}"
        return HubBusy(
            f"{host} accepts no more requests for now; it asks to try again {later}.",
            f"Try again {later}; with an access token more requests are allowed.",
            wait_s=wait,
        )
    if status >= 500 or status == 408:
        # Not the server's own phrase, which may be any text.
        phrase = f"{status} {codes.get_reason_phrase(status)}".strip()
        return HubBusy(
            f"{host} is unavailable or overloaded: it answered {phrase}.",
            "Try again in a few minutes.",
            wait_s=wait_asked_for(response.headers),
        )
    if status == 416:
        return BrokenTransfer(f"{host} no longer has the requested part of the file.")
    return HubError(
        f"{host} did not accept the request: it answered {status}.",
        "Check the id and, if HF_ENDPOINT is set, that it is a Hub.",
    )


# ---- no answer ------------------------------------------------------------------------------


def _not_connected(error: Exception, host: str) -> NoNetwork:
    """Explain a failed connection by its system error."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NoNetwork(
                f"The identity of {host} could not be verified: its certificate is not valid "
                f"({cause.verify_message}).",
                "Check this machine's clock; behind a company's proxy, name its certificates in "
                "SSL_CERT_FILE.",
            )
        if isinstance(cause, ssl.SSLError):
            return NoNetwork(
                f"A secure connection to {host} could not be made.",
                "Check that HF_ENDPOINT and the proxy support https.",
            )
        if isinstance(cause, socket.gaierror):
            return NoNetwork(f"The name {host} could not be looked up.", CONNECTION)
        if isinstance(cause, ConnectionRefusedError):
            return NoNetwork(
                f"{host} refuses connections.",
                "Check HF_ENDPOINT and the proxy, or try again later.",
            )
        if isinstance(cause, OSError) and cause.errno in _UNREACHABLE:
            return NoNetwork(f"{host} cannot be reached: this machine is offline.", CONNECTION)
    return NoNetwork(f"A connection to {host} could not be made.", CONNECTION)


_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, explicit or implicit."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
