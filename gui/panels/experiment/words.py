"""Texts of the panel "Line or helix"."""

from __future__ import annotations

import numpy as np

from geometry.measures.line_or_helix import Distances, Survival
from geometry.measures.synthetic import CurveKind
from geometry.models.model import PositionalModel
from gui.panels.experiment.question import Experiment
from gui.style.theme import format_count, format_number, format_percent

NAMES: dict[CurveKind, str] = {"line": "Line", "circle": "Circle", "helix": "Helix"}
EVEN = 0.9
"""Minimum ratio of the shortest to the mean step for steps to count as equal."""
NO_NUMBER = "–"

COLUMNS = (
    (
        "Uniformity",
        "The shortest step between neighbours as a share of the mean step: 1 where all "
        "steps are equal",
    ),
    (
        "Coinciding",
        "Number of positions with another position, not a neighbour, nearer than "
        "three quarters of a mean step: the two are hard to distinguish",
    ),
    (
        "Look back",
        "R² of looking back N tokens by one rotation and shift for all positions: fitted "
        "on the first half of the positions, scored on the second, in three components. 1 is "
        "perfect; below 0 is worse than no motion",
    ),
    ("‖p‖²", "Mean squared length of the stored rows, which weight decay penalises"),
)


def cells(survival: Survival, *, after: bool) -> tuple[str, ...]:
    """Return the formatted numbers of a curve in the order of :data:`COLUMNS`."""
    distances = survival.after if after else survival.before
    r2 = survival.look_back_after if after else survival.look_back_before
    look_back = NO_NUMBER if r2 is None else format_number(r2, 3 if r2 > -1 else 0)
    return (
        format_number(distances.evenness, 2),
        format_count(distances.alike),
        look_back,
        amount(survival.mean_square),
    )


def amount(value: float) -> str:
    """Return a formatted number with three significant digits, more before the point."""
    if not value:
        return "0"
    digits = max(0, min(6, 2 - int(np.floor(np.log10(abs(value))))))
    return format_number(value, digits)


def reading(result: Experiment, kind: CurveKind, *, after: bool) -> str:
    """Return an interpretation of a curve's numbers."""
    survival = result.curves[kind]
    if not after:
        return _before(result, survival)
    return {"line": _line, "circle": _circle, "helix": _helix}[kind](result, survival)


def _before(result: Experiment, survival: Survival) -> str:
    kind, alike = survival.curve.kind, survival.before.alike
    if kind == "circle":
        if alike:
            return f"Compact, but it repeats: {_positions(alike)} coincide with another."
        return "Compact, and every position remains distinct."
    if alike:
        return f"{_positions(alike)} are already hard to distinguish."
    times = survival.mean_square / result.curves["circle"].mean_square
    price = f"{format_number(times, 1 if times < 100 else 0)} times the circle’s"
    if kind == "line":
        return (
            "Every position is distinct, but the ends are far from the origin: its ‖p‖² is "
            f"{price}."
        )
    return f"A circle that climbs: its turns stay apart, and its ‖p‖² is {price}."


def _line(result: Experiment, survival: Survival) -> str:
    beside = survival.curve.offset or result.settings.token_norm or survival.curve.noise
    if not beside:
        return "LayerNorm maps a line through the origin onto two points."
    if survival.after.evenness >= EVEN:
        return (
            "LayerNorm hardly bends it, because it is short compared with its distance from the "
            "origin."
        )
    return f"LayerNorm bends it into an arc, crowded at its ends{_confused(survival.after)}."


def _circle(result: Experiment, survival: Survival) -> str:
    # With noise the lengths differ a little.
    equally = "nearly equally" if survival.curve.noise else "equally"
    scaled = f"All rows are {equally} long: LayerNorm only scales it."
    return (
        f"{scaled} {_positions(survival.after.alike)} coincide with another."
        if survival.after.alike
        else scaled
    )


def _helix(result: Experiment, survival: Survival) -> str:
    if survival.after.alike:
        return f"Its turns come too close to each other{_confused(survival.after)}."
    if survival.after.evenness >= EVEN:
        return "LayerNorm hardly changes it: its turns stay apart and its steps stay uniform."
    share = format_percent(survival.after.evenness, 0)
    return (
        f"Its turns stay apart but get closer towards the ends: the shortest step is {share} "
        "of the mean."
    )


def _confused(distances: Distances) -> str:
    return f": {_positions(distances.alike)} are hard to distinguish" if distances.alike else ""


def _positions(count: int) -> str:
    return f"{format_count(count)} positions"


def scope(model: PositionalModel, result: Experiment) -> str:
    """Return a description of the synthetic curves."""
    settings, curve = result.settings, result.settings.curve
    if result.positions is None:
        like = f"chosen, with the {format_count(curve.d_model)} dimensions of {model.name}"
    else:
        like = f"as in {model.name}, positions {result.positions[0]}–{result.positions[1]}"
        like += "" if result.is_helix else ", no clear helix"
    return (
        f"synthetic: {_positions(curve.n_positions)} {amount(curve.spacing)} apart, "
        f"{format_number(curve.turns, 2)} turns, look back {format_count(settings.lag)} · {like}"
    )
