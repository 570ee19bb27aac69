"""The source of the Hub's access token; the token itself is never read."""

from __future__ import annotations

import os
from pathlib import Path

_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Environment variables of the Hub's client, in its order."""


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
