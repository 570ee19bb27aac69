"""Headers of a request: user agent and, for the Hub itself, the access token and its source."""

from __future__ import annotations

import base64
import os
import platform
from pathlib import Path
from urllib.parse import unquote, urlsplit

from geometry.hub.address import origin
from geometry.hub.faults import AccessDenied

_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Environment variables of the Hub's client, in its order."""


def headers_for(url: str, endpoint: str) -> dict[str, str]:
    """Return the headers of a request; the token may be renewed for it over the network.

    A Hub address with user name and password sends them in place of the token.

    Does not use huggingface_hub's ``build_hf_headers``, which first makes a request of its own.

    Raises AccessDenied: the token cannot be read, or contains invalid characters; sending it would
    expose it in an error message.
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
            "This machine's access token is damaged: it contains invalid characters.",
            "Set HF_TOKEN again, or run “hf auth login”.",
        )
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _login(endpoint: str) -> str | None:
    """Return the Basic authorization for the login in an address; None if there is none."""
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
        why = "it is not text"
    raise AccessDenied(
        f"This machine's access token cannot be read: {why}.",
        "Set HF_TOKEN, or run “hf auth login”.",
    )


def token_place() -> str | None:
    """Return where the Hub's client finds an access token, or None if it sends none.

    The name of an environment variable, or the path of the file written by ``hf auth login``. The
    token is not requested from the client, which might renew it over the network.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return None
    # As in the client: a first variable that is blank still hides the second one.
    variable = next((name for name in _VARIABLES if os.environ.get(name)), None)
    if variable is not None and os.environ[variable].strip():
        return variable
    path = Path(constants.HF_TOKEN_PATH)
    try:
        return str(path) if path.read_bytes().strip() else None
    except OSError:
        return None
