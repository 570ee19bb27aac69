"""Guides: drawings of panels beside the curve, valid in one basis only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from geometry.pca.components import PositionPCA

SAME_DIRECTION = 1e-6
"""Largest deviation from 1 of the cosine of two components that count as equal."""
SAME_MEAN = 1e-5
"""Largest difference of two means that count as equal, relative to their largest entry."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change of the positions: its name, and the number of rows that it is computed from.

    See :func:`geometry.inside.interventions.find_change`.
    """

    name: str
    length: int


@dataclass(frozen=True, eq=False, slots=True)
class Guide:
    """Lines and points in the coordinates of the shown components, thin and grey.

    They are valid in one basis only, and hidden automatically while another one is shown, or a
    snapshot of the training.
    """

    pca: PositionPCA  # Their components; a new fit of the same range counts as the same
    components: tuple[int, ...]  # The three components of the coordinates, from 1
    lines: tuple[np.ndarray, ...] = ()  # each (m, 3): polylines
    dashed: tuple[np.ndarray, ...] = ()  # each (m, 3): polylines drawn dashed
    segments: np.ndarray | None = None  # (s, 2, 3): short straight lines, paler than the others
    points: np.ndarray | None = None  # (k, 3): small points
    # (k,): positions that give another curve's points their colours; grey if None.
    matched: np.ndarray | None = None
    # (k,): highlighted positions; the rest of the curve is pale.
    positions: np.ndarray | None = None
    weights: np.ndarray | None = None  # (k,): weight of each of these, 0 to 1, shown as point size
    # Its own colours: a map for the lines and points, by the values of the shown curve's positions
    # that they match, which for lines are in ``along``; and the map of the shown curve meanwhile,
    # "" for its own.
    colormap: str = ""
    along: np.ndarray | None = None
    curve_colormap: str = ""
    name: str = ""  # Its name in the legend, where it has its own colours
    caption: str = ""  # Description in a line or two under the curve; none if ""
    texts: tuple[tuple[np.ndarray, str], ...] = ()  # each ((3,), str): texts and their positions
    pale: bool = False  # Whether the polylines are thinner and paler, as for poor fits
    ghost: bool = False  # Whether it replaces the curve, which is pale meanwhile
    change: ShownChange | None = None  # The change of the positions that it shows; None for none

    @property
    def curves(self) -> tuple[np.ndarray, ...]:
        """Each (m, 3): its lines, and the points of another curve."""
        if self.points is None or self.matched is None:
            return self.lines
        return (*self.lines, self.points)


NO_GUIDES: Mapping[str, Guide] = MappingProxyType({})


def with_guide(guides: Mapping[str, Guide], slot: str, guide: Guide | None) -> Mapping[str, Guide]:
    """Return the guides with one replaced in, or removed from, a slot.

    They are ordered by their slots' names, so that captions keep their place.
    """
    if guide is None and slot not in guides:
        return guides
    kept = {name: shown for name, shown in guides.items() if name != slot}
    if guide is not None:
        kept[slot] = guide
    return MappingProxyType(dict(sorted(kept.items())))


def same_basis(pca: PositionPCA, other: PositionPCA, components: tuple[int, ...]) -> bool:
    """Return whether two fits have the same coordinates in some components, from 1."""
    if pca is other:
        return True
    count = min(len(pca.components), len(other.components))
    if pca.positions != other.positions or max(components) > count:
        return False
    if pca.mean.shape != other.mean.shape:
        return False
    chosen = [number - 1 for number in components]
    cosines = np.einsum("ij,ij->i", pca.components[chosen], other.components[chosen])
    apart = np.abs(pca.mean - other.mean).max(initial=0.0)
    return bool(
        (cosines >= 1.0 - SAME_DIRECTION).all()
        and apart <= SAME_MEAN * max(float(np.abs(pca.mean).max(initial=0.0)), 1e-300)
    )
