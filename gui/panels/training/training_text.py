"""What the training panel says: its caption, and the Python that does it again."""

from __future__ import annotations

from geometry.models.model import PositionalModel
from gui.panels.training.training_question import Training
from gui.scene.scene_state import titled
from gui.services.snippets import opening
from gui.style.theme import format_count, format_percent


def scope(model: PositionalModel, training: Training) -> str:
    """Name the model, the steps, the range, and what came of it."""
    history, lapse = training.history, training.timelapse
    first, last = lapse.positions
    steps = f"{format_count(int(history.steps[0]))}–{format_count(int(history.steps[-1]))}"
    top3 = format_percent(float(lapse.top3[-1]))
    return (
        f"{titled(model)} · {history.n_snapshots} snapshots of steps {steps} · positions "
        f"{first}–{last} · at the end {top3} in three components"
    )


def script(model: PositionalModel, positions: tuple[int, int], *, gathered: bool) -> str:
    """Return a script that computes the curves with ``geometry``, and prints them.

    Parameters
    ----------
    model, positions
        What is open, and the range.
    gathered
        Whether its history came from checkpoints elsewhere: then those on this machine are read.
    """
    first, last = positions
    note = "  # those of its checkpoints that were fetched" if gathered else ""
    return (
        opening(model)
        + "from geometry import fit_helices\n"
        + "from geometry import history_here\n"
        + "from geometry import last_position\n"
        + "from geometry import make_timelapse\n\n"
        + f"history = history_here(model){note}\n"
        + f"lapse = make_timelapse(history, ({first}, {last}))\n"
        + "helices = fit_helices(lapse)\n"
        + "riddle = last_position(history)\n"
        + "for i, step in enumerate(history.steps):\n"
        + "    print(step, lapse.top3[i], helices.r2[i], helices.turns[i], helices.best[i],\n"
        + "          riddle.norms[i], riddle.neighbour_norms[i])\n"
        + "print(riddle.supports, riddle.why)\n"
    )
