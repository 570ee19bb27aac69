"""Tooltips that break into lines: Qt leaves plain text on one, as wide as the screen or wider."""

from __future__ import annotations

from functools import lru_cache
from textwrap import wrap

LINE = 60
"""Characters to a line, about 360 pixels."""


@lru_cache(maxsize=512)  # the same few are set anew with every number that changes
def wrapped(text: str) -> str:
    """Break a tooltip into lines; its own line breaks stay."""
    return "\n".join(
        line for paragraph in text.split("\n") for line in (wrap(paragraph, LINE) or [""])
    )
