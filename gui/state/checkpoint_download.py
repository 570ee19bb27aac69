"""How far the download of a training's checkpoints is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered
    from geometry.history.history import Skipped
    from geometry.history.plan import HistoryPlan


@dataclass(frozen=True, eq=False, slots=True)
class DownloadState:
    """How far it is with the checkpoints of the open model's training.

    Attributes
    ----------
    stage
        "looking" for what there is; "listed": it is known, or why it is not; "gathering".
    plan
        What is to be gathered, and what that costs; None where there is nothing to choose from.
    progress
        While "gathering", once it is known.
    skipped
        Checkpoints that were left out the last time.
    why, advice
        What went wrong, and what to do; "" where nothing did.
    whole
        Bytes of whole files, where the user is asked before those are downloaded; else 0, or -1
        where nobody says how many.
    """

    stage: Literal["looking", "listed", "gathering"]
    plan: HistoryPlan | None = None
    progress: Gathered | None = None
    skipped: tuple[Skipped, ...] = ()
    why: str = ""
    advice: str = ""
    whole: int = 0
