"""What a panel draws beside the curve: which of it is true of what is shown. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from geometry.pca.components import PositionPCA

if TYPE_CHECKING:
    pass

SAME_DIRECTION = 1e-6
"""How far the cosine of two components that count as one may be from 1."""
SAME_MEAN = 1e-5
"""How far two means that count as one may be apart, of their largest entry."""


@dataclass(frozen=True, eq=False, slots=True)
class Guide:
    """Lines and points in the coordinates of the shown components, drawn thin and grey.

    They mean something in one basis only. While another one is shown, or the model as it was
    during its training, they are hidden; nobody need take them away for that.

    Attributes
    ----------
    pca
        The components behind them; one that was fitted anew to the same range counts as the same.
    components
        The three that the coordinates are in, from 1.
    lines : each (m, 3)
        Polylines.
    dashed : each (m, 3)
        Polylines drawn dashed.
    segments : (s, 2, 3)
        Short straight lines, paler than the others.
    points : (k, 3)
        Small points.
    matched : (k,)
        Of another curve's points, the positions whose colours they have; grey if None.
    positions : (k,)
        Positions that light up on the curve, whose other positions are pale meanwhile.
    weights : (k,)
        How strongly each of these does, 0 to 1: as large points.
    caption
        What all this is, for a line or two under the curve; none if "".
    texts : each ((3,), str)
        Where something is written, and what.
    pale
        Whether the polylines are thinner and paler, as of what hardly describes anything.
    """

    pca: PositionPCA
    components: tuple[int, ...]
    lines: tuple[np.ndarray, ...] = ()
    dashed: tuple[np.ndarray, ...] = ()
    segments: np.ndarray | None = None
    points: np.ndarray | None = None
    matched: np.ndarray | None = None
    positions: np.ndarray | None = None
    weights: np.ndarray | None = None
    caption: str = ""
    texts: tuple[tuple[np.ndarray, str], ...] = ()
    pale: bool = False


NO_GUIDES: Mapping[str, Guide] = MappingProxyType({})


def with_guide(guides: Mapping[str, Guide], slot: str, guide: Guide | None) -> Mapping[str, Guide]:
    """Return the guides with another one in a slot, or with none there.

    They are in the order of their slots' names: what is said of them keeps its place, whichever was
    drawn last.
    """
    if guide is None and slot not in guides:
        return guides
    others = {name: one for name, one in guides.items() if name != slot}
    if guide is not None:
        others[slot] = guide
    return MappingProxyType(dict(sorted(others.items())))


def same_basis(pca: PositionPCA, other: PositionPCA, components: tuple[int, ...]) -> bool:
    """Tell whether two fits give a row the same coordinates in some components, from 1."""
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
