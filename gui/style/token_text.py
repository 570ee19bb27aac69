"""Readable tokens: invisible characters are replaced by marks.

Marks have another colour than letters, so that a token with a real "·" differs from one with a
space.
"""

from __future__ import annotations

import re
import unicodedata

_MARKS = {
    " ": "·",
    "\n": "⏎",
    "\r": "␍",
    "\t": "⇥",
    "\N{NO-BREAK SPACE}": "⍽",
}
_PARTS = re.compile(r"⟨[0-9A-F]{2}⟩|.", re.DOTALL)
"""A byte of an incomplete character, as written by the tokenizers, or a character."""
_SPECIAL = re.compile(r"<\|?[^<>\s]+\|?>|\[[A-Z]+\d*\]")


def token_runs(text: str) -> tuple[tuple[str, bool], ...]:
    """Split a token into runs of letters and of marks.

    Parameters
    ----------
    text
        The token's text, such as ``" my"``.

    Returns
    -------
    tuple of (str, bool)
        Text runs in order, and whether each is a mark for something invisible. An empty token gives
        the single mark ``∅``.
    """
    runs: list[tuple[str, bool]] = []
    for part in _PARTS.findall(text):
        shown, is_mark = (part, True) if len(part) > 1 else _visible(part)
        if runs and runs[-1][1] == is_mark:
            runs[-1] = (runs[-1][0] + shown, is_mark)
        else:
            runs.append((shown, is_mark))
    return tuple(runs) or (("∅", True),)


def token_label(text: str) -> str:
    """Return a token with its invisible characters as marks: ``"·my"`` for ``" my"``."""
    return "".join(shown for shown, _ in token_runs(text))


def has_bytes(text: str) -> bool:
    """Return whether a token contains bytes of incomplete characters."""
    return any(len(part) > 1 for part in _PARTS.findall(text))


def is_special(text: str) -> bool:
    """Return whether a token looks like a control token: ``<|endoftext|>``, ``[CLS]``, ``</s>``."""
    return _SPECIAL.fullmatch(text) is not None


def _visible(character: str) -> tuple[str, bool]:
    if character in _MARKS:
        return _MARKS[character], True
    # Controls, formats (zero-width joiners), separators, lone surrogates and unassigned codes.
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp", "Zs"}:
        return f"⟨{ord(character):04X}⟩", True
    return character, False
