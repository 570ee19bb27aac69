"""Make the page of the licences of all packages that Helixscope is installed with.

    python -m tools.make_licences [FILE]

FILE is docs/licences.md unless another is named. Names, versions and licences are those in the
environment, by the packages' own metadata.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
EXTRAS = ("files", "gguf", "notebook", "survey")
PREFIX = "License :: OSI Approved :: "
INTRODUCTION = """\
# Licences

Helixscope is under the [MIT licence](../LICENSE). The packages that it is installed with, with
their extras, those that these require included, on Linux with the versions of `constraints.txt`.
Wheels may hold libraries under further licences, which are in the folders of the packages'
metadata: imageio-ffmpeg holds FFmpeg, which is under the GPL, and PySide6 Qt, which is under the
LGPL.

`tools/make_licences.py` generates this page from the packages' metadata.

| package | version | licence |
|---|---|---|
"""


def licences_page() -> str:
    """Return the page."""
    rows = (
        f"| {package.name} | {package.version.partition('+')[0]} | {_licence(package)} |"
        for _, package in sorted(required(EXTRAS).items())
    )
    return INTRODUCTION + "\n".join(rows) + "\n"


def required(extras: Collection[str], without: Collection[str] = ()) -> dict[str, Distribution]:
    """Return what is installed because Helixscope, or what it requires, requires it.

    Parameters
    ----------
    extras
        Those of Helixscope.
    without
        Packages that are left out, with what only they require.

    Returns
    -------
    dict
        Packages by their canonical names, without Helixscope.
    """
    packages: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [("helixscope", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name in without:
            continue
        seen.add((name, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another system
            continue
        packages[name] = package
        for text in package.requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                own = canonicalize_name(wanted.name)
                waiting += [(own, one) for one in ("", *wanted.extras)]
    del packages["helixscope"]
    return packages


def _licence(package: Distribution) -> str:
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    named = [
        value.removeprefix(PREFIX)
        for value in metadata.get_all("Classifier") or ()
        if value.startswith(PREFIX)
    ]
    text = str(metadata.get("License") or "").strip()
    return "; ".join(named) or (text.splitlines()[0] if text else "not named")


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(licences_page(), "utf-8")
