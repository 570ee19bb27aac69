"""Parts of a file of saved work: cameras and alignments.

Invalid values raise ValueError or TypeError, missing ones KeyError; the reader of the whole file
reports them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast, get_args

import numpy as np

from geometry.checkpoints.column_files import (
    LONGEST_TEXT,
    MAX_NUMBER,
    MAX_POSITIONS,
    PositionColumn,
)
from geometry.measures.alignment import Middle
from gui.state.aligned_curve import Coloring, CurveAlignment, How, OfCompared, OfRange, OfStep
from gui.state.camera import CameraPose, Place
from gui.state.fields import LONGEST_NAME, flag, whole
from gui.state.values import Fields, within

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
            self.out(name)
            return default

    def out(self, name: str) -> None:
        """Note that a part is invalid."""
        if name not in self.names:
            self.names.append(name)


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


def text(value: object, longest: int = LONGEST_NAME) -> str:
    """Check that a value is text of at most ``longest`` characters, and return it."""
    if not isinstance(value, str) or len(value) > longest:
        raise TypeError("this is not a text, or too long")
    return value


def tupled(value: object) -> object:
    """Return lists as tuples, recursively, and other values unchanged."""
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def table(value: object) -> Fields:
    """Check that a value is a mapping, and return it."""
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} has no names")
    return value


def row(value: object) -> Sequence[object]:
    """Check that a value is a list, and return it."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def pack_alignment(wanted: CurveAlignment) -> dict[str, object]:
    """Return an alignment as JSON."""
    what = wanted.what
    if isinstance(what, OfCompared):
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


def unpack_alignment(content: Fields, n_others: int) -> CurveAlignment:
    """Return an alignment from JSON; ``n_others`` is the number of compared models."""
    what, how, middle, mirrored = (
        _what(content, n_others),
        content["how"],
        content["middle"],
        content["mirrored"],
    )
    if how not in get_args(How) or middle not in (None, *get_args(Middle)):
        raise ValueError(f"a curve cannot be aligned as {how!r}, {middle!r}")
    if not flag(mirrored):
        raise ValueError(f"mirrored cannot be {mirrored!r}")
    coloring = content.get("coloring", "matched")  # 0.1 had no other
    if coloring not in get_args(Coloring):
        raise ValueError(f"coloring cannot be {coloring!r}")
    return CurveAlignment(
        what, cast("How", how), mirrored, cast("Middle | None", middle), cast("Coloring", coloring)
    )


def _what(content: Fields, n_others: int) -> OfCompared | OfRange | OfStep:
    kinds = content.keys() & {"other", "range", "step"}
    other, step = content.get("other"), content.get("step")
    if kinds == {"other"} and whole(other) and other < n_others:
        return OfCompared(other)
    if kinds == {"range"}:
        first, last = row(content["range"])
        if whole(first) and whole(last):
            return OfRange((first, last))
    if kinds == {"step"} and whole(step):
        return OfStep(step)
    raise ValueError(f"{dict(content)!r} is not the curve of an alignment")


def pack_column(column: PositionColumn) -> dict[str, object]:
    """Return a column of the user's own table as JSON, with its values."""
    return {"name": column.name, "file": column.file, "values": list(column.values)}


def unpack_column(content: Fields) -> PositionColumn:
    """Return a column from JSON."""
    values = row(content["values"])
    if len(values) > MAX_POSITIONS:
        raise ValueError(f"a column has {len(values)} values")
    return PositionColumn(
        text(content["name"]),
        text(content["file"]),
        tuple(_column_value(value) for value in values),
    )


def _column_value(value: object) -> float | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return text(value, LONGEST_TEXT)
    if within(value, (-MAX_NUMBER, MAX_NUMBER)):
        return float(value)
    raise ValueError(f"a column has the value {value!r}")
