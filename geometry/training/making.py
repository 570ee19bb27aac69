"""What a run's settings impose on its positions, as notes for whoever judges them."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial

from geometry.models.notes import Making, Note
from geometry.training.schedule import positions_in_use
from geometry.training.settings import TrainingSettings

CURVE = 3
"""Dimensions of the curve that the claims are about."""
MOVED = (
    "shape.helix",
    "shape.turns",
    "effects.helix",
    "lookback.everywhere",
    "lookback.rotation",
    "lookback.angle",
)
"""Claims that hold for a curve in three dimensions that a rigid motion continues (Chasles)."""


def making_of(settings: TrainingSettings) -> Making:
    """Return the notes on a run.

    Parameters
    ----------
    settings
        Of the run.

    Returns
    -------
    Making
        A limit on the directions of P, and the continuation of the curve in these directions; no
        notes if all rows are free. The last row is always untrained, since no token is predicted
        from it.
    """
    count, free, notes = settings.components, settings.window or settings.positions - 1, []
    steps = range(settings.steps)
    in_use = partial(positions_in_use, settings)
    limited = bisect_right(steps, free, key=in_use)  # the first step with more rows in use
    if 0 < count < settings.width and limited < settings.steps:
        three = ("pca.three", "entries.explained", "similarity.explained", "effects.three")
        notes.append(
            Note(
                f"The rows were kept in {count} directions once {in_use(limited):,} were in use.",
                three if count <= CURVE else (),
                since=limited + 1,
            )
        )
        joined = bisect_right(steps, in_use(limited), key=in_use)
        rows = in_use(steps[-1]) - in_use(limited)
        if rows:
            sentence = (
                f"{rows:,} of {settings.positions:,} rows began as the continuation of the rows "
                "before them by one rigid motion, and were trained from there."
            )
            if count == CURVE:
                sentence += " Such a continuation makes a helix of any curve in space."
            notes.append(Note(sentence, MOVED if count == CURVE else (), since=joined + 1))
    return Making(tuple(notes), untrained=1)
