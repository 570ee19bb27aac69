"""``config.json``: read defensively, asked by several names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geometry.errors import SourceError
from geometry.stores import cannot_read

#: No configuration or index is this long; a weights file under a wrong name may be.
MAX_JSON = 64_000_000


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    SourceError
        Not readable, not JSON, or no object.
    """
    try:
        if path.stat().st_size > MAX_JSON:
            raise SourceError(
                f"{path.name} is {path.stat().st_size} bytes long; at most {MAX_JSON} are read.",
                "Check that the file is what its name says.",
            )
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{path.name} is not JSON.", "Download or copy the file again."
        ) from error
    if not isinstance(content, dict):
        raise SourceError(
            f"{path.name} should be a JSON object, got {type(content).__name__}.",
            "Download or copy the file again.",
        )
    return content


def first_int(config: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """Return the first of the keys that holds a whole number, or None."""
    for key in keys:
        value = config.get(key)
        if type(value) is int:
            return value
    return None
