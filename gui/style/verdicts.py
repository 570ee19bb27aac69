"""Texts of a claim's verdict and its numbers."""

from __future__ import annotations

from geometry.claims.claim import Verdict
from gui.style.outcomes import SIGNS, long
from gui.style.theme import format_count, format_number

NO_NUMBER = "–"
DRAWN = {
    "process": "smooth random curves",
    "walk": "random walks",
    "shuffled": "random orders",
    "turned": "random rotations",
    "frames": "random rotations",
    "entries": "random choices",
    "permuted": "random orders of entries",
    "directions": "random directions",
    "rows": "other positions",
    "matern": "rough random curves",
    "band": "band-limited curves",
    "phase": "random phases",
    "spline": "random splines",
    "rank": "low-rank curves",
    "fourier": "random Fourier series",
    "cosines": "cosine series",
    "relabelled": "other divisions",
    "displaced": "displacements of the same size",
}
"""What is drawn at random, in a few words, by the name of a null distribution."""
RELATIONS = {"at least": "≥", "at most": "≤", "more than": ">"}


def band(verdict: Verdict) -> str:
    """Return the interval with 90 % of the draws of the null distribution: ``0.82–0.84``."""
    if verdict.null is None:
        return NO_NUMBER
    low, _, high = map(number, verdict.null.band)
    if low == high:
        return low
    return f"{low} to {high}" if "\N{MINUS SIGN}" in low + high else f"{low}–{high}"


def kind(verdict: Verdict) -> str:
    """Return how much of what is drawn: ``400 random rotations``; "" if nothing is."""
    null = verdict.null
    return "" if null is None else f"{format_count(null.draws)} {DRAWN.get(null.name, null.name)}"


def null_text(verdict: Verdict) -> str:
    """Return the null distribution in a sentence, "" if there is none."""
    null = verdict.null
    if null is None:
        return ""
    text = f"90 % of {null.draws} draws: {band(verdict)}; {null.meaning}."
    if verdict.value is None:
        return text
    side = verdict.claim.expected.side
    k, (low, high) = null.reached(verdict.value, side), null.interval_from(verdict.value, side)
    reach = "1 of them reaches" if k == 1 else f"{k or 'None'} of them reach"
    share = f"{100 * low:.0f} to {100 * high:.0f} %"
    reached = f"{reach} the measured value: {share} of all such tables, with 95 % confidence."
    kinds = len(verdict.nulls)
    least = f" The least favourable of {kinds} kinds of random tables." if kinds > 1 else ""
    return f"{text} {reached}{least}"


def p_text(p: float | None) -> str:
    """Format a p-value: ``0.005``; a dash for none."""
    if p is None:
        return NO_NUMBER
    return format_number(p, 1 if p >= 0.995 else 3 if p < 0.0995 else 2)


def interval_text(verdict: Verdict) -> str:
    """Return the interval over texts in a sentence, "" if there is none."""
    if verdict.interval is None:
        return ""
    low, high = map(number, verdict.interval)
    text = f"95 % of resampled texts: {low} to {high}."
    if verdict.null is None:
        return text
    return f"{text} 90 % of them with {verdict.null.meaning}: {band(verdict)}."


def measured(verdict: Verdict) -> str:
    """Return the formatted number of a verdict."""
    return NO_NUMBER if verdict.value is None else number(verdict.value)


def number(value: float) -> str:
    """Format a number with decimals according to its magnitude."""
    if value == round(value):
        return format_number(value, 0)
    size = abs(value)
    places = ((100, 1), (10, 2), (0.01, 3), (0.001, 4))
    return format_number(value, next((digits for lower, digits in places if size >= lower), 6))


def expected(verdict: Verdict) -> str:
    """Return the claim's formatted bounds: ``at least 0.89``."""
    return str(verdict.claim.expected).replace("-", "\N{MINUS SIGN}")


def bound(verdict: Verdict) -> str:
    """Return them as a cell of a table: ``≥ 0.89``."""
    relation = verdict.claim.expected.relation
    return expected(verdict).replace(relation, RELATIONS[relation])


def worth(verdict: Verdict) -> str:
    """Return a claim's quantity, its number, its outcome, and the interval of random tables."""
    assert verdict.outcome is not None
    outcome = f"{SIGNS[verdict.outcome]} {long(verdict.outcome, verdict.null)}"
    text = f"{verdict.claim.quantity}: "
    if verdict.value is None:
        return f"{text}{outcome}: {(verdict.why_null or '').rstrip('.')}."
    text += f"{measured(verdict)}, expected {expected(verdict)}: {outcome}."
    if (null := verdict.null) is None:
        return text
    return f"{text} 90 % of {null.draws} {DRAWN[null.name]}: {band(verdict)}."
