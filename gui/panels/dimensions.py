"""Dimensions: single entries of P over position, each with its best sinusoid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.models.model import PositionalModel
from geometry.pca.pca import PositionPCA, fit_pca
from gui.panels.kit.choices import Choice, Number, Option
from gui.panels.kit.cycles import format_cycles
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Reading, Table
from gui.services.questions import Progress, QuestionContext
from gui.services.snippets import python_script
from gui.state.fields import Whole
from gui.style.sentences import ranged
from gui.style.theme import SERIES, format_count, format_number
from gui.widgets.table_text import Column, Row

if TYPE_CHECKING:
    from geometry.measures.single_dimensions import Sinusoids

MAX_ENTRIES = 6
"""Maximum number of entries in one plot; more could not be distinguished."""
REPORTED = 3
"""Entries in a report's figure, those of the largest variance."""
GOOD = 0.8
"""Minimum R² of a good sinusoid."""
COLUMNS = (
    Column("entry", "Index of the entry in the rows of P, from 0", 48),
    Column(
        "variance",
        "Variance of the entry over the shown range, before projection, in units of P²",
        64,
    ),
    Column("cycles", "Periods of the best-fitting sinusoid over the shown range", 52),
    Column("R² wave", "Share of the variance explained by the best-fitting sinusoid", 58),
    Column(
        "R² PCs", "Share of the variance that remains after projection on the shown components", 58
    ),
)


@dataclass(frozen=True, eq=False, slots=True)
class Dimensions:
    """Every entry of P over a range of positions."""

    rows: np.ndarray  # (m, d_model) float64: the table's rows in the range
    # The best sinusoid of every entry: of the rows as they are, or after projection
    sinusoids: Sinusoids
    # (d_model,) float64: variance of each entry over the range, before projection, in squared
    # units of P
    variance: np.ndarray
    # (d_model,) float64: R² of the projected rows as a prediction of the rows themselves
    after_projection_r2: np.ndarray
    mean: np.ndarray  # (d_model,) float64: mean of the rows
    # (m, k), (k, d_model) float64: the rows in the shown components, and these
    scores: np.ndarray
    basis: np.ndarray

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both included."""
        return self.sinusoids.positions

    def projected(self, entry: int) -> np.ndarray:
        """(m,) an entry of mean + projection on the shown components."""
        values: np.ndarray = self.mean[entry] + self.scores @ self.basis[:, entry]
        return values


@dataclass(frozen=True, slots=True)
class DimensionsOf:
    """The best sinusoids of all entries, perhaps after projection on the shown components."""

    positions: tuple[int, int]
    components: tuple[int, ...]
    projected: bool = False

    def steps(self, context: QuestionContext) -> Iterator[Progress | Dimensions]:
        # Imports parts of SciPy, which is too slow at start.
        from geometry.measures.single_dimensions import best_sinusoids, r2_after_projection

        W_pos = context.model.W_pos
        yield Progress(None, "Fitting the components")
        pca = fit_pca(W_pos, self.positions, max(self.components))
        r2 = r2_after_projection(W_pos, pca, self.components)
        yield Progress(None, "Fitting a sinusoid to every entry")
        raw = None if self.projected else best_sinusoids(W_pos, self.positions)
        yield dimensions_of(W_pos, pca, self.components, r2, raw)


def dimensions_of(
    W_pos: np.ndarray,
    pca: PositionPCA,
    components: tuple[int, ...],
    after_projection_r2: np.ndarray,
    sinusoids: Sinusoids | None = None,
) -> Dimensions:
    """Combine the measures of every entry over the range of a PCA.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    pca, components
        Components of the range, and which of them are shown, from 1.
    after_projection_r2 : (d_model,)
        R² of the projection on these.
    sinusoids
        Those of the rows as they are; if None, they are fitted to the rows after projection.
    """
    from geometry.measures.single_dimensions import best_sinusoids

    first, last = pca.positions
    kept = [c - 1 for c in components if c <= len(pca.components)]
    rows, basis = W_pos[first : last + 1], np.array(pca.components[kept])
    scores = (rows - pca.mean) @ basis.T
    if sinusoids is None:
        projected = scores @ basis
        projected += pca.mean  # in place: long tables are large
        sinusoids = best_sinusoids(projected, (0, last - first))
        sinusoids = replace(sinusoids, positions=pca.positions)
    variance = rows.var(axis=0)
    for array in (variance, scores, basis):
        array.flags.writeable = False
    return Dimensions(rows, sinusoids, variance, after_projection_r2, pca.mean, scores, basis)


@dataclass(frozen=True, slots=True)
class Choices:
    """The drawn entries, the first of the list if empty; which rows; the list's order."""

    dimensions: tuple[int, ...] = ()
    rows: Literal["raw", "projected"] = "raw"
    order: Literal["size", "fit"] = "size"


DimensionsView = View[Choices, Dimensions]


class DimensionsPanel(PanelSpec[Choices, Dimensions]):
    """Entries over position with their sinusoids, and a list of all entries."""

    name = "dimensions"
    formula = "Pᵢ[d]"
    meaning = "single entries over position"
    explanation = (
        "One entry d of every row of P against position and, dashed, the least-squares fit of a "
        "mean plus one sinusoid. After projection on the shown components an entry is a "
        "projection of the helix, so that what remains of it is explained by the helix."
    )
    empty = "Open a model to see single entries of its embeddings over position."
    defaults = Choices()
    controls = (
        Number(
            field="dimensions",
            text="entry",
            tip="The plotted entry: an index into the rows of P, from 0",
            minimum=0,
            maximum=lambda result: len(result.variance) - 1,
            slider=False,
            kind=tuple[Whole, ...],
            shown=lambda chosen, result: chosen[0] if chosen else int(result.variance.argmax()),
            chosen=lambda entry: (entry,),
        ),
        Choice(
            field="order",
            label="Order of the entries",
            options=(
                Option(
                    "size", "By variance", "Entries with the largest variance over the range first"
                ),
                Option("fit", "By fit", "Entries best explained by their sinusoid first"),
            ),
        ),
        Choice(
            field="rows",
            label="Rows",
            options=(
                Option("raw", "Raw", "Entries as they are stored"),
                Option(
                    "projected",
                    "Projected",
                    "Entries after projection on the shown components; dotted: as stored",
                ),
            ),
        ),
    )
    figures = {"dimensions-projected": {"rows": "projected"}}
    follows_drag = True

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Discard the entries: they have no meaning in another model."""
        return replace(choices, dimensions=())

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        variance = reported.measured.rows.var(axis=0)
        entries = (-variance).argsort(kind="stable")[:REPORTED].tolist()
        return Choices(tuple(entries), "projected" if "projected" in figure else "raw")

    def question(self, scope: Scope, choices: Choices) -> DimensionsOf:
        components = tuple(sorted(set(scope.components)))
        return DimensionsOf(scope.positions, components, choices.rows == "projected")

    def result_for_report(
        self, reported: Reported, choices: Choices
    ) -> tuple[DimensionsOf, Dimensions]:
        measured, question = reported.measured, self.question(reported.scope, choices)
        raw = None if question.projected else measured.sinusoids
        return question, dimensions_of(
            reported.model.W_pos, measured.pca, question.components, measured.projected_r2, raw
        )

    def plots(self, view: DimensionsView) -> Sequence[Part]:
        result, colors = view.result, _colors(view)
        first, last = result.positions
        x, entries = np.arange(first, last + 1), tuple(colors)
        curves = [
            Curve(x, _values(view, entry), color, label=_fit(result, entry))
            for entry, color in colors.items()
        ]
        for entry, color in colors.items():
            if view.question.projected:
                curves.append(Curve(x, result.rows[:, entry], color, "dotted", silent=True))
            wave = result.sinusoids.values(entry)
            curves.append(Curve(x, wave, view.theme.text, "dashed", 1.2, silent=True))

        def hover(curve: int, row: int) -> str:
            entry = entries[curve]
            value, wave = _values(view, entry)[row], result.sinusoids.values(entry)[row]
            where = f"{view.row} {view.at(first + row)} · entry {entry}"
            raw = f" · raw {format_number(result.rows[row, entry])}"
            before = raw if view.question.projected else ""
            return f"{where}: {format_number(value)} · wave {format_number(wave)}{before}"

        return [
            Plot(
                "Entries over position",
                Axis(view.along, whole=True, span=(first - 0.5, last + 0.5)),
                Axis("entry (units of P)", printed="entry of P (units of P)"),
                curves,
                hover=hover,
                over="position",
                readings=_readings(view, colors),
            ),
            Table(
                "All entries",
                COLUMNS,
                [_row(result, entry) for entry in _order(view).tolist()],
                colors,
                chooses="dimensions",
                max_chosen=MAX_ENTRIES,
                tip="Click to plot entry {position}; Shift-click to add or remove it",
                spare=(1, 2),
                scroll_to=entries[0],
            ),
        ]

    def heading(self, view: DimensionsView) -> tuple[str, str]:
        return f"{view.model.name} · entries of P", _scope(view)

    def caption(self, view: DimensionsView) -> str:
        result = view.result
        fits = "; ".join(_fit(result, entry) for entry in _colors(view))
        good, d = int((result.sinusoids.r2 >= GOOD).sum()), len(result.variance)
        waves = f"sinusoid R² ≥ {GOOD} for {format_count(good)} of {format_count(d)} entries"
        return f"{view.model.name} · {_scope(view)} · {fits} · {waves}"

    def tables(self, view: DimensionsView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by position, and one by entry."""
        result = view.result
        first, last = result.positions
        by_position: dict[str, np.ndarray] = {"position": np.arange(first, last + 1)}
        for entry in _colors(view):
            by_position[f"entry_{entry}"] = result.rows[:, entry]
            if view.question.projected:
                by_position[f"entry_{entry}_projected"] = result.projected(entry)
            by_position[f"entry_{entry}_sinusoid"] = result.sinusoids.values(entry)
        entries = {
            "entry": np.arange(len(result.variance)),
            "variance": result.variance,
            "cycles": result.sinusoids.cycles,
            "sinusoid_r2": result.sinusoids.r2,
            "after_projection_r2": result.after_projection_r2,
        }
        return {"": by_position, "entries": entries}

    def script(self, view: DimensionsView) -> str:
        question, entries = view.question, tuple(_colors(view))
        (first, last), components = question.positions, question.components
        project, fitted = "", "best_sinusoids(model.W_pos, positions)"
        if question.projected:
            kept = [component - 1 for component in components]
            project = (
                f"basis = pca.components[{kept}]\n"
                f"rows = model.W_pos[{first}:{last + 1}] - pca.mean\n"
                "projected = pca.mean + rows @ basis.T @ basis\n"
            )
            fitted = "best_sinusoids(projected, (0, len(projected) - 1))"
        lines = f"""
positions = {question.positions}
pca = fit_pca(model.W_pos, positions, {max(components)})
{project}waves = {fitted}
after_projection = r2_after_projection(model.W_pos, pca, {components})
for entry in {list(entries)}:
    print(entry, waves.cycles[entry], waves.r2[entry], after_projection[entry])
"""
        return python_script(lines, view.model)


def _order(view: DimensionsView) -> np.ndarray:
    key = view.result.variance if view.choices.order == "size" else view.result.sinusoids.r2
    return np.argsort(-key, kind="stable")


def _colors(view: DimensionsView) -> dict[int, str]:
    """Return the colours of the drawn entries: the chosen ones, or the first of the list."""
    count = len(view.result.variance)
    inside = [entry for entry in view.choices.dimensions if entry < count]
    drawn = inside or [int(_order(view)[0])]
    # The first colour is that of the sinusoids.
    return dict(zip(drawn, SERIES[view.theme.name][1:], strict=False))


def _readings(view: DimensionsView, colors: Mapping[int, str]) -> list[Reading]:
    """Return the names of the lines: entries, sinusoids, and raw entries."""
    readings = [Reading(f"entry {entry}", color=color) for entry, color in colors.items()]
    readings.append(Reading("best sinusoid", color=view.theme.text, style="dashed"))
    if view.question.projected:
        readings.append(Reading("raw", color=view.theme.muted, style="dotted"))
    return readings


def _values(view: DimensionsView, entry: int) -> np.ndarray:
    result = view.result
    return result.projected(entry) if view.question.projected else result.rows[:, entry]


def _scope(view: DimensionsView) -> str:
    components = ", ".join(map(str, view.question.components))
    rows = f"projected on PC {components}" if view.question.projected else "raw entries"
    return f"shown {ranged(view.model, view.result.positions)} · {rows}"


def _fit(result: Dimensions, entry: int) -> str:
    """Return a summary of an entry's fit."""
    waves = result.sinusoids
    cycles, r2 = format_cycles(waves.cycles[entry]), format_number(waves.r2[entry])
    after = format_number(result.after_projection_r2[entry])
    return f"entry {entry}: sinusoid of {cycles} cycles R² {r2}, projection R² {after}"


def _row(result: Dimensions, entry: int) -> Row:
    waves = result.sinusoids
    # The same number of decimals for all entries, for comparison at a glance.
    decimals = 4 if result.variance.max() >= 0.01 else 5
    return Row(
        entry,
        (
            str(entry),
            format_number(result.variance[entry], decimals),
            format_cycles(waves.cycles[entry]),
            format_number(waves.r2[entry]),
            format_number(result.after_projection_r2[entry]),
        ),
    )
