"""What a mistyped name of a model was tried as; nothing is requested or opened."""

from __future__ import annotations

import os
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from geometry.checkpoints.files import FILE_SUFFIXES
from geometry.hub.address import parse_address
from geometry.models.sources.catalogue import is_bundled, read_catalogue
from geometry.models.sources.computed import is_computed
from geometry.models.sources.derived import is_derived

MAX_NAMES = 5_000
"""Entries of a folder that are compared with a name."""


def tried(source: str) -> list[str]:
    """Return a line for each thing that a source was tried as, and names that are similar."""
    if is_bundled(source) or is_computed(source) or is_derived(source):
        return []
    path = Path(os.path.abspath(os.path.expanduser(source)))
    lines = [f"As a file or folder: {path}, {'found' if _exists(path) else 'not found'}."]
    address = parse_address(source)
    if address is None or source.endswith(FILE_SUFFIXES):
        lines.append("As a model on the Hub: not tried, since it is not an id such as owner/name.")
    else:
        lines.append(f"As a model on the Hub: {address.repo}, revision {address.revision}.")
    if _exists(path):
        return lines
    beside = get_close_matches(path.name, _names(path.parent))
    if beside:
        lines.append(f"Similar names in {path.parent}: {', '.join(beside)}.")
    known = {entry.id for entry in read_catalogue()}
    known |= {name.rpartition("/")[2] for name in known}
    similar = [name for name in get_close_matches(source, known) if name != source]
    if similar:
        lines.append(f"Similar names of models: {', '.join(similar)}.")
    return lines


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, MAX_NAMES)]
    except (OSError, ValueError):
        return []
