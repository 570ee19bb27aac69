r"""Windows paths that name another computer.

Windows sends the user's credentials to the computer of a path such as ``\\host\share\model`` as
soon as the path is accessed, even to check whether a file exists.
"""

from __future__ import annotations

import re

_URL = re.compile(r"file:[\\/]{2}(?=[^\\/]|[\\/]{2,})", re.IGNORECASE)
"""The start of the address of a file on another computer; local ones have three slashes."""
_DEVICE = re.compile(r"\\(?:\\[?.]|\?\?)\\")
r"""The start of a device path: ``\\?\``, ``\\.\`` or ``\??\``."""
_LOCAL = re.compile(r"[A-Z]:(\\|$)|Volume\{", re.IGNORECASE)


def host_of(path: str) -> str:
    r"""Return the computer that a path names on Windows; "" if it names none.

    The path may also be an address, ``file://host/share/model``. A device path that is not on a
    drive of this computer counts as that of another computer.
    """
    url = _URL.match(path.strip())
    text = "//" + path.strip()[url.end() :].lstrip("\\/") if url else path.strip()
    text = text.replace("/", "\\")
    device = _DEVICE.match(text)
    if device:
        rest = text[device.end() :]
        if _LOCAL.match(rest):
            return ""
        text = "\\\\" + re.sub(r"(?i)^UNC\\+", "", rest)
    if not text.startswith("\\\\"):
        return ""
    return text.lstrip("\\").partition("\\")[0].lower()
