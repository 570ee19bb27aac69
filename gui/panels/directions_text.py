"""What the directions panel says and gives away: its table, captions, numbers, and the script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.measures.overlaps import LARGE, Sparsity
from geometry.models.model import PositionalModel
from gui.panels.directions_question import TopDirections
from gui.services.snippets import opening
from gui.style.theme import format_count, format_number, format_percent
from gui.widgets.table_text import Row

SUBSCRIPTS = "₀₁₂₃₄₅"
CUT = 0.5
"""Per cent of the values at either end that may lie beyond what is shown at first."""
RANDOM = 0
"""What the row of random directions stands for; directions count from 1."""


def rows(found: TopDirections) -> list[Row]:
    """Return a row for each direction, and one for the mean of random ones."""
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


def union_of(found: TopDirections, drawn: Sequence[int]) -> np.ndarray:
    """(m,) the embedding indices that are large in any of the drawn directions, rising."""
    vectors = found.over_index[[number - 1 for number in drawn]]
    indices: np.ndarray = np.flatnonzero((np.abs(vectors) > LARGE).any(axis=0))
    return indices


def summary(found: TopDirections, drawn: Sequence[int]) -> str:
    """Write how large the union is, and how much of E lives there."""
    union, d = union_of(found, drawn), found.over_index.shape[1]
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


def home_of(found: TopDirections, drawn: Sequence[int]) -> tuple[float, float]:
    """Return the span of most positions' values: a few at the ends may be far beyond it."""
    low, high = np.percentile(found.over_position[[n - 1 for n in drawn]], (CUT, 100 - CUT))
    margin = 0.1 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def described_index(found: TopDirections, number: int, index: int) -> str:
    """Write what a direction is at an embedding index."""
    value = format_number(found.over_index[number - 1, index])
    return f"entry {index} · v{SUBSCRIPTS[number]} {value} · click: Dimensions"


def described_position(found: TopDirections, number: int, position: int, token: str | None) -> str:
    """Write what a direction is at a position."""
    name = f"{position}" if token is None else f"{position} {token!r}"
    value = format_number(found.over_position[number - 1, position], 4)
    return f"{name} · u{SUBSCRIPTS[number]} {value}"


def columns(found: TopDirections, drawn: Sequence[int]) -> dict[str, np.ndarray]:
    """Return the drawn directions, the sparsity of all, and the union."""
    n, d = found.over_position.shape[1], found.over_index.shape[1]
    made: dict[str, np.ndarray] = {"position": np.arange(n)}
    for number in drawn:
        made[f"left_{number}"] = found.over_position[number - 1]
    made["embedding_index"] = np.arange(d)
    for number in drawn:
        made[f"right_{number}"] = found.over_index[number - 1]
    if found.E_energy is not None:
        made["E_energy"] = found.E_energy
    made["direction"] = np.arange(1, len(found.singular_values) + 1)
    made["singular_value"] = found.singular_values
    for name, measured in (("", found.sparsity), ("random_", found.random)):
        made[f"{name}above_0_1"] = np.array(measured.above_0_1)
        made[f"{name}participation_ratio"] = np.array(measured.participation_ratio)
        made[f"{name}mass_top40"] = np.array(measured.mass_top40)
    made["union_of_large_entries"] = union_of(found, drawn)
    return made


def script(model: PositionalModel, found: TopDirections, drawn: Sequence[int]) -> str:
    """Return Python that prints the sparsity of the drawn directions, and E's share."""
    mapped = ' @ model.layers.embedding_map("tokens").T' if found.E_mapped else ""
    of_E = f"""
E = model.W_E{mapped}
print("share of E", (E[:, union] ** 2).sum() / (E**2).sum(), "chance", len(union) / E.shape[1])
"""
    return (
        opening(model)
        + f"""from geometry.measures.overlaps import random_directions, sparsity
from geometry.models.residual_stream import ResidualStream, Subject

drawn = {[number - 1 for number in sorted(drawn)]}  # from 0, the strongest first
vectors = ResidualStream(model).directions(Subject("P")).vectors[drawn]
found, random = sparsity(vectors), sparsity(random_directions(*vectors.shape))
union = found.above_0_1_union
print("above 0.1", *found.above_0_1, "union", len(union), "random", *random.above_0_1)
print("participation ratio", *found.participation_ratio)
print("mass of the 40 largest", *found.mass_top40)
"""
        + (of_E if found.E_energy is not None else "")
    )
