"""The report's section about looking back."""

from __future__ import annotations

from typing import Any

import numpy as np

from geometry.claims.measured_range import LAGS
from geometry.claims.measurements import Measurements
from geometry.measures.lookback import KINDS, LookBack
from geometry.pca.curve import why_fewer


def describe_lookback(measured: Measurements, missing: dict[str, str]) -> dict[str, Any] | None:
    """Return R² of the motions at some lags; None, with the reason, if there are none."""
    found = measured.look_back
    if found is None:
        long = f"the range has {len(measured.rows)} positions"
        missing["lookback"] = why_fewer(measured.pca) if measured.pca.rank < 3 else long
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
