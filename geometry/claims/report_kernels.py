"""The report's section about where heads attend by position alone."""

from __future__ import annotations

from typing import Any

from geometry.claims.measurements import Measurements


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
