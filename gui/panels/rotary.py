"""Rotary: how fast a model turns each pair of its queries' and keys' entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.rotary import lag_kernel, turning, turns
from geometry.models.pair_use import PairUse, pair_use
from geometry.models.schemes.rotary import Rotary
from geometry.models.sources.source import Source
from gui.panels.kit.choices import Choice, Layer, Number, Option, Toggle
from gui.panels.kit.intents import ShowBeside
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Curve, Image, Part, Plot, Reading, Rule, highest
from gui.services.questions import QuestionContext, Tensor
from gui.services.snippets import python_script
from gui.state.fields import Whole
from gui.style.theme import SHADES, format_count, format_number, format_percent

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

COUNTABLE = 6.0
"""Turns within the range of the initially drawn pair."""
FARTHEST = 4096
"""Longest lag of the kernel, in positions."""


@dataclass(frozen=True, eq=False, slots=True)
class Rotation:
    """Rates at which pairs of dimensions rotate, and what follows from them."""

    # (n_pairs,): radians per position; turns within the model's context
    rates: np.ndarray
    turns: np.ndarray
    kernel: np.ndarray  # (n,): mean of cos θᵢ·lag over the pairs
    # Name of the kind of layers that have them, such as "sliding attention", and base of the rates
    name: str = ""
    base: float = 0.0

    @classmethod
    def of(
        cls, rates: np.ndarray, context: int, lags: np.ndarray, name: str = "", base: float = 0.0
    ) -> Rotation:
        """Count the turns within a context, and compute the kernel at lags."""
        kernel = lag_kernel(rates, lags) / len(rates)
        return cls(rates, turns(rates, context), kernel, name, base)

    @property
    def period(self) -> np.ndarray:
        """(n_pairs,) positions for one turn; infinite for pairs that do not turn."""
        with np.errstate(divide="ignore"):
            period: np.ndarray = 2 * np.pi / self.rates
        return period


@dataclass(frozen=True, eq=False, slots=True)
class Turned:
    """The rotation of a model's queries and keys."""

    rotary: Rotary  # Rates from its configuration
    # Positions in which turns are counted: those of the configuration, or those that are shown
    context: int
    lags: np.ndarray  # (n,): from 0
    # Turns by the model's rates, with and without scaling
    own: Rotation
    unscaled: Rotation
    others: tuple[
        Rotation, ...
    ] = ()  # Those of other kinds of layers, such as of sliding attention
    # How much the heads of a layer use each pair; None if not measured or unknown
    use: PairUse | None = None
    # (n_heads, n): each head's kernel, weighted by its use; None as ``use``
    head_kernels: np.ndarray | None = None
    use_missing: str = ""  # Why the requested use is unknown; else ""

    @property
    def scaled(self) -> bool:
        """Whether the rates are scaled for longer contexts."""
        return not np.array_equal(self.rotary.rates, self.rotary.unscaled)


@dataclass(frozen=True, slots=True)
class RotaryOf:
    """The rotation of a model's pairs, with a kernel for lags within the range.

    Heads' use of pairs is measured in one layer; in none if it is None, as that reads weights.
    """

    positions: tuple[int, int]
    layer: int | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        if self.layer is None:
            return ()
        return (("turned W_Q", self.layer), ("turned W_K", self.layer))

    def answer(self, context: QuestionContext) -> Turned:
        """Compute the rotation; raises TensorUnavailable for a model without rotary positions."""
        rotary = context.model.rotary
        if rotary is None:
            raise TensorUnavailable(
                f"The model {context.model.name} does not turn queries and keys.",
                "Open a model with rotary positions, such as EleutherAI/pythia-70m.",
            )
        n_context = rotary.context or context.model.n_positions
        first, last = self.positions
        lags = np.arange(min(last - first + 1, FARTHEST))
        use, missing = None, ""
        if self.layer is not None:
            try:
                use = pair_use(context.model, self.layer)
            except TensorUnavailable as error:
                missing = str(error).rstrip(".")
        return Turned(
            rotary,
            n_context,
            lags,
            Rotation.of(rotary.rates, n_context, lags),
            Rotation.of(rotary.unscaled, n_context, lags),
            tuple(
                Rotation.of(rates, n_context, lags, _plain(name), base)
                for name, (base, rates) in rotary.by_layer_type.items()
                if not np.array_equal(rates, rotary.rates)
            ),
            use,
            None if use is None else lag_kernel(rotary.rates_at(use.layer), lags, use.share),
            missing,
        )


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the rotary panel."""

    # The pair that is drawn over positions, from 0; None for a pair with a few turns within the
    # shown range
    pair: int | None = None
    count: str = "turns"  # Whether turns are counted within the context, or positions for one turn
    unscaled: bool = True  # Whether the rotation without scaling is shown too
    # Whether the heads' use of pairs is shown instead of one pair over positions
    heads: bool = False
    layer: int = 0  # The layer of these heads


def _no_heads(model: PositionalModel) -> str:
    """Return why a model's heads are unknown; "" if they are known."""
    if model.rotary is None:
        return "it does not turn queries and keys"
    return "" if model.turned_layers is not None else "its queries and keys have unknown names"


RotaryView = View[Choices, Turned]


class RotaryPanel(PanelSpec[Choices, Turned]):
    """Turns by pair, the kernel by lag, and one pair over positions."""

    name = "rotary"
    formula = "θᵢ = base^(−2i/d)"
    meaning = "how fast each pair turns"
    explanation = (
        "A rotary model adds nothing to the residual stream: at position p it turns pair i of each "
        "query and key by the angle p·θᵢ, so that their product depends on the lag alone. Fast "
        "pairs distinguish neighbours, those that do not turn once within the context near from "
        "far; the kernel is the mean of cos θᵢ·Δ, the product of a query with an equal key."
    )
    empty = "Open a model to see how fast it turns its queries and keys."
    defaults = Choices()
    controls = (
        Choice(
            field="count",
            label="By pair",
            options=(
                Option("turns", "Turns", "How often each pair turns within the context"),
                Option("positions", "Positions", "Positions for one turn of each pair"),
            ),
        ),
        Number(
            field="pair",
            text="Pair",
            tip="The pair that is drawn over positions, from 0, the fastest",
            minimum=0,
            maximum=lambda result: result.rotary.n_pairs - 1,
            shown=lambda choice, result: _pair_of(choice, result),
            chosen=lambda number: number,
            kind=Whole | None,
        ),
        Toggle(
            field="unscaled",
            text="Unscaled",
            tip="Show the turning without scaling for longer contexts beside it (dashed)",
            works=lambda view: view.result.scaled,
        ),
        Toggle(
            field="heads",
            text="Heads",
            tip="Show how much each head of a layer uses each pair, by its weights, and its kernel",
            unavailable=_no_heads,
        ),
        Layer(field="layer", tip="The layer of the heads", enabled=lambda choices: choices.heads),
    )

    def concerns(self, model: PositionalModel) -> bool:
        return model.rotary is not None

    def question(self, scope: Scope, choices: Choices) -> RotaryOf:
        return RotaryOf(scope.positions, choices.layer if choices.heads else None)

    def question_about_other(self, scope: Scope, choices: Choices) -> RotaryOf:
        return RotaryOf(scope.positions)

    def plots(self, view: RotaryView) -> Sequence[Part]:
        last = _pair(view) if view.result.use is None else _use(view, view.result.use)
        return [_by_pair(view), _kernel(view), last]

    def acts(self, view: RotaryView) -> Sequence[tuple[str, object]]:
        pair = _shown_pair(view)
        source = Source.derive("pair", str(pair), view.model.source)
        return ((f"Show pair {pair} beside, in the 3D view", ShowBeside(source)),)

    def heading(self, view: RotaryView) -> tuple[str, str]:
        return f"{view.model.name} · turning of queries and keys", _scope(view.result)

    def caption(self, view: RotaryView) -> str:
        result = view.result
        whole = int((result.own.turns >= 1).sum())
        parts = [
            view.model.name,
            _scope(result),
            f"{whole} of {result.rotary.n_pairs} pairs turn "
            f"at least once within {format_count(result.context)} positions",
        ]
        if result.use is not None and result.rotary.type_of(result.use.layer):
            kind = _plain(result.rotary.type_of(result.use.layer))
            parts.append(f"layer {result.use.layer} has {kind}")
        if result.use_missing:
            parts.append(f"no use by heads: {result.use_missing}")
        return " · ".join(parts)

    def tables(self, view: RotaryView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by pair and one by lag."""
        result = view.result
        use = () if result.use is None else result.use.use
        kernels = () if result.head_kernels is None else result.head_kernels
        return {
            "": {
                "pair": np.arange(result.rotary.n_pairs),
                "radians_per_position": result.rotary.rates,
                "unscaled": result.rotary.unscaled,
                "positions_per_turn": result.own.period,
                "turns_in_context": result.own.turns,
                **{f"use_of_head_{h}": row for h, row in enumerate(use)},
            },
            "by_lag": {
                "lag": result.lags,
                "kernel": result.own.kernel,
                "unscaled_kernel": result.unscaled.kernel,
                **{f"kernel_of_{kind.name}": kind.kernel for kind in result.others},
                **{f"kernel_of_head_{h}": row for h, row in enumerate(kernels)},
            },
            **{
                kind.name: {
                    "pair": np.arange(len(kind.rates)),
                    "radians_per_position": kind.rates,
                    "positions_per_turn": kind.period,
                    "turns_in_context": kind.turns,
                }
                for kind in result.others
            },
        }

    def script(self, view: RotaryView) -> str:
        result = view.result
        used = "" if result.use is None else f"print(pair_use(model, {result.use.layer}).use)\n"
        lines = f"""
rotary = model.rotary
print(rotary.base, rotary.scaling, rotary.rates)
print(turns(rotary.rates, {result.context}))
print(lag_kernel(rotary.rates, range({len(result.lags)})) / rotary.n_pairs)
{used}"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        return "Turns of each pair" if choices.count == "turns" else "Positions for one turn"

    def summary(self, view: RotaryView) -> str:
        return _scope(view.result)


def _by_pair(view: RotaryView) -> Plot:
    result = view.result
    turned = view.choices.count == "turns"
    curves = _curves(view, lambda own: own.turns if turned else own.period, dots=True)
    context = format_count(result.context)
    rule = Rule(1.0, label="one turn") if turned else Rule(result.context, label="the context")

    def hover(curve: int, at: int) -> str:
        name, value = _name(view, curves[curve]), float(curves[curve].y[at])
        if turned:
            return f"{name} · pair {at} · {format_number(value)} turns"
        return f"{name} · pair {at} · one turn in {format_number(value, 1)} positions"

    title = f"turns within {context} positions" if turned else "positions for one turn"
    return Plot(
        "Turns of each pair",
        Axis("pair i", whole=True),
        Axis(title, log=True),
        curves,
        [
            rule,
            Rule(
                _shown_pair(view),
                axis="x",
                drags="pair",
                bounds=(0, result.rotary.n_pairs - 1),
                tip="The pair that is drawn over positions; drag it",
            ),
        ],
        hover,
        readings=_readings(view),
    )


def _kernel(view: RotaryView) -> Plot:
    result = view.result
    heads = () if result.head_kernels is None else result.head_kernels
    curves = [Curve(result.lags, kernel, view.theme.line, silent=True) for kernel in heads]
    curves += _curves(view, lambda own: own.kernel)  # over those of the heads

    def hover(curve: int, at: int) -> str:
        name, value = _name(view, curves[curve]), format_number(float(curves[curve].y[at]))
        return f"{name} · Δ = {at} · {value}"

    return Plot(
        "Kernel by lag",
        Axis("lag Δ (positions)", whole=True),
        Axis(
            "mean of cos θᵢΔ", span=(min(-0.3, *(c.y.min() for c in curves)), highest(curves, 1.0))
        ),
        curves,
        [Rule(0.0)],
        hover,
        readings=_readings(view),
        over="number",
    )


def _pair(view: RotaryView) -> Plot:
    result, pair = view.result, _shown_pair(view)
    first, last = view.scope.positions
    table = turning(result.rotary.rates[pair : pair + 1], last + 1)[first:]
    x = np.arange(first, last + 1)
    cosine, sine = view.ink, view.spare_colors[0]
    curves = [
        Curve(x, table[:, 0], cosine, label="cos pθᵢ"),
        Curve(x, table[:, 1], sine, label="sin pθᵢ"),
    ]
    period = format_number(float(result.own.period[pair]), 1)

    def hover(curve: int, at: int) -> str:
        what = ("cos", "sin")[curve]
        return (
            f"position {view.at(first + at)} · {what} {format_number(float(curves[curve].y[at]))}"
        )

    return Plot(
        "A pair over positions",
        Axis("position p", whole=True),
        Axis("cos pθᵢ, sin pθᵢ", span=(-1.1, 1.1)),
        curves,
        hover=hover,
        over="position",
        min_width=640,
        readings=[
            Reading("cos pθᵢ", color=cosine),
            Reading("sin pθᵢ", color=sine),
            Reading(f"pair {pair}, one turn in {period} positions"),
        ],
    )


def _use(view: RotaryView, use: PairUse) -> Image:
    shares, rotary = use.share, view.result.rotary
    turns_there = turns(rotary.rates_at(use.layer), view.result.context)
    peak = max(float(shares.max()), 1e-12)

    def hover(head: int, pair: int) -> str:
        turned = format_number(float(turns_there[pair]))
        share = format_percent(float(shares[head, pair]))
        return f"head {head} · pair {pair}, which turns {turned} times · {share} of its use"

    return Image(
        "Use of pairs by the layer's heads",
        Axis("pair i", whole=True),
        Axis("head", whole=True),
        shares,
        SHADES[view.theme.name],
        (0.0, peak),
        unit="share of a head’s use",
        hover=hover,
        stretch=1,
    )


def _curves(
    view: RotaryView, values: Callable[[Rotation], np.ndarray], *, dots: bool = False
) -> list[Curve]:
    """Return curves of the model's rates, those without scaling, other kinds, and other models."""
    result, colors = view.result, cycle(view.spare_colors)
    x = np.arange(len(values(result.own)))
    curves = [Curve(x, values(result.own), view.ink, width=1.5, dots=dots)]
    if _beside(view):
        curves.append(Curve(x, values(result.unscaled), view.theme.muted, "dashed"))
    for kind, color in zip(result.others, colors, strict=False):
        y = values(kind)
        curves.append(Curve(np.arange(len(y)), y, color, label=kind.name, dots=dots))
    for other in view.others:
        y = values(other.result.own)
        curves.append(other.curve(np.arange(len(y)), y, silent=False))
    return curves


def _beside(view: RotaryView) -> bool:
    """Return whether the rates without scaling are shown."""
    return view.result.scaled and view.choices.unscaled


def _name(view: RotaryView, curve: Curve) -> str:
    return curve.name or curve.label or view.model.name


def _readings(view: RotaryView) -> list[Reading]:
    kinds = view.result.rotary.by_layer_type if view.result.others else ()
    name = _plain(next(iter(kinds))) if kinds else view.model.name
    readings = [Reading(name, color=view.ink)]
    if _beside(view):
        readings.append(Reading("without scaling", color=view.theme.muted, style="dashed"))
    others = zip(view.result.others, cycle(view.spare_colors), strict=False)
    readings += [Reading(kind.name, color=color) for kind, color in others]
    return readings


def _shown_pair(view: RotaryView) -> int:
    return _pair_of(view.choices.pair, view.result)


def _pair_of(choice: int | None, result: Turned) -> int:
    """Return the number of the chosen pair, or of a pair whose turns can be counted."""
    if choice is not None:
        return min(choice, result.rotary.n_pairs - 1)
    shown = turns(result.rotary.rates, max(len(result.lags), 2))
    return int(np.abs(np.log(shown / COUNTABLE)).argmin())


def _plain(kind: str) -> str:
    """Return the name of a kind of layers in words."""
    return kind.replace("_", " ")


def _scope(result: Turned) -> str:
    rotary = result.rotary
    width = 2 * rotary.n_pairs
    part = f"{width} of {rotary.d_head}" if width != rotary.d_head else f"all {rotary.d_head}"
    paired = "in halves" if rotary.pairing == "halves" else "interleaved"
    bases = "".join(f", {kind.name} {kind.base:,.10g}" for kind in result.others)
    parts = [f"base {rotary.base:,.10g}{bases}", f"{part} entries of a head, {paired}"]
    if rotary.scaling != "none":
        parts.append(f"scaling {rotary.scaling}")
    if rotary.factor != 1.0:
        parts.append(f"cosines times {format_number(rotary.factor)}")
    return " · ".join(parts)
