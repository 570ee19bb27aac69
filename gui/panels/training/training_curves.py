"""The curves of a training against its steps, as numbers: for plots, for print and for files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.history.last_position import NEIGHBOURS
from gui.panels.training.training_question import Training
from gui.plots.spec import Line
from gui.style.theme import SERIES, Theme

MOST_SELECTED = 3
"""Selected positions with a norm curve of their own: the ones selected last."""

DESCRIBES = 0.5
"""The turns of a helix of a lower R² say nothing about the positions."""


def share_lines(training: Training, theme: Theme) -> tuple[Line, ...]:
    """Return what lies between 0 and 1: variance in three components, R² of the helix."""
    colors, lapse = SERIES[theme.name], training.timelapse
    lines = [
        Line("top 3 PCs", lapse.top3, colors[0], percent=True),
        Line("last’s PCs", lapse.frozen_variance_ratio, colors[1], percent=True),
    ]
    if training.helices is not None:
        lines.append(Line("helix R²", training.helices.r2, colors[2]))
    return tuple(lines)


def norm_lines(training: Training, selection: Sequence[int], theme: Theme) -> tuple[Line, ...]:
    """Return norms of the last position, its neighbours and the selected ones."""
    colors, riddle = SERIES[theme.name], training.riddle
    norms = training.timelapse.norms
    last = riddle.position
    before = max(last - NEIGHBOURS, 0)
    lines = [
        Line(str(last), riddle.norms, colors[2]),
        Line(f"{before}–{last - 1}", riddle.neighbour_norms, colors[1]),
    ]
    chosen = [p for p in selection if p != last and p < norms.shape[1]][-MOST_SELECTED:]
    tints = (theme.accent, theme.hover, theme.muted)
    for position, color in zip(reversed(chosen), tints, strict=False):
        lines.append(Line(str(position), norms[:, position], color))
    lines.append(Line("if decayed", riddle.predicted_norms, colors[2], dashed=True))
    return tuple(lines)


def turn_lines(training: Training, theme: Theme) -> tuple[Line, ...]:
    """Return the turns of the helix, where it describes a snapshot."""
    if training.helices is None:
        return ()
    turns = np.where(training.helices.r2 >= DESCRIBES, training.helices.turns, np.nan)
    return (Line("turns", turns, SERIES[theme.name][3]),)


def loss_lines(training: Training, theme: Theme) -> tuple[Line, ...]:
    """Return the loss, if it is known."""
    losses = training.history.losses
    if losses is None:
        return ()
    return (Line("loss", losses.astype(np.float64), SERIES[theme.name][4]),)


def places_of(steps: np.ndarray) -> np.ndarray:
    """(n,) float64: where steps stand on a logarithmic axis; step 0 left of the first one."""
    places = steps.astype(np.float64)
    if len(steps) > 1 and steps[0] == 0:
        places[0] = steps[1] / 2
    return np.maximum(places, 0.5)


def columns(training: Training, selection: Sequence[int]) -> dict[str, np.ndarray]:
    """Return the numbers behind the curves, by names for columns."""
    history, lapse, riddle = training.history, training.timelapse, training.riddle
    found: dict[str, np.ndarray] = {"step": history.steps}
    told = {"tokens": history.tokens, "loss": history.losses}
    found |= {name: values for name, values in told.items() if values is not None}
    for k in range(lapse.explained_variance_ratio.shape[1]):
        found[f"variance_{k + 1}"] = lapse.explained_variance_ratio[:, k]
    found["variance_top3"] = lapse.top3
    found["variance_in_last_components"] = lapse.frozen_variance_ratio
    found["mean_norm"] = lapse.mean_norms
    found["last_norm"] = riddle.norms
    found["norms_before_last"] = riddle.neighbour_norms
    found["last_norm_if_only_decayed"] = riddle.predicted_norms
    found["last_departure"] = riddle.departures
    for position in selection:
        found[f"norm_{position}"] = lapse.norms[:, position]
    if training.helices is not None:
        found["helix_r2"] = training.helices.r2
        found["helix_turns"] = training.helices.turns
        found["best_shape"] = np.array([best or "" for best in training.helices.best])
    return found


def verdict(training: Training) -> str:
    """Say whether the history supports the explanation of the last position, and why."""
    riddle = training.riddle
    said = {True: "supported", False: "not supported", None: "cannot tell"}[riddle.supports]
    return f"The last position never learns: {said}. {riddle.why}"
