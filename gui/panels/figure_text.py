"""What stands above the figures for print, and in part in the captions; and no Qt.

Each function gives a title, or the scope: of which rows a figure is, and what was done to them.
"""

from __future__ import annotations

from geometry.models.model import PositionalModel
from gui.style.theme import format_count


def layernorm_scope(model: PositionalModel, positions: tuple[int, int], n_tokens: int) -> str:
    """Say of which positions and tokens the errors are, and of which the cosines."""
    return (
        f"{model.name} · positions {positions[0]}–{positions[1]} with "
        f"{format_count(n_tokens)} tokens; cosines of all rows"
    )
