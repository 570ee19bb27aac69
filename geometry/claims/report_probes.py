"""The report's sections about linear probes, and about numbers that papers give."""

from __future__ import annotations

from typing import Any

from geometry.checkpoints.errors import RangeError
from geometry.claims.measurements import Measurements
from geometry.claims.published import compare_published


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
