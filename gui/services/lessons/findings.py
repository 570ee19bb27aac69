"""Measurements of the open model for a lesson's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import SourceError
from geometry.measures.shape_fit import HELICES
from geometry.models.sources.layer_tables import LayerStore
from gui.services.origins import origin_of
from gui.services.questions import QuestionContext, Tensor

if TYPE_CHECKING:
    from geometry.checkpoints.memo import Memo
    from geometry.claims.claim import ModelClaim, Verdict
    from geometry.claims.claim_spaces import Which
    from geometry.claims.measured_model import MeasuredModel
    from geometry.claims.measured_range import MeasuredRange
    from geometry.claims.measurements import Measurements
    from geometry.history.history import History
    from geometry.inside.effects import Control, Effect, Effects
    from geometry.measures.kernels import HeadKernels
    from geometry.measures.layernorm import Version
    from geometry.measures.lookback import Kind, LookBack, Scoring
    from geometry.measures.shape import Shapes
    from geometry.models.model import PositionalModel
    from geometry.models.residual_stream import Name
    from geometry.models.sources.layer_tables import LayerTables

EARLY, LATE = 20, 100
"""A curve frays if the residual of positions before the first exceeds that from the second on."""
BACK, CARRIES = (50, 20, 10, 5, 2, 1), 0.6
"""Lags to look back, longest first, and the minimum R² of a motion over a lag."""
COUNTED_ENERGY = 0.9
"""Share of the energy whose directions are counted."""
NOTHING = "top 0"
"""The change that removes all positions."""
ALONE = 0.5
"""A head uses positions if its attention moves by at least this share of the maximum move."""


class Absent(Exception):
    """The model has no such number; paragraphs with it are omitted."""


class Findings:
    """Measurements behind the facts: the open model over one range.

    Parameters
    ----------
    effects
        Of a loss, measured in the panel of effects; None before.
    """

    def __init__(
        self,
        context: QuestionContext,
        positions: tuple[int, int],
        effects: Effects | None = None,
    ) -> None:
        from geometry.claims.measured_range import MeasuredRange

        self.model, self.positions, self._effects = context.model, positions, effects
        self.of_model: MeasuredModel = context.measured()
        self.of_range: MeasuredRange = context.cache(
            ("lesson", positions), lambda: MeasuredRange(context.model, positions)
        )
        self._cache: Memo = context.cache

    @property
    def shapes(self) -> Shapes:
        """Line, circle, helices of the range."""
        shapes = self.of_range.shapes
        if shapes is None:
            raise Absent
        return shapes

    @property
    def helix_r2(self) -> float:
        """R² of the better helix."""
        return max(self.shapes.fits[name].r2 for name in HELICES)

    @property
    def has_helix(self) -> bool:
        """Whether a helix describes the positions."""
        return self.shapes.best in HELICES

    @property
    def turns(self) -> float:
        """Turns of that helix."""
        fit = self.shapes.described
        if fit is None or not self.has_helix:
            raise Absent
        return fit.turns

    def look_back(self, scoring: Scoring = "even_odd") -> LookBack:
        """Return the motions that look back by :data:`BACK`, in three components."""
        from geometry.measures.lookback import longest_lag, look_back

        coordinates = self.of_range.pca.project(self.of_range.rows)[:, :3]
        lags = [lag for lag in BACK if lag <= longest_lag(*coordinates.shape)]
        if coordinates.shape[1] < 3 or not lags:
            raise Absent
        return look_back(coordinates, lags, scoring=scoring, first=self.positions[0])

    @property
    def back(self) -> int:
        """The lag to look back; the shortest if no motion fits well enough."""
        motions = self.look_back()
        carries = motions.lags[motions.r2["screw"] >= CARRIES]
        return int(carries.max() if len(carries) else motions.lags.min())

    def back_r2(self, kind: Kind, scoring: Scoring = "even_odd") -> float:
        """R² of a motion that looks back by that lag."""
        motions = self.look_back(scoring)
        return float(motions.r2[kind][motions.index(self.back)])

    @property
    def back_angle(self) -> float:
        """Rotation angle of that motion, in degrees."""
        motions = self.look_back()
        return float(np.degrees(motions.angles[motions.index(self.back), 0]))

    @property
    def kernels(self) -> HeadKernels:
        """Attention of the first layer's heads by position alone."""
        from geometry.measures.kernels import head_kernels
        from geometry.models.head_projections import project_heads

        return self._cache(
            ("lesson kernels", self.positions),
            lambda: head_kernels(project_heads(self.model), self.positions),
        )

    @property
    def history(self) -> History:
        """The history of the model's training."""
        from geometry.history.here import history_here

        if not has_history(self.model):
            raise Absent
        return self._cache("history", lambda: history_here(self.model))

    @property
    def measured(self) -> Measurements:
        """Measurements of the claims of the ledger."""
        from geometry.claims.measurements import Measurements, Scope

        return self._cache(
            ("lesson measured", self.positions),
            lambda: Measurements(self.model, Scope(self.positions), self.of_model),
        )

    def verdict(self, claim: ModelClaim) -> Verdict:
        """Check a claim of the ledger, beside its null distribution."""
        from geometry.claims.claims import check

        return self._cache(
            ("lesson verdict", self.positions, claim.id), lambda: check(claim, self.measured)
        )

    @property
    def early_variation(self) -> float:
        """Coefficient of variation of the norms from 1 to 99."""
        early = self.of_model.norms.values[1:LATE]
        if self.model.n_positions <= LATE:
            raise Absent
        return float(early.std() / early.mean())

    @property
    def inner_outliers(self) -> tuple[int, ...]:
        """Positions of outlying norm that are neither the first nor the last two."""
        ends = (0, self.model.n_positions - 2, self.model.n_positions - 1)
        return tuple(position for position in self.of_model.norms.outliers if position not in ends)

    # ---- words and places ----------------------------------------------------------------

    def layernorm_error(self, version: Version) -> float:
        """Median relative error of a simpler LayerNorm over tokens and positions."""
        return float(np.median(getattr(self.of_range.layernorm, version)))

    @property
    def worst_constant(self) -> tuple[int, float]:
        """The position where a constant norm is worst, and the median error there."""
        by_position = np.median(self.of_range.layernorm.constant_norm, axis=0)
        at = int(by_position.argmax())
        return self.positions[0] + at, float(by_position[at])

    @property
    def token_norm(self) -> float:
        """Mean norm of the tokens as they are added to positions."""
        from geometry.models.head_projections import mean_token_norm

        return self._cache("lesson token norm", lambda: mean_token_norm(self.model))

    def energy_of(self, name: Name) -> float:
        """Energy of a matrix in as many of its strongest directions as P's rank."""
        squares = self.of_model.directions(name).singular_values ** 2
        return float(squares[: self.of_model.rank].sum() / squares.sum())

    def directions_for_most(self, name: Name) -> int:
        """Return the number of a matrix's strongest directions with 90 % of its energy."""
        squares = self.of_model.directions(name).singular_values ** 2
        return int((np.cumsum(squares) < COUNTED_ENERGY * squares.sum()).sum()) + 1

    @property
    def common_word(self) -> bool:
        """Whether E's first direction is nearly its mean row, and has half of its energy."""
        directions, mean = (
            self.of_model.directions("E"),
            self.model.W_E.mean(axis=0, dtype=np.float64),
        )
        squares, length = directions.singular_values**2, float(np.linalg.norm(mean))
        alike = abs(float(directions.vectors[0] @ mean)) >= COUNTED_ENERGY * length
        return alike and float(squares[0] / squares.sum()) >= 0.5

    @property
    def first_about_mean(self) -> float:
        """Capture of E's first direction by P about its mean row."""
        from geometry.claims.claim_spaces import first_without_mean

        share = self._cache("lesson mean row", lambda: first_without_mean(self.measured))
        return float(share * self.of_model.capture[0])

    def top3(self, name: Name, *, fold_ln: bool = False) -> float:
        """Overlap of a weight's three strongest directions with P's, 0 to 3."""
        return self.of_model.top3(name, "P", fold_ln=fold_ln)

    def corner(self, rows: Name, columns: Name, which: Which = "TL") -> float:
        """Return a corner of squared overlaps, over chance."""
        from geometry.claims.claim_spaces import corner

        return corner(self.measured, rows, columns, which)

    @property
    def gain_ratio(self) -> float:
        """LayerNorm's median gain in other entries, over that in those of P's directions."""
        gain = self.model.layers.norm_gain("attention", 0)
        there = np.zeros(self.model.d_model, dtype=bool)
        there[list(self.of_model.sparsity.above_0_1_union)] = True
        if gain is None or len(gain) != len(there) or there.all() or not there.any():
            raise Absent
        return float(np.median(np.abs(gain[~there])) / np.median(np.abs(gain[there])))

    def decoded(self, what: Literal["position", "token"]) -> float:
        """Share of sums from which the position or the token is decoded."""
        from geometry.claims.claim_spaces import position_read_back, token_read_back

        measure = {"position": position_read_back, "token": token_read_back}[what]
        return self._cache(
            ("lesson read back", what, self.positions), lambda: measure(self.measured)
        )

    @property
    def lowest(self) -> tuple[int, float]:
        """The lag with the lowest mean cosine, and that cosine; without lags of few pairs."""
        by_lag = self.of_range.by_lag
        by_lag = by_lag[: max(2, len(by_lag) * 3 // 4)]
        lag = int(by_lag.argmin())
        return lag, float(by_lag[lag])

    @property
    def frays(self) -> float:
        """Median residual of the first positions relative to the later ones."""
        first, last = self.positions
        residual, early = self.of_range.residual, EARLY - first
        if early < 1 or last <= LATE:
            raise Absent
        return float(np.median(residual[:early]) / np.median(residual[LATE - first :]))

    def captured(self, first: float, last: float) -> float:
        """Mean capture of a part of the token directions, by shares of their number."""
        values = self.of_model.capture
        return float(values[int(first * len(values)) : max(int(last * len(values)), 1)].mean())

    @property
    def most_alike(self) -> tuple[float, str]:
        """The largest cosine of a token with a position, and the token."""
        from geometry.hub.faults import HubError
        from gui.style.token_text import token_label

        pair = self.of_model.cosines.most_alike(1)[0]
        try:
            text = self.model.token_text(pair.token)
        except HubError:  # its tokenizer is not downloaded
            text = None
        named = f"number {pair.token}" if text is None else f"“{token_label(text)}”"
        return pair.value, named

    @property
    def nearest_head(self) -> int:
        """The head with the most attention on itself and the last ten positions."""
        return int(self.kernels.mass_lag_0_10.argmax())

    @property
    def previous_head(self) -> int:
        """The head with the most attention on the previous position."""
        return int(self.kernels.previous_token.argmax())

    # ---- effects of positions ------------------------------------------------------------

    @property
    def effects(self) -> Effects:
        """What was measured in the panel of effects."""
        if self._effects is None:
            raise Absent
        return self._effects

    def cost(self, change: str) -> Effect:
        """Return what a change costs."""
        effect = self.effects.of(change)
        if effect is None or effect.why:
            raise Absent
        return effect

    def controls(self, change: str) -> tuple[Control, ...]:
        """Return what displacements as large as a change cost; there is at least one."""
        controls = self.cost(change).controls
        if not controls:
            raise Absent
        return controls

    def kept(self, change: str) -> float:
        """Return the share of the positions' worth that a change keeps."""
        return self.kept_cost(self.cost(change))

    def kept_cost(self, cost: Effect) -> float:
        """Return the same of a cost; positions must be worth something."""
        worth = self.cost(NOTHING)
        if worth.low <= 0:
            raise Absent
        return 1 - cost.delta / worth.delta

    @property
    def own_helix(self) -> tuple[tuple[float, float], Effect]:
        """Factors and cost of the helix that was measured by hand last."""
        from geometry.inside.interventions import helix_factors

        for effect in reversed(self.effects.effects):
            factors = helix_factors(effect.name)
            if factors not in (None, (1.0, 1.0)) and not effect.why:
                assert factors is not None
                return factors, effect
        raise Absent

    @property
    def heads_moved(self) -> np.ndarray:
        """(n_heads,): share of each head's attention that moves without positions.

        Of the first layer that reads the changed positions.
        """
        moved, layer = np.array(self.cost(NOTHING).attention), 0
        if isinstance(self.model.store, LayerStore):
            layer = self.model.store.layer
        if layer >= len(moved) or not moved.max() > 0:
            raise Absent
        of_layer: np.ndarray = moved[layer]
        return of_layer

    @property
    def readers(self) -> tuple[int, ...]:
        """The heads whose attention moves most."""
        moved = self.heads_moved
        return tuple(int(head) for head in np.flatnonzero(moved >= moved.max() * ALONE))

    @property
    def others_moved(self) -> float:
        """The largest share of attention that moves in the other heads."""
        others = np.delete(self.heads_moved, self.readers)
        if not others.size:
            raise Absent
        return float(others.max())

    @property
    def layers(self) -> LayerTables:
        """Measurements of all layers of the network."""
        if not isinstance(self.model.store, LayerStore):
            raise Absent
        return self.model.store.tables

    @property
    def layer(self) -> int:
        """The open layer."""
        if not isinstance(self.model.store, LayerStore):
            raise Absent
        return self.model.store.layer

    @property
    def first_component(self) -> float:
        """Share of the variance in the first component."""
        return float(self.of_range.pca.explained_variance_ratio[0])


@dataclass(frozen=True, slots=True)
class Fact:
    """A formatted number for a lesson's text."""

    meaning: str  # Its definition, for authors of lessons
    find: Callable[[Findings], str]  # Computes it for the open model and a range of positions
    tensors: tuple[Tensor, ...] = ()  # Tensors it reads besides P


def has_history(model: PositionalModel) -> bool:
    """Return whether a model has a local history; without the network."""
    try:
        origin = origin_of(model)
    except SourceError:
        return False
    return origin is not None and origin.kind != "hub"
