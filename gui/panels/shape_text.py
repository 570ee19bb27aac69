"""What the shape panel says and gives away: captions, numbers, and the script."""

from __future__ import annotations

import numpy as np

from geometry.model import PositionalModel
from gui.panels.figure_text import CURVES, VERDICTS
from gui.panels.shape_question import Shape, ShapeOf
from gui.snippets import opening
from gui.theme import format_number
from gui.token_text import token_label


def caption(shape: Shape, name: str, scope: str) -> str:
    """Give the verdict and the scope, and how near a curve comes."""
    near = f"{CURVES[name]}: RMS distance {format_number(shape.rms(name))}"
    return f"{VERDICTS[shape.best]} · {scope} · {near}"


def described(shape: Shape, name: str, position: int, token: str | None) -> str:
    """Write how far a position is from a curve, which the caption names."""
    distance = shape.distances(name)[position - shape.positions[0]]
    said = f"position {position}" if token is None else f"position {position} {token_label(token)}"
    return f"{said} · {format_number(float(distance))}"


def columns(shape: Shape) -> dict[str, np.ndarray]:
    """Return a line for each curve, and the distances from each by position."""
    names = ("r2", "bic", "n_free", "turns", "radius", "drift", "climb_per_turn")
    first, last = shape.positions
    return {
        "curve": np.array([one.name for one in shape.curves]),
        "best": np.array([one.name == shape.best for one in shape.curves]),
        **{name: np.array([getattr(one, name) for one in shape.curves]) for name in names},
        "rms_distance": np.array([shape.rms(one.name) for one in shape.curves]),
        "position": np.arange(first, last + 1),
        **{f"distance_{one.name}": shape.distances(one.name) for one in shape.curves},
    }


def script(model: PositionalModel, question: ShapeOf, name: str) -> str:
    """Return Python that fits the curves, prints them, and where one is farthest off."""
    (first, last), chosen = question.positions, [number - 1 for number in question.components]
    return (
        opening(model)
        + f"""from geometry.pca import fit_pca
from geometry.shape import fit_shapes

pca = fit_pca(model.W_pos, ({first}, {last}), {max(question.components)})
points = pca.project(model.W_pos[{first}:{last + 1}])[:, {chosen}]
found = fit_shapes(points)
print(found.best)
for name, fit in found.fits.items():
    print(name, fit.r2, fit.bic, fit.turns, fit.radius, fit.climb_per_turn)
distances = found.fits[{name!r}].distances(points)  # of each position from {CURVES[name]}
print({first} + distances.argmax(), distances.max())
"""
    )
