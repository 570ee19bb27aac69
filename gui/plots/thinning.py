"""Thinning of curves with many positions to what is visible."""

from __future__ import annotations

import numpy as np


def envelope(
    values: np.ndarray, first: int, stop: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Thin a line to what is visible.

    Parameters
    ----------
    values
        (n,) the value at each position.
    first, stop
        The visible positions: first to stop − 1.
    columns
        Number of available pixel columns.

    Returns
    -------
    x, y : (m,) float64
        All positions if there are few; otherwise the minimum and the maximum of each run of
        positions. Runs start at multiples of their length, so that nothing flickers while panning;
        the last one may be shorter, so that no position is lost.
    """
    step = (stop - first) // (2 * columns)
    if step < 2:
        return np.arange(first, stop, dtype=np.float64), values[first:stop]
    first -= first % step
    part = values[first:stop]
    starts = np.arange(0, len(part), step)
    y = np.empty(2 * len(starts))
    y[0::2] = np.minimum.reduceat(part, starts)
    y[1::2] = np.maximum.reduceat(part, starts)
    return np.repeat(first + starts.astype(np.float64), 2), y
