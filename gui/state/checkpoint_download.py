"""Progress of the download of a training's checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from geometry.history.gathering import Gathered
    from geometry.history.history import Skipped
    from geometry.history.plan import HistoryPlan


@dataclass(frozen=True, eq=False, slots=True)
class DownloadState:
    """State of the search for and download of the open model's checkpoints."""

    # "looking" for checkpoints; "listed": they are known, or why not; "gathering".
    stage: Literal["looking", "listed", "gathering"]
    # The selection, with the size of its download; None if there are no checkpoints.
    plan: HistoryPlan | None = None
    progress: Gathered | None = None  # Progress while "gathering", once known
    skipped: tuple[Skipped, ...] = ()  # Checkpoints skipped the last time
    # The error and advice; "" if there is none.
    why: str = ""
    advice: str = ""
    # Bytes of whole files, if the user has to agree to their download first; 0 if not, -1 if the
    # size is unknown.
    whole: int = 0
