"""Tooltips with line breaks: Qt shows plain text on one line of any width."""

from __future__ import annotations

from functools import lru_cache
from textwrap import wrap

LINE = 60
"""Characters per line, about 360 pixels."""


@lru_cache(maxsize=512)  # a few texts are set again with every changing number
def wrapped(text: str) -> str:
    """Break a tooltip into lines, keeping its own line breaks."""
    return "\n".join(
        line for paragraph in text.split("\n") for line in (wrap(paragraph, LINE) or [""])
    )
