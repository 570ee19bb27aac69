"""Directions: P's strongest singular vectors, over position and over embedding index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import RegionStore
from geometry.measures.overlaps import LARGE, Sparsity, random_directions, sparsity
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.choices import Saved, Toggle, whole_numbers
from gui.panels.intents import ShowPanel
from gui.panels.kit import PanelSpec, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Rule, Table
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of
from gui.services.snippets import opening
from gui.style.theme import SERIES, format_count, format_number, format_percent
from gui.widgets.table_text import Column, Row

TOP = 5
"""Number of directions."""
EPSILON = 1e-7
"""A singular value below this share of the first may be rounding, and has no left vector."""
BLOCK_ROWS = 4096
"""Rows of E converted to float64 at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class TopDirections:
    """The strongest directions of P, which is uncentred.

    Attributes
    ----------
    singular_values : (k,) float64
        Falling; k is 5, or as many as there are.
    over_position : (k, n_positions) float64
        Left singular vectors: each direction's share in every row, of unit length.
    over_index : (k, d_embedding) float64
        Right singular vectors, of unit length; the entry of largest magnitude is positive.
    sparsity
        Of the directions.
    random
        Of as many random orthonormal directions of the same length.
    E_energy : (d_embedding,) float64 or None
        Σ E[t, d]² over all tokens; None where E is not asked for, or lacking.
    E_mapped
        Whether E went through the model's own map to the size of P's rows.
    E_missing
        Why E is lacking; "" where it is not.
    """

    singular_values: np.ndarray
    over_position: np.ndarray
    over_index: np.ndarray
    sparsity: Sparsity
    random: Sparsity
    E_energy: np.ndarray | None
    E_mapped: bool
    E_missing: str


@dataclass(frozen=True, slots=True)
class DirectionsOf:
    """P's strongest directions; all of its rows.

    Attributes
    ----------
    with_E
        Whether to read E, for its share on the large entries.
    """

    with_E: bool

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(Subject("E")) if self.with_E else ()

    def steps(self, about: QuestionContext) -> Iterator[Progress | TopDirections]:
        yield Progress(None, "Decomposing P")
        found = about.stream.directions(Subject("P"))
        k = min(TOP, len(found.vectors))
        vectors, values = found.vectors[:k], found.singular_values[:k]
        strengths = about.model.W_pos @ vectors.T
        # A direction with a singular value of zero has no left vector.
        some = values > EPSILON * found.singular_values[0]
        left = np.divide(strengths, values, out=np.zeros_like(strengths), where=some).T
        energy, mapped, why = None, False, ""
        if self.with_E:
            yield Progress(None, "Measuring E")
            try:
                energy, mapped = column_energy(about)
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
        )


def column_energy(about: QuestionContext) -> tuple[np.ndarray, bool]:
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
        The checkpoint lacks E, or a map that it would need.
    """
    E, d = about.stream.matrix(Subject("E")), about.model.d_model
    through = None
    if E.shape[1] != d:
        through = about.model.layers.embedding_map("tokens")
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
        about.check()
    total.flags.writeable = False
    return total, through is not None


@dataclass(frozen=True, slots=True)
class Choices:
    """The drawn directions, from 1; whether E is read; whether outliers are cut off."""

    directions: tuple[int, ...] = tuple(range(1, TOP + 1))
    E: bool = True
    bulk: bool = True


DirectionsView = View[Choices, TopDirections]

COLUMNS = (
    Column(
        "i", "The direction of P, from the strongest; last, the mean of as many random ones", 66
    ),
    Column("σ", "Singular value, in the units of P", 46),
    Column("> 0.1", "Entries of magnitude above 0.1", 40),
    Column("PR", "Participation ratio 1/Σv⁴: how many entries carry the direction", 46),
    Column("top 40", "Σv² of the 40 entries of largest magnitude", 48),
)


class DirectionsPanel(PanelSpec[Choices, TopDirections]):
    """Left and right singular vectors, and the sparsity of the right ones."""

    name = "directions"
    formula = "P = Σ σᵢ uᵢ vᵢᵀ"
    meaning = "strongest directions"
    explanation = (
        "The strongest singular directions of P: at the left how much of each is in the row of "
        "every position, at the right which entries of the embedding it takes. A random direction "
        "takes nearly all entries a little, one that is sparse takes few, and a click on one of "
        "these opens it in Dimensions."
    )
    empty = "Open a model to see its strongest directions over position and embedding index."
    instead = "Without E above, the directions themselves are shown."
    defaults = Choices()
    controls = (
        Saved(field="directions", check=whole_numbers(1, fewest=1)),
        Toggle(
            field="E",
            text="Share of E",
            tip="Read the token embeddings, to tell how much of them lives on the entries that"
            " are large",
        ),
        Toggle(
            field="bulk",
            text="Bulk",
            tip="Show most positions at full height; the few that stand out go beyond the plot",
        ),
    )
    figures = {"directions": {"E": False}}
    claims = {"directions.context_waves": {"directions": (1, 2, 3, 4, 5)}}

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Read E if that needs no download."""
        return replace(choices, E=isinstance(model.store, RegionStore))

    def question(self, scope: Scope, choices: Choices) -> DirectionsOf:
        return DirectionsOf(choices.E)

    def plots(self, view: DirectionsView) -> Sequence[Part]:
        found, colors = view.result, _colors(view)
        drawn = tuple(colors)
        values = found.over_position[[number - 1 for number in drawn]]
        margin = 0.03 * float(np.ptp(values)) or 0.5
        whole = float(values.min()) - margin, float(values.max()) + margin
        low, high = _home(found, drawn) if view.choices.bulk else whole

        def at_position(curve: int, position: int) -> str:
            number = drawn[curve]
            value = format_number(found.over_position[number - 1, position], 4)
            return f"{view.at(position)} · u{SUBSCRIPTS[number]} {value}"

        def at_index(curve: int, index: int) -> str:
            number = drawn[curve]
            value = format_number(found.over_index[number - 1, index])
            return f"entry {index} · v{SUBSCRIPTS[number]} {value} · click: Dimensions"

        return [
            Plot(
                "Directions over position",
                Axis("position (tokens)", whole=True),
                Axis(
                    "uᵢ",
                    span=whole,
                    home=(max(low, whole[0]), min(high, whole[1])),
                    printed="left singular vector of P",
                ),
                _curves(found.over_position, colors),
                hover=at_position,
                over="position",
            ),
            Plot(
                "Directions over embedding index",
                Axis("embedding index", whole=True),
                Axis("vᵢ", printed="right singular vector of P"),
                [
                    replace(curve, label=_label(found, number))
                    for number, curve in zip(drawn, _curves(found.over_index, colors), strict=True)
                ],
                [Rule(-LARGE), Rule(LARGE)],
                hover=at_index,
                click=lambda _, index: ShowPanel("dimensions", {"dimensions": (index,)}),
            ),
            Table(
                "Directions",
                COLUMNS,
                _rows(found),
                colors,
                chooses="directions",
                most=TOP,
                tip="Click draws this direction alone, Shift-click adds it or takes it out",
                spare=(1, 3, 4),
                fixed=(RANDOM,),
            ),
        ]

    def heading(self, view: DirectionsView) -> tuple[str, str]:
        found, drawn = view.result, tuple(_colors(view))
        title, scope = f"{view.model.name} · directions of P", _scope(view)
        values = found.over_position[[number - 1 for number in drawn]]
        low, high = _home(found, drawn)
        beyond = int(np.count_nonzero((values < low) | (values > high)))
        if beyond and view.choices.bulk:
            # The first and last rows may be far larger than all others.
            scope += f" · left, {format_count(beyond)} of {format_count(values.size)} values beyond"
        return title, scope

    def caption(self, view: DirectionsView) -> str:
        words = _summary(view.result, tuple(_colors(view)))
        return f"{view.model.name} · {_scope(view)} · {words}"

    def numbers(self, view: DirectionsView) -> Mapping[str, np.ndarray]:
        found, drawn = view.result, tuple(_colors(view))
        n, d = found.over_position.shape[1], found.over_index.shape[1]
        made: dict[str, np.ndarray] = {"position": np.arange(n)}
        made |= {f"left_{number}": found.over_position[number - 1] for number in drawn}
        made["embedding_index"] = np.arange(d)
        made |= {f"right_{number}": found.over_index[number - 1] for number in drawn}
        if found.E_energy is not None:
            made["E_energy"] = found.E_energy
        made["direction"] = np.arange(1, len(found.singular_values) + 1)
        made["singular_value"] = found.singular_values
        for prefix, measured in (("", found.sparsity), ("random_", found.random)):
            made[f"{prefix}above_0_1"] = np.array(measured.above_0_1)
            made[f"{prefix}participation_ratio"] = np.array(measured.participation_ratio)
            made[f"{prefix}mass_top40"] = np.array(measured.mass_top40)
        made["union_of_large_entries"] = _union(found, drawn)
        return made

    def script(self, view: DirectionsView) -> str:
        found, drawn = view.result, sorted(_colors(view))
        mapped = ' @ model.layers.embedding_map("tokens").T' if found.E_mapped else ""
        of_E = f"""
E = model.W_E{mapped}
print("share of E", (E[:, union] ** 2).sum() / (E**2).sum(), "chance", len(union) / E.shape[1])
"""
        return (
            opening(view.model)
            + f"""from geometry import random_directions, sparsity
from geometry import ResidualStream, Subject

drawn = {[number - 1 for number in drawn]}  # from 0, the strongest first
vectors = ResidualStream(model).directions(Subject("P")).vectors[drawn]
found, random = sparsity(vectors), sparsity(random_directions(*vectors.shape))
union = found.above_0_1_union
print("above 0.1", *found.above_0_1, "union", len(union), "random", *random.above_0_1)
print("participation ratio", *found.participation_ratio)
print("mass of the 40 largest", *found.mass_top40)
"""
            + (of_E if found.E_energy is not None else "")
        )


def _colors(view: DirectionsView) -> dict[int, str]:
    """Return the colours of the drawn directions, fixed for each direction."""
    count, colors = len(view.result.singular_values), SERIES[view.theme.name][1:]
    inside = [number for number in view.choices.directions if 1 <= number <= count] or [1]
    return {number: colors[number - 1] for number in inside}


def _curves(vectors: np.ndarray, colors: Mapping[int, str]) -> list[Curve]:
    x = np.arange(vectors.shape[1])
    return [Curve(x, vectors[number - 1], color) for number, color in colors.items()]


def _label(found: TopDirections, number: int) -> str:
    count = found.sparsity.above_0_1[number - 1]
    return f"direction {number} · {count} entries above {LARGE}"


def _scope(view: DirectionsView) -> str:
    return f"all {format_count(view.model.n_positions)} positions, uncentred"


SUBSCRIPTS = "₀₁₂₃₄₅"
CUT = 0.5
"""Percentage of values at either end beyond the initial span."""
RANDOM = 0
"""Key of the row of random directions; directions count from 1."""


def _rows(found: TopDirections) -> list[Row]:
    made = [
        Row(
            i + 1,
            (
                str(i + 1),
                format_number(sigma, 2),
                str(found.sparsity.above_0_1[i]),
                format_number(found.sparsity.participation_ratio[i], 1),
                format_number(found.sparsity.mass_top40[i]),
            ),
        )
        for i, sigma in enumerate(found.singular_values.tolist())
    ]
    count, ratio, mass = _means(found.random)
    made.append(
        Row(
            RANDOM,
            (
                "random",
                "",
                format_number(count, 1),
                format_number(ratio, 1),
                format_number(mass),
            ),
        )
    )
    return made


def _means(measured: Sparsity) -> tuple[float, float, float]:
    return (
        float(np.mean(measured.above_0_1)),
        float(np.mean(measured.participation_ratio)),
        float(np.mean(measured.mass_top40)),
    )


def _union(found: TopDirections, drawn: Sequence[int]) -> np.ndarray:
    """(m,) sorted embedding indices that are large in any drawn direction."""
    vectors = found.over_index[[number - 1 for number in drawn]]
    indices: np.ndarray = np.flatnonzero((np.abs(vectors) > LARGE).any(axis=0))
    return indices


def _summary(found: TopDirections, drawn: Sequence[int]) -> str:
    """Return the size of the union, and E's share there."""
    union, d = _union(found, drawn), found.over_index.shape[1]
    words = f"{len(union)} of {format_count(d)} entries above {LARGE} in {_listed(drawn)}"
    if found.E_energy is not None and found.E_energy.sum() > 0.0:
        share = format_percent(found.E_energy[union].sum() / found.E_energy.sum())
        return f"{words}, with {share} of ‖E‖² (chance {format_percent(len(union) / d)})"
    return f"{words} · {found.E_missing}" if found.E_missing else words


def _listed(drawn: Sequence[int]) -> str:
    low, high = min(drawn), max(drawn)
    if low == high:
        return f"direction {low}"
    whole = len(drawn) == high - low + 1
    return f"directions {f'{low}–{high}' if whole else ', '.join(map(str, sorted(drawn)))}"


def _home(found: TopDirections, drawn: Sequence[int]) -> tuple[float, float]:
    """Return the initial span, without outliers."""
    low, high = np.percentile(found.over_position[[n - 1 for n in drawn]], (CUT, 100 - CUT))
    margin = 0.1 * (high - low) or 0.5
    return float(low - margin), float(high + margin)
