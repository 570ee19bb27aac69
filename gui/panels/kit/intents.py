"""Intents: requests of panels to others, as values.

:class:`gui.window.arrangement.result_docks.ResultDocks` executes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from geometry.models.sources.source import Source
from gui.state.aligned_curve import CurveAlignment
from gui.state.values import Fields


@dataclass(frozen=True, slots=True)
class ShowPanel:
    """Show another panel with some choices."""

    name: str
    choices: Fields


@dataclass(frozen=True, slots=True)
class OpenSource:
    """Open a source."""

    source: str | Source


@dataclass(frozen=True, slots=True)
class ShowBeside:
    """Show a source beside the open model."""

    source: Source


@dataclass(frozen=True, slots=True)
class HideCurves:
    """Hide these curves of other models: pairs of a panel's name and a model's key."""

    hidden: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class AddModel:
    """Compare another model with the open one."""

    at: tuple[int, int]  # Where on the screen to show the menu
    in_grid: bool = True  # Whether it gets its own view, or only curves in panels


@dataclass(frozen=True, slots=True)
class MakeCurrent:
    """Make the model with this key the current one."""

    key: int


@dataclass(frozen=True, slots=True)
class RemoveModel:
    """Remove the model with this key."""

    key: int


@dataclass(frozen=True, slots=True)
class AlignCurve:
    """Align another curve with the shown one; None for none."""

    alignment: CurveAlignment | None


@dataclass(frozen=True, slots=True)
class ChangeShared:
    """Change a field of the session."""

    field: str
    value: object


@dataclass(frozen=True, slots=True)
class LookForCheckpoints:
    """Look for checkpoints of the open model's training."""


@dataclass(frozen=True, slots=True)
class PlanCheckpoints:
    """Plan the download of a number of checkpoints."""

    count: int


@dataclass(frozen=True, slots=True)
class DownloadCheckpoints:
    """Download a number of checkpoints; ``whole`` agrees to the download of whole files."""

    count: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class CancelCheckpoints:
    """Cancel the download; finished checkpoints are kept."""


@dataclass(frozen=True, slots=True)
class SaveTimelapse:
    """Save a film of the training, with this default name."""

    name: str


@dataclass(frozen=True, slots=True)
class SaveCoordinates:
    """Save the coordinates of that film, with this default name."""

    name: str
