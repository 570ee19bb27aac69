"""Checks for libraries that the wheels of Qt and VTK need on Linux: without them, they crash.

They are checked when a library has failed to load, or just before it is loaded anyway, so that a
normal start is not delayed.
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
        Debian's package for each library.
    """

    def __init__(self, packages: dict[str, str]) -> None:
        super().__init__("Libraries of the system are not installed.")
        # Not in the constructor, which would shorten it.
        if shutil.which("apt-get"):
            self.advice = f"As root, run: apt-get install {' '.join(packages.values())}."
        else:
            self.advice = f"Install the packages that have {', '.join(packages)}."


def check_pictures() -> None:
    """Raise LibrariesMissing if VTK would crash when it draws a picture."""
    # With an X server, GLX is sufficient.
    opengl = ("libEGL.so.1", "libGL.so.1") if os.environ.get("DISPLAY") else ("libEGL.so.1",)
    if sys.platform == "linux" and not (_loads("libX11.so.6") and any(map(_loads, opengl))):
        _raise_missing("pictures")


def check_plugin(folder: Path) -> None:
    """Raise LibrariesMissing if Qt would abort, without the libraries of its plugin for X11.

    Parameters
    ----------
    folder
        Folder of Qt's plugins.
    """
    usual = "" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    platform = os.environ.get("QT_QPA_PLATFORM") or usual
    plugin = folder / "platforms" / "libqxcb.so"
    if sys.platform == "linux" and platform.startswith("xcb") and not _loads(str(plugin)):
        _raise_missing()


@contextmanager
def imports_explained() -> Iterator[None]:
    """Turn import errors of the block into errors that name what has to be installed.

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
    """Raise LibrariesMissing if any listed libraries, or those of a kind, are missing."""
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
