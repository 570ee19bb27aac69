"""What stands above the figures for print, and in part in the captions; and no Qt.

Each function gives a title, or the scope: of which rows a figure is, and what was done to them.
"""

from __future__ import annotations

from geometry.models.model import PositionalModel
from gui.style.theme import format_count

VERDICTS = {
    "line": "A line, no helix",
    "circle": "A circle, no helix",
    "helix": "A helix",
    "drifting_helix": "A drifting helix",
    "none": "No clear helix",
}
"""What a table of positions is, by the best of the simple curves."""
CURVES = {
    "line": "the line",
    "circle": "the circle",
    "helix": "the helix",
    "drifting_helix": "the drifting helix",
}
"""The simple curves as a sentence names them."""


def _all_positions(model: PositionalModel) -> str:
    return f"all {format_count(model.n_positions)} positions"


def spectra_title(model: PositionalModel) -> str:
    """Name the figure of singular values."""
    return f"{model.name} · singular values"


def tables_scope(model: PositionalModel) -> str:
    """Say what the singular values of P and E are of."""
    return f"{_all_positions(model)}, nothing centred"


def spectra_scope(model: PositionalModel) -> str:
    """Say what the singular values of any matrices are of."""
    return f"{tables_scope(model)}, LayerNorm gain not folded"


def weights_scope(layer: int, *, fold_ln: bool) -> str:
    """Say what the singular values of a layer's weights are of."""
    return f"layer {layer}, LayerNorm gain {'folded' if fold_ln else 'not folded'}"


def layernorm_scope(model: PositionalModel, positions: tuple[int, int], n_tokens: int) -> str:
    """Say of which positions and tokens the errors are, and of which the cosines."""
    return (
        f"{model.name} · positions {positions[0]}–{positions[1]} with "
        f"{format_count(n_tokens)} tokens; cosines of all rows"
    )
