"""What the norms panel says, and the spans its axis can show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.measures.norms import NEIGHBOURS, OUTLIER_LOG_RATIO
from geometry.measures.stretches import AFTER
from gui.panels.norms.norms_reading import Beside, Reading
from gui.plots.plot_marks import format_position
from gui.state.values import Quantity
from gui.style.theme import format_count, format_number, format_percent
from gui.style.token_text import token_label

TITLES: dict[tuple[Quantity, bool], tuple[str, str]] = {
    ("norm", False): ("‖Pᵢ‖₂", "· norm of each row"),
    ("norm", True): ("‖Pᵢ − mean(Pᵢ)‖₂", "· norm of each row minus its mean"),
    ("step", False): ("‖Pᵢ₊₁ − Pᵢ‖₂", "· step to the next row"),
    ("step", True): ("‖Δᵢ − mean(Δᵢ)‖₂", "· step Δᵢ = Pᵢ₊₁ − Pᵢ minus its mean"),
    ("residual", False): ("‖xᵢ⊥‖₂ / ‖xᵢ‖₂", "· share outside the shown components"),
}
"""Formula and meaning, by quantity and whether rows are centred."""
MEANINGS: dict[Quantity, str] = {
    "norm": "‖Pᵢ‖₂, the Euclidean length of each row, in the table’s units",
    "step": "‖Pᵢ₊₁ − Pᵢ‖₂, the distance from each row to the next, in the table’s units: how far"
    " apart neighbours are",
    "residual": "‖xᵢ⊥‖₂ / ‖xᵢ‖₂, xᵢ the row minus the range’s mean and xᵢ⊥ its part outside the"
    " shown components: the share of its length that is not seen (“fraying”), from 0 to 1",
}
"""What the choices of the quantity explain."""
AXIS_TITLES: dict[Quantity, str] = {
    "norm": "norm (units of P)",
    "step": "step (units of P)",
    "residual": "residual (share)",
}
OUTLIER_RULE = (
    f"Outlier: its norm differs from the median norm of the {NEIGHBOURS} nearest other positions "
    f"by more than {OUTLIER_LOG_RATIO} in natural logarithm (about a third)."
)
HELP: dict[Quantity, str] = {
    "norm": (
        "The norm is the Euclidean length of a position's row: where it hardly varies, positions "
        "differ in direction only. Rings mark outliers, whose norm differs from the median of the "
        f"{NEIGHBOURS} nearest other positions by more than {OUTLIER_LOG_RATIO} in natural "
        "logarithm."
    ),
    "step": (
        "The step is the distance from a position's row to the next one's. Where the first steps "
        "are longer than the later ones, early tokens are spaced out."
    ),
    "residual": (
        "The residual is the share of a row's length, counted from the mean of the shown range, "
        "that lies outside the shown components. Where it is large the curve frays: what is drawn "
        "is not where the row is. It follows the range and the components."
    ),
}
AFTER_TIP = (
    "Mean, std and cv are measured from this position to the last but one. Type it here, or drag"
    f" the dashed line; a double-click on the line is {AFTER} again."
)
OUTLIERS_LISTED = 8
LONGEST_TOKEN = 24


def axis_title(reading: Reading) -> str:
    """Return quantity and unit of the axis."""
    return f"{reading.quantity} / its mean" if reading.relative else AXIS_TITLES[reading.quantity]


def summary(reading: Reading) -> str:
    """Return the readout: how steady the values are, where, and what stands out."""
    found = reading.stretch
    where = f"{format_position(found.first)}–{format_position(found.last)}"
    if found.whole:
        where = f"all positions (too few to leave out the first {reading.after})"
    parts = [f"mean {format_number(found.mean)}", f"std {format_number(found.std)}"]
    if reading.quantity != "residual":
        parts.append(f"cv {format_percent(found.cv)}")
    parts[-1] += f" over {where}"
    if reading.quantity == "norm":
        parts.append(_list_outliers(reading.outliers))
    elif found.early is not None:
        parts.append(_early(reading, found.early))
    # A line may end between two facts, never inside a number.
    return " · ".join(parts).replace("\N{THIN SPACE}", "\N{NARROW NO-BREAK SPACE}")


def describe(
    reading: Reading, position: int, token: str | None, others: Sequence[Beside] = ()
) -> str:
    """Return what the hover label says about a position; others' values come last."""
    where = f"position {format_position(position)}"
    if reading.quantity == "step":
        where = f"positions {format_position(position)} → {format_position(position + 1)}"
    value = float(reading.source[position])
    said = f"{reading.quantity} {format_number(value)}"
    if reading.scale is not None:
        said += f" ({format_number(value / reading.scale, 2)}×)"
    parts = [where, said]
    if token is not None:
        shown = token_label(token)
        parts.append(shown if len(shown) <= LONGEST_TOKEN else f"{shown[: LONGEST_TOKEN - 1]}…")
    parts += [
        f"{other.overlay.name} {format_number(float(other.source[position]))}"
        for other in others
        if position < len(other.source)
    ]
    return " · ".join(parts)


def stretch_note(reading: Reading) -> str:
    """Return which positions the readout describes, and why."""
    found = reading.stretch
    if found.whole:
        return (
            f"Mean, population standard deviation and their ratio over all {found.last + 1} "
            f"values: the table is too short to leave out the first {reading.after} and the last."
        )
    left_out = (
        "the last is left out"
        if not found.first
        else f"the first {format_count(found.first)} and the last are left out"
    )
    return (
        "Mean, population standard deviation and their ratio over positions "
        f"{format_position(found.first)}–{format_position(found.last)}: {left_out}."
    )


def bulk_note(reading: Reading, others: Sequence[Beside] = ()) -> str:
    """Return what the zoom to the bulk shows."""
    low, high = (format_number(value, 2) for value in bulk_span(reading, others))
    apart = "apart from outliers and " if reading.quantity == "norm" else "apart from "
    return (
        f"Stretch the axis to {low}–{high}, where the values are {apart}the first "
        f"{reading.after} positions; arrows at the edge mark outliers beyond it"
    )


def full_span(reading: Reading, others: Sequence[Beside] = ()) -> tuple[float, float]:
    """Return the axis that holds every value: from zero, with room for rings at both ends."""
    top = max(float(drawn.max()) for drawn in (reading.drawn, *(o.drawn for o in others))) or 1.0
    return -0.06 * top, 1.1 * top


def bulk_span(reading: Reading, others: Sequence[Beside] = ()) -> tuple[float, float]:
    """Return the axis that holds the values the readout describes, outliers left out."""
    first, last = reading.stretch.first, reading.stretch.last
    drawn = reading.drawn
    usual = np.zeros(len(drawn), dtype=bool)
    usual[first : last + 1] = True
    usual[list(reading.outliers)] = False
    parts = [drawn[usual] if usual.any() else drawn]
    # Nothing marks other models' outliers: the axis holds the middle 98 % of them.
    parts += [
        np.percentile(other.drawn[other.stretch.first : other.stretch.last + 1], (1, 99))
        for other in others
    ]
    low, high = (float(pick([pick(p) for p in parts])) for pick in (np.min, np.max))
    # All norms of computed positions are equal, but for rounding.
    margin = 0.15 * (high - low) if high - low > 1e-6 * high else 0.05 * high or 0.5
    bottom, top = full_span(reading, others)
    return max(low - margin, bottom), min(high + margin, top)


def _early(reading: Reading, early: float) -> str:
    """Say how the first positions compare: whether early tokens are spaced out, or fray."""
    # Its number stays with its word.
    said = (
        f"first\N{NO-BREAK SPACE}{format_count(reading.stretch.first)}: mean {format_number(early)}"
    )
    if reading.stretch.mean <= 0.0:
        return said
    return f"{said}, {format_number(early / reading.stretch.mean, 2)} times that"


def _list_outliers(outliers: tuple[int, ...]) -> str:
    if not outliers:
        return "no outliers"
    # A few stay together on a line.
    space = "\N{NO-BREAK SPACE}" if len(outliers) <= 5 else " "
    listed = f",{space}".join(format_position(p) for p in outliers[:OUTLIERS_LISTED])
    more = len(outliers) - OUTLIERS_LISTED
    return f"outliers{space}{listed}" + (f" and {format_count(more)} more" if more > 0 else "")
