"""Where the lines of the ledger lead: the panel that shows a claim, and what it shows there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry.claims.claims import Claim
from geometry.models.residual_stream import Name, Subject
from gui.panels.table import PANELS
from gui.window.docks import DOCKS

_NEAREST = {
    "shape": "positions", "lookback": "shape", "kernels": "shape", "dimensions": "positions",
    "similarity": "positions", "layernorm": "norms", "training": "norms", "capture": "overlaps",
    "overlaps": "spectra", "directions": "spectra",
}  # fmt: skip
"""Where a claim leads in a window that lacks the panel that shows it."""


def _pair(rows: Name, columns: Name, *, fold_ln: bool = False) -> Mapping[str, Any]:
    return {"rows": Subject(rows, fold_ln=fold_ln), "columns": Subject(columns)}


_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "similarity.periodic": {"rows": "raw"},
    "similarity.explained": {"rows": "projected"},
    "layernorm.sum_of_squares": {"version": "orthogonal"},
    "layernorm.constant": {"version": "constant_norm"},
    "spectrum.P": {"subjects": (Subject("P"),)},
    "spectrum.E": {"subjects": (Subject("P"), Subject("E"))},
    "overlap.P_E.strong_weak": _pair("P", "E"),
    "overlap.P_E.weak_strong": _pair("P", "E"),
    "overlap.P_E.strong": _pair("P", "E"),
    "overlap.W_Q_P": _pair("W_Q", "P"),
    "overlap.W_K_P": _pair("W_K", "P"),
    "overlap.W_Q_P.folded": _pair("W_Q", "P", fold_ln=True),
    "overlap.W_Q_E": _pair("W_Q", "E"),
    "overlap.W_K_E": _pair("W_K", "E"),
    "overlap.W_V_E": _pair("W_V", "E"),
    "overlap.W_O_P": _pair("W_O", "P"),
    "overlap.W_O_E": _pair("W_O", "E"),
    "overlap.W_in_E": _pair("W_in", "E"),
    "overlap.W_in_P": _pair("W_in", "P"),
    "kernels.local": {"layer": 0, "sort": "near", "averaged": False},
    "kernels.averaged": {"layer": 0, "sort": "previous", "averaged": True},
    "lookback.everywhere": {"lag": 50, "space": "3", "scoring": "halves"},
    "lookback.rotation": {"lag": 50, "space": "3", "scoring": "even_odd"},
    "lookback.angle": {"space": "3", "scoring": "even_odd"},
    "lookback.heads": {"lag": 10, "space": "heads", "scoring": "halves"},
    "lookback.lags": {"space": "heads"},
    "directions.context_waves": {"directions": (1, 2, 3, 4, 5)},
}
"""What the panel is told to show, where it can show several things."""


def leading_to(claim: Claim) -> tuple[str, dict[str, Any]] | None:
    """Return the dock that shows a claim and its panel's options, or the nearest dock to it.

    None if the window has neither.
    """
    dock = nearest_dock(claim.panel)
    if dock is None:
        return None
    if dock in PANELS:
        return dock, dict(PANELS[dock].spec.claims.get(claim.id, {}))
    return dock, dict(_SHOWN.get(claim.id, {})) if dock == claim.panel else {}


def nearest_dock(panel: str) -> str | None:
    """Return the dock of a panel, or else of the nearest that there is; None if there is none."""
    docks = {dock.name for dock in DOCKS}
    at: str | None = panel
    while at is not None and at not in docks:
        at = _NEAREST.get(at)
    return at


def what_a_click_opens() -> dict[str, str]:
    """Say for each panel of the ledger what a click on one of its claims opens."""
    titles = {dock.name: dock.title for dock in DOCKS}
    said: dict[str, str] = {}
    for panel in (*_NEAREST, "positions", "norms", "spectra"):
        dock = nearest_dock(panel)
        if dock is None:
            said[panel] = "No panel of this window shows it."
        else:
            near = "" if dock == panel else ", the nearest to what shows it"
            said[panel] = f"Click to open {titles[dock]}{near}."
    return said
