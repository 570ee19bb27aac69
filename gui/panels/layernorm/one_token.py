"""A typed token: a text that is one token, or a token's number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from geometry.checkpoints.errors import HelixscopeError, TensorUnavailable
from geometry.measures.interference import check_rows
from geometry.models.model import PositionalModel
from gui.style.sentences import as_sentence
from gui.style.theme import format_count
from gui.style.token_text import token_label

SHOWN_PIECES = 4
"""Number of tokens named for a text that is not one token."""
_NUMBER = re.compile(r"\s*#?(\d{1,18})\s*")


@dataclass(frozen=True, slots=True)
class AnyToken:
    """A token, or why there is none."""

    id: int | None  # Its row of W_E; None if there is none
    text: str = ""  # Its readable text, with visible blanks; "token 7" without a tokenizer
    why: str = ""  # Why there is none, as a sentence; else ""


def read_token(model: PositionalModel, typed: str, count: int) -> AnyToken:
    """Return the token of a typed text.

    Parameters
    ----------
    model
        The model whose tokenizer splits the text, if it has one.
    typed
        A text that is one token, including blanks; or ``#7``, or ``7`` without a tokenizer.
    count
        Number of tokens.
    """
    if typed.lstrip().startswith("#") and (number := _NUMBER.fullmatch(typed)):
        return _numbered(model, int(number[1]), count)
    try:
        ids = model.token_ids(typed)
    except TensorUnavailable:
        if number := _NUMBER.fullmatch(typed):
            return _numbered(model, int(number[1]), count)
        return AnyToken(None, why=f"No tokenizer available: enter a token id, 0–{count - 1}.")
    except HelixscopeError as error:
        return AnyToken(
            None, why=f"{as_sentence(str(error))} Enter a token id instead: #0–#{count - 1}."
        )
    if len(ids) == 1:
        return _numbered(model, ids[0], count)
    return AnyToken(None, why=_why_not_one(model, typed, ids))


def write_token(model: PositionalModel, token: int) -> str:
    """Return the text to type for a token: its own, or its number if no text gives it."""
    try:
        text = model.token_text(token)
        if text and model.token_ids(text) == (token,):
            return text
    except HelixscopeError:
        pass
    return f"#{token}"


def _numbered(model: PositionalModel, token: int, count: int) -> AnyToken:
    try:
        check_rows("token", (token,), count)
    except HelixscopeError as error:
        return AnyToken(None, why=as_sentence(str(error)))
    try:
        text = model.token_text(token)
    except HelixscopeError:
        text = None
    return AnyToken(token, token_label(text) if text else f"token {token}")


def _why_not_one(model: PositionalModel, typed: str, ids: Sequence[int]) -> str:
    """Return the reason why a text is not a single token, with a hint."""
    if not typed:
        return "Enter a token: text, or an id such as #100."
    if not ids:
        return f"“{token_label(typed)}” is not a token."
    pieces = [token_label(model.token_text(token) or f"#{token}") for token in ids[:SHOWN_PIECES]]
    if len(ids) > SHOWN_PIECES:
        pieces.append("…")
    with_blank = len(model.token_ids(f" {typed}")) == 1
    hint = "with a leading space it is a single token." if with_blank else "enter a single token."
    shown = " | ".join(pieces)
    return f"“{token_label(typed)}” is {format_count(len(ids))} tokens, {shown}: {hint}"
