"""Kernels: attention of a layer's heads by position alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.evidence.null import Band as NullBand
from geometry.measures.kernels import BLOCK, NEAR, HeadKernels, attention_map
from gui.panels.kernels.question import (
    MINUS,
    ByOffset,
    HeadsOf,
    KernelNullsOf,
    Kernels,
    KernelsOf,
    NearestHead,
    NearestHeadOf,
    check_size,
    lag_text,
)
from gui.panels.kernels.tokens import LEVELS, agreement, over_tokens, token_map
from gui.panels.kit.choices import Choice, Layer, Option, Saved, Shared, Toggle
from gui.panels.kit.nulls import Finding
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Band, Curve, Image, Part, Plot, Reading, Span
from gui.services.snippets import python_script, table_argument
from gui.state.fields import Whole
from gui.state.guides import Guide
from gui.style.theme import DIVERGING, SHADES, SMALL, format_number, format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.inside.prompt import PromptRun
    from geometry.models.model import PositionalModel

COVERED = 0.99
"""Share of attention within the initial range of lags."""
MIN_REACH = 24
"""Minimum of that range."""
DEEPEST = 1e-6
"""Minimum mean attention on the axis."""
NARROW = 640
"""Width below which the curves are hidden, in pixels."""
NARROW_FOR_TWO = 880
"""The same beside two maps."""
LOCAL = 0.9
"""Minimum share of attention at lags 0–10 of a local head."""
GLOW = 0.01
"""Share of a row's maximum above which a position is enlarged."""
FIGURE = (6.8, 3.1)
"""Inches."""
WIDER = 3.0
"""Further inches with a second map."""
NAMED = 3
"""Number of named heads in print: those with the smallest mean lag."""
TICKS = (-1000, -100, -10, 0, 5, 10, 100, 1000)
"""Ticks of lags in print."""
CONTENT = (
    "Include a token in LayerNorm's denominator, √(‖pᵢ‖² + e²) with e the mean norm of token "
    "embeddings, which reduces the weight of positions"
)
AVERAGED = (
    f"Replace every {BLOCK} neighbouring rows by their mean: heads that depend on distinguishing "
    "neighbours lose this ability (dashed: without averaging)"
)
BY_LAG = "Its bias depends on the lag alone: nothing else distinguishes neighbours."
OF_LAG = (
    "The bias that the model adds to attention scores, as if there were nothing else in them: what "
    "each head attends to by distance alone. It is the same in every layer that has it."
)
OF_OFFSET = (
    "The bias that the model adds to attention scores by the offset of two patches, as if there "
    "were nothing else in them; of all blocks whose windows have this size. Attention is that of a "
    "patch whose window reaches as far on every side."
)
Sort = Literal["nearest", "previous", "self", "near", "lag", "number"]


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the kernels panel."""

    layer: int = 0  # As in :class:`HeadsOf`
    # The head of map and curve; None for the one with the smallest mean lag
    head: int | None = None
    sort: Sort = "nearest"  # Order of the wall
    curve: Literal["attention", "score"] = "attention"  # The quantity by lag
    content: bool = False  # As in :class:`HeadsOf`
    averaged: bool = False  # As in :class:`HeadsOf`
    # Whether positions that the current one attends to are enlarged on the curve
    in_view: bool = True
    # Whether the attention over the prompt's tokens is shown, once the prompt was run
    tokens: bool = False
    prompt_run: PromptRun | None = None  # The run of the prompt, from the session
    by_lag: bool = False
    by_offset: bool = False

    @property
    def of(self) -> HeadsOf:
        """The queries and keys."""
        return HeadsOf(self.layer, self.content, self.averaged)


KernelsView = View[Choices, Kernels | NearestHead | ByOffset]


class KernelsPanel(PanelSpec[Choices, Kernels | NearestHead | ByOffset]):
    """A wall of all heads, with attention by lag and the map of one.

    For compared models it shows the head with the smallest mean lag, as head numbers do not
    correspond.
    """

    name = "kernels"
    formula = "Aₕ(i, j) = softmaxⱼ(qᵢ·kⱼ/√d)"
    meaning = "attention by position alone"
    explanation = (
        "Queries and keys are computed from positional embeddings alone, with the layer's own "
        "LayerNorm, weights and biases, as if there were no tokens, so that only a head's "
        "preference for certain lags remains. This is exact only for the first layer, which reads "
        "tokens plus positions; deeper layers read the output of earlier layers, so there it is "
        "an extrapolation."
    )
    empty = "Open a model to see what its heads attend to by position alone."
    instead = "Choose another layer above."
    defaults = Choices()
    controls = (
        Layer(
            field="layer",
            when=lambda choices: not choices.by_lag,
            tip="The layer of the heads; an extrapolation beyond layer 0",
            note=lambda layer: (
                extrapolation(layer).capitalize() if layer else "Exact: this layer reads positions"
            ),
        ),
        Choice(
            field="sort",
            when=lambda choices: not choices.by_offset,
            label="Sorted by",
            tip="The score by which heads are sorted, shown beside each head",
            options=(
                Option("nearest", "Nearest first"),
                Option("previous", "Previous token"),
                Option("self", "Self"),
                Option("near", "Lags 0–10"),
                Option("lag", "Lag alone"),
                Option("number", "Head number"),
            ),
            listed=True,
        ),
        Choice(
            field="curve",
            label="Curve",
            options=(
                Option(
                    "attention", "Attention", "Mean attention of the range's queries to each lag"
                ),
                Option(
                    "score",
                    "Score",
                    "Mean score κ(Δ) before the softmax, by lag; the maps stay attention",
                ),
            ),
        ),
        Toggle(
            field="content",
            text="With tokens",
            tip=CONTENT,
            unavailable=lambda model: model.missing.get("W_E", ""),
            when=lambda choices: not choices.by_lag,
        ),
        Toggle(
            field="averaged",
            text=f"Blocks of {BLOCK}",
            tip=AVERAGED,
            unavailable=lambda model: "" if model.lags is None else BY_LAG,
            when=lambda choices: not choices.by_lag,
        ),
        Toggle(
            field="in_view",
            text="Show in 3D",
            tip="Enlarge the points of the curve that the current position attends to",
            when=lambda choices: not choices.by_lag,
        ),
        Toggle(
            field="tokens",
            text="Prompt",
            tip="Show the head’s real attention over the tokens of the prompt, as it was run, "
            "beside the map of positions alone",
            when=lambda choices: choices.prompt_run is not None,
        ),
        Shared(field="prompt_run"),
        Saved(field="by_lag", kept=False, kind=bool),
        Saved(field="by_offset", kept=False, kind=bool),
        Saved(
            field="head",
            kind=Whole | None,
            suits=lambda head, model: head is None or head < (model.n_heads or 0),
        ),
    )
    body = "gui.panels.kernels.body:KernelsBody"
    claims = {
        "kernels.local": {"layer": 0, "sort": "near", "averaged": False},
    }
    guides_current = True

    def headline(self, choices: Choices) -> tuple[str, str, str]:
        if choices.by_offset:
            return "Aₕ(Δ) = softmax(bₕ(Δ))", "attention by the bias alone", OF_OFFSET
        if choices.by_lag:
            return "Aₕ(i, j) = softmaxⱼ(bₕ(i − j))", "attention by the bias alone", OF_LAG
        return super().headline(choices)

    def instead_for(self, model: PositionalModel) -> str:
        """Return what helps: another layer if there are several, or a panel about the scheme."""
        if model.rotary is not None:
            return "The Rotary panel shows how queries and keys are turned."
        if model.lags is not None:
            return "Similarity and Spectra show its vectors by lag."
        return self.instead if self.concerns(model) and (model.n_layers or 0) > 1 else ""

    def concerns(self, model: PositionalModel) -> bool:
        if model.lags is not None:
            return model.lags.kind != "relative table"
        return not {"W_Q", "W_K"} & model.missing.keys()

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Reset to the first layer's head with the smallest mean lag."""
        lags = model.lags
        return replace(
            super().choices_for(model, choices),
            layer=0,
            head=None,
            by_lag=lags is not None,
            by_offset=lags is not None and lags.net is not None,
        )

    def question(self, scope: Scope, choices: Choices) -> KernelsOf:
        return KernelsOf(choices.of, scope.positions, choices.head)

    def nulls_question(self, scope: Scope, choices: Choices) -> KernelNullsOf | None:
        return None if choices.by_lag else KernelNullsOf(choices.of, scope.positions)

    def finding(self, view: KernelsView) -> Finding:
        result = _own(view)
        near, null = float(result.by_head.mass_lag_0_10[result.head]), view.nulls.mass_lag_0_10
        random, before = null[result.head], view.nulls.previous_token[result.head]
        return Finding.of(
            f"head {result.head} has {format_percent(near)} at lags 0–10 "
            f"(expected ≥ {LOCAL:g}); {random.draws} random rotations of P reach at most "
            f"{format_percent(float(random.values[-1]))}, previous token at most "
            f"{format_number(float(before.values[-1]))}",
            near >= LOCAL,
            near,
            "above",
            random,
        )

    def question_about_other(self, scope: Scope, choices: Choices) -> NearestHeadOf:
        return NearestHeadOf(choices.of, scope.positions)

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        return replace(self.defaults, layer=reported.layer)

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[KernelsOf, Kernels]:
        measured, of = reported.measured, choices.of
        check_size(measured.positions)
        kernels = measured.kernels()
        head = int(kernels.mean_lag.argmin())
        weights = attention_map(of.project(reported.model), head, measured.positions)
        question = self.question(reported.scope, choices)
        return question, Kernels(of, measured.positions, kernels, None, head, weights)

    def plots(self, view: KernelsView) -> Sequence[Part]:
        return parts_of(view, None)

    def heading(self, view: KernelsView) -> tuple[str, str]:
        if isinstance(view.result, ByOffset):
            title = f"head {view.result.head}: attention by its bias alone"
            return f"{view.model.name} · {title}", f"of {len(view.result.bias)} heads"
        of, (first, last) = view.result.of, view.result.positions
        title = f"layer {of.layer}, head {view.result.head}: attention by position alone"
        if isinstance(view.result, Kernels) and view.result.by_lag:
            title = f"head {view.result.head}: attention by its bias alone"
        scope = [*_switches(of), f"queries {first}–{last}, keys of all positions"]
        if compared := agreement(view, _own(view)):
            scope.append(compared)
        return f"{view.model.name} · {title}", " · ".join(scope)

    def caption(self, view: KernelsView) -> str:
        if isinstance(view.result, ByOffset):
            offset = view.result
            mean = format_number(float(offset.distance[offset.head]), 1)
            of = f"head {offset.head} of {len(offset.bias)}"
            return f"{view.model.name} · {of} · mean distance {mean} patches"
        result = _own(view)
        head = result.head

        def score(name: str, write: Callable[[float], str]) -> str:
            both = [kernels for kernels in (result.before, result.by_head) if kernels is not None]
            return " → ".join(write(float(getattr(kernels, name)[head])) for kernels in both)

        first, last = result.positions
        parts = [
            view.model.name,
            f"head {head}" if result.by_lag else f"layer {result.of.layer}, head {head}",
            *_switches(result.of),
            f"previous token {score('previous_token', format_number)}",
            f"self {score('own', format_number)}",
            f"lags 0–10 {score('mass_lag_0_10', format_percent)}",
            f"lag alone explains {score('by_lag_alone', format_percent)} of the score variance",
            f"queries {first}–{last}, all keys",
        ]
        if compared := agreement(view, result):
            parts.insert(2, compared)
        return " · ".join(parts)

    def compares(self, choices: Choices) -> str:
        what = "Attention" if choices.curve == "attention" else "Score"
        return f"{what} of the head with the shortest mean lag"

    def summary(self, view: KernelsView) -> str:
        result = view.result
        assert isinstance(result, NearestHead)
        previous, lag = format_number(result.previous_token), format_number(result.mean_lag, 1)
        return f"Head {result.head}: previous token {previous}, mean lag {lag}"

    def guide(self, view: KernelsView, current: int | None) -> Guide | None:
        """Enlarge the positions that the current one attends to."""
        if isinstance(view.result, ByOffset):
            return None
        result = _own(view)
        query, pca = query_of(result, current), view.scope.pca
        if query is None or pca is None or not view.choices.in_view or result.by_lag:
            return None
        first = result.positions[0]
        row = result.weights[query - first]
        weights = row / max(float(row.max()), 1e-30)
        lit = np.flatnonzero(weights >= GLOW)
        return Guide(
            pca,
            view.scope.components,
            positions=first + lit,
            weights=weights[lit],
            caption=f"larger points: what position {query} attends to by position alone"
            f" (layer {result.of.layer}, head {result.head})",
        )

    def figure(self, view: KernelsView) -> Figure:
        if isinstance(view.result, ByOffset):
            return super().figure(view)
        from gui.plots.figure_base import POINTS, name_axes, new_figures, title_axes
        from gui.plots.mpl_painter import name_models, paint_band, paint_image, shaped, spanned_by

        result, theme = _own(view), view.theme
        kernels, head = result.by_head, result.head
        maps = _maps(view, result)
        inches = (FIGURE[0] + WIDER * (len(maps) - 1), FIGURE[1])
        ratios = (1.1, *(1.0 for _ in maps))
        figure, axes = new_figures(theme, inches, columns=len(ratios), width_ratios=ratios)
        left, *right = axes
        figure.set_layout_engine("compressed", wspace=0.1)
        left.set_box_aspect(0.82)
        left.set_yscale("log")
        if view.others:
            # One head per model, in the model's colour.
            named = [head]
            for other in view.others:
                curve = _by_lag(other, "attention")
                left.plot(
                    curve.x,
                    curve.y,
                    color=curve.color,
                    linewidth=0.8,
                    **shaped(curve.color, curve.x, spanned_by([curve])),
                )
        else:
            named = list(dict.fromkeys([head, *np.argsort(kernels.mean_lag, kind="stable")]))[
                :NAMED
            ]
            for number in set(range(kernels.n_heads)) - set(named):
                left.plot(kernels.lags, kernels.attention[number], color=theme.faint, linewidth=0.7)
        for band in _bands(view, result, "attention"):
            paint_band(left, replace(band, label="random rotations"))
        for color, number in zip((view.ink, *view.spare_colors), named, strict=False):
            values = kernels.attention[number]
            left.plot(
                kernels.lags,
                values,
                color=color,
                linewidth=1.1,
                label=f"head {number}",
                **shaped(color, kernels.lags, (kernels.lags[0], kernels.lags[-1])),
            )
        left.set_ylim(DEEPEST, 1.5)
        # Linear up to lag ten, where most attention is.
        left.set_xscale("symlog", linthresh=NEAR)
        ticks = [t for t in TICKS if kernels.lags[0] <= t <= kernels.lags[-1]]
        left.set_xticks(ticks, [f"{t}".replace("-", MINUS) for t in ticks], minor=False)
        left.set_xlim(kernels.lags[0] - 0.5, max(kernels.lags[-1], kernels.lags[0] + 1))
        size = SMALL * POINTS
        left.legend(fontsize=size, frameon=False, labelcolor=theme.text, handlelength=1.4)
        what = "The head with the shortest mean lag of each model"
        name_models(figure, view.other_names, (view.name, view.ink), theme, what=what)
        name_axes(left, "Lag Δ (positions back)", "Mean attention A(i, i − Δ)")
        for place, image in zip(right, maps, strict=True):
            paint_image(place, replace(image, unit="A(i, j)"), theme)
        title_axes(left, *self.printed_heading(view), theme)
        return figure

    def tables(self, view: KernelsView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by head, one by lag, and the shown head's map."""
        result = view.result
        if isinstance(result, NearestHead):
            lags = {
                "lag": result.lags,
                f"attention_of_head_{result.head}": result.attention,
                f"score_of_head_{result.head}": result.scores,
            }
            return {"": lags}
        if isinstance(result, ByOffset):
            heads = {"head": np.arange(len(result.bias)), "mean_distance": result.distance}
            shown = {
                f"bias_of_head_{result.head}": result.bias[result.head],
                f"attention_of_head_{result.head}": result.attention[result.head],
            }
            return {"": heads, "map": shown}
        kernels = result.by_head
        heads = {
            "head": np.arange(kernels.n_heads),
            "previous_token": kernels.previous_token,
            "self": kernels.own,
            "mass_lag_0_10": kernels.mass_lag_0_10,
            "mean_lag": kernels.mean_lag,
            "by_lag_alone": kernels.by_lag_alone,
        }
        lags = {"lag": kernels.lags}
        if view.nulls is not None:
            for name in ("previous_token", "mass_lag_0_10"):
                bands = np.array([null.band for null in getattr(view.nulls, name)])
                heads |= {f"random_{name}_p5": bands[:, 0], f"random_{name}_p95": bands[:, 2]}
            band = view.nulls.attention[result.head]
            lags |= {"random_attention_p5": band.low, "random_attention_p95": band.high}
        for head in range(kernels.n_heads):
            lags[f"attention_of_head_{head}"] = kernels.attention[head]
            lags[f"score_of_head_{head}"] = kernels.scores[head]
        tables: dict[str, Mapping[str, np.ndarray]] = {
            "": heads,
            "lags": lags,
            "map": {f"map_of_head_{result.head}": result.weights},
        }
        real = over_tokens(view, result)
        if real is not None:
            tables["tokens"] = {f"attention_of_head_{result.head}_over_tokens": real}
        return tables

    def script(self, view: KernelsView) -> str:
        if isinstance(view.result, ByOffset):
            lines = f"""
bias, attention = offset_attention(model)
print(bias.shape)
print(attention[{view.result.head}])
"""
            return python_script(lines, view.model)
        of, positions, head = view.result.of, view.result.positions, view.result.head
        options = [f", {of.layer}" * (of.layer > 0), ", content=True" * of.content]
        asked = list(options)
        if of.averaged:
            options.append(f", rows=average_blocks(model.W_pos, {BLOCK})")
            asked.append(f", block={BLOCK}")
        heads = f"project_heads(model{''.join(options)})"
        nulls = f"""\
nulls = kernel_nulls(model, {positions}{"".join(asked)})
near, null = found.mass_lag_0_10[{head}], nulls.mass_lag_0_10[{head}]
print(near, null.draws, *null.band)
print(weigh(near >= {LOCAL:g}, near, "above", null))
{_lines_of_tokens(view)}"""
        if isinstance(view.result, Kernels) and view.result.by_lag:
            heads, nulls = "bias_heads(model)", ""
        lines = f"""
heads = {heads}
found = head_kernels(heads, {positions})
for head in range(found.n_heads):
    print(head, found.previous_token[head], found.own[head],
          found.mass_lag_0_10[head], found.mean_lag[head], found.by_lag_alone[head])
print(attention_map(heads, {head}, {positions}).shape)
{nulls}"""
        return python_script(lines, view.model)


# ---- plots -----------------------------------------------------------------------------------


def parts_of(view: KernelsView, query: int | None) -> Sequence[Part]:
    """Return the curves by lag and the map of one head.

    Parameters
    ----------
    view
        The view of the open model.
    query
        A position whose attention is drawn as another curve; None for none.
    """
    if isinstance(view.result, ByOffset):
        return [map_by_offset(view, view.result)]
    result, what = _own(view), view.choices.curve
    head = f"head {result.head}"
    named = []
    if result.before is not None:
        values = _values(result.before, what)[result.head]
        before = Curve(result.before.lags, values, view.theme.muted, "dashed")
        named.append((f"{head}, as it is", before))
    if what == "attention" and query is not None:
        named.append((f"position {query}", _attention_of(result, query, view.theme.accent)))
    values = _values(result.by_head, what)[result.head]
    own = Curve(result.by_head.lags, values, view.ink, width=1.5)
    named.append((head if result.before is None else f"{head}, averaged", own))
    named += [(other.name, _by_lag(other, what)) for other in view.others]

    def hover(curve: int, index: int) -> str:
        name, drawn = named[curve]
        lag, value = int(drawn.x[index]), float(drawn.y[index])
        return f"{name} · {lag_text(lag)} · {format_number(value)}"

    if what == "attention":
        name, x_span = "Mean attention by lag", _reach(result)
        y = Axis("mean attention", log=True, span=(DEEPEST, 1.5))
    else:
        name, x_span, y = "Mean score by lag", None, Axis("mean score κ(Δ)")
    x = Axis("lag Δ (positions back)", whole=True, span=x_span)
    drawn, bands = [curve for _, curve in named], _bands(view, result, what)
    readings = [
        Reading(text, color=curve.color, style=curve.style)
        for text, curve in reversed(named)
        if not curve.name
    ]
    readings += [band.reading() for band in bands]
    maps = _maps(view, result)
    plot = Plot(
        name,
        x,
        y,
        drawn,
        hover=hover,
        stretch=6,
        min_width=NARROW if len(maps) == 1 else NARROW_FOR_TWO,
        readings=readings,
        bands=bands,
    )
    return [plot, *maps]


def _bands(view: KernelsView, result: Kernels, what: Literal["attention", "score"]) -> list[Band]:
    """Return the band of the head's curves for randomly rotated P; empty while it is unknown."""
    if view.nulls is None:
        return []
    random: NullBand = getattr(view.nulls, "scores" if what == "score" else what)[result.head]
    label = f"{view.nulls.previous_token[result.head].draws} random rotations"
    lags = result.by_head.lags.astype(float)
    return [Band(lags, random.low, random.high, view.theme.muted, label)]


def _lines_of_tokens(view: KernelsView) -> str:
    run, result = view.choices.prompt_run, view.result
    if run is None or not isinstance(result, Kernels) or over_tokens(view, result) is None:
        return ""
    return f"""
run = run_prompt({view.model.source.text!r}, {run.text!r}{table_argument(view.model)})
print(run.attention[{result.of.layer}, {result.head}])
"""


def _maps(view: KernelsView, result: Kernels) -> list[Image]:
    """Return the map of positions alone, and that of the prompt's tokens, if it is shown."""
    real = token_map(view, result, SHADES[view.theme.name])
    return [_map(view, result), *([] if real is None else [real])]


def _map(view: KernelsView, result: Kernels) -> Image:
    first = result.positions[0]

    def hover(query: int, position: int) -> str:
        value = format_number(float(result.weights[query - first, position - first]))
        at = str if result.by_lag else view.at
        pair = f"{at(query)} → {at(position)}"
        return f"{pair}\nattention {value} · {lag_text(query - position)}"

    return Image(
        "Attention of every query of the range",
        Axis("position j", whole=True),
        Axis("query i", whole=True, printed=f"query i of head {result.head}"),
        result.weights,
        SHADES[view.theme.name],
        LEVELS,
        (first, first),
        log=True,
        unit="Attention",
        row_is_current=True,
        hover=hover,
        over="" if result.by_lag else "position",
        stretch=7,
    )


def map_by_offset(view: KernelsView, result: ByOffset) -> Image:
    """Return the attention or the bias of one head by offset."""
    attention = view.choices.curve == "attention"
    values = (result.attention if attention else result.bias)[result.head]
    rows, columns = (size // 2 for size in values.shape)
    peak = float(np.abs(values).max()) or 1.0
    what = "attention" if attention else "bias"

    def hover(down: int, across: int) -> str:
        value = format_number(float(values[down + rows, across + columns]))
        offset = f"offset {down} rows, {across} columns".replace("-", MINUS)
        return f"{offset}\n{what} {value}"

    return Image(
        f"{what.capitalize()} by offset",
        Axis("offset in columns", whole=True),
        Axis("offset in rows", whole=True, printed=f"offset in rows, head {result.head}"),
        values,
        (SHADES if attention else DIVERGING)[view.theme.name],
        (0.0 if attention else -peak, peak),
        (-rows, -columns),
        unit=what.capitalize(),
        hover=hover,
        over="number",
        stretch=7,
    )


def query_of(result: Kernels | ByOffset, current: int | None) -> int | None:
    """Return the current position if it is a query, else None."""
    if current is None or isinstance(result, ByOffset) or result.by_lag:
        return None
    first, last = result.positions
    return current if first <= current <= last else None


def order_of(kernels: HeadKernels, sort: Sort) -> np.ndarray:
    """Return the sorted heads, (n_heads,) int."""
    if sort == "number":
        return np.arange(kernels.n_heads)
    keys = kernels.mean_lag if sort == "nearest" else -_scores(kernels, sort)
    return np.argsort(keys, kind="stable")


def _scores(kernels: HeadKernels, sort: Sort) -> np.ndarray:
    return {
        "self": kernels.own,
        "near": kernels.mass_lag_0_10,
        "lag": kernels.by_lag_alone,
    }.get(sort, kernels.previous_token)


def score_of(kernels: HeadKernels, sort: Sort, head: int) -> str:
    """Return the formatted number that heads are sorted by; else the previous-token score."""
    if sort == "nearest":
        lag = float(kernels.mean_lag[head])
        return f"Δ {format_number(lag, 1 if lag < 10 else 0)}"
    return format_number(float(_scores(kernels, sort)[head]))


def described(kernels: HeadKernels, head: int) -> str:
    """Return a head's scores, on several lines."""
    return (
        f"head {head}\nprevious token {format_number(kernels.previous_token[head])}\n"
        f"self {format_number(kernels.own[head])}\n"
        f"lags 0–10 {format_percent(kernels.mass_lag_0_10[head])}\n"
        f"mean lag {format_number(kernels.mean_lag[head], 1)}\n"
        f"lag alone {format_percent(kernels.by_lag_alone[head])} of the score's variance"
    )


def extrapolation(layer: int) -> str:
    """Return the caveat about deeper layers."""
    return f"extrapolation: layer {layer} does not read positions alone"


def _own(view: KernelsView) -> Kernels:
    assert isinstance(view.result, Kernels)
    return view.result


def _values(kernels: HeadKernels | NearestHead, what: str) -> np.ndarray:
    return kernels.attention if what == "attention" else kernels.scores


def _by_lag(other: KernelsView, what: str) -> Curve:
    assert isinstance(other.result, NearestHead)
    return other.curve(other.result.lags, _values(other.result, what), silent=False)


def _attention_of(result: Kernels, query: int, color: str) -> Curve:
    first, last = result.positions
    row = result.weights[query - first]
    lags = query - np.arange(first, last + 1)
    return Curve(lags[::-1], row[::-1].astype(float), color, "dotted", width=1.5)


def _reach(result: Kernels) -> Span:
    """Return the initial range of lags, which has nearly all attention."""
    kernels = result.by_head
    by_distance = np.zeros(int(np.abs(kernels.lags).max()) + 1)
    np.add.at(by_distance, np.abs(kernels.lags), kernels.attention[result.head])
    total = np.cumsum(by_distance)
    far = int(np.searchsorted(total, COVERED * total[-1]))
    far = min(max(2 * far, MIN_REACH), len(by_distance) - 1)
    margin = 0.02 * far
    return max(float(kernels.lags[0]), -far) - margin, far + margin


def _switches(of: HeadsOf) -> list[str]:
    """Return the differences from the first layer without tokens."""
    parts = []
    if of.layer > 0:
        parts.append(extrapolation(of.layer))
    if of.content:
        parts.append("a token in LayerNorm's denominator")
    if of.averaged:
        parts.append(f"P averaged in blocks of {BLOCK}")
    return parts
