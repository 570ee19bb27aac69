"""What is told with each request: who asks and, to the Hub itself, the access token."""

from __future__ import annotations

import base64
import platform
from urllib.parse import unquote, urlsplit

from geometry.hub.address import origin
from geometry.hub.faults import AccessDenied


def headers_for(url: str, endpoint: str) -> dict[str, str]:
    """Return what is told with a request; the token may be renewed for it over the network.

    An address of the Hub with a name and a password takes them in place of the token.

    Not huggingface_hub's ``build_hf_headers``: that asks the Hub first, in a request of its own,
    how to tell which program it runs under.

    Raises
    ------
    AccessDenied
        The token cannot be read, or has characters that no token has; sending it would put it into
        an error.
    """
    from huggingface_hub import __version__, constants

    headers = {
        "User-Agent": f"helixscope; hf_hub/{__version__}; python/{platform.python_version()}",
        "Accept-Encoding": "identity",
    }
    if origin(url) != origin(endpoint):
        return headers
    login = _login(endpoint)
    if login is not None:
        return {**headers, "Authorization": f"Basic {login}"}
    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return headers
    token = _token()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise AccessDenied(
            "This machine's access token is damaged: it holds characters that no token has.",
            "Copy it into HF_TOKEN again, or run `hf auth login`.",
        )
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _login(endpoint: str) -> str | None:
    """Return the name and the password in an address, as they are sent; None if there are none."""
    parts = urlsplit(endpoint)
    if parts.username is None and parts.password is None:
        return None
    words = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return base64.b64encode(words.encode()).decode("ascii")


def _token() -> str | None:
    from huggingface_hub import get_token
    from huggingface_hub.errors import OIDCError

    try:
        return get_token()
    except (OSError, OIDCError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
    except UnicodeDecodeError:
        why = "it is no text"
    raise AccessDenied(
        f"This machine's access token cannot be read: {why}.",
        "Copy it into HF_TOKEN, or run `hf auth login`.",
    )
