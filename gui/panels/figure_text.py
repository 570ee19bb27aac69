"""What stands above the figures for print, and in part in the captions; and no Qt.

Each function gives a title, or the scope: of which rows a figure is, and what was done to them.
"""

from __future__ import annotations

from geometry.models.model import PositionalModel
from gui.panels.shape_question import Shape
from gui.style.theme import format_count, format_number

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


def shape_title(shape: Shape, name: str = "") -> str:
    """Give the verdict, with the R² of the curve that is drawn: by default the one to look at."""
    if name and name != shape.first_choice:
        drawn = f"{CURVES[name]}: R² {format_number(shape.curve(name).r2)}"
        return f"{shape_title(shape)}; drawn, {drawn}"
    if shape.best == "none":
        better = format_number(shape.better_helix.r2)
        return f"{VERDICTS['none']} (the better one: R² {better})"
    return f"{VERDICTS[shape.best]} (R² {format_number(shape.curve(shape.best).r2)})"


def shape_scope(model: PositionalModel, shape: Shape) -> str:
    """Say which positions the curve is fitted to, in which components."""
    first, last = shape.positions
    components = ", ".join(map(str, shape.components))
    return f"{model.name} · positions {first}–{last}, centred · PC {components}"
