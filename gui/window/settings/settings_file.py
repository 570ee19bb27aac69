"""The file of settings: JSON that is written whole."""

from __future__ import annotations

import json
import logging
import os
from itertools import chain, count
from pathlib import Path

from geometry.checkpoints.config import parse_json
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.stores import open_regular
from geometry.checkpoints.whole_files import write_bytes
from gui.state.values import Fields

log = logging.getLogger(__name__)

LARGEST = 2_000_000
"""Maximum size of a settings file in bytes, a hundred times that with a long prompt."""
BROKEN, OLD = ".broken", ".old"
"""Suffixes of a damaged file, and of one that the user has reset."""
_DAMAGED = "The settings were reset to their defaults."


def read_settings(file: Path) -> dict[str, object]:
    """Return the values of a JSON file of settings, by their keys.

    Raises
    ------
    HelixscopeError
        It is damaged, or not a file.
    OSError
        It cannot be read, or does not exist.
    """
    return parse_json(file.name, _content(file))


def write_settings(values: Fields, file: Path) -> None:
    """Write a settings file.

    Raises OSError: It cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(json.dumps(values, indent=1, sort_keys=True).encode(), file)


def quarantine(file: Path, ending: str) -> Path:
    """Rename a file with a suffix, and a number if necessary; return the new path.

    Raises OSError: It cannot be renamed.
    """
    names = chain((ending,), (f".{n}{ending}" for n in count(2)))
    renamed = next(
        free for name in names if not os.path.lexists(free := file.with_name(f"{file.name}{name}"))
    )
    os.rename(file, renamed)
    return renamed


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise HelixscopeError(f"{file.name} is longer than {LARGEST} bytes.", _DAMAGED)
    return content
