"""Where the access token for the Hub comes from; never what it is."""

from __future__ import annotations

import os
from pathlib import Path

#: The variables that the Hub's client reads, in its order.
_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def token_place() -> str | None:
    """Return where the Hub's client finds an access token, or None if it sends none.

    The name of a variable of the environment, or the path of the file that ``hf auth login``
    writes. The client is not asked for the token: it might renew it over the network.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return None
    # As the client does it: a first variable of blanks alone hides the second one.
    variable = next((name for name in _VARIABLES if os.environ.get(name)), None)
    if variable is not None and os.environ[variable].strip():
        return variable
    path = Path(constants.HF_TOKEN_PATH)
    try:
        return str(path) if path.read_bytes().strip() else None
    except OSError:
        return None
