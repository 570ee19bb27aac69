"""What the norms panel says, and the spans its axis can show."""

from __future__ import annotations

import numpy as np

from geometry.norms import NEIGHBOURS, OUTLIER_LOG_RATIO, NormProfile
from gui.panels.plot_marks import format_position
from gui.theme import format_count, format_number, format_percent
from gui.token_text import token_label

TITLES = {
    False: ("‖Pᵢ‖₂", "· norm of each row"),
    True: ("‖Pᵢ − mean(Pᵢ)‖₂", "· norm of each row minus its mean"),
}
"""Formula and meaning, by whether rows are centred."""
OUTLIER_RULE = (
    f"Outlier: its norm differs from the median norm of the {NEIGHBOURS} nearest other positions "
    f"by more than {OUTLIER_LOG_RATIO} in natural logarithm (about a third)."
)
HELP = (
    "The norm is the Euclidean length of a position's row: where it hardly varies, positions "
    "differ in direction only. Rings mark outliers, whose norm differs from the median of the "
    f"{NEIGHBOURS} nearest other positions by more than {OUTLIER_LOG_RATIO} in natural logarithm."
)
OUTLIERS_LISTED = 8
LONGEST_TOKEN = 24


def summary(profile: NormProfile) -> str:
    """Return the readout: how stable the norms are, where, and the outliers."""
    first, last = stretch(profile)
    where = f"{format_position(first)}–{format_position(last)}"
    if is_short(profile):
        where = f"all positions (too few to leave out the first {profile.after})"
    text = (
        f"mean {format_number(profile.mean)} · std {format_number(profile.std)} · "
        f"cv {format_percent(profile.cv)} over {where} · {_list_outliers(profile.outliers)}"
    )
    # A line may end between two facts, never inside a number.
    return text.replace("\N{THIN SPACE}", "\N{NARROW NO-BREAK SPACE}")


def describe(profile: NormProfile, position: int, token: str | None) -> str:
    """Return what the hover label says about a position."""
    parts = [f"position {format_position(position)}", f"norm {norm(profile, position)}"]
    if token is not None:
        shown = token_label(token)
        parts.append(shown if len(shown) <= LONGEST_TOKEN else f"{shown[: LONGEST_TOKEN - 1]}…")
    return " · ".join(parts)


def norm(profile: NormProfile, position: int) -> str:
    """Return a norm as a number."""
    return format_number(float(profile.values[position]))


def stretch_note(profile: NormProfile) -> str:
    """Return which positions the readout describes, and why."""
    first, last = stretch(profile)
    if is_short(profile):
        return (
            f"Mean, population standard deviation and their ratio over all {last + 1} positions: "
            f"the table is too short to leave out the first {profile.after} and the last."
        )
    return (
        "Mean, population standard deviation and their ratio over positions "
        f"{format_position(first)}–{format_position(last)}: the first {profile.after} "
        "and the last are left out."
    )


def bulk_note(profile: NormProfile) -> str:
    """Return what the zoom to the bulk shows."""
    low, high = (format_number(value, 2) for value in bulk_span(profile))
    return (
        f"Stretch the axis to {low}–{high}, where the norms are apart from outliers and the first "
        f"{profile.after} positions; arrows at the edge mark outliers beyond it"
    )


def is_short(profile: NormProfile) -> bool:
    """Tell whether the table ends before the stretch that is usually described."""
    return profile.after > len(profile.values) - 2


def stretch(profile: NormProfile) -> tuple[int, int]:
    """Return the inclusive range that the profile's mean, std and cv describe."""
    last = len(profile.values) - 1
    return (0, last) if is_short(profile) else (profile.after, last - 1)


def full_span(profile: NormProfile) -> tuple[float, float]:
    """Return the axis that holds every norm: from zero, with room for rings at both ends."""
    top = float(profile.values.max()) or 1.0
    return -0.06 * top, 1.1 * top


def bulk_span(profile: NormProfile) -> tuple[float, float]:
    """Return the axis that holds the norms the readout describes, outliers left out."""
    first, last = stretch(profile)
    usual = np.zeros(len(profile.values), dtype=bool)
    usual[first : last + 1] = True
    usual[list(profile.outliers)] = False
    values = profile.values[usual] if usual.any() else profile.values
    low, high = float(values.min()), float(values.max())
    # All norms of computed positions are equal, but for rounding.
    margin = 0.15 * (high - low) if high - low > 1e-6 * high else 0.05 * high or 0.5
    bottom, top = full_span(profile)
    return max(low - margin, bottom), min(high + margin, top)


def _list_outliers(outliers: tuple[int, ...]) -> str:
    if not outliers:
        return "no outliers"
    # A few stay together on a line.
    space = "\N{NO-BREAK SPACE}" if len(outliers) <= 5 else " "
    listed = f",{space}".join(format_position(p) for p in outliers[:OUTLIERS_LISTED])
    more = len(outliers) - OUTLIERS_LISTED
    return f"outliers{space}{listed}" + (f" and {format_count(more)} more" if more > 0 else "")
