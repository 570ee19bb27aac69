"""What the shape panel says and gives away: captions, numbers, and the script."""

from __future__ import annotations

import numpy as np

from geometry.measures.roughness import FEWEST
from geometry.models.model import PositionalModel
from gui.panels.figure_text import CURVES, VERDICTS
from gui.panels.shape_question import Shape, ShapeOf
from gui.services.snippets import opening
from gui.style.theme import format_number, format_percent
from gui.style.token_text import token_label


def caption(shape: Shape, name: str, scope: str) -> str:
    """Give the verdict and the scope, and how near a curve comes."""
    near = f"{CURVES[name]}: RMS distance {format_number(shape.rms(name))}"
    return f"{VERDICTS[shape.best]} · {scope} · {near}"


def rough_parts(shape: Shape) -> dict[str, str]:
    """Write how rough the curve is, by the quantities' keys; nothing for too few positions."""
    rough = shape.rough
    if rough is None:
        return {}
    return {
        "turning_angle": f"Turning {format_number(rough.turning_angle, 1)}° at a position",
        "high_frequency": f"Shaking {format_percent(rough.high_frequency_energy, 4)}",
        "loops": f"Loops {format_number(rough.loops, 2)}",
    }


def turned(shape: Shape, position: int, token: str | None) -> str:
    """Write by how much the curve turns at a position, which is not one of its ends."""
    said = f"position {position}" if token is None else f"position {position} {token_label(token)}"
    assert shape.rough is not None
    angle = float(shape.rough.turning_angles[position - shape.positions[0] - 1])
    return f"{said} · {f'{format_number(angle, 1)}°' if np.isfinite(angle) else 'no angle'}"


def described(shape: Shape, name: str, position: int, token: str | None) -> str:
    """Write how far a position is from a curve, which the caption names."""
    distance = shape.distances(name)[position - shape.positions[0]]
    said = f"position {position}" if token is None else f"position {position} {token_label(token)}"
    return f"{said} · {format_number(float(distance))}"


def columns(shape: Shape) -> dict[str, np.ndarray]:
    """Return a line for each curve, the distances from each by position, and the roughness.

    Turning angles are in degrees, by position; at the two ends there is none.
    """
    names = ("r2", "bic", "n_free", "turns", "radius", "drift", "climb_per_turn")
    first, last = shape.positions
    rough = {}
    if shape.rough is not None:
        angles = np.pad(shape.rough.turning_angles, 1, constant_values=np.nan)
        rough = {
            "median_turning_angle": np.array([shape.rough.turning_angle]),
            "high_frequency_energy": np.array([shape.rough.high_frequency_energy]),
            "loops": np.array([shape.rough.loops]),
            "turning_angle": angles,
        }
    return {
        "curve": np.array([one.name for one in shape.curves]),
        "best": np.array([one.name == shape.best for one in shape.curves]),
        **{name: np.array([getattr(one, name) for one in shape.curves]) for name in names},
        "rms_distance": np.array([shape.rms(one.name) for one in shape.curves]),
        "position": np.arange(first, last + 1),
        **{f"distance_{one.name}": shape.distances(one.name) for one in shape.curves},
        **rough,
    }


def script(model: PositionalModel, question: ShapeOf, name: str) -> str:
    """Return Python that fits the curves, prints them, where one is farthest off, how rough."""
    (first, last), chosen = question.positions, [number - 1 for number in question.components]
    text = (
        opening(model)
        + f"""from geometry import fit_pca
from geometry import roughness
from geometry import fit_shapes

pca = fit_pca(model.W_pos, ({first}, {last}), {max(question.components)})
points = pca.project(model.W_pos[{first}:{last + 1}])[:, {chosen}]
found = fit_shapes(points)
print(found.best)
for name, fit in found.fits.items():
    print(name, fit.r2, fit.bic, fit.turns, fit.radius, fit.climb_per_turn)
distances = found.fits[{name!r}].distances(points)  # of each position from {CURVES[name]}
print({first} + distances.argmax(), distances.max())
rough = roughness(points)
print(rough.turning_angle, rough.high_frequency_energy, rough.loops)
"""
    )
    if last - first + 1 >= FEWEST:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if "rough" not in line)
