"""A second curve in the viewport, aligned with the shown one: the request and the result.

Independent of Qt; only fast computations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.measures.alignment import (
    Alignment,
    Middle,
    align,
    angles_between,
    common_positions,
    disparity,
    in_basis,
    share_held,
)
from geometry.pca.curve import Curve

if TYPE_CHECKING:
    from geometry.pca.components import Array, PositionPCA

How = Literal["turned", "scaled", "basis"]
Coloring = Literal["hues", "grey", "matched"]


@dataclass(frozen=True, slots=True)
class OfOther:
    """The curve of the other model with a key."""

    key: int


@dataclass(frozen=True, slots=True)
class OfRange:
    """Another range of the open model's positions, first and last."""

    positions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OfStep:
    """The shown positions of the open model at a step of its training."""

    step: int


@dataclass(frozen=True, slots=True)
class CurveAlignment:
    """Which curve to align with the shown one, and how."""

    what: OfOther | OfRange | OfStep
    # "turned": in its own components, shifted and rotated onto the shown one; "scaled": also
    # scaled; "basis": not fitted, but projected onto the components of the shown one.
    how: How = "scaled"
    # Whether to allow a reflection where that fits better; components' signs are arbitrary.
    mirrored: bool = True
    # For "basis": which mean is subtracted from its rows. Default: for the same model that of the
    # shown positions, so that its rows keep their place; for another model its own, since two
    # models have no common origin.
    middle: Middle | None = None
    # "hues": both in a hue of their own; "grey": the shown one keeps its colours; "matched": a thin
    # line whose beads have the colours of the positions they match.
    coloring: Coloring = "hues"

    @property
    def taken_off(self) -> Middle:
        """The mean that is subtracted for "basis"."""
        return self.middle or ("own" if isinstance(self.what, OfOther) else "basis")


@dataclass(frozen=True, eq=False, slots=True)
class Above:
    """The other curve: its table and components."""

    name: str  # Its model, range or step, without positions
    table: np.ndarray  # (n_positions, d_model): all its rows
    pca: PositionPCA  # Its own components, over its range
    components: tuple[int, ...]  # Components of its own display, from 1
    # Whether its rows match the shown ones in order, first to first, and not by position.
    in_order: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class More:
    """Results that take longer to compute."""

    # Disparity of the same rows in all d_model dimensions; None where the widths differ, and for
    # "basis".
    whole: float | None = None
    # For "basis": the share of the other rows' variance explained by the shown components, and by
    # its own.
    held: float | None = None
    own: float | None = None
    # (n,) float64: for "basis": principal angles between the two subspaces, in radians, increasing.
    angles: Array | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AlignedCurve:
    """A curve aligned with the shown one."""

    wanted: CurveAlignment
    above: Above
    curve: Curve  # The shown curve
    positions: tuple[int, int]  # First and last position of the other curve's rows
    # The shown positions that match these rows, one by one; for "basis" those to which the
    # components were fitted.
    onto: tuple[int, int]
    matched: np.ndarray  # (m,): the position of the open model that gives each row its colour
    coordinates: Array  # (m, 3) float64: in the shown components
    alignment: Alignment | None  # How it was aligned; None for "basis"
    more: More | None = None  # Slower results; None until they are known

    @property
    def rows(self) -> np.ndarray:
        """The aligned rows, (m, d_model)."""
        return _rows(self.above.table, self.positions)


class NotAligned(Exception):
    """Two curves cannot be aligned; the message is a sentence with the reason."""


def align_curve(
    wanted: CurveAlignment, above: Above, curve: Curve, n_positions: int
) -> AlignedCurve:
    """Align a curve with the shown one, of ``n_positions`` positions.

    Raises NotAligned: the curves cannot be aligned; the message gives the reason.
    """
    if wanted.how == "basis":
        return _in_shown_basis(wanted, above, curve, n_positions)
    positions, onto = _pairs(above, curve)
    own = in_basis(_rows(above.table, positions), above.pca, above.components)
    target = _rows(curve.coordinates, onto)
    try:
        alignment = align(own, target, scaled=wanted.how == "scaled", mirrored=wanted.mirrored)
    except ValueError:
        raise NotAligned("An alignment needs at least two positions that differ.") from None
    return AlignedCurve(
        wanted, above, curve, positions, onto, _each(onto), alignment.carry(own), alignment
    )


def _in_shown_basis(
    wanted: CurveAlignment, above: Above, curve: Curve, n_positions: int
) -> AlignedCurve:
    width, wide = above.table.shape[1], curve.pca.mean.size
    if width != wide:
        raise NotAligned(
            f"{above.name} has width {width}, the shown model {wide}: only tables of equal width "
            "can be shown in the same components. Use Rigid or Scaled to align them."
        )
    try:
        positions = common_positions(above.pca.positions, (0, n_positions - 1))
    except RangeError as error:
        raise NotAligned(f"These {error}.") from None
    rows = _rows(above.table, positions)
    coordinates = in_basis(rows, curve.pca, curve.components, wanted.taken_off)
    onto, matched = curve.pca.positions, _each(positions)
    return AlignedCurve(wanted, above, curve, positions, onto, matched, coordinates, None)


def find_more(aligned: AlignedCurve, base: np.ndarray) -> More:
    """Compute the slower results; ``base`` is the shown model's table, (n_positions, d_model)."""
    rows, above, curve = aligned.rows, aligned.above, aligned.curve
    if aligned.wanted.how != "basis":
        target = _rows(base, aligned.onto)
        return More(whole=disparity(rows, target) if rows.shape == target.shape else None)
    return More(
        held=share_held(rows, curve.pca, curve.components),
        own=share_held(rows, above.pca, above.components),
        angles=_angles(curve.pca, curve.components, above.pca, above.components),
    )


def _angles(
    ours: PositionPCA,
    components: Sequence[int],
    theirs: PositionPCA,
    their_components: Sequence[int],
) -> Array | None:
    try:
        return angles_between(ours, theirs, components, their_components)
    except ValueError:  # a short range may have none of the components
        return None


def _pairs(above: Above, curve: Curve) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the first and last matching position of both curves."""
    theirs, ours = above.pca.positions, curve.pca.positions
    if above.in_order:
        more = min(theirs[1] - theirs[0], ours[1] - ours[0])
        return (theirs[0], theirs[0] + more), (ours[0], ours[0] + more)
    try:
        common = common_positions(theirs, ours)
    except RangeError as error:
        raise NotAligned(f"The {error}.") from None
    return common, common


def _rows(table: np.ndarray, positions: tuple[int, int]) -> np.ndarray:
    return table[positions[0] : positions[1] + 1]


def _each(positions: tuple[int, int]) -> np.ndarray:
    return np.arange(positions[0], positions[1] + 1)
