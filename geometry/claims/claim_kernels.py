"""Measures of the claims about where heads attend, in the first layer."""

from __future__ import annotations

import numpy as np

from geometry.claims.claim_measures import CannotTell
from geometry.claims.measurements import Measurements
from geometry.measures.kernels import NEAR

LOCAL = 0.9
"""A head with a larger share of its attention on the nearest positions is local."""


def local_heads(measured: Measurements) -> float:
    """Count the heads that attend to the nearest positions only."""
    first, last = measured.positions
    if last - first < 10 * NEAR:
        raise CannotTell("too few positions are shown: nearly all of them are near")
    return float((measured.kernels(0).mass_lag_0_10 > LOCAL).sum())


def blunted(measured: Measurements) -> float:
    """Best previous-token score with P averaged in blocks of ten, relative to that without."""
    plain, averaged = (measured.kernels(0, averaged=flag) for flag in (False, True))
    if not plain.previous_token.any():
        raise CannotTell("no position of the range has one before it")
    return float(np.divide(averaged.previous_token.max(), plain.previous_token.max()))
