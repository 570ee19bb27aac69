"""What the dimensions panel says and gives away: captions, numbers, and the script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.models.model import PositionalModel
from gui.panels.dimensions_question import Dimensions, DimensionsOf
from gui.services.snippets import opening
from gui.style.theme import format_count, format_number
from gui.widgets.table_text import Row

GOOD = 0.8
"""R² from which on a sinusoid counts as one that fits."""


def entry_row(result: Dimensions, entry: int) -> Row:
    """Return an entry's row of the list."""
    waves = result.sinusoids
    # As many for all entries, so that they can be compared at a glance.
    decimals = 4 if result.variance.max() >= 0.01 else 5
    return Row(
        entry,
        (
            str(entry),
            format_number(result.variance[entry], decimals),
            format_number(waves.cycles[entry], 2),
            format_number(waves.r2[entry]),
            format_number(result.after_projection_r2[entry]),
        ),
    )


def fit(result: Dimensions, entry: int) -> str:
    """Write how well an entry's sinusoid fits, and what is left of it after projection."""
    waves = result.sinusoids
    cycles, r2 = format_number(waves.cycles[entry], 2), format_number(waves.r2[entry])
    after = format_number(result.after_projection_r2[entry])
    return f"entry {entry}: sinusoid of {cycles} cycles R² {r2}, projection R² {after}"


def scope(result: Dimensions, question: DimensionsOf) -> str:
    """Write what positions are shown and whether they are projected."""
    first, last = result.positions
    components = ", ".join(map(str, question.components))
    rows = f"projected on PC {components}" if question.projected else "raw entries"
    return f"shown positions {first}–{last} · {rows}"


def summary(result: Dimensions) -> str:
    """Write for how many entries a sinusoid fits."""
    good, d = int((result.sinusoids.r2 >= GOOD).sum()), len(result.variance)
    return f"sinusoid R² ≥ {GOOD} for {format_count(good)} of {format_count(d)} entries"


def values(result: Dimensions, question: DimensionsOf, entry: int) -> np.ndarray:
    """Return what is shown of an entry, (m,): raw or after projection."""
    return result.projected(entry) if question.projected else result.rows[:, entry]


def described(
    result: Dimensions, question: DimensionsOf, entry: int, position: int, token: str | None
) -> str:
    """Write what an entry is at a position."""
    row = position - result.positions[0]
    name = f"position {position}" if token is None else f"position {position} {token!r}"
    value = format_number(values(result, question, entry)[row])
    wave = format_number(result.sinusoids.values(entry)[row])
    before = ""
    if question.projected:
        before = f" · raw {format_number(result.rows[row, entry])}"
    return f"{name} · entry {entry}: {value} · wave {wave}{before}"


def columns(
    result: Dimensions, question: DimensionsOf, entries: Sequence[int]
) -> dict[str, np.ndarray]:
    """Return some entries over position, and the fits of all."""
    first, last = result.positions
    found: dict[str, np.ndarray] = {"position": np.arange(first, last + 1)}
    for entry in entries:
        found[f"entry_{entry}"] = result.rows[:, entry]
        if question.projected:
            found[f"entry_{entry}_projected"] = result.projected(entry)
        found[f"entry_{entry}_sinusoid"] = result.sinusoids.values(entry)
    found["entry"] = np.arange(len(result.variance))
    found["variance"] = result.variance
    found["cycles"] = result.sinusoids.cycles
    found["sinusoid_r2"] = result.sinusoids.r2
    found["after_projection_r2"] = result.after_projection_r2
    return found


def script(model: PositionalModel, question: DimensionsOf, entries: Sequence[int]) -> str:
    """Return Python that prints the fits of some entries."""
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
    return (
        opening(model)
        + f"""from geometry.pca.pca import fit_pca
from geometry.measures.single_dimensions import best_sinusoids, r2_after_projection

positions = {question.positions}
pca = fit_pca(model.W_pos, positions, {max(components)})
{project}waves = {fitted}
after_projection = r2_after_projection(model.W_pos, pca, {components})
for entry in {list(entries)}:
    print(entry, waves.cycles[entry], waves.r2[entry], after_projection[entry])
"""
    )
