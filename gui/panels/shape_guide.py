"""A fitted curve and its axis, to be drawn beside the positions. No Qt here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gui.panels.figure_text import CURVES
from gui.state.guides import Guide
from gui.style.theme import format_number

if TYPE_CHECKING:
    from geometry.measures.shape import ShapeFit
    from gui.panels.shape_question import Shape

PER_TURN = 64
"""Points of a turn: its corners cannot be seen."""
BEYOND = 0.06
"""How far an axis goes on at either end, as a share of the climb."""
MANY_TURNS = 24
"""So many turns of a dark line would be a wall."""
LEAST_AXIS = 0.3
"""Half the length of an axis, in radii, where nothing or little climbs."""


def shape_guide(shape: Shape, name: str) -> Guide:
    """Draw one of the curves, and its axis dashed if it turns.

    Parameters
    ----------
    shape
        What was fitted.
    name
        "line", "circle", "helix" or "drifting_helix".
    """
    fit, last = shape.fits[name], len(shape.coordinates) - 1
    count = 2 if name == "line" else math.ceil(PER_TURN * max(fit.turns, 1.0)) + 1
    axis = () if name == "line" else (axis_line(fit),)
    said = f"thin line: {CURVES[name]} fitted to them, R² {format_number(fit.r2)}"
    return Guide(
        shape.pca,
        shape.components,
        lines=(fit.at(np.linspace(0.0, last, count)),),
        dashed=axis,
        caption=f"{said} · dashed: its axis" if axis else said,
        pale=shape.best == "none" or fit.turns > MANY_TURNS,
    )


def axis_line(fit: ShapeFit) -> np.ndarray:
    """Return the ends of the axis of what turns: (2, 3)."""
    climbed = fit.climb * (len(fit.values) - 1) / 2
    half = max((1 + 2 * BEYOND) * climbed, LEAST_AXIS * abs(fit.radius))
    return np.array([fit.centre - half * fit.frame[2], fit.centre + half * fit.frame[2]])
