"""External text made safe for display: no control characters, and a limited length."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_SENTENCE_LENGTH = 200
"""Maximum characters of an error's sentence, which fit two lines of a terminal."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Replaces a character that cannot be displayed, as in decoders."""

# C0 and C1 controls move and colour a terminal's cursor; bidirectional ones reorder the text
# (https://trojansource.codes); lone surrogates cannot be encoded. Joiners are kept, since some
# scripts need them.
_UNSHOWABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_ESCAPED = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_LONG_WORD = 24


def visible(text: str) -> str:
    """Return a text on one line, with spaces for line breaks and "�" for control characters."""
    if text.isascii() and text.isprintable():  # the usual case
        return text
    return _UNSHOWABLE.sub(REPLACEMENT, re.sub(r"[\t\n\r\v\f]+", " ", text))


def visible_lines(text: str) -> str:
    """Return a text with its line breaks, and each line as from `visible`."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(visible(line) for line in text.split("\n"))


def storable(text: str) -> str:
    """Return a text with lone surrogates, as from bytes in file names, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_named(stored: str) -> str:
    """Return the original name of a file, the inverse of `storable`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), stored)


def some_of(items: Sequence[object], most: int) -> str:
    """Return the first items of a list, separated by commas, and "…" if there are more."""
    return ", ".join(map(str, items[:most])) + (", …" if len(items) > most else "")


def shortened(text: str, longest: int = MAX_SENTENCE_LENGTH) -> str:
    """Return a text of at most ``longest`` characters.

    The longest words, mostly paths and names, are shortened in their middle first, so that the
    sentence is kept; if that is not enough, its end is cut.
    """
    half = 10 * longest
    if len(text) > 2 * half:  # each word that is shortened copies the whole text
        text = f"{text[:half]}…{text[-half:]}"
    while len(text) > longest:
        word = max(text[: 20 * longest].split(), key=len, default="")
        too_long = len(text) - longest
        if len(word) <= _LONG_WORD:
            return text[: longest - 1] + "…"
        keep = max(_LONG_WORD - 2, len(word) - too_long - 1)
        head = keep // 3  # the end of a path is more informative than its beginning
        text = text.replace(word, f"{word[:head]}…{word[len(word) - (keep - head) :]}", 1)
    return text
