"""Libraries that the wheels of Qt and VTK expect of a Linux system, and name one by one or crash.

They are looked for where one has failed to load, or where a library is loaded just before it would
be anyway: so this costs a good start nothing.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geometry.checkpoints.errors import HelixscopeError, missing_package

LISTED = Path(__file__).parents[2] / "resources" / "system-libraries.txt"


class LibrariesMissing(HelixscopeError):
    """Libraries of the system that are not installed.

    Parameters
    ----------
    packages
        Debian's package of each.
    """

    def __init__(self, packages: dict[str, str]) -> None:
        super().__init__("Libraries of the system are not installed.")
        # Not by the constructor, which would shorten it.
        if shutil.which("apt-get"):
            self.advice = f"As root, run: apt-get install {' '.join(packages.values())}."
        else:
            self.advice = f"Install the packages that have {', '.join(packages)}."


def check_pictures() -> None:
    """Raise LibrariesMissing where VTK would crash as it draws a picture."""
    # Through an X server GLX will do.
    opengl = ("libEGL.so.1", "libGL.so.1") if os.environ.get("DISPLAY") else ("libEGL.so.1",)
    if sys.platform == "linux" and not (_loads("libX11.so.6") and any(map(_loads, opengl))):
        _raise_missing("pictures")


def check_plugin(folder: Path) -> None:
    """Raise LibrariesMissing where Qt would abort, without the libraries of its plugin for X11.

    Parameters
    ----------
    folder
        Of Qt's plugins.
    """
    usual = "" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    platform = os.environ.get("QT_QPA_PLATFORM") or usual
    plugin = folder / "platforms" / "libqxcb.so"
    if sys.platform == "linux" and platform.startswith("xcb") and not _loads(str(plugin)):
        _raise_missing()


@contextmanager
def imports_explained() -> Iterator[None]:
    """Name what has to be installed, if an import in the block fails for want of it.

    Raises
    ------
    HelixscopeError
        Packages, or libraries of the system, are missing.
    """
    try:
        yield
    except ImportError as error:
        missing = missing_package(error)
        if missing is not None:
            raise missing from error
        if sys.platform == "linux":
            _raise_missing()
        raise


def _raise_missing(kind: str = "") -> None:
    """Raise LibrariesMissing, of all that are listed, or of those of a kind; if there are any."""
    entries = (line.split() for line in LISTED.read_text("utf-8").splitlines())
    packages = {
        library: package
        for library, package, *kinds in entries
        if library != "#" and (not kind or kind in kinds) and not _loads(library)
    }
    if packages:
        raise LibrariesMissing(packages)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
