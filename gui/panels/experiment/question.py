"""What the panel "Line or helix" asks: what LayerNorm leaves of curves that are made up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.measures.synthetic import (
    KINDS,
    LEAST_POSITIONS,
    LEAST_TURNS,
    CurveKind,
    SyntheticCurve,
)
from gui.panels.kit import whole_number
from gui.services.questions import Progress, QuestionContext

if TYPE_CHECKING:
    from geometry.measures.line_or_helix import Survival
    from geometry.models.model import PositionalModel

MOST_POSITIONS = 4096
"""Of a made-up curve: more take longer than a drag can wait."""
MOST_DIMENSIONS = 65_536
"""Of a made-up curve: more is no model's."""
LENGTHS = 65
"""Numbers of positions with a price."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is made up.

    Attributes
    ----------
    curve
        The helix; line and circle have the same spacing.
    token_norm
        Length of the token embedding that is added to every row; 0 for positions alone.
    lag
        How many tokens are looked back.
    """

    curve: SyntheticCurve
    token_norm: float
    lag: int

    def with_(self, **fields: float) -> Settings:
        """Change numbers of the curve or of these settings, by their names.

        There are no more turns afterwards, and there is no longer a look back, than the positions
        have room for.
        """
        own = {name: fields.pop(name) for name in ("token_norm", "lag") if name in fields}
        n = round(fields.pop("n_positions", self.curve.n_positions))
        turns = max(LEAST_TURNS, min(fields.pop("turns", self.curve.turns), (n - 1) / 2))
        lag = max(1, min(round(own.get("lag", self.lag)), n // 2))
        numbers: dict[str, Any] = {"n_positions": n, "turns": turns, **fields}
        curve = replace(self.curve, **numbers)
        return Settings(curve, own.get("token_norm", self.token_norm), lag)


def settings_of(value: Settings | Mapping[str, Any] | None) -> Settings | None:
    """Return settings that a file has by their fields; None for those of the model's size.

    Raises
    ------
    ValueError
        When there is no such curve.
    """
    if value is None or isinstance(value, Settings):
        return value
    return Settings(**{**value, "curve": SyntheticCurve(**value["curve"])})


def can_be_made(value: Any) -> bool:
    """Return whether a file has settings, all of their fields, that make sense."""
    try:
        made = settings_of(value)
    except (KeyError, TypeError, ValueError):
        return False
    if made is None:
        return True
    curve = made.curve
    real = (curve.spacing, curve.turns, curve.climb, curve.offset, curve.noise, made.token_norm)
    return (
        asdict(made) == value
        and curve.kind in KINDS
        and whole_number(curve.n_positions)
        and curve.n_positions <= MOST_POSITIONS
        and whole_number(curve.d_model)
        and curve.d_model <= MOST_DIMENSIONS
        and whole_number(curve.seed)
        and whole_number(made.lag, 1)
        and all(type(number) in (int, float) and 0 <= number < math.inf for number in real)
    )


@dataclass(frozen=True, eq=False, slots=True)
class Experiment:
    """What was found.

    Attributes
    ----------
    settings
        What was made up.
    positions
        The range of the open model whose size they are; None if they were chosen.
    is_helix
        Whether that range's own helix gave turns, climb and spacing.
    curves
        Line, circle and helix, before and after LayerNorm.
    lengths : (k,) int
        Numbers of positions, rising.
    prices
        Mean ‖p_i‖² of the same curve with so many positions: (k,) float64 for each.
    """

    settings: Settings
    positions: tuple[int, int] | None
    is_helix: bool
    curves: Mapping[CurveKind, Survival]
    lengths: np.ndarray
    prices: Mapping[CurveKind, np.ndarray]


@dataclass(frozen=True, slots=True)
class ExperimentOf:
    """Curves as they are chosen."""

    settings: Settings

    def steps(self, about: QuestionContext) -> Iterator[Progress | Experiment]:
        yield from experiment_steps(self.settings)


@dataclass(frozen=True, slots=True)
class ExperimentLike:
    """Curves of the size that a range of the open model has."""

    positions: tuple[int, int]

    def steps(self, about: QuestionContext) -> Iterator[Progress | Experiment]:
        from geometry.claims.measurements import Measurements, Scope
        from geometry.measures.synthetic import curve_like

        first, last = self.positions
        if last - first + 1 < LEAST_POSITIONS:
            raise RangeError(
                f"A curve needs {LEAST_POSITIONS} positions or more, and the range is"
                f" {first}–{last}.",
                "Show a longer range.",
            )
        yield Progress(None, "Fitting a helix to the model")
        shapes = None
        if about.model.d_model >= 3:
            shapes = Measurements(about.model, Scope(self.positions), about.measured()).shapes
        # Of another curve a helix may be a good fit too, with any number of turns.
        known = shapes is not None and shapes.best in ("helix", "drifting_helix")
        fit = shapes.fits["helix"] if shapes is not None and known else None
        curve = curve_like(about.model.W_pos[first : last + 1], fit)
        yield Progress(None, "Reading token embeddings")
        n = min(curve.n_positions, MOST_POSITIONS)
        settings = Settings(curve, token_norm(about.model), 1)
        settings = settings.with_(n_positions=n, lag=n // 10)
        yield from experiment_steps(settings, self.positions, is_helix=known)


def experiment_steps(
    settings: Settings, positions: tuple[int, int] | None = None, *, is_helix: bool = False
) -> Iterator[Progress | Experiment]:
    """Make the curves, and yield what is left of them last.

    While a slider is dragged most are given up: after each curve there is a point to do so.
    """
    from geometry.measures.line_or_helix import survival

    curve, found = settings.curve, {}
    for done, kind in enumerate(KINDS):
        yield Progress(done / len(KINDS), "Making the curves")
        found[kind] = survival(curve.of_kind(kind), settings.token_norm, settings.lag)
    lengths = np.unique(np.geomspace(LEAST_POSITIONS, 4 * MOST_POSITIONS, LENGTHS).astype(int))
    lengths.setflags(write=False)
    yield Experiment(
        settings,
        positions,
        is_helix,
        found,
        lengths,
        {kind: curve.of_kind(kind).mean_square(lengths) for kind in KINDS},
    )


def token_norm(model: PositionalModel) -> float:
    """Return the mean norm of a model's tokens; 0 where there are none, or not on this machine."""
    from geometry.models.head_projections import mean_token_norm

    try:
        return 0.0 if model.bytes_to_fetch("W_E") else mean_token_norm(model)
    except HelixscopeError:  # what is wrong with them is no matter here
        return 0.0
