"""What is said of checkpoints to gather. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from geometry.models.sources import is_on_hub
from gui.services.loading import short_name
from gui.style.theme import format_bytes, format_count
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered
    from geometry.history.history import Skipped
    from geometry.history.plan import HistoryPlan
    from geometry.models.model import PositionalModel
    from gui.state.checkpoint_download import DownloadState

MOST_NAMED = 12
"""Checkpoints that were left out with a line of their own; more would not fit on a screen."""


def first_words(model: PositionalModel, *, offline: bool) -> tuple[str, str]:
    """Say what may be looked for before anybody has looked: a sentence, and advice."""
    name = short_name(model.source)
    if not is_on_hub(model.source):
        return f"Checkpoints of {name}’s training may lie beside it.", ""
    if offline:
        return (
            f"The Hub may have checkpoints of {name}’s training.",
            "Helixscope is offline: those are found that were fetched before.",
        )
    return (
        f"The Hub may have checkpoints of {name}’s training.",
        "Looking asks the Hub once, and fetches nothing yet.",
    )


def about_text(plan: HistoryPlan) -> str:
    """Say what there is: "609 checkpoints on the Hub"."""
    where = "on the Hub" if plan.origin.kind == "hub" else f"in {short_name(plan.origin.source)}"
    return f"{_checkpoints(plan.n_available)} of {plan.origin.name}’s training {where}."


def budget_text(plan: HistoryPlan, whole: int = 0) -> str:
    """Say what a choice of them is and costs, before anything is fetched.

    Parameters
    ----------
    plan
        The choice.
    whole
        Bytes where whole files have to come, -1 where nobody says how many; else 0.
    """
    n, away = len(plan.snapshots), len(plan.to_fetch)
    first, last = (format_count(plan.snapshots[i].step) for i in (0, -1))
    parts = [f"of {format_count(plan.n_available)}"]
    parts.append(f"log-spaced, steps {first}–{last}" if n > 1 else f"step {last}")
    if whole:
        parts.append(f"{format_bytes(whole)} as whole files" if whole > 0 else "as whole files")
    elif not away:
        parts.append("nothing to fetch")
    else:
        here = f" ({format_count(n - away)} here already)" if n > away else ""
        parts.append(f"at most {format_bytes(plan.bytes_to_fetch)} to fetch{here}")
    return " · ".join(parts)


def button_text(state: DownloadState | None) -> str:
    """Say what the button does."""
    if state is None:
        return "Look for checkpoints"
    if state.plan is None:
        return "Look again"
    if state.whole:
        size = format_bytes(state.whole) if state.whole > 0 else "whole files"
        return f"Download {size}"
    some = state.plan.to_fetch and len(state.plan.to_fetch) < len(state.plan.snapshots)
    return "Gather the rest" if some else "Gather"


def button_tip(state: DownloadState | None) -> str:
    """Say what comes of pressing it."""
    if state is None or state.plan is None:
        return "Find out which checkpoints there are; nothing is fetched yet"
    if state.whole:
        return "Download the files as a whole, and keep of them what there is room for"
    if state.plan.to_fetch:
        return "Fetch the tables of positions that are not here yet, and show how the curve formed"
    return "Read the tables of positions, and show how the curve formed"


def progress_text(progress: Gathered | None) -> str:
    """Say how far a gathering is, in one line."""
    if progress is None:
        return ""
    if progress.waiting:
        return progress.waiting
    text = f"{format_count(progress.done)} of {_checkpoints(progress.total)}"
    if progress.bytes_received:
        text += f" · {format_bytes(progress.bytes_received)}"
    if progress.bytes_per_second is not None:
        text += f" · {format_bytes(progress.bytes_per_second)}/s"
    return text


def skipped_text(skipped: Sequence[Skipped]) -> tuple[str, str]:
    """Say how many were left out, and each with its reason."""
    text = f"{_checkpoints(len(skipped))} left out"
    if len(skipped) == 1:
        text += f": step {format_count(skipped[0].step)}. {skipped[0].why}"
    lines = [f"Step {format_count(one.step)}: {one.why}" for one in skipped[:MOST_NAMED]]
    if len(skipped) > MOST_NAMED:
        lines.append(f"And {format_count(len(skipped) - MOST_NAMED)} more.")
    return text, wrapped("\n".join(lines))


def _checkpoints(count: int) -> str:
    return f"{format_count(count)} checkpoint{'' if count == 1 else 's'}"
