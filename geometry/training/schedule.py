"""The learning rate and the windows of each step, and the steps of the snapshots."""

from __future__ import annotations

import math

import numpy as np

from geometry.training.settings import TrainingSettings


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """Return the rate of a step, from 0: linear warm-up, then cosine decay to the last."""
    if step < settings.warm_up:
        return settings.learning_rate * (step + 1) / settings.warm_up
    left = max(1, settings.steps - 1 - settings.warm_up)
    done = min(1.0, (step - settings.warm_up) / left)
    share = settings.final_rate + (1 - settings.final_rate) * (1 + math.cos(math.pi * done)) / 2
    return settings.learning_rate * share


def positions_in_use(settings: TrainingSettings, step: int) -> int:
    """Return the number of positions in use at a step, from 0: it grows evenly."""
    first, last = settings.first_positions or settings.positions, settings.positions
    done = min(1.0, step / (settings.growth * settings.steps))
    return first + round((last - first) * done)


def window_length(settings: TrainingSettings, step: int) -> int:
    """Return the window length of a step, from 0; every second step has all positions in use."""
    in_use = positions_in_use(settings, step)
    return min(in_use, settings.window) if settings.window and step % 2 else in_use


def snapshot_steps(settings: TrainingSettings) -> tuple[int, ...]:
    """Return the steps done at each snapshot: 0, then log-spaced up to the run's end.

    The log-spaced ones start at a thousandth of the run, before which P is noise. There are fewer
    where they would be less than a step apart.
    """
    first = max(1, settings.steps // 1000)
    steps = np.rint(np.geomspace(first, settings.steps, settings.snapshots - 1))
    return (0, *sorted({int(step) for step in steps}))
