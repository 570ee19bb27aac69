"""A training history as the viewport shows it: curves that are there already. Knows no toolkit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gui.style.theme import format_count, format_number, format_percent, format_rough

if TYPE_CHECKING:
    from geometry.history.history import History
    from geometry.history.timelapse import Basis, Timelapse

COMPONENTS = (1, 2, 3)
"""What a time-lapse is seen in, 1-based."""


@dataclass(frozen=True, slots=True)
class TrainingTimeline:
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
        step, *loss = self.readout(snapshot)
        parts = [step]
        if history.tokens is not None:
            parts.append(f"{format_rough(int(history.tokens[snapshot]))} tokens")
        return " · ".join([*parts, *loss])

    def readout(self, snapshot: int) -> list[str]:
        """Say in short which snapshot it is: step, and loss if it is known."""
        history = self.history
        parts = [f"step {format_count(int(history.steps[snapshot]))}"]
        if history.losses is not None and np.isfinite(history.losses[snapshot]):
            parts.append(f"loss {format_number(float(history.losses[snapshot]))}")
        return parts

    def basis_caption(self, snapshot: int) -> str:
        """Say in which components it is seen, and how much of its variance they hold."""
        if self.basis == "frozen":
            last = format_count(int(self.timelapse.steps[-1]))
            share = float(self.timelapse.frozen_variance_ratio[snapshot])
            held = format_percent(share)
            return f"PC 1–3 of step {last} hold {held} of the variance at this step"
        share = float(self.timelapse.top3[snapshot])
        return f"this step’s own PC 1–3, aligned  =  {format_percent(share)} of its variance"


def columns_for(components: tuple[int, ...]) -> tuple[int, int, int]:
    """Return which of a time-lapse's columns go on the three axes for components, from 1.

    In the order of the components if they are its three; else as they are.
    """
    a, b, c = components if sorted(components) == list(COMPONENTS) else COMPONENTS
    return a - 1, b - 1, c - 1
