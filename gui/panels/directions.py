"""Directions: P's strongest singular vectors, over position and over embedding index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import RegionStore
from geometry.evidence.null import Null
from geometry.measures.overlaps import (
    LARGE,
    SPARSE,
    Sparsity,
    SparsityNulls,
    random_directions,
    sparsity,
    sparsity_nulls,
    use,
)
from geometry.measures.single_dimensions import Sinusoids, best_sinusoids
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.kit.choices import Choice, Option, Saved, Toggle
from gui.panels.kit.cycles import format_cycles
from gui.panels.kit.intents import ShowPanel
from gui.panels.kit.nulls import Finding
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope, View
from gui.plots.spec import Axis, Band, Curve, Part, Plot, Reading, Rule, Table
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of
from gui.services.snippets import python_script
from gui.state.fields import Numbers
from gui.style.theme import SERIES, format_count, format_number, format_percent
from gui.widgets.table_text import Column, Row

TOP = 5
"""Number of directions."""
EPSILON = 1e-7
"""A singular value below this share of the first may be rounding, and has no left vector."""
MIN_WAVE = 8
"""Minimum number of positions to which sinusoids are fitted: the fit has four parameters."""
BLOCK_ROWS = 4096
"""Rows of E converted to float64 at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class TopDirections:
    """The strongest directions of P, which is uncentred."""

    singular_values: np.ndarray  # (k,) float64: descending; k is at most 5
    # (k, n_positions) float64: left singular vectors: each direction's share in every row, of
    # unit length
    over_position: np.ndarray
    # (k, d_embedding) float64: right singular vectors, of unit length; the entry of largest
    # magnitude is positive
    over_index: np.ndarray
    sparsity: Sparsity  # Sparsity of the directions
    random: Sparsity  # Sparsity of as many random orthonormal directions of the same length
    # (d_embedding,) float64 or None: Σ E[t, d]² over all tokens; None if E is not read, or
    # missing
    E_energy: np.ndarray | None
    E_mapped: bool  # Whether E went through the model's own map to the size of P's rows
    E_missing: str  # Why E is missing; "" if it is not
    # The best sinusoid of each over all positions but the first and the last; None for fewer
    # than eight such positions
    waves: Sinusoids | None = None


@dataclass(frozen=True, slots=True)
class DirectionsOf:
    """P's strongest directions, of all rows; and E's share on the large entries, if it is read."""

    with_E: bool

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(Subject("E")) if self.with_E else ()

    def steps(self, context: QuestionContext) -> Iterator[Progress | TopDirections]:
        yield Progress(None, "Decomposing P")
        directions = context.stream.directions(Subject("P"))
        k = min(TOP, len(directions.vectors))
        if not k:
            raise TensorUnavailable("P has no directions: all of its numbers are zero.")
        vectors, values = directions.vectors[:k], directions.singular_values[:k]
        strengths = context.model.W_pos @ vectors.T
        # A direction with a singular value of zero has no left vector.
        some = values > EPSILON * directions.singular_values[0]
        left = np.divide(strengths, values, out=np.zeros_like(strengths), where=some).T
        energy, mapped, why = None, False, ""
        if self.with_E:
            yield Progress(None, "Measuring E")
            try:
                energy, mapped = column_energy(context)
            except TensorUnavailable as error:
                why = str(error)
        left.flags.writeable = False
        yield TopDirections(
            values,
            left,
            vectors,
            sparsity(vectors),
            sparsity(random_directions(k, vectors.shape[1])),
            energy,
            mapped,
            why,
            waves_of(left),
        )


@dataclass(frozen=True, slots=True)
class DirectionsNullsOf:
    """The sparsity of k randomly rotated directions of d entries."""

    k: int
    d: int

    def answer(self, context: QuestionContext) -> SparsityNulls:
        return sparsity_nulls(self.k, self.d)


def waves_of(over_position: np.ndarray) -> Sinusoids | None:
    """Return the best sinusoids of directions (k, n) between the first and the last position."""
    n = over_position.shape[1]
    return best_sinusoids(over_position.T, (1, n - 2)) if n >= 2 + MIN_WAVE else None


def column_energy(context: QuestionContext) -> tuple[np.ndarray, bool]:
    """Sum the squares of every column of E, in the space of P's rows.

    Returns
    -------
    energy : (d_embedding,) float64
        In squared units of E.
    mapped
        Whether E went through the model's own map to that space.

    Raises
    ------
    TensorUnavailable
        The checkpoint lacks E, or a necessary map.
    """
    E, d = context.stream.matrix(Subject("E")), context.model.d_model
    through = None
    if E.shape[1] != d:
        through = context.model.layers.embedding_map("tokens")
        if through is None or through.shape[0] != d:
            raise TensorUnavailable(
                f"E lies in {E.shape[1]} dimensions and P in {d}, and no map between them is in "
                "this checkpoint."
            )
    total = np.zeros(d)
    for start in range(0, len(E), BLOCK_ROWS):
        block = np.asarray(E[start : start + BLOCK_ROWS], dtype=np.float64)
        if through is not None:
            block = block @ through.T
        total += np.einsum("ij,ij->j", block, block)
        context.raise_if_cancelled()
    total.flags.writeable = False
    return total, through is not None


@dataclass(frozen=True, slots=True)
class Choices:
    """The drawn directions, from 1; whether E is read; the span of u; the order of entries."""

    directions: tuple[int, ...] = tuple(range(1, TOP + 1))
    E: bool = True
    bulk: bool = True
    entries: Literal["index", "use"] = "index"


DirectionsView = View[Choices, TopDirections]

COLUMNS = (
    Column(
        "i",
        "The direction of P, strongest first; last row: the mean of as many random directions",
        66,
    ),
    Column("σ", "Singular value, in the units of P", 46),
    Column("> 0.1", "Entries of magnitude above 0.1", 40),
    Column(
        "PR",
        "Participation ratio 1/Σv⁴: the effective number of entries that carry the direction",
        46,
    ),
    Column("top 40", "Σv² of the 40 entries of largest magnitude", 78),
    Column("90 %", "How many of its largest entries account for 90 % of Σv²", 64),
    Column(
        "cycles",
        "Frequency of the best-fitting sinusoid over all positions but the first and the last. ½ "
        "is the lowest frequency searched, so it may also be a slower wave or none",
        46,
    ),
    Column(
        "R²", "Share of the direction's variance over these positions explained by the sinusoid", 40
    ),
)


class DirectionsPanel(PanelSpec[Choices, TopDirections]):
    """Left and right singular vectors, and the sparsity of the right ones."""

    name = "directions"
    formula = "P = Σ σᵢ uᵢ vᵢᵀ"
    meaning = "strongest directions"
    explanation = (
        "The strongest singular directions of P: on the left, how much of each is in every "
        "position's row; on the right, which entries of the embedding it uses. A random direction "
        "uses nearly all entries a little, a sparse one uses few; click an entry to open it in "
        "Dimensions."
    )
    empty = (
        "Open a model to see its strongest directions over positions and over embedding entries."
    )
    instead = "Without “Share of E”, the directions themselves are shown."
    defaults = Choices()
    controls = (
        Saved(field="directions", kind=Numbers),
        Toggle(
            field="E",
            text="Share of E",
            tip="Read the token embeddings to measure how much of them lies in the large entries",
        ),
        Choice(
            field="entries",
            label="Entries",
            options=(
                Option("index", "By index", "The entries of each direction in stored order"),
                Option(
                    "use",
                    "By use",
                    "Entries sorted by how much the plotted directions use them, beside how much "
                    "tokens use the same entries",
                ),
            ),
        ),
        Toggle(
            field="bulk",
            text="Clip outliers",
            tip="Scale the plot to most positions; the few outliers extend beyond it",
        ),
    )
    figures = {"directions": {"E": False}}
    claims = {"directions.context_waves": {"directions": (1, 2, 3, 4, 5)}}

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Read E if that needs no download."""
        return replace(choices, E=isinstance(model.store, RegionStore))

    def question(self, scope: Scope, choices: Choices) -> DirectionsOf:
        return DirectionsOf(choices.E)

    def nulls_question(self, scope: Scope, choices: Choices) -> DirectionsNullsOf:
        n, d = scope.model.W_pos.shape
        return DirectionsNullsOf(len(_inside(choices, min(TOP, n, d))), d)

    def finding(self, view: DirectionsView) -> Finding:
        null, drawn = view.nulls.mean_mass_top40, sorted(_colors(view))
        mass = float(np.mean([view.result.sparsity.mass_top40[number - 1] for number in drawn]))
        return Finding.of(
            f"the 40 largest entries have {format_number(mass)} of {_listed(drawn)} "
            f"(expected ≥ {SPARSE:g}); 95 % of {null.draws} random rotations have less than "
            f"{format_number(null.band[2])}",
            mass >= SPARSE,
            mass,
            "above",
            null,
        )

    def plots(self, view: DirectionsView) -> Sequence[Part]:
        result, colors = view.result, _colors(view)
        drawn = tuple(colors)
        values = _rows_of(result.over_position, drawn)
        margin = 0.03 * float(np.ptp(values)) or 0.5
        whole = float(values.min()) - margin, float(values.max()) + margin
        low, high = _home(result, drawn) if view.choices.bulk else whole

        def at_position(curve: int, position: int) -> str:
            number = drawn[curve]
            value = format_number(result.over_position[number - 1, position], 4)
            return f"{view.at(position)} · u{SUBSCRIPTS[number]} {value}"

        def at_index(curve: int, index: int) -> str:
            number = drawn[curve]
            value = format_number(result.over_index[number - 1, index])
            return f"entry {index} · v{SUBSCRIPTS[number]} {value} · click to open in Dimensions"

        return [
            Plot(
                "Directions over position",
                Axis(view.along, whole=True),
                Axis(
                    "uᵢ",
                    span=whole,
                    home=(max(low, whole[0]), min(high, whole[1])),
                    printed="left singular vector of P",
                ),
                _curves(result.over_position, colors),
                hover=at_position,
                over="position",
            ),
            _by_use(view)
            if view.choices.entries == "use"
            else Plot(
                "Directions over embedding index",
                Axis("embedding index", whole=True),
                Axis("vᵢ", printed="right singular vector of P"),
                [
                    replace(curve, label=_label(result, number))
                    for number, curve in zip(drawn, _curves(result.over_index, colors), strict=True)
                ],
                [Rule(-LARGE), Rule(LARGE, label=f"large: above {LARGE}")],
                hover=at_index,
                click=lambda _, index: ShowPanel("dimensions", {"dimensions": (index,)}),
            ),
            Table(
                "Directions",
                COLUMNS,
                _rows(result, view.nulls),
                colors,
                chooses="directions",
                max_chosen=TOP,
                tip="Click to plot only this direction; Shift-click to add or remove it",
                spare=(3, 1, 7, 5, 6, 4),
                fixed=(RANDOM,),
            ),
        ]

    def heading(self, view: DirectionsView) -> tuple[str, str]:
        result, drawn = view.result, tuple(_colors(view))
        title, scope = f"{view.model.name} · directions of P", _scope(view)
        values = _rows_of(result.over_position, drawn)
        low, high = _home(result, drawn)
        beyond = int(np.count_nonzero((values < low) | (values > high)))
        if beyond and view.choices.bulk:
            # The first and last rows may be far larger than all others.
            scope += f" · left, {format_count(beyond)} of {format_count(values.size)} values beyond"
        return title, scope

    def caption(self, view: DirectionsView) -> str:
        words = _summary(view.result, tuple(_colors(view)))
        return f"{view.model.name} · {_scope(view)} · {words}"

    def tables(self, view: DirectionsView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by direction, one by position, one by entry, and single numbers."""
        result, drawn = view.result, tuple(_colors(view))
        n, d = result.over_position.shape[1], result.over_index.shape[1]
        positions: dict[str, np.ndarray] = {"position": np.arange(n)}
        positions |= {f"left_{number}": result.over_position[number - 1] for number in drawn}
        entries: dict[str, np.ndarray] = {"embedding_index": np.arange(d)}
        entries |= {f"right_{number}": result.over_index[number - 1] for number in drawn}
        if result.E_energy is not None:
            entries["E_energy"] = result.E_energy
        directions: dict[str, np.ndarray] = {
            "direction": np.arange(1, len(result.singular_values) + 1),
            "singular_value": result.singular_values,
        }
        for prefix, measured in (("", result.sparsity), ("random_", result.random)):
            for name in ("above_0_1", "participation_ratio", "mass_top40", "entries_90"):
                directions[prefix + name] = np.array(getattr(measured, name))
        if result.waves is not None:
            directions |= {"cycles": result.waves.cycles, "wave_r2": result.waves.r2}
        entries["use"] = use(_rows_of(result.over_index, drawn))
        tables = {
            "": directions,
            "positions": positions,
            "entries": entries,
            "large-entries": {"union_of_large_entries": _union(result, drawn)},
        }
        if view.nulls is not None:
            tables["random-use"] = {
                "random_use_sorted_p5": view.nulls.by_use.low,
                "random_use_sorted_p95": view.nulls.by_use.high,
            }
            tables["random-turns"] = {
                "percentile": np.array([5, 50, 95]),
                "random_turns_mass_top40": np.array(view.nulls.mean_mass_top40.band),
            }
        return tables

    def script(self, view: DirectionsView) -> str:
        found, drawn = view.result, sorted(_colors(view))
        mapped = ' @ model.layers.embedding_map("tokens").T' if found.E_mapped else ""
        of_E = f"""
E = model.W_E{mapped}
print("share of E", (E[:, union] ** 2).sum() / (E**2).sum(), "chance", len(union) / E.shape[1])
"""
        lines = f"""
drawn = {[number - 1 for number in drawn]}  # from 0, the strongest first
vectors = ResidualStream(model).directions(Subject("P")).vectors[drawn]
found, random = sparsity(vectors), sparsity(random_directions(*vectors.shape))
union = found.above_0_1_union
print("above 0.1", *found.above_0_1, "union", len(union), "random", *random.above_0_1)
print("participation ratio", *found.participation_ratio)
print("mass of the 40 largest", *found.mass_top40)
print("entries with 90 % of it", *found.entries_90)
mass, null = sum(found.mass_top40) / {len(drawn)}, sparsity_nulls(*vectors.shape).mean_mass_top40
print("mean", mass, "random rotations", *null.band)
print(weigh(mass >= {SPARSE:g}, mass, "above", null))
{of_E if found.E_energy is not None else ""}"""
        return python_script(lines, view.model)


def _colors(view: DirectionsView) -> dict[int, str]:
    """Return the colours of the drawn directions, fixed for each direction."""
    colors = SERIES[view.theme.name][1:]
    inside = _inside(view.choices, len(view.result.singular_values))
    return {number: colors[number - 1] for number in inside}


def _inside(choices: Choices, count: int) -> list[int]:
    """Return the drawn directions of those that there are, from 1."""
    return [number for number in choices.directions if 1 <= number <= count] or [1]


def _by_use(view: DirectionsView) -> Plot:
    """Return the plot of entries sorted by how much the drawn directions use them."""
    result, theme = view.result, view.theme
    used = use(_rows_of(result.over_index, _colors(view)))
    order, ranks = np.argsort(-used, kind="stable"), np.arange(1.0, len(used) + 1)
    own = Curve(ranks, used[order], theme.text, width=1.5, label="P")
    curves, readings, bands = [own], [Reading(own.label, color=own.color)], []
    energy, tokens = result.E_energy, None
    if energy is not None and energy.sum() > 0.0:
        tokens = (energy / energy.mean())[order]
        color = SERIES[theme.name][2]
        curves.insert(0, Curve(ranks, tokens, color, silent=True, label="tokens"))
        readings.append(Reading("tokens", color=color))
    if view.nulls is not None:
        by_use = view.nulls.by_use
        bands.append(Band(ranks, by_use.low, by_use.high, theme.muted, "random", by_use.middle))
        readings.append(bands[0].reading())

    def hover(_: int, rank: int) -> str:
        words = f"entry {order[rank]} · {format_number(used[order[rank]], 2)} × an even share"
        if tokens is not None:
            words += f" · tokens {format_number(tokens[rank], 2)} ×"
        return f"{words} · click to open in Dimensions"

    return Plot(
        "Entries by use",
        Axis("entries by use", whole=True, printed="entries, most used first"),
        Axis(
            "share × d",
            log=True,
            span=(MIN_USE, 1.5 * max(float(curve.y.max()) for curve in curves)),
            printed="share of the squares × d",
        ),
        curves,
        [Rule(1.0, label="even")],
        hover=hover,
        click=lambda _, rank: ShowPanel("dimensions", {"dimensions": (int(order[rank]),)}),
        readings=readings,
        bands=bands,
    )


def _curves(vectors: np.ndarray, colors: Mapping[int, str]) -> list[Curve]:
    x = np.arange(vectors.shape[1])
    return [Curve(x, vectors[number - 1], color) for number, color in colors.items()]


def _label(result: TopDirections, number: int) -> str:
    count = result.sparsity.above_0_1[number - 1]
    return f"direction {number} · {count} entries above {LARGE}"


def _rows_of(vectors: np.ndarray, drawn: Iterable[int]) -> np.ndarray:
    """Return the vectors of the drawn directions, which count from 1."""
    rows: np.ndarray = vectors[[number - 1 for number in drawn]]
    return rows


def _scope(view: DirectionsView) -> str:
    return f"all {format_count(view.model.n_positions)} positions, uncentred"


SUBSCRIPTS = "₀₁₂₃₄₅"
MIN_USE = 1e-2
"""Minimum share times d on the axis."""
CUT = 0.5
"""Percentage of values at either end beyond the initial span."""
RANDOM = 0
"""Key of the row of random directions; directions count from 1."""


def _rows(result: TopDirections, nulls: SparsityNulls | None) -> list[Row]:
    rows = [
        Row(
            i + 1,
            (
                str(i + 1),
                format_number(sigma, 2),
                str(result.sparsity.above_0_1[i]),
                format_number(result.sparsity.participation_ratio[i], 1),
                format_number(result.sparsity.mass_top40[i]),
                str(result.sparsity.entries_90[i]),
                *_wave(result, i),
            ),
        )
        for i, sigma in enumerate(result.singular_values.tolist())
    ]
    random = result.random
    count, ratio, mass, entries = (
        format_number(float(np.mean(values)), digits)
        for values, digits in (
            (random.above_0_1, 1),
            (random.participation_ratio, 1),
            (random.mass_top40, 3),
            (random.entries_90, 0),
        )
    )
    if nulls is not None:
        mass, entries = _range(nulls.mass_top40, 2), _range(nulls.entries_90, 0)
    return [*rows, Row(RANDOM, ("random", "", count, ratio, mass, entries, "", ""))]


def _range(null: Null, digits: int) -> str:
    low, _, high = null.band
    return f"{format_number(low, digits)}–{format_number(high, digits)}"


def _wave(result: TopDirections, at: int) -> tuple[str, str]:
    """Return a direction's cycles and R²."""
    if result.waves is None:
        return "", ""
    return format_cycles(float(result.waves.cycles[at])), format_number(result.waves.r2[at], 2)


def _union(result: TopDirections, drawn: Sequence[int]) -> np.ndarray:
    """(m,) sorted embedding indices that are large in any drawn direction."""
    large = np.abs(_rows_of(result.over_index, drawn)) > LARGE
    indices: np.ndarray = np.flatnonzero(large.any(axis=0))
    return indices


def _summary(result: TopDirections, drawn: Sequence[int]) -> str:
    """Return the size of the union, and E's share there."""
    union, d = _union(result, drawn), result.over_index.shape[1]
    words = f"{len(union)} of {format_count(d)} entries above {LARGE} in {_listed(drawn)}"
    if result.E_energy is not None and result.E_energy.sum() > 0.0:
        share = format_percent(result.E_energy[union].sum() / result.E_energy.sum())
        return f"{words}, with {share} of ‖E‖² (chance {format_percent(len(union) / d)})"
    return f"{words} · {result.E_missing}" if result.E_missing else words


def _listed(drawn: Sequence[int]) -> str:
    low, high = min(drawn), max(drawn)
    if low == high:
        return f"direction {low}"
    whole = len(drawn) == high - low + 1
    return f"directions {f'{low}–{high}' if whole else ', '.join(map(str, sorted(drawn)))}"


def _home(result: TopDirections, drawn: Sequence[int]) -> tuple[float, float]:
    """Return the initial span, without outliers."""
    low, high = np.percentile(_rows_of(result.over_position, drawn), (CUT, 100 - CUT))
    margin = 0.1 * (high - low) or 0.5
    return float(low - margin), float(high + margin)
