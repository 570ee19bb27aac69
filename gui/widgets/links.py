"""Links opened in other applications: web pages, by https only, and Helixscope's folders."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from geometry.checkpoints.plain_text import visible


def is_web_page(address: str) -> bool:
    """Return whether an address may be opened in the browser.

    Allowed are https addresses with an ASCII host, without a user's name, which may pretend to be
    the host, and without spaces, backslashes or control characters, which programs interpret
    differently. Other schemes start other programs, or open local files.
    """
    if address != visible(address) or not address.isprintable() or {*address} & {" ", "\\"}:
        return False
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port  # ValueError if it is not a number
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and bool(host)
        and parts.netloc.isascii()
        and "@" not in parts.netloc
    )


def open_web_page(address: str) -> bool:
    """Open a page in the browser, if that is allowed; return whether it was."""
    if not is_web_page(address):
        return False
    url = QUrl(address, QUrl.ParsingMode.StrictMode)
    return url.isValid() and url.scheme() == "https" and QDesktopServices.openUrl(url)


def open_folder(folder: Path) -> bool:
    """Show a folder in the file manager; return whether there is one."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
