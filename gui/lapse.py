"""A training history as the viewport shows it: curves that are there already. Knows no toolkit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gui.theme import format_count, format_number, format_rough

if TYPE_CHECKING:
    from geometry.history.history import History
    from geometry.history.timelapse import Basis, Timelapse

COMPONENTS = (1, 2, 3)
"""What a time-lapse is seen in, 1-based."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """A history, made ready over one range of positions, in one basis.

    Attributes
    ----------
    history
        What it is of.
    timelapse
        Its coordinates in both bases, and what was measured on each snapshot.
    basis
        The one it is seen in.
    """

    history: History
    timelapse: Timelapse
    basis: Basis

    @property
    def coordinates(self) -> npt.NDArray[np.float32]:
        """(n, n_positions, 3) float32, read-only: every snapshot's rows in this basis."""
        return self.timelapse.coordinates(self.basis)

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position of the range, both inclusive."""
        return self.timelapse.positions

    @property
    def n_snapshots(self) -> int:
        """How many there are."""
        return len(self.timelapse.steps)

    def caption(self, snapshot: int) -> str:
        """Say which snapshot it is: step, tokens seen, loss, as far as they are known."""
        history = self.history
        parts = [f"step {format_count(int(history.steps[snapshot]))}"]
        if history.tokens is not None:
            parts.append(f"{format_rough(int(history.tokens[snapshot]))} tokens")
        if history.losses is not None and np.isfinite(history.losses[snapshot]):
            parts.append(f"loss {format_number(float(history.losses[snapshot]))}")
        return " · ".join(parts)
