"""The report's section about looking back."""

from __future__ import annotations

from typing import Any

import numpy as np

from geometry.claims.measured_range import LAGS
from geometry.claims.measurements import Measurements
from geometry.measures.lookback import KINDS, LookBack


def describe_lookback(measured: Measurements) -> dict[str, Any] | None:
    """Return R² of the motions at some lags; None if the range is too short."""
    found = measured.look_back
    if found is None:
        return None
    fitted = [lag for lag in LAGS if lag <= found["even_odd"].lags[-1]]
    return {
        "components": 3,
        "fit_r2": {
            str(lag): {
                **_r2(found["even_odd"], lag),
                "halves": _r2(found["halves"], lag),
                "angles_deg": [float(np.degrees(found["even_odd"].motion(lag).screw.angle))],
            }
            for lag in fitted
        },
    }


def _r2(found: LookBack, lag: int) -> dict[str, float]:
    at = found.index(lag)
    return {kind: float(found.r2[kind][at]) for kind in KINDS}
