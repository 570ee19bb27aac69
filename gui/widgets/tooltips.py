"""Tooltips with line breaks, as plain text: Qt shows such on one line of any width."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from textwrap import wrap

from geometry.checkpoints.plain_text import visible_lines

LINE = 60
"""Characters per line, about 360 pixels."""
# What makes Qt take a text for HTML (Qt.mightBeRichText), and some that does not.
_LIKE_HTML = re.compile(r"<[A-Za-z/!?]|&lt;")


@lru_cache(maxsize=512)  # a few texts are set again with every changing number
def wrapped(text: str) -> str:
    """Return the tooltip that shows a text in lines, its own line breaks kept.

    A text that Qt would take for HTML, such as a folder called ``<b>``, is returned as HTML that
    shows it.
    """
    lines = "\n".join(
        line
        for paragraph in visible_lines(text).split("\n")
        for line in (wrap(paragraph, LINE) or [""])
    )
    if _LIKE_HTML.search(lines):
        return f'<p style="white-space: pre">{html.escape(lines)}</p>'
    return lines
