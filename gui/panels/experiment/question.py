"""The question of the panel "Line or helix": LayerNorm of synthetic curves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.measures.synthetic import KINDS, MIN_POSITIONS, MIN_TURNS, CurveKind, SyntheticCurve
from gui.services.questions import Progress, QuestionContext
from gui.state.fields import MAX_WHOLE, Counting

if TYPE_CHECKING:
    from geometry.measures.line_or_helix import Survival
    from geometry.models.model import PositionalModel

MAX_POSITIONS = 4096
"""Maximum number of positions, for speed during a drag."""
MAX_DIMENSIONS = 65_536
"""Maximum d_model."""
LENGTHS = 65
"""Numbers of positions with a price."""


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Settings of the synthetic curves."""

    curve: SyntheticCurve  # The helix; line and circle have the same spacing
    # Length of the token embedding that is added to every row; 0 for positions alone
    token_norm: Annotated[float, Meta(ge=0, le=sys.float_info.max)]
    lag: Counting  # Number of tokens to look back

    def with_(self, **fields: float) -> ExperimentSettings:
        """Change numbers of the curve or of these settings, by their names.

        Turns and lag are limited to what the number of positions allows.

        """
        own = {name: fields.pop(name) for name in ("token_norm", "lag") if name in fields}
        n = round(fields.pop("n_positions", self.curve.n_positions))
        turns = max(MIN_TURNS, min(fields.pop("turns", self.curve.turns), (n - 1) / 2))
        lag = max(1, min(round(own.get("lag", self.lag)), n // 2))
        numbers: dict[str, Any] = {"n_positions": n, "turns": turns, **fields}
        curve = replace(self.curve, **numbers)
        return ExperimentSettings(curve, own.get("token_norm", self.token_norm), lag)


def are_small(settings: ExperimentSettings | None) -> bool:
    """Return whether the sizes in settings from a file are bounded."""
    if settings is None:
        return True
    curve = settings.curve
    return (
        curve.n_positions <= MAX_POSITIONS
        and curve.d_model <= MAX_DIMENSIONS
        and curve.seed <= MAX_WHOLE
    )


@dataclass(frozen=True, eq=False, slots=True)
class Experiment:
    """Line, circle and helix with their measures."""

    settings: ExperimentSettings  # Settings of the curves
    # The open model's range from which the settings are taken; None if they were chosen
    positions: tuple[int, int] | None
    is_helix: bool  # Whether turns, climb and spacing are those of that range's helix
    curves: Mapping[CurveKind, Survival]  # Line, circle and helix, before and after LayerNorm
    lengths: np.ndarray  # (k,) int: numbers of positions, ascending
    # Mean ‖p_i‖² for each number of positions: (k,) float64 for each curve
    prices: Mapping[CurveKind, np.ndarray]


@dataclass(frozen=True, slots=True)
class ExperimentOf:
    """Curves with chosen settings."""

    settings: ExperimentSettings

    def steps(self, context: QuestionContext) -> Iterator[Progress | Experiment]:
        yield from experiment_steps(self.settings)


@dataclass(frozen=True, slots=True)
class ExperimentLike:
    """Curves of the size of a range of the open model."""

    positions: tuple[int, int]

    def steps(self, context: QuestionContext) -> Iterator[Progress | Experiment]:
        from geometry.claims.measurements import Measurements, Scope
        from geometry.measures.synthetic import curve_like
        from gui.panels.shape.spec import check_positions

        check_positions(self.positions)
        first, last = self.positions
        yield Progress(None, "Fitting a helix to the model")
        shapes = None
        if context.model.d_model >= 3:
            shapes = Measurements(context.model, Scope(self.positions), context.measured()).shapes
        # A helix may fit other curves too, with an arbitrary number of turns.
        known = shapes is not None and shapes.best in ("helix", "drifting_helix")
        fit = shapes.fits["helix"] if shapes is not None and known else None
        curve = curve_like(context.model.W_pos[first : last + 1], fit)
        yield Progress(None, "Reading token embeddings")
        n = min(curve.n_positions, MAX_POSITIONS)
        settings = ExperimentSettings(curve, token_norm(context.model), 1)
        settings = settings.with_(n_positions=n, lag=n // 10)
        yield from experiment_steps(settings, self.positions, is_helix=known)


def experiment_steps(
    settings: ExperimentSettings,
    positions: tuple[int, int] | None = None,
    *,
    is_helix: bool = False,
) -> Iterator[Progress | Experiment]:
    """Compute the curves, and yield the :class:`Experiment` last.

    It can be cancelled after each curve, as most questions are during a drag.
    """
    from geometry.measures.line_or_helix import survival

    curve, curves = settings.curve, {}
    for done, kind in enumerate(KINDS):
        yield Progress(done / len(KINDS), "Making the curves")
        curves[kind] = survival(curve.of_kind(kind), settings.token_norm, settings.lag)
    lengths = np.unique(np.geomspace(MIN_POSITIONS, 4 * MAX_POSITIONS, LENGTHS).astype(int))
    lengths.setflags(write=False)
    yield Experiment(
        settings,
        positions,
        is_helix,
        curves,
        lengths,
        {kind: curve.of_kind(kind).mean_square(lengths) for kind in KINDS},
    )


def token_norm(model: PositionalModel) -> float:
    """Return the mean norm of a model's tokens; 0 if they are missing, or not on this machine."""
    from geometry.models.head_projections import mean_token_norm

    try:
        return 0.0 if model.bytes_to_fetch("W_E") else mean_token_norm(model)
    except FileChanged:
        raise
    except HelixscopeError:  # the reason does not matter here
        return 0.0
