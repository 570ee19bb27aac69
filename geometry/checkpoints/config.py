"""Defensive reading of ``config.json``, and look-up of values under several key names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from geometry.checkpoints.boundary import AGAIN
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import shortened
from geometry.checkpoints.stores import ByteFile, LocalFile

MAX_JSON = 32_000_000
"""Maximum bytes of a JSON file: three times the largest index of a sharded checkpoint. As text it
takes up to four times as much memory."""

MAX_JSON_VALUES = 2_000_000
"""Maximum values, including keys: each takes up to 72 bytes of memory, so that all take 150 MB."""

LARGEST = 1e300
"""Upper limit of numbers: larger ones overflow when they are multiplied."""

SHOWN = 40
"""Maximum characters of a setting's value in an error message."""


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object.

    Raises
    ------
    SourceError
        It is not readable, not a JSON object, too large, or changed meanwhile.
    """
    return parse_file(LocalFile(path))


def parse_file(file: ByteFile) -> dict[str, Any]:
    """Like :func:`read_json`, for a file whose identity is known."""
    size = file.size()
    # A weights file under a wrong name is not read completely.
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
        Size of the file in bytes, if it was too large to be read.

    Raises
    ------
    SourceError
        It is not a JSON object, or too large.
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
    """Return the value of a JSON text, within limits of size, number of values and depth.

    The depth is limited by Python's recursion limit, about 1,000.

    Parameters
    ----------
    name
        Name of the text, for messages.
    content
        The text as UTF-8.
    hook
        ``object_pairs_hook`` of :func:`json.loads`.

    Raises
    ------
    SourceError
        It is not JSON, or too large.
    """
    # Brackets, commas and colons in texts are counted too; real files have few of them.
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


def first_int(
    config: Mapping[str, Any],
    keys: Iterable[str],
    *,
    minimum: int | None = None,
    listed: bool = False,
) -> int | None:
    """Return the value of the first of the keys that is present, as an integer.

    Parameters
    ----------
    config, keys
        A key with null counts as absent.
    minimum
        The smallest valid number.
    listed
        Whether a list of integers is allowed instead, for each layer or stage; the result is then
        None unless all are equal.

    Raises
    ------
    SourceError
        The value is not such a number.
    """
    key = next((key for key in keys if config.get(key) is not None), None)
    if key is None:
        return None
    value = config[key]
    several: list[Any] = value if listed and isinstance(value, list) and value else [value]
    if any(type(n) is not int or (minimum is not None and n < minimum) for n in several):
        expected = "a whole number" + (f" from {minimum}" if minimum is not None else "")
        raise unusable(key, value, expected)
    return several[0] if len(set(several)) == 1 else None


def flag(config: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    """Return a setting as a boolean.

    Raises
    ------
    SourceError
        It is neither true nor false, 1 or 0.
    """
    value = config.get(key)
    if value is None:
        return default
    if value in (0, 1) and isinstance(value, int):
        return bool(value)
    raise unusable(key, value, "true or false")


def pair(config: Mapping[str, Any], key: str) -> tuple[int, int] | None:
    """Return height and width of a setting that is a positive integer, or a list of two.

    None if the configuration does not have it.

    Raises
    ------
    SourceError
        It is neither.
    """
    value = config.get(key)
    if value is None:
        return None
    both = value if isinstance(value, list) else [value, value]
    if len(both) == 2 and all(type(side) is int and side > 0 for side in both):
        return both[0], both[1]
    raise unusable(key, value, "a whole number above 0, or two of them,")


def positive(key: str, value: object) -> float:
    """Return the value of a setting that is a positive number.

    Raises
    ------
    SourceError
        It is not, or too large.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST:
        raise unusable(key, value, "a number above 0")
    return float(value)


def unusable(key: str, value: object, expected: str) -> SourceError:
    """Return the error of an invalid setting."""
    return SourceError(
        f"The configuration has {_described(value)} as {key}, where {expected} is expected.",
        "Correct it, or put the right config.json in the folder of the weights.",
    )


def _described(value: object) -> str:
    """Return a value as a shortened JSON text; texts and groups are described."""
    if isinstance(value, str):
        return f"the text “{shortened(value, SHOWN)}”"
    if isinstance(value, dict):
        return "a group of settings"
    if isinstance(value, int) and value.bit_length() > 100:
        return "a number as large as none in a model"
    return shortened(json.dumps(value, default=str), SHOWN)
