"""LayerNorm: errors of simpler versions, and the similarity of two sums of token and position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.measures.interference import MEASURES, Interference, Measure, RandomPairs
from geometry.measures.layernorm import Interval, Version
from gui.panels.kit.choices import Choice, Option, Saved
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.panels.layernorm.question import (
    ComparedSums,
    Errors,
    ErrorsByPosition,
    ErrorsOf,
    Example,
    ExampleOf,
    InterferenceOf,
    LayerNormOf,
    LayerNorms,
    Term,
    Typed,
    layernorms_of,
)
from gui.plots.spec import Axis, Curve, Plot, Rule, Style, highest, legend_of, outline, values_at
from gui.services.questions import Question
from gui.services.snippets import python_script
from gui.state.fields import Name, Whole
from gui.style.theme import format_count, format_number, format_percent
from gui.widgets.table_text import Column, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.models.model import PositionalModel

BINS = 48
NO_NUMBER = "–"
SUMS_HEADLINE = (
    "E(a) + pᵢ ≈ E(b) + pⱼ ?",
    "interference",
    "A model reads only the sum of token and position: if two sums were equal, it could not "
    "distinguish the two pairs. Two sums are compared as they are and after LayerNorm (before its "
    "gain), and ranked among random pairs of tokens at random positions.",
)
"""Formula, meaning and explanation of two sums."""
NAMES: dict[Measure, str] = {
    "distance": "Distance",
    "cosine": "Cosine",
    "layernorm_distance": "Distance after LN",
    "layernorm_cosine": "Cosine after LN",
}
AXES: dict[Measure, str] = {
    "distance": "distance of two sums",
    "cosine": "cosine of two sums",
    "layernorm_distance": "distance after LayerNorm",
    "layernorm_cosine": "cosine after LayerNorm",
}
COLUMNS = (
    Column(
        "Measure",
        "Computed from the two sums as they are, or after LayerNorm without gain",
        120,
        left=True,
    ),
    Column("These two", "The value for the two sums; distances in the tables’ units", 72),
    Column("Closer than", "Share of the random pairs that are farther apart", 84),
)
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

VERSIONS: dict[Version, str] = {"orthogonal": "orthogonal", "constant_norm": "constant norm"}
Sum = tuple[Name, Whole]
"""A typed token and a position."""
Result = ErrorsByPosition | ComparedSums


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the LayerNorm panel."""

    page: Literal["errors", "interference"] = "errors"  # The second: two sums
    version: Version = "orthogonal"  # The version of LayerNorm of the errors
    measure: Measure = MEASURES[0]  # The measure of the histogram
    example: Example | None = "two tokens"  # The example; None for the user's own sums
    sums: tuple[Sum, Sum] | None = None  # The user's own sums; None for an example


LayerNormView = View[Choices, Result]


class LayerNormPanel(PanelSpec[Choices, Result]):
    """Errors of two simpler LayerNorms by position; and the similarity of two sums."""

    name = "layernorm"
    formula = "‖E + p‖² ≈ ‖E‖² + ‖p‖²"
    meaning = "LayerNorm, decomposed"
    explanation = (
        "LayerNorm divides token plus position by its norm; the orthogonal approximation divides "
        "by √(‖E‖² + ‖p‖²), the constant-norm approximation by √(‖E‖² + c²) with c the mean ‖p‖ "
        "of the range. Shown are ‖approximate − exact‖ / ‖exact‖ by position over a sample of "
        "tokens, with 95 % intervals over such samples in the caption, and |cos| of all tokens "
        "with all positions, which explains why the error is small."
    )
    empty = "Open a model to see how well LayerNorm separates its tokens from its positions."
    instead = "The Norms panel shows how stable the positions’ norms are."
    defaults = Choices()
    controls = (
        Choice(
            field="page",
            label="What is shown",
            options=(
                Option("errors", "Errors", "The error of treating token and position separately"),
                Option(
                    "interference",
                    "Interference",
                    "How similar two sums of token and position are",
                ),
            ),
        ),
        Choice(
            field="version",
            label="Approximation of LayerNorm",
            options=(
                Option("orthogonal", "Orthogonal", "Error with the denominator √(‖E‖² + ‖p‖²)"),
                Option("constant_norm", "Constant norm", "Error with the denominator √(‖E‖² + c²)"),
            ),
            when=lambda choices: choices.page == "errors",
        ),
        Saved(field="measure", kind=Measure),
        Saved(field="example", kind=Example, optional=True),
        Saved(field="sums", kind=tuple[Sum, Sum], optional=True),
    )
    body = "gui.panels.layernorm.body:LayerNormBody"
    figures = {"interference": {"page": "interference"}}
    claims = {
        "layernorm.orthogonal": {"page": "errors"},
        "layernorm.sum_of_squares": {"page": "errors", "version": "orthogonal"},
    }

    def agreeing(self, choices: Choices, changes: Set[str]) -> Choices:
        """Show the page of a version, and either an example or the user's own sums."""
        if "version" in changes and "page" not in changes:
            choices = replace(choices, page="errors")
        if "sums" in changes and choices.sums is not None:
            return replace(choices, example=None)
        return replace(choices, sums=None) if "example" in changes else choices

    def headline(self, choices: Choices) -> tuple[str, str, str]:
        return super().headline(choices) if choices.page == "errors" else SUMS_HEADLINE

    def concerns(self, model: PositionalModel) -> bool:
        return "W_E" not in model.missing

    def question(self, scope: Scope, choices: Choices) -> Question[Result]:
        if choices.page == "errors":
            return LayerNormOf(scope.positions)
        if choices.example is not None:
            return ExampleOf(choices.example)
        assert choices.sums is not None
        last = scope.model.n_positions - 1
        first, second = (Typed(token, min(position, last)) for token, position in choices.sums)
        return InterferenceOf(first, second)

    def question_about_other(self, scope: Scope, choices: Choices) -> Question[Result]:
        """Only the errors: the cosines of all tokens with all positions take longer."""
        return ErrorsOf(scope.positions)

    def result_for_report(
        self, reported: Reported, choices: Choices
    ) -> tuple[Question[Result], Result]:
        if choices.page == "interference":
            return super().result_for_report(reported, choices)
        return self.question(reported.scope, choices), layernorms_of(reported.measured)

    def plots(self, view: LayerNormView) -> Sequence[Plot]:
        result = view.result
        if isinstance(result, ComparedSums):
            cosine = view.choices.measure.endswith("cosine")
            measures = [measure for measure in MEASURES if measure.endswith("cosine") == cosine]
            return [_pairs(view, result, measure) for measure in measures]
        assert isinstance(result, LayerNorms)
        errors = errors_of(result, view.choices.version)
        at, others = _positions(result), _beside(view, view.choices.version)
        curves = [
            Curve(at, errors.median, view.ink, label="median"),
            Curve(at, errors.p95, view.theme.muted, "dashed", silent=True, label="95th percentile"),
            *others,
        ]

        def hover(_: int, index: int) -> str:
            position = int(at[index])
            p95 = format_number(errors.p95[index])
            median = format_number(errors.median[index])
            own = f"{view.at(position)}: {median}, 95th percentile {p95}"
            return " · ".join([own, *values_at(others, position)])

        return [_errors(curves, hover), _cosines(view, result)]

    def figure(self, view: LayerNormView) -> Figure:
        result = view.result
        if not isinstance(result, LayerNorms):
            return super().figure(view)
        from gui.plots.mpl_painter import paint

        at, theme = _positions(result), view.theme
        versions: tuple[tuple[Version, str], ...] = (
            ("orthogonal", view.ink),
            ("constant_norm", theme.faint),
        )
        curves = [
            Curve(at, values, color, style, label=f"{VERSIONS[version]}, {what}")
            for version, color in versions
            for what, values, style in _drawn(errors_of(result, version))
        ]
        others = _beside(view, "orthogonal")
        return paint(
            [_errors([*curves, *others]), _cosines(view, result)],
            *self.heading(view),
            theme,
            others=view.other_names,
            own=(view.name, view.ink),
            what="Orthogonal, median",
        )

    def heading(self, view: LayerNormView) -> tuple[str, str]:
        result, name = view.result, view.model.name
        if not isinstance(result, ComparedSums):
            return f"{name} · LayerNorm, decomposed", _scope(result)
        both = "" if result.similarity is None else f"{_both(result)} · "
        return f"{name} · two sums of token and position", f"{both}{drawn_from(result.among)}"

    def caption(self, view: LayerNormView) -> str:
        result, name, measure = view.result, view.model.name, view.choices.measure
        if not isinstance(result, ComparedSums):
            summary = f"{VERSIONS[view.choices.version]}: {_overall(view)}"
            return f"{name} · {_scope(result)} · {summary}"
        if result.similarity is None:
            return f"{name} · {drawn_from(result.among)}"
        called = NAMES[measure].lower().replace(" ln", " LayerNorm")
        ranked = f"{called} {rank(result.similarity, measure)} of {drawn_from(result.among)}"
        return f"{name} · {_both(result)} · {ranked}"

    def tables(self, view: LayerNormView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return tables of errors by position, their intervals, cosines, and tokens."""
        result = view.result
        if isinstance(result, ComparedSums):
            return _tables_of_sums(result)
        errors = {"position": _positions(result)}
        spans: dict[str, np.ndarray] = {}
        for version in VERSIONS:
            found = errors_of(result, version)
            errors |= {f"{version}_median": found.median, f"{version}_p95": found.p95}
            if found.intervals is not None:
                spans[f"{version}_median_interval"] = np.array(found.intervals.median)
                spans[f"{version}_p95_interval"] = np.array(found.intervals.p95)
        tables = {"": errors}
        if spans:
            tables["intervals"] = {"end": np.array(["low", "high"]), **spans}
        if not isinstance(result, LayerNorms):
            return tables
        bins = len(result.histogram)
        cosines = {"cosine_from": np.arange(bins) / bins, "pairs": result.histogram}
        tokens = {
            "token": np.array([alike.token for alike in result.most_alike]),
            "token_text": np.array([alike.text for alike in result.most_alike]),
            "token_position": np.array([alike.position for alike in result.most_alike]),
            "token_cosine": np.array([alike.cosine for alike in result.most_alike]),
        }
        return {**tables, "cosines": cosines, "tokens": tokens}

    def script(self, view: LayerNormView) -> str:
        if isinstance(view.result, ComparedSums):
            return _script_of_sums(view, view.result)
        assert isinstance(view.result, ErrorsByPosition)
        sampled = view.result.orthogonal.intervals is not None
        between = "    print(found.intervals(version))\n" if sampled else ""
        lines = f"""
measured = Measurements(model, Scope(positions={view.result.positions}))
found = measured.layernorm
for version in ("orthogonal", "constant_norm"):
    print(*np.percentile(getattr(found, version), (50, 95)))
{between}\
for one in measured.cosines.most_alike():
    print(one.token, one.position, one.value)
"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        # Sums have no curve of compared models.
        return "Median error" if choices.page == "errors" else ""

    def summary(self, view: LayerNormView) -> str:
        summary = _overall(view)
        return f"{summary[0].upper()}{summary[1:]}"


# ---- errors ----------------------------------------------------------------------------------


def errors_of(result: ErrorsByPosition, version: Version) -> Errors:
    """Return the errors of a version."""
    return result.orthogonal if version == "orthogonal" else result.constant_norm


def _positions(result: ErrorsByPosition) -> np.ndarray:
    first, last = result.positions
    return np.arange(first, last + 1)


def _drawn(errors: Errors) -> tuple[tuple[str, np.ndarray, Style], ...]:
    return ("median", errors.median, "solid"), ("95th percentile", errors.p95, "dashed")


def _beside(view: LayerNormView, version: Version) -> list[Curve]:
    """Return the compared models' median errors."""
    return [
        other.curve(_positions(other.result), errors_of(other.result, version).median)
        for other in view.others
        if isinstance(other.result, ErrorsByPosition)
    ]


def _errors(curves: Sequence[Curve], hover: Callable[[int, int], str] | None = None) -> Plot:
    return Plot(
        "Error by position",
        Axis("position", whole=True),
        Axis(
            "relative error",
            span=(0.0, 1.05 * highest(curves) or 1.0),
            printed="relative error of LayerNorm",
        ),
        curves,
        hover=hover,
        over="position",
        readings=legend_of(curves),
    )


def _cosines(view: LayerNormView, result: LayerNorms) -> Plot:
    counts = result.histogram
    bins, last = len(counts), int(np.flatnonzero(counts)[-1]) + 1

    def hover(_: int, at: int) -> str:
        span = f"{format_number(at / bins)} to {format_number((at + 1) / bins)}"
        return f"|cos| {span} · {format_count(int(counts[at]))} pairs"

    return Plot(
        "Cosines of tokens with positions",
        Axis("|cos(Eₜ, Pᵢ)|"),
        Axis("share of pairs", log=True, printed="share of all pairs"),
        [Curve((np.arange(last) + 0.5) / bins, counts[:last] / counts.sum(), view.theme.text)],
        hover=hover,
    )


def _scope(result: ErrorsByPosition) -> str:
    """Return the scope of errors and cosines."""
    first, last = result.positions
    tokens = format_count(result.n_tokens)
    return f"positions {first}–{last} with {tokens} tokens; cosines of all rows"


def _overall(view: LayerNormView) -> str:
    assert isinstance(view.result, ErrorsByPosition)
    errors = errors_of(view.result, view.choices.version)
    median, p95 = (format_number(value) for value in errors.overall)
    if errors.intervals is None:
        return f"median {median}, 95th percentile {p95}"
    between, between95 = map(_between, (errors.intervals.median, errors.intervals.p95))
    return f"median {median} ({between}), 95th percentile {p95} ({between95})"


def _between(interval: Interval) -> str:
    low, high = interval
    return f"95 % interval {format_number(low)}–{format_number(high)}"


# ---- two sums --------------------------------------------------------------------------------


def _both(result: ComparedSums) -> str:
    return f"{written_sum(result.first)} and {written_sum(result.second)}"


def written_sum(term: Term) -> str:
    """Return a formatted sum: ``E(·cat) + p₃``."""
    token = term.token.text or term.typed.token
    return f"E({token}) + p{str(term.typed.position).translate(_LOWERED)}"


def share(value: float) -> str:
    """Return a formatted share; nearly 100 % is not rounded to 100 %."""
    if value in (0.0, 1.0):
        return format_percent(value, 0)
    return format_percent(value, 2 if value > 0.999 or value < 0.001 else 1)


def rows(similarity: Interference | None) -> list[Row]:
    """Return a row for each measure."""
    return [
        Row(
            number,
            (NAMES[measure], NO_NUMBER, NO_NUMBER)
            if similarity is None
            else (
                NAMES[measure],
                format_number(similarity.of(measure)),
                share(similarity.closer_than(measure)),
            ),
        )
        for number, measure in enumerate(MEASURES)
    ]


def distances(similarity: Interference | None) -> str:
    """Return the formatted distances of the tokens and of the positions."""
    if similarity is None:
        return ""
    return (
        f"‖E(a) − E(b)‖ {format_number(similarity.token_distance)}, "
        f"‖pᵢ − pⱼ‖ {format_number(similarity.position_distance)}"
    )


def drawn_from(among: RandomPairs) -> str:
    """Return a description of the random pairs."""
    return f"{format_count(len(among))} random pairs of all rows, seed {among.seed}"


def rank(similarity: Interference, measure: Measure) -> str:
    """Return a measure with its rank: ``3.421, closer than 97.1 %``."""
    value = format_number(similarity.of(measure))
    return f"{value}, closer than {share(similarity.closer_than(measure))}"


def histogram(result: ComparedSums, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """Count the random pairs by a measure.

    Returns
    -------
    counts : (BINS,) int
    edges : (BINS + 1,) float64
        Edges of equal bins from the smallest to the largest value.
    """
    values = result.among.likeness.of(measure)
    low, high = float(values.min()), float(values.max())
    # Values that differ only by rounding form one bar.
    span = (low, high) if high - low > 1e-9 * max(1.0, abs(high)) else (low - 0.5, high + 0.5)
    return np.histogram(values, BINS, span)


def _pairs(view: LayerNormView, result: ComparedSums, measure: Measure) -> Plot:
    counts, edges = histogram(result, measure)
    similarity, printed = result.similarity, AXES[measure]
    rules = []
    if similarity is not None:
        printed += f"\n{rank(similarity, measure)}"
        rules = [Rule(similarity.of(measure), "x", style="solid")]
    return Plot(
        AXES[measure],
        Axis(AXES[measure], printed=printed),
        Axis("random pairs", span=(0.0, 1.06 * max(float(counts.max()), 1.0))),
        [Curve(*outline(counts, edges), view.theme.muted)],
        rules,
    )


def _tables_of_sums(result: ComparedSums) -> dict[str, dict[str, np.ndarray]]:
    tables: dict[str, dict[str, np.ndarray]] = {}
    if result.similarity is not None:
        similarity = result.similarity
        pair = {
            "token": np.array([similarity.one[0], similarity.other[0]]),
            "token_text": np.array([result.first.token.text, result.second.token.text]),
            "position": np.array([similarity.one[1], similarity.other[1]]),
        }
        measures = {
            "measure": np.array(MEASURES),
            "value": np.array([similarity.of(measure) for measure in MEASURES]),
            "closer_than": np.array([similarity.closer_than(measure) for measure in MEASURES]),
        }
        apart = {
            "token_distance": np.array([similarity.token_distance]),
            "position_distance": np.array([similarity.position_distance]),
        }
        tables = {"": measures, "pair": pair, "distances": apart}
    among = result.among
    drawn: dict[str, np.ndarray] = {
        f"random_{measure}": among.likeness.of(measure) for measure in MEASURES
    }
    for number in (0, 1):
        drawn[f"random_token_{number + 1}"] = among.tokens[:, number]
        drawn[f"random_position_{number + 1}"] = among.positions[:, number]
    return {**tables, "random" if tables else "": drawn}


def _script_of_sums(view: LayerNormView, result: ComparedSums) -> str:
    lines = """\
E, P = model.W_E, model.W_pos
added = {"token_scale": model.token_scale, "type_row": model.token_type}
among = random_pairs(E, P, **added)
"""
    if result.similarity is None:
        lines += """\
for measure in MEASURES:
    print(measure, *np.percentile(among.likeness.of(measure), (5, 50, 95)))
"""
    else:
        one, other = result.similarity.one, result.similarity.other
        texts = f"{result.first.token.text}, {result.second.token.text}"
        lines += f"""\
one, other = {one}, {other}  # token and position: {texts}
found = interference(E, P, one, other, among=among, **added)
for measure in MEASURES:
    print(measure, found.of(measure), found.closer_than(measure))
"""
    return python_script(lines, view.model)
