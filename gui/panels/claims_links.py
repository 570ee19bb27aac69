"""Where the lines of the ledger lead: the panel that shows a claim, and what it shows there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry.claims.claims import Claim
from geometry.models.residual_stream import Name, Subject
from gui.panels.table import PANELS


def _pair(rows: Name, columns: Name, *, fold_ln: bool = False) -> Mapping[str, Any]:
    return {"rows": Subject(rows, fold_ln=fold_ln), "columns": Subject(columns)}


_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "layernorm.sum_of_squares": {"version": "orthogonal"},
    "layernorm.constant": {"version": "constant_norm"},
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
}
"""What the panel is told to show, where it can show several things."""


def leading_to(claim: Claim) -> tuple[str, dict[str, Any]]:
    """Return the panel that shows a claim, and its choices."""
    if claim.panel in PANELS:
        return claim.panel, dict(PANELS[claim.panel].spec.claims.get(claim.id, {}))
    return claim.panel, dict(_SHOWN.get(claim.id, {}))
