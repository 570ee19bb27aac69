"""Defensive reading of ``config.json``, and look-up of values under several key names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import LocalFile

#: Bytes of a JSON file: three times the largest index of a sharded checkpoint. As text it takes up
#: to four times as much memory.
MAX_JSON = 32_000_000

#: Values, keys included: each takes up to 72 bytes of memory, so that all take 150 MB.
MAX_JSON_VALUES = 2_000_000


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object.

    Raises
    ------
    SourceError
        Not readable, not JSON, no object, or too large; or it changed meanwhile.
    """
    return parse_file(LocalFile(path))


def parse_file(file: LocalFile) -> dict[str, Any]:
    """Like :func:`read_json`, of a file whose identity is known."""
    size = file.size()
    # A weights file under a wrong name is not read in full.
    content = file.read_at(0, size).tobytes() if size <= MAX_JSON else b""
    return parse_json(file.name, content, size)


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
        Not JSON, no object, or too large.
    """
    size = len(content) if size is None else size
    if size > MAX_JSON:
        raise SourceError(
            f"{name} is {size} bytes long; at most {MAX_JSON} are read.",
            "Check that it is the right file.",
        )
    parsed = load_json(name, content)
    if not isinstance(parsed, dict):
        raise SourceError(f"{name} should be a JSON object, got {type(parsed).__name__}.", AGAIN)
    return parsed


def load_json(
    name: str,
    content: bytes,
    hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value in a JSON text, within bounds of size, number of values and depth.

    The depth is bounded by Python's recursion limit, some 1,000.

    Parameters
    ----------
    name
        What holds the text, for messages.
    content
        The text as UTF-8.
    hook
        ``object_pairs_hook`` of :func:`json.loads`.

    Raises
    ------
    SourceError
        Not JSON, or too large.
    """
    # Brackets, commas and colons in texts are counted too, which no real file has many of.
    values = sum(map(content.count, (b"{", b"[", b",", b":")))
    if len(content) > MAX_JSON or values > MAX_JSON_VALUES:
        raise SourceError(
            f"{name} holds some {values} values in {len(content)} bytes of JSON; at most "
            f"{MAX_JSON_VALUES} in {MAX_JSON} are read.",
            "Check that it is the right file.",
        )
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=hook)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name} is not valid JSON.", AGAIN) from error


def first_int(config: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """Return the first of the keys that holds a whole number, or None."""
    for key in keys:
        value = config.get(key)
        if type(value) is int:
            return value
    return None


def pair(value: object) -> tuple[int, int] | None:
    """Return height and width of a setting that is one number above 0, or both; else None."""
    if type(value) is int and value > 0:
        return value, value
    if isinstance(value, list) and len(value) == 2:
        height, width = value
        if type(height) is int and type(width) is int and min(height, width) > 0:
            return height, width
    return None
