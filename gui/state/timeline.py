"""A training history as curves for the viewport."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geometry.measures.neighbours import PositionDetails, position_details
from geometry.pca.pca import fit_pca
from gui.style.theme import format_count, format_number, format_percent, format_rough

if TYPE_CHECKING:
    from geometry.history.history import History
    from geometry.history.timelapse import Basis, Timelapse

COMPONENTS = (1, 2, 3)
"""The components of a timeline, 1-based."""


@dataclass(frozen=True, slots=True)
class TrainingTimeline:
    """A history as curves over one range of positions, in one basis."""

    history: History
    timelapse: Timelapse  # Its coordinates in both bases, and measurements of each snapshot
    basis: Basis  # The basis in use

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
        """Number of snapshots."""
        return len(self.timelapse.steps)

    def caption(self, snapshot: int) -> str:
        """Describe a snapshot: step, and if known, tokens seen and loss."""
        history = self.history
        step, *loss = self.readout(snapshot)
        parts = [step]
        if history.tokens is not None:
            parts.append(f"{format_rough(int(history.tokens[snapshot]))} tokens")
        return " · ".join([*parts, *loss])

    def readout(self, snapshot: int) -> list[str]:
        """Describe a snapshot briefly: step, and loss if known."""
        history = self.history
        parts = [f"{history.unit} {format_count(int(history.steps[snapshot]))}"]
        if history.losses is not None and np.isfinite(history.losses[snapshot]):
            parts.append(f"loss {format_number(float(history.losses[snapshot]))}")
        return parts

    def details(self, snapshot: int, position: int, components: tuple[int, ...]) -> PositionDetails:
        """Describe a position at a snapshot, whose table is read.

        Raises SourceError: it can no longer be read.
        """
        table, pca = self.history.table(snapshot), self.timelapse.pca
        if self.basis == "aligned":
            pca = fit_pca(table, self.positions, len(COMPONENTS))
        shown = self.coordinates[snapshot, position, [number - 1 for number in components]]
        return replace(
            position_details(table, pca, position, COMPONENTS), coordinates=shown.astype(float)
        )

    def basis_caption(self, snapshot: int) -> str:
        """Describe the components, and the share of variance they explain."""
        unit = self.history.unit
        if self.basis == "frozen":
            number = format_count(self.timelapse.basis_step)
            share = float(self.timelapse.frozen_variance_ratio[snapshot])
            held = format_percent(share)
            return f"PC 1–3 of {unit} {number} explain {held} of the variance at this {unit}"
        share = float(self.timelapse.top3[snapshot])
        return f"this {unit}’s own PC 1–3, aligned  =  {format_percent(share)} of its variance"


def columns_for(components: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the timeline's columns for the three axes that show these components, from 1.

    In the order of the components if they are its three; otherwise in its own order.
    """
    a, b, c = components if sorted(components) == list(COMPONENTS) else COMPONENTS
    return a - 1, b - 1, c - 1
