"""Plain-text tooltips with line breaks: Qt does not wrap plain text."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from textwrap import wrap

from geometry.checkpoints.plain_text import visible_lines

LINE = 60
"""Characters per line, about 360 pixels."""
_LIKE_HTML = re.compile(r"<[A-Za-z/!?]|&lt;")
"""Matches all texts that Qt interprets as HTML (Qt.mightBeRichText), and some others."""


@lru_cache(maxsize=512)  # a few texts are set again with every changing number
def wrapped(text: str) -> str:
    """Return a tooltip with a text wrapped into lines; its own line breaks are kept.

    A text that Qt would interpret as HTML, such as a folder named ``<b>``, is escaped.
    """
    lines = "\n".join(
        line
        for paragraph in visible_lines(text).split("\n")
        for line in (wrap(paragraph, LINE) or [""])
    )
    if _LIKE_HTML.search(lines):
        return f'<p style="white-space: pre">{html.escape(lines)}</p>'
    return lines
