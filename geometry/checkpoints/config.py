"""Defensive reading of ``config.json``, and look-up of values under several key names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import cannot_read

#: Larger than any configuration or index; a weights file under a wrong name may be larger.
MAX_JSON = 64_000_000


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object.

    Raises
    ------
    SourceError
        Not readable, not JSON, or no object.
    """
    try:
        size = path.stat().st_size
        # A weights file under a wrong name is not read in full.
        return parse_json(path.name, path.read_bytes() if size <= MAX_JSON else b"", size)
    except OSError as error:
        raise cannot_read(path, error) from error


def parse_json(name: str, content: bytes, size: int | None = None) -> dict[str, Any]:
    """Read a JSON object from a file's content.

    Parameters
    ----------
    name
        File name, for messages.
    content
        Bytes of the file.
    size
        Size of the file in bytes, where it was too large to be read.

    Raises
    ------
    SourceError
        Not JSON, or no object.
    """
    size = len(content) if size is None else size
    if size > MAX_JSON:
        raise SourceError(
            f"{name} is {size} bytes long; at most {MAX_JSON} are read.",
            "Check that the file is what its name says.",
        )
    try:
        parsed = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name} is not JSON.", "Download or copy the file again.") from error
    if not isinstance(parsed, dict):
        raise SourceError(
            f"{name} should be a JSON object, got {type(parsed).__name__}.",
            "Download or copy the file again.",
        )
    return parsed


def first_int(config: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """Return the first of the keys that holds a whole number, or None."""
    for key in keys:
        value = config.get(key)
        if type(value) is int:
            return value
    return None
