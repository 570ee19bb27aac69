"""Declarations of the session's fields, and the types that values from files are read as."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

MAX_MODELS = 9
"""Maximum number of open models, three by three in the grid."""
MAX_WHOLE = 2**31 - 1
"""Largest integer of a saved field: Qt's controls hold none beyond."""
MAX_NAME_LENGTH = 10_000
"""Maximum number of characters of a name or a path in saved work: twice those of any path."""
MAX_TEXT_LENGTH = 1_000_000
"""Maximum number of characters of a note or a prompt in saved work: ten times those that are split
into tokens.
"""
Whole = Annotated[int, Meta(ge=0, le=MAX_WHOLE)]
Counting = Annotated[int, Meta(ge=1, le=MAX_WHOLE)]
"""An integer from 1."""
Numbers = Annotated[tuple[Counting, ...], Meta(min_length=1)]
"""Integers from 1, at least one of them."""
Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Text = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]
Three = tuple[Counting, Counting, Counting]
"""Three components."""
Selection = Annotated[tuple[Whole, ...], Meta(max_length=100_000)]
"""Positions, at most those of the largest tables."""
UNCHANGED = object()
"""Sentinel: the current value is kept."""
_TRAITS = "traits"


def one_of(*allowed: object) -> Any:
    """Return the type of some values."""
    return Literal.__getitem__(allowed)


def integer(minimum: int, maximum: int = MAX_WHOLE) -> Any:
    """Return the type of integers within two bounds, both included."""
    return Annotated[int, Meta(ge=minimum, le=maximum)]


def between(bounds: tuple[float, float]) -> Any:
    """Return the type of numbers within two bounds, both included."""
    return Annotated[float, Meta(ge=bounds[0], le=bounds[1])]


def as_json(value: object) -> Any:
    """Return a value with lists for its tuples, and dicts for its dataclasses."""
    if is_dataclass(value):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
    return [as_json(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Traits:
    """How the application uses a field of the session."""

    undo: str = ""  # Its name in the Edit menu; "" if its changes are not undone
    saved: Any = None  # The type of its values in files of saved work; None if it is not saved
    absent: object = UNCHANGED  # The value for files that lack the field
    linked: bool = False  # Whether all views show the open model's value
    drawn: bool = False  # Whether the 3D view shows it
    setting: str = ""  # Its key in the settings; "" if it is not stored there


def traits(**given: Any) -> dict[str, Traits]:
    """Return the metadata of a dataclass field; the arguments are those of :class:`Traits`."""
    return {_TRAITS: Traits(**given)}


def traits_of(cls: Any) -> dict[str, Traits]:
    """Return the traits of all fields of a dataclass, by their names."""
    return {f.name: f.metadata.get(_TRAITS, Traits()) for f in fields(cls)}
