"""The panel that shows a claim of the ledger, and with which choices."""

from __future__ import annotations

from typing import Any

from geometry.claims.claims import Claim
from gui.panels.table import PANELS


def leading_to(claim: Claim) -> tuple[str, dict[str, Any]]:
    """Return the panel that shows a claim, and its choices."""
    if claim.panel in PANELS:
        return claim.panel, dict(PANELS[claim.panel].spec.claims.get(claim.id, {}))
    return claim.panel, {}
