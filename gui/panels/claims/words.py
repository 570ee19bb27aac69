"""The ledger in words: outcomes, numbers; as a page for print, as a Markdown or CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from geometry.checkpoints.number_files import cell
from geometry.claims.claims import HELIX, NORMS, OURS, SUBSPACES, WHY, Verdict
from gui.style.sentences import markdown_text
from gui.style.theme import LIGHT, SMALL, TEXT, Theme, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Outcome = Literal["holds", "fails", "unknown", "pending"]

WORDS: dict[Outcome, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "unknown": "cannot tell",
    "pending": "…",
}
SIGNS: dict[Outcome, str] = {"holds": "✓", "fails": "✗", "unknown": "?", "pending": "…"}
SHORT_ARTICLES = {
    HELIX: "Helix", NORMS: "Norms", SUBSPACES: "Insights", WHY: "Comments", OURS: "Ours",
}  # fmt: skip
NO_NUMBER = "–"
_COLUMNS = ("id", "article", "statement", "quantity", "expected", "measured", "outcome", "why")


def outcome(verdict: Verdict) -> Outcome:
    """Return the outcome of a claim; "pending" before it is checked."""
    if verdict.holds is None:
        return "pending" if verdict.why_null is None else "unknown"
    return "holds" if verdict.holds else "fails"


def counts(verdicts: Sequence[Verdict]) -> str:
    """Return a summary: ``31 hold, 3 do not, 9 cannot be told``."""
    found = [outcome(verdict) for verdict in verdicts]
    holds, fails, unknown, pending = (found.count(one) for one in WORDS)
    hold = "holds" if holds == 1 else "hold"
    fail = "does not" if fails == 1 else "do not"
    rest = f", {pending} to be checked" if pending else ""
    return f"{holds} {hold}, {fails} {fail}, {unknown} cannot be told{rest}"


def measured(verdict: Verdict) -> str:
    """Return the formatted number, with decimals by its size."""
    value = verdict.value
    if value is None:
        return NO_NUMBER
    if value == round(value):
        return format_number(value, 0)
    size = abs(value)
    return format_number(value, 1 if size >= 100 else 2 if size >= 10 else 3 if size >= 0.01 else 6)


def expected(verdict: Verdict) -> str:
    """Return the claim's formatted bounds."""
    return str(verdict.claim.expected).replace("-", "\N{MINUS SIGN}")


def markdown(title: str, verdicts: Sequence[Verdict]) -> str:
    """Write the ledger as a Markdown table.

    Parameters
    ----------
    title
        The model and the scope of the check.
    verdicts
        Its lines.
    """
    lines = [
        "# Claims",
        "",
        f"{markdown_text(title)}. {counts(verdicts)}.",
        "",
        "| | Claim | Quantity | Measured | Expected | Article |",
        "|---|---|---|---:|---|---|",
    ]
    for verdict in verdicts:
        claim, how = verdict.claim, outcome(verdict)
        quantity = claim.quantity + (f" ({verdict.why_null})" if verdict.why_null else "")
        row = (f"{SIGNS[how]} {WORDS[how]}", claim.statement, quantity, measured(verdict),
                 expected(verdict), claim.article)  # fmt: skip
        lines.append(f"| {' | '.join(map(markdown_text, row))} |")
    return "\n".join(lines) + "\n"


def comma_separated(verdicts: Sequence[Verdict]) -> str:
    """Write the ledger as CSV, numbers in full precision; a missing one is an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for verdict in verdicts:
        claim = verdict.claim
        value = "" if verdict.value is None else repr(verdict.value)
        writer.writerow(
            map(cell, (claim.id, claim.article, claim.statement, claim.quantity,
                       str(claim.expected), value, WORDS[outcome(verdict)], verdict.why_null or ""))
        )  # fmt: skip
    return file.getvalue()


# ---- a page for print ---

WIDTH = 9.0
LINE, GAP, MARGIN = 0.15, 0.07, 0.2
"""Inches: a line of text, the space between two claims, the edge."""
CHARACTERS = 78
"""Characters per line of a claim."""
# Left edges of the columns in inches; right edge for the numbers.
_OUTCOME, _CLAIM, _MEASURED, _EXPECTED = 0.2, 1.3, 7.2, 7.4


def ledger_figure(scope: str, verdicts: Sequence[Verdict], theme: Theme = LIGHT) -> Figure:
    """Draw the ledger as a table, on a page of its height.

    Parameters
    ----------
    scope
        The model and the scope of the check.
    verdicts
        Its lines.
    """
    from matplotlib.figure import Figure

    from gui.plots.figure_base import POINTS

    texts = [wrap(_text(verdict), CHARACTERS) for verdict in verdicts]
    height = 2 * MARGIN + 5 * LINE + sum(len(lines) * LINE + GAP for lines in texts)
    figure = Figure(figsize=(WIDTH, height), facecolor=theme.viewport)
    at = height - MARGIN

    def write(x: float, text: str, color: str, size: int = SMALL, side: str = "left") -> None:
        figure.text(
            x / WIDTH, at / height, text, color=color, fontsize=size * POINTS,
            ha=side, va="top",
        )  # fmt: skip

    write(_OUTCOME, f"Claims: {counts(verdicts)}", theme.text, TEXT)
    at -= 1.5 * LINE
    write(_OUTCOME, scope, theme.muted)
    at -= 2 * LINE
    for x, text, side in (
        (_OUTCOME, "Outcome", "left"),
        (_CLAIM, "Claim", "left"),
        (_MEASURED, "Measured", "right"),
        (_EXPECTED, "Expected", "left"),
    ):
        write(x, text, theme.muted, side=side)
    at -= LINE + GAP
    for verdict, lines in zip(verdicts, texts, strict=True):
        how = outcome(verdict)
        color = {"holds": theme.text, "fails": theme.warning, "unknown": theme.muted}[how]
        write(_OUTCOME, f"{SIGNS[how]} {WORDS[how]}", color)
        write(_CLAIM, "\n".join(lines), theme.text)
        write(_MEASURED, measured(verdict), theme.text, side="right")
        write(_EXPECTED, expected(verdict), theme.text)
        at -= len(lines) * LINE + GAP
    return figure


def _text(verdict: Verdict) -> str:
    if verdict.why_null is None:
        return verdict.claim.statement
    return f"{verdict.claim.statement} It cannot be told: {verdict.why_null.rstrip('.')}."
