"""Where the lines of the ledger lead: the panel that shows a claim, and what it shows there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry.claims.claims import Claim
from gui.panels.table import PANELS

_SHOWN: Mapping[str, Mapping[str, Any]] = {
    "layernorm.sum_of_squares": {"version": "orthogonal"},
    "layernorm.constant": {"version": "constant_norm"},
}
"""What the panel is told to show, where it can show several things."""


def leading_to(claim: Claim) -> tuple[str, dict[str, Any]]:
    """Return the panel that shows a claim, and its choices."""
    if claim.panel in PANELS:
        return claim.panel, dict(PANELS[claim.panel].spec.claims.get(claim.id, {}))
    return claim.panel, dict(_SHOWN.get(claim.id, {}))
