"""Parts of a file of saved work: cameras and alignments.

Invalid values raise ValueError or TypeError, missing ones KeyError; the reader of the whole file
reports them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import numpy as np
from msgspec import Meta, convert

from geometry.checkpoints.column_files import (
    MAX_NUMBER,
    MAX_POSITIONS,
    MAX_TEXT_LENGTH,
    PositionColumn,
)
from geometry.measures.alignment import Middle
from gui.state.aligned_curve import Coloring, CurveAlignment, How, OfOther, OfRange, OfStep
from gui.state.camera import CameraPose, Place
from gui.state.fields import Name, Whole

log = logging.getLogger(__name__)

T = TypeVar("T")

ORTHOGONAL = 1e-6
"""Maximum deviation of a display transform's axes from orthogonal ones of length 1."""


class LeftOut:
    """Reads optional parts of saved work, and collects the names of invalid ones."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def read(self, name: str, read: Callable[[], T], default: T) -> T:
        """Return a part, or the default for an invalid one."""
        try:
            return read()
        except (KeyError, TypeError, ValueError) as error:
            log.warning("%s is left out: %s", name, error)
            if name not in self.names:
                self.names.append(name)
            return default

    def convert(self, name: str, value: object, kind: Any, default: Any) -> Any:
        """Return a part as a type, or the default for an invalid one."""
        return self.read(name, lambda: convert(value, kind), default)


def pack_place(place: Place | None) -> dict[str, np.ndarray]:
    """Return a camera's place as arrays by name; none if there has been no view yet."""
    if place is None:
        return {}
    pose = place.pose
    return {
        "camera_position": pose.position,
        "camera_focal_point": pose.focal_point,
        "camera_up": pose.up,
        "camera_parallel_scale": np.array(pose.parallel_scale),
    }


def unpack_place(arrays: Mapping[str, np.ndarray], follows: bool, which: str = "") -> Place | None:
    """Return a camera's place; ``which`` is the suffix of its arrays' names."""
    if f"camera_position{which}" not in arrays:
        return None
    pose = CameraPose(
        numbers(arrays, f"camera_position{which}", (3,)),
        numbers(arrays, f"camera_focal_point{which}", (3,)),
        numbers(arrays, f"camera_up{which}", (3,)),
        float(numbers(arrays, f"camera_parallel_scale{which}", ())),
    )
    if not pose.usable:
        raise ValueError(f"nothing can be seen by camera{which}")
    return Place(pose, follows)


def unpack_turn(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a display transform: a rotation, perhaps with one axis mirrored."""
    turn = numbers(arrays, "turn", (3, 3))
    small = (np.abs(turn) <= 1 + ORTHOGONAL).all()  # False for NaN
    if not (small and np.allclose(turn @ turn.T, np.eye(3), rtol=0, atol=ORTHOGONAL)):
        raise ValueError("turn should be orthogonal")
    return turn


def numbers(arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of float64 numbers of this shape."""
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{name} should be {shape} numbers")
    return array


def pack_alignment(wanted: CurveAlignment) -> dict[str, object]:
    """Return an alignment as JSON."""
    what = wanted.what
    if isinstance(what, OfOther):
        target: dict[str, object] = {"other": what.key}
    elif isinstance(what, OfRange):
        target = {"range": list(what.positions)}
    else:
        target = {"step": what.step}
    return {
        **target,
        "how": wanted.how,
        "mirrored": wanted.mirrored,
        "middle": wanted.middle,
        "coloring": wanted.coloring,
    }


@dataclass(frozen=True, slots=True)
class _Alignment:
    """An alignment in JSON: with one of ``other``, ``range`` and ``step``."""

    how: How
    mirrored: bool
    middle: Middle | None
    coloring: Coloring = "matched"  # 0.1 had no other
    other: Whole | None = None
    range: tuple[Whole, Whole] | None = None
    step: Whole | None = None


def unpack_alignment(value: object, n_others: int) -> CurveAlignment | None:
    """Return an alignment from JSON; ``n_others`` is the number of other models."""
    if value is None:
        return None
    content = convert(value, _Alignment)
    match content:
        case _Alignment(other=int(key), range=None, step=None) if key < n_others:
            what: OfOther | OfRange | OfStep = OfOther(key)
        case _Alignment(other=None, range=(first, last), step=None):
            what = OfRange((first, last))
        case _Alignment(other=None, range=None, step=int(step)):
            what = OfStep(step)
        case _:
            raise ValueError("an alignment without its curve")
    return CurveAlignment(what, content.how, content.mirrored, content.middle, content.coloring)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the user's own table in JSON."""

    name: Name
    file: Name
    values: Annotated[
        tuple[
            Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
            | Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]
            | None,
            ...,
        ],
        Meta(max_length=MAX_POSITIONS),
    ]


def unpack_column(value: object) -> PositionColumn:
    """Return a column from JSON."""
    column = convert(value, _Column)
    return PositionColumn(column.name, column.file, column.values)
