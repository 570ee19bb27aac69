"""Progress of `train` on a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from geometry.checkpoints.plain_text import visible
from gui.commands.terminal import console, has_terminal

if TYPE_CHECKING:
    from geometry.training.run import TrainingProgress

_SPEED_OVER = 50
"""Number of recent steps for the displayed speed."""


@contextmanager
def training_bar(
    tokens_per_step: int,
) -> Iterator[Callable[[TrainingProgress], None] | None]:
    """Yield the progress callback of a run: a bar on standard error, if that is a terminal."""
    if not has_terminal():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    what, amount = (
        TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[text]}")
    )
    with Progress(what, BarColumn(20), amount, console=console(sys.stderr), transient=True) as bars:
        bar = bars.add_task("", text="")
        pace = Pace(tokens_per_step)

        def report(progress: TrainingProgress) -> None:
            bars.update(
                bar,
                description=visible(progress.what),
                completed=progress.done,
                total=progress.total,
                text=pace.text(progress, time.monotonic()),
            )

        yield report


class Pace:
    """Describes a run's progress, speed and remaining time."""

    def __init__(self, tokens_per_step: int) -> None:
        self._tokens = tokens_per_step
        self._recent: deque[tuple[float, int]] = deque(maxlen=_SPEED_OVER + 1)

    def text(self, progress: TrainingProgress, now: float) -> str:
        """Describe the step that has just ended: "40 of 600, loss 3.11, 9,000 tokens/s, 1 min"."""
        text = f"{progress.done:,} of {progress.total:,}"
        if math.isnan(progress.loss):
            return text
        self._recent.append((now, progress.done))
        since, first = self._recent[0]
        text += f", loss {progress.loss:.2f}"
        if now <= since:
            return text
        speed = (progress.done - first) / (now - since)
        minutes = math.ceil((progress.total - progress.done) / speed / 60)
        return f"{text}, {self._tokens * speed:,.0f} tokens/s, {minutes:,} min left"
