"""Sections of the report: looking back, where heads attend by position alone, probes, papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from geometry.checkpoints.errors import RangeError
from geometry.claims.measured_range import LAGS
from geometry.claims.measurements import Measurements
from geometry.claims.published import compare_published
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


def describe_kernels(measured: Measurements) -> dict[str, Any]:
    """Return what each head of the layer attends to, without tokens.

    Raises
    ------
    TensorUnavailable
        The checkpoint or the family lacks the weights of queries and keys.
    """
    found = measured.kernels()
    scores = zip(found.previous_token, found.own, found.mass_lag_0_10, strict=True)
    return {
        "layer": found.layer,
        "heads": [
            {"previous_token": float(one), "self": float(own), "mass_lag_0_10": float(near)}
            for one, own, near in scores
        ],
    }


def describe_probes(measured: Measurements, missing: dict[str, str]) -> dict[str, float] | None:
    """Return the errors of the probes: positions, and percent of pairs.

    None for a table that is too small, with the reason in ``missing``.
    """
    try:
        return {
            "position_mae": measured.position_probe.error,
            "order_error": measured.order_probe.error,
        }
    except RangeError as error:
        missing["probes"] = str(error)
        return None


def describe_published(measured: Measurements) -> list[dict[str, Any]]:
    """Return what papers give for this model beside what is measured; empty for most models."""
    return [
        {
            "source": one.published.source,
            "quantity": one.published.quantity,
            "published": one.published.value,
            "tolerance": one.published.tolerance,
            "ours": one.ours,
            "within": one.within,
        }
        for one in compare_published(measured)
    ]
