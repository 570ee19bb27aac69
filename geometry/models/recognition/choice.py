"""What a user chooses of a checkpoint: the table, the family, the rows before position 0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import some_of
from geometry.models.families.code_families import CODES
from geometry.models.families.model_types import FAMILIES, PARTS
from geometry.models.families.names import by_name
from geometry.models.recognition.without_table import WITHOUT_TABLE

_OPTION = re.compile(r"(.*?)(?:^|;)(family|first-rows)=([^;=]*)", re.DOTALL)
"""The last option of a choice, and what precedes it."""

ALIASES: Mapping[str, str] = by_name(
    {"nanogpt llmc": "gpt2", "mae dino": "timm", "lecture": "Karpathy's lecture"}
)
"""Families by further names of the codes that write them, without spaces and punctuation."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice, whose text is the ``table`` argument of ``open_model``.

    Attributes
    ----------
    table
        The tensor of positions, or rows of it, such as "pe.weight[2:]"; or a side of a model with
        two tables; "" if it is found.
    family
        A name of :func:`family_named`; "" if it is found.
    first_rows
        Number of rows before position 0; None for that of the family.
    """

    table: str = ""
    family: str = ""
    first_rows: int | None = None

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Parse the text of a choice: "pe.weight;family=roberta;first-rows=2", or parts of that.

        Raises SourceError: The number of first rows is none.
        """
        choice = cls(text)
        while (option := _OPTION.fullmatch(choice.table)) is not None:
            table, key, value = option.groups()
            if key == "family":
                choice = replace(choice, table=table, family=choice.family or value.strip())
            elif not re.fullmatch(r"[0-9]{1,9}", value.strip()):
                raise SourceError(
                    f"{value!r} is no number of first rows.", "Use a number such as 0, 1 or 2."
                )
            else:
                choice = replace(choice, table=table, first_rows=int(value))
        return choice

    def __str__(self) -> str:
        rows = "" if self.first_rows is None else f"first-rows={self.first_rows}"
        family = f"family={self.family}" if self.family else ""
        return ";".join(filter(None, (self.table, family, rows)))


def choice_of(
    table: str | None, family: str | None = None, first_rows: int | None = None
) -> str | None:
    """Return the text of a choice by its parts; None for no choice.

    Raises SourceError: ``table`` is no text of a choice.
    """
    if family is None and first_rows is None:
        return table
    choice = Choice.parse(table or "")
    if family is not None:
        choice = replace(choice, family=family)
    if first_rows is not None:
        choice = replace(choice, first_rows=first_rows)
    return str(choice) or None


def family_names() -> tuple[str, ...]:
    """Return the names of all families: of transformers' ``model_type``, and of other codes."""
    return tuple(dict.fromkeys((*FAMILIES, *CODES, *PARTS, *WITHOUT_TABLE)))


def family_named(text: str) -> str:
    """Return the family of a name, regardless of case, spaces and punctuation.

    Raises SourceError: There is none.
    """
    if text in family_names():
        return text
    names = dict(_by_letters())
    if found := names.get(_letters(text)):
        return found
    near = get_close_matches(_letters(text), names, 4)
    known = [names[word] for word in near] or ["gpt2", "bert", "roberta", "vit"]
    raise SourceError(
        f"There is no family {text!r}.", f"Use the name of one, such as {some_of(known, 4)}."
    )


def _by_letters() -> Iterator[tuple[str, str]]:
    yield from ALIASES.items()
    yield from ((_letters(name), name) for name in reversed(family_names()))


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
