"""Sentences and captions from fragments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from geometry.checkpoints.plain_text import visible

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from geometry.models.recognition.choice import Choice

SHORT_COMMIT = 7
"""Digits of a commit in a caption, as in git."""


def as_sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop; names of tensors keep their case."""
    first = text.partition(" ")[0].rstrip(".")
    sentence = text if "." in first or "_" in first else text[:1].upper() + text[1:]
    return sentence if sentence.endswith((".", "…")) else f"{sentence}."


def thin_spaced(text: str) -> str:
    """Return a message of the library with thin spaces in its numbers, as elsewhere on screen."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "\N{THIN SPACE}", text)


def markdown_text(text: str) -> str:
    """Escape a text for Markdown, so that it starts neither HTML nor a link, code, or a cell."""
    return re.sub(r"([\\|<\[`])", r"\\\1", text)


def ranged(model: PositionalModel, positions: tuple[int, int]) -> str:
    """Name a range: "positions 1–1023"; "rows 0–6" where rows are lags, or have labels."""
    first, last = positions
    return f"{'positions' if model.of_positions else 'rows'} {first}–{last}"


def chosen_table(model: PositionalModel) -> str:
    """Name what was chosen as the table: "pe.weight, rows from 2"; "" for a family's.

    For a family's table, only the rows; for a source derived from a model, the choice there.
    """
    choice = model.table_choice
    if choice is None or choice == model.side:
        return ""
    if model.source.of is not None:
        return visible(choice)
    from geometry.models.recognition.choice import Choice  # with what opens models

    parts = Choice(choice) if choice in model.store.tensors else Choice.parse(choice)
    named = visible(model.table) if model.family is None else ""
    family = f"read as {visible(parts.family)}" if parts.family else ""
    return ", ".join(filter(None, (named, family, _rows(model, parts))))


def _rows(model: PositionalModel, choice: Choice) -> str:
    first = model.prefix_rows
    if choice.first_rows is not None:
        return f"rows from {first}"
    table = choice.table
    if not table.endswith("]") or table in model.store.tensors:
        return ""
    last = first + model.n_positions - 1
    return f"rows from {first}" if table.endswith(":]") else f"rows {first}–{last}"


def titled(model: PositionalModel) -> str:
    """Return a model's name with its commit: "gpt2 · 607a30d"."""
    if model.commit is None:
        return model.name
    name, _, revision = model.name.rpartition("@")
    # The name of a model opened by its commit contains it already.
    if not name or len(revision) < SHORT_COMMIT or not model.commit.startswith(revision):
        name = model.name
    return f"{name} · {model.commit[:SHORT_COMMIT]}"
