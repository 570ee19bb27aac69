"""Notes on a model's making: what was imposed on its positions, rather than learned.

They are written by the trainer into ``training.json``, and by hand into the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.plain_text import visible

FILE_NAME = "training.json"
MOST, LONGEST = 32, 1000
"""Maximum number of notes and of the claims of each, and of characters of a sentence."""
_Text = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
_Count = Annotated[int, Meta(ge=0, lt=2**53)]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about a model's making.

    Attributes
    ----------
    sentence
        What was imposed, for example "Its positions were trained in three dimensions.".
    claims
        Ids of the claims that hold by construction because of it.
    since
        Steps of the training after which it is true.
    """

    sentence: _Text
    claims: Annotated[tuple[_Text, ...], Meta(max_length=MOST)] = ()
    since: _Count = 0


@dataclass(frozen=True, slots=True)
class Making:
    """What is known of a model's making.

    Attributes
    ----------
    notes
        Notes on it.
    untrained
        Number of last rows that never received a gradient.
    """

    notes: Annotated[tuple[Note, ...], Meta(max_length=MOST)] = ()
    untrained: _Count = 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields of ``training.json``."""
        return asdict(self)

    def at(self, step: int) -> Making:
        """Return what is known of the table after some steps of the training."""
        return Making(tuple(note for note in self.notes if note.since <= step), self.untrained)


def parse_making(fields: Any) -> Making:
    """Read notes from parsed JSON or TOML; other fields are ignored.

    Raises
    ------
    SourceError
        They are not of the expected types, or too many or too long.
    """
    try:
        making = convert(fields, Making)
    except ValidationError as error:
        raise SourceError(f"These are no notes on a model's making: {error}.") from error
    notes = (
        Note(visible(note.sentence), tuple(map(visible, note.claims)), note.since)
        for note in making.notes
    )
    return Making(tuple(notes), making.untrained)


def read_making(folder: Path) -> tuple[Making, str]:
    """Read the notes in a model's folder, and a sentence about why there are none, or "".

    A ``training.json`` of another program is no error.
    """
    file = folder / FILE_NAME
    try:
        return (parse_making(read_json(file)) if file.is_file() else Making()), ""
    except SourceError as error:
        return Making(), f"{FILE_NAME} is passed over: {error}"


def sentences(notes: Sequence[Note], *claims: str) -> tuple[str, ...]:
    """Return the sentences of the notes because of which some claims hold by construction.

    Parameters
    ----------
    notes
        Of a model.
    claims
        Beginnings of the claims' ids, such as "effects.".
    """
    return tuple(
        note.sentence for note in notes if any(claim.startswith(claims) for claim in note.claims)
    )
