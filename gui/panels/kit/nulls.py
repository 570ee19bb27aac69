"""A panel's number beside its null distribution, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.evidence.null import weigh
from gui.plots.spec import Band
from gui.style.outcomes import SIGNS, short
from gui.style.theme import Theme

if TYPE_CHECKING:
    from geometry.evidence.null import Band as NullBand
    from geometry.evidence.null import Null, Outcome, Side

RandomCurves = Literal["process", "walk"]
RANDOM_NAMES: dict[RandomCurves, str] = {"process": "smooth random curves", "walk": "random walks"}
"""Names of random curves, by the name of their null distribution."""
MIN_RANDOM = 8
"""Minimum number of positions of a range that is compared with random curves."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a panel's number beside its null distribution."""

    text: str  # Part of a sentence: the number, and that of random tables
    outcome: Outcome
    null: Null

    @classmethod
    def of(cls, text: str, holds: bool, value: float, side: Side, null: Null) -> Finding:
        """Weigh a number; see :func:`geometry.evidence.null.weigh`."""
        return cls(text, weigh(holds, value, side, null), null)

    @property
    def mark(self) -> str:
        """The outcome's mark and words."""
        words = short(self.outcome, self.null)
        if self.outcome == "as any smooth curve" and self.null.name == "walk":
            words = f"as {random_name(self.null)}"  # which are not smooth
        return f"{SIGNS[self.outcome]} {words}"

    def __str__(self) -> str:
        return f"{self.mark}: {self.text}"


def random_name(null: Null | NullBand) -> str:
    """Return the name of the random curves of a null distribution."""
    return {str(name): text for name, text in RANDOM_NAMES.items()}[null.name]


def null_band(x: np.ndarray, band: NullBand, theme: Theme, label: str = "") -> Band:
    """Return the band that contains 90 % of the random curves at each x."""
    label = label or f"90 % of {random_name(band)}"
    return Band(x, band.low, band.high, theme.muted, label, band.middle)


def band_columns(band: NullBand) -> dict[str, np.ndarray]:
    """Return the columns of a band for a panel's numbers."""
    return {
        f"{band.name}_p5": band.low,
        f"{band.name}_p50": band.middle,
        f"{band.name}_p95": band.high,
    }
