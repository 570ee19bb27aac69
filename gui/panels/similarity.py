"""Similarity: the cosine of every pair of positions, and its mean by lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import numpy as np

from geometry.evidence.null import strictest
from geometry.measures.similarity import (
    RISES,
    Similarity,
    SimilarityNulls,
    largest_rise,
    mean_by_lag,
    mean_by_offset,
    patch_mosaic,
    similarity,
    similarity_nulls,
)
from geometry.pca.pca import PositionPCA, fit_pca
from gui.panels.kit.choices import RANDOM, Choice, Option, Toggle
from gui.panels.kit.nulls import (
    MIN_RANDOM,
    RANDOM_NAMES,
    Finding,
    RandomCurves,
    band_columns,
    null_band,
    random_name,
)
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Image, Part, Plot, Reading, Tiles, values_at
from gui.services.questions import QuestionContext
from gui.services.snippets import python_script
from gui.style.sentences import ranged
from gui.style.theme import DIVERGING, format_number

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

LAGS = (1, 100, 300)
"""Lags with their mean cosine in the caption."""
LEVELS = (-1.0, 1.0)
"""The initial colour levels."""


@dataclass(frozen=True, slots=True)
class SimilarityOf:
    """Cosines of all rows of a range.

    If there are components, from 1, the rows are projected on the range's mean and these.
    """

    positions: tuple[int, int]
    components: tuple[int, ...] | None = None

    def answer(self, context: QuestionContext) -> Similarity:
        pca = _fitted(context, self.positions, self.components)
        if pca is not None:
            context.report(None, "Comparing all pairs")
        return with_offsets(similarity(context.model.W_pos, self.positions, pca), context.model)


@dataclass(frozen=True, slots=True)
class ByLagOf:
    """Only the mean cosine by lag; fields as of :class:`SimilarityOf`."""

    positions: tuple[int, int]
    components: tuple[int, ...] | None = None

    def answer(self, context: QuestionContext) -> ByLag:
        pca = _fitted(context, self.positions, self.components)
        return ByLag(self.positions, mean_by_lag(context.model.W_pos, self.positions, pca))


def _fitted(
    context: QuestionContext, positions: tuple[int, int], components: tuple[int, ...] | None
) -> PositionPCA | None:
    if components is None:
        return None
    context.report(None, "Fitting the components")
    return chosen(fit_pca(context.model.W_pos, positions, max(components)), components)


@dataclass(frozen=True, slots=True)
class SimilarityNullsOf:
    """The mean cosine by lag of random curves, by name; fields as of :class:`SimilarityOf`."""

    positions: tuple[int, int]
    components: tuple[int, ...] | None

    def answer(self, context: QuestionContext) -> dict[RandomCurves, SimilarityNulls]:
        table = context.model.W_pos
        return {
            kind: similarity_nulls(
                table, self.positions, self.components, kind=kind, check=context.pause
            )
            for kind in RANDOM_NAMES
        }


@dataclass(frozen=True, eq=False, slots=True)
class ByLag:
    """The mean cosine by lag over a range, (m,) float64, for lags 0, 1, …, m − 1."""

    positions: tuple[int, int]
    by_lag: np.ndarray


def with_offsets(result: Similarity, model: PositionalModel) -> Similarity:
    """Return cosines with their mean by offset, if they are of a whole picture."""
    grid = model.grid
    if grid is None or result.block > 1 or len(result.cosines) < model.n_positions:
        return result
    return replace(result, by_offset=mean_by_offset(result.cosines, grid))


def chosen(pca: PositionPCA, components: tuple[int, ...]) -> PositionPCA:
    """Return a fit with only some of its components, from 1; missing ones are omitted."""
    kept = [c - 1 for c in components if c <= len(pca.components)]
    return replace(
        pca,
        components=pca.components[kept],
        singular_values=pca.singular_values[kept],
        explained_variance_ratio=pca.explained_variance_ratio[kept],
    )


@dataclass(frozen=True, slots=True)
class Choices:
    """The compared rows, the random curves, and whether patches are arranged as a mosaic."""

    rows: Literal["raw", "projected"] = "raw"
    random: Literal["process", "walk", "none"] = "process"
    mosaic: bool = True


SimilarityView = View[Choices, Similarity | ByLag]


class SimilarityPanel(PanelSpec[Choices, Similarity | ByLag]):
    """A heatmap of cosines, and their mean by lag, also of compared models."""

    name = "similarity"
    formula = "cos(Pᵢ, Pⱼ)"
    meaning = "similarity of positions"
    explanation = (
        "The cosine of the angle between the rows of every two positions of the range and, beside "
        "it, the mean over all pairs Δ apart. A period that remains after the rows are projected "
        "on the shown components is explained by the helix."
    )
    empty = "Open a model to see how similar its positions are to each other."
    defaults = Choices()
    controls = (
        Choice(
            field="rows",
            label="Rows",
            options=(
                Option("raw", "Raw rows", "Rows as stored"),
                Option(
                    "projected",
                    "Projected",
                    "Rows projected on the shown components: only the range's mean and these "
                    "remain",
                ),
            ),
        ),
        replace(RANDOM, works=lambda view: view.model.grid is None),
        Toggle(
            field="mosaic",
            text="Mosaic",
            tip="Arrange the pairs as a picture of pictures: a tile for each patch, in its place, "
            "with its similarity to all (the whole picture has to be shown)",
            offered=lambda model: model.grid is not None,
            works=lambda view: view.result.by_offset is not None,
        ),
    )
    figures = {"similarity-projected": {"rows": "projected"}}
    claims = {"similarity.periodic": {"rows": "raw"}, "similarity.explained": {"rows": "projected"}}
    follows_drag = True

    def question(self, scope: Scope, choices: Choices) -> SimilarityOf:
        return SimilarityOf(scope.positions, _components(scope, choices))

    def question_about_other(self, scope: Scope, choices: Choices) -> ByLagOf:
        return ByLagOf(scope.positions, _components(scope, choices))

    def nulls_question(self, scope: Scope, choices: Choices) -> SimilarityNullsOf | None:
        first, last = scope.positions
        if last - first + 1 < MIN_RANDOM or scope.model.grid is not None:
            return None
        return SimilarityNullsOf(scope.positions, _components(scope, choices))

    def finding(self, view: SimilarityView) -> Finding:
        rise = largest_rise(view.result.by_lag)
        null = strictest(each.rise for each in view.nulls.values())
        words = f"rises again by {format_number(rise.size)} (expected ≥ {RISES:g})"
        if rise.size >= RISES:
            words += f", Δ {rise.low} to {rise.high}"
        return Finding.of(
            f"{words}; 95 % of {null.draws} {random_name(null)} rise by less than "
            f"{format_number(null.band[2])}",
            rise.size >= RISES,
            rise.size,
            "above",
            null,
        )

    def result_for_report(
        self, reported: Reported, choices: Choices
    ) -> tuple[SimilarityOf, Similarity]:
        measured, question = reported.measured, self.question(reported.scope, choices)
        raw = question.components is None
        result = measured.similarity if raw else measured.similarity_projected
        return question, with_offsets(result, reported.model)

    def plots(self, view: SimilarityView) -> Sequence[Part]:
        by_lag, others = view.result.by_lag, [_by_lag(other) for other in view.others]
        null = None if view.nulls is None else view.nulls.get(view.choices.random)
        own = Curve(np.arange(len(by_lag)), by_lag, view.ink, width=1.5 if others else 1.0)
        bands = () if null is None else (null_band(own.x, null.by_lag, view.theme),)
        drawn = [curve.y for curve in (own, *others)] + [band.low for band in bands]
        low = min(0.0, *(float(values.min()) for values in drawn))
        margin = 0.04 * (1.0 - low)

        def at_lag(_: int, lag: int) -> str:
            own = f"Δ = {lag} · mean cosine {format_number(by_lag[lag])}"
            return " · ".join([own, *values_at(others, lag)])

        lags = Plot(
            "Mean cosine by lag",
            Axis("lag Δ (positions)", whole=True),
            Axis("mean cosine", span=(low - margin, 1.0 + margin), printed="mean cos(Pᵢ, Pᵢ₊Δ)"),
            [own, *others],
            hover=at_lag,
            over="number",
            stretch=2,
            readings=[
                Reading(view.name or view.model.name, color=own.color),
                *(band.reading() for band in bands),
            ],
            bands=bands,
        )
        if isinstance(view.result, ByLag):
            return [lags]
        image, means = _image(view, view.result), view.result.by_offset
        if means is None:
            return [image, lags]
        return [image, _by_offset(view, means), *([lags] if view.others else [])]

    def heading(self, view: SimilarityView) -> tuple[str, str]:
        return f"{view.model.name} · cosine similarity of positions", _scope(view)

    def caption(self, view: SimilarityView) -> str:
        means = _means(view)
        lags = f" · mean cosine at {means}" if means else ""
        return f"{view.model.name} · {_scope(view)}{lags}"

    def tables(self, view: SimilarityView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return tables by lag, of all pairs, and of a whole picture by offset."""
        result = view.result
        by_lag = {"lag": np.arange(len(result.by_lag)), "mean_cosine_at_lag": result.by_lag}
        if view.nulls is not None:
            for null in view.nulls.values():
                by_lag |= band_columns(null.by_lag)
        if isinstance(result, ByLag):
            return {"": by_lag}
        first, last = result.positions
        blocks = np.arange(first, last + 1, result.block)
        pairs = {"position": blocks, "cosine": result.cosines}
        if result.by_offset is None:
            return {"": by_lag, "pairs": pairs}
        shape = result.by_offset.shape
        down, across = np.indices(shape).reshape(2, -1)
        by_offset = {
            "row_offset": down - shape[0] // 2,
            "column_offset": across - shape[1] // 2,
            "mean_cosine_at_offset": result.by_offset.ravel(),
        }
        return {"": by_lag, "pairs": pairs, "offsets": by_offset}

    def compares(self, choices: Choices) -> str:
        return "Mean cosine by lag"

    def summary(self, view: SimilarityView) -> str:
        means = _means(view)
        return f"Mean cosine at {means}" if means else ""

    def script(self, view: SimilarityView) -> str:
        rows = view.question
        positions, components = rows.positions, rows.components
        fit, prepare = "similarity(model.W_pos, positions)", ""
        if components is not None:
            kept = [component - 1 for component in components]
            prepare = (
                f"pca = fit_pca(model.W_pos, positions, {max(components)})\n"
                f"pca = replace(pca, components=pca.components[{kept}])\n"
            )
            fit = "similarity(model.W_pos, positions, pca)"
        nulls = ""
        if isinstance(view.result, Similarity) and view.result.by_offset is not None:
            nulls = """\
print(patch_mosaic(found.cosines, model.grid).shape)
print(mean_by_offset(found.cosines, model.grid))
"""
        if self.nulls_question(view.scope, view.choices) is not None:
            nulls = f"""\
rise = largest_rise(found.by_lag).size
nulls = []
for kind in {tuple(RANDOM_NAMES)}:
    nulls.append(similarity_nulls(model.W_pos, positions, {components}, kind=kind).rise)
    print(kind, nulls[-1].draws, *nulls[-1].band)
print(rise, weigh(rise >= {RISES:g}, rise, "above", strictest(nulls)))
"""
        lines = f"""
positions = {positions}
{prepare}found = {fit}
print(found.cosines.shape)
print(found.by_lag)
{nulls}"""
        return python_script(lines, view.model)


def _components(scope: Scope, choices: Choices) -> tuple[int, ...] | None:
    projected = choices.rows == "projected"
    return tuple(sorted(set(scope.components))) if projected else None


def _by_lag(other: SimilarityView) -> Curve:
    values = other.result.by_lag
    return other.curve(np.arange(len(values)), values)


def _image(view: SimilarityView, result: Similarity) -> Image:
    (first, last), block = result.positions, result.block
    if view.choices.mosaic and result.by_offset is not None and view.model.grid is not None:
        return _mosaic(view, result, view.model.grid)

    def hover(i: int, j: int) -> str:
        value = format_number(float(result.cosines[(i - first) // block, (j - first) // block]))
        if view.model.grid is not None and block == 1:
            return f"{_places(view, i, j)}\ncosine {value}"
        if block == 1:
            return f"{view.at(i)} and {view.at(j)}\ncosine {value} · Δ = {j - i}"
        rows, columns = (f"{start}–{min(start + block - 1, last)}" for start in (i, j))
        return f"{rows} and {columns}\nmean cosine {value} · Δ about {j - i}"

    return Image(
        "Cosine of every two positions",
        Axis("position j", whole=True),
        Axis("position i", whole=True),
        result.cosines,
        DIVERGING[view.theme.name],
        LEVELS,
        (first, first),
        block,
        unit="cos(Pᵢ, Pⱼ)",
        beside=None if result.by_offset is not None else lambda i, j: abs(i - j),
        hover=hover,
        over="position",
        stretch=3,
    )


_ARRANGED: WeakKeyDictionary[Similarity, np.ndarray] = WeakKeyDictionary()
"""Mosaics by result: the image caches the pixels of an unchanged matrix."""


def _mosaic(view: SimilarityView, result: Similarity, grid: tuple[int, int]) -> Image:
    def hover(row: int, column: int) -> str:
        value = format_number(float(result.cosines[row, column]))
        return f"{_places(view, row, column)}\ncosine {value}"

    arranged = _ARRANGED.get(result)
    if arranged is None:
        arranged = _ARRANGED[result] = patch_mosaic(result.cosines, grid)
    return Image(
        "Cosine of every two patches",
        Axis("column of the patch", whole=True),
        Axis("row of the patch", whole=True),
        arranged,
        DIVERGING[view.theme.name],
        LEVELS,
        unit="cos(Pᵢ, Pⱼ)",
        hover=hover,
        over="position",
        stretch=3,
        tiles=Tiles(*grid),
    )


def _by_offset(view: SimilarityView, means: np.ndarray) -> Image:
    rows, columns = (size // 2 for size in means.shape)

    def hover(down: int, across: int) -> str:
        value = format_number(float(means[down + rows, across + columns]))
        return f"{_signed(down)} rows, {_signed(across)} columns\nmean cosine {value}"

    return Image(
        "Mean cosine by offset",
        Axis("offset in columns", whole=True),
        Axis("offset in rows", whole=True),
        means,
        DIVERGING[view.theme.name],
        LEVELS,
        (-rows, -columns),
        unit="mean cos",
        hover=hover,
        over="number",
        stretch=2,
    )


def _places(view: SimilarityView, first: int, second: int) -> str:
    return f"{view.model.place_of(first)} and {view.model.place_of(second)}"


def _signed(number: int) -> str:
    sign = "\N{MINUS SIGN}" if number < 0 else "+"
    return f"{sign}{abs(number)}" if number else "0"


def _scope(view: SimilarityView) -> str:
    rows, components = "raw rows, uncentred", view.question.components
    if components is not None:
        rows = f"rows projected on PC {', '.join(map(str, components))}"
    block = 1 if isinstance(view.result, ByLag) else view.result.block
    means = f" · each cell the mean of {block} × {block} pairs" if block > 1 else ""
    return f"shown {ranged(view.model, view.result.positions)} · {rows}{means}"


def _means(view: SimilarityView) -> str:
    by_lag = view.result.by_lag
    if view.model.grid is not None:  # lags along the rows of a picture mean nothing
        return ""
    some = [lag for lag in LAGS if lag < len(by_lag)]
    return ", ".join(f"Δ {lag}: {format_number(by_lag[lag])}" for lag in some)
