"""Text from outside, made safe to show: no control characters, and not too long."""

from __future__ import annotations

import re

LONGEST_SENTENCE = 200
"""The longest sentence of an error, in characters: what fits two lines of a terminal."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for a character that cannot be shown, as in decoders."""

# C0 and C1 controls move a terminal's cursor and colour it; bidirectional ones reorder what is
# read (https://trojansource.codes); lone surrogates cannot be encoded. Joiners stay: some scripts
# need them.
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
    """Return a text with its line breaks, and each line as of `visible`."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(visible(line) for line in text.split("\n"))


def storable(text: str) -> str:
    """Return a text in which lone surrogates, as of bytes in file names, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def as_named(stored: str) -> str:
    """Return the name of a file that is stored as of `storable`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stored)


def shortened(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """Return a text of at most ``longest`` characters.

    Its longest words lose their middle first, mostly paths and names, so that the sentence about
    them stays whole; if that is not enough, its end is left out.
    """
    most = 10 * longest
    if len(text) > 2 * most:  # each word that is shortened copies the whole text
        text = f"{text[:most]}…{text[-most:]}"
    while len(text) > longest:
        word = max(text[: 20 * longest].split(), key=len, default="")
        too_long = len(text) - longest
        if len(word) <= _LONG_WORD:
            return text[: longest - 1] + "…"
        keep = max(_LONG_WORD - 2, len(word) - too_long - 1)
        head = keep // 3  # the end of a path tells more than its beginning
        text = text.replace(word, f"{word[:head]}…{word[len(word) - (keep - head) :]}", 1)
    return text
