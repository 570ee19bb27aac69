"""The command `train`: its options and messages."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geometry.training.settings import TrainingSettings
from gui.commands.steps import counting_bar
from gui.commands.terminal import say

if TYPE_CHECKING:
    from geometry.training.run import TrainingProgress

_USUAL = TrainingSettings()
_SPEED_OVER = 50
"""Number of recent steps for the displayed speed."""


def train(
    corpus: Annotated[Path, typer.Option(help="Folder of .txt files, each a document.")],
    out: Annotated[
        Path, typer.Option(help="Folder for the model; an interrupted run there is resumed.")
    ],
    positions: Annotated[int, typer.Option(help="Number of positions.")] = _USUAL.positions,
    layers: Annotated[int, typer.Option(help="Number of layers.")] = _USUAL.layers,
    heads: Annotated[int, typer.Option(help="Attention heads per layer.")] = _USUAL.heads,
    width: Annotated[int, typer.Option(help="d_model.")] = _USUAL.width,
    vocabulary: Annotated[
        int, typer.Option(help="Vocabulary size of the byte-level BPE; 257: bytes.")
    ] = _USUAL.vocabulary,
    batch: Annotated[int, typer.Option(help="Batch size, in windows of text.")] = _USUAL.batch,
    steps: Annotated[
        int | None,
        typer.Option(help=f"Number of steps; default: {_USUAL.steps}.", show_default=False),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Training tokens, instead of --steps.")
    ] = None,
    learning_rate: Annotated[
        float, typer.Option(help="Peak learning rate; decays as a cosine to 5 % of it.")
    ] = _USUAL.learning_rate,
    warm_up: Annotated[int, typer.Option(help="Warm-up steps.")] = _USUAL.warm_up,
    weight_decay: Annotated[
        float, typer.Option(help="Weight decay of matrices and embeddings.")
    ] = _USUAL.weight_decay,
    position_decay: Annotated[
        float | None, typer.Option(help="Weight decay of positions; default: as for matrices.")
    ] = None,
    first_positions: Annotated[
        int, typer.Option(help="Positions in use at first, which grow to all; 0: all.")
    ] = _USUAL.first_positions,
    growth: Annotated[
        float, typer.Option(help="Share of the steps during which the positions in use grow.")
    ] = _USUAL.growth,
    window: Annotated[
        int,
        typer.Option(help="Length of every second step's windows, at varying positions; 0: none."),
    ] = _USUAL.window,
    components: Annotated[
        int,
        typer.Option(help="Directions in which positions vary beyond a short window; 0: all."),
    ] = _USUAL.components,
    position_std: Annotated[
        float, typer.Option(help="Standard deviation of the initial positions.")
    ] = _USUAL.position_std,
    seed: Annotated[int, typer.Option(help="Random seed.")] = _USUAL.seed,
    snapshots: Annotated[
        int, typer.Option(help="Number of log-spaced snapshots of the positions.")
    ] = _USUAL.snapshots,
    half: Annotated[bool, typer.Option("--half", help="Write the weights as float16.")] = False,
    bfloat16: Annotated[
        bool | None,
        typer.Option(
            "--bfloat16/--float32", help="Precision of matrix products; default: the faster one."
        ),
    ] = None,
) -> None:
    """Train a small GPT-2 on a text, and record its positions as they form.

    The result opens like any other model, with its training history. After an interruption, the
    same command resumes the run; at most a minute is lost. Only the number of steps may change; the
    learning rate is adapted from then on.
    """
    from geometry.training.run import train as run

    if steps is not None and tokens is not None:
        raise typer.BadParameter("give --steps or --tokens", param_hint="--tokens")
    if tokens is not None:
        steps = math.ceil(tokens / max(1, batch * positions))
    settings = TrainingSettings(
        positions=positions,
        layers=layers,
        heads=heads,
        width=width,
        vocabulary=vocabulary,
        batch=batch,
        steps=_USUAL.steps if steps is None else steps,
        learning_rate=learning_rate,
        warm_up=warm_up,
        weight_decay=weight_decay,
        position_decay=position_decay,
        first_positions=first_positions,
        growth=growth,
        window=window,
        components=components,
        position_std=position_std,
        seed=seed,
        snapshots=snapshots,
    )
    pace = Pace(settings.tokens_per_step)
    with counting_bar(counted=False) as show:
        report = partial(_show, show, pace)
        worked = run(corpus, out, settings, half=half, bfloat16=bfloat16, on_progress=report)
    say(f"Wrote the model to {out}." if worked else f"The model in {out} is already trained.")


def _show(show: Callable[..., None], pace: Pace, now: TrainingProgress) -> None:
    show(now.what, now.done, now.total, pace.text(now, time.monotonic()))


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
