"""The ledger in words: outcomes, numbers, and as a Markdown or CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Literal

from geometry.claims.claims import HELIX, NORMS, OURS, SUBSPACES, WHY, Verdict
from gui.style.theme import format_number

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
    """Return how a claim came out; it is "pending" while it is not checked yet."""
    if verdict.holds is None:
        return "pending" if verdict.why_null is None else "unknown"
    return "holds" if verdict.holds else "fails"


def counts(verdicts: Sequence[Verdict]) -> str:
    """Sum up: ``31 hold, 3 do not, 9 cannot be told``."""
    found = [outcome(verdict) for verdict in verdicts]
    holds, fails, unknown, pending = (found.count(one) for one in WORDS)
    hold = "holds" if holds == 1 else "hold"
    fail = "does not" if fails == 1 else "do not"
    rest = f", {pending} to be checked" if pending else ""
    return f"{holds} {hold}, {fails} {fail}, {unknown} cannot be told{rest}"


def measured(verdict: Verdict) -> str:
    """Write the number, with digits that suit its size."""
    value = verdict.value
    if value is None:
        return NO_NUMBER
    if value == round(value):
        return format_number(value, 0)
    size = abs(value)
    return format_number(value, 1 if size >= 100 else 2 if size >= 10 else 3 if size >= 0.01 else 6)


def expected(verdict: Verdict) -> str:
    """Write what the claim says of the number."""
    return str(verdict.claim.expected).replace("-", "\N{MINUS SIGN}")


def markdown(title: str, verdicts: Sequence[Verdict]) -> str:
    """Write the ledger as a Markdown table.

    Parameters
    ----------
    title
        The model and what the claims were checked on.
    verdicts
        Its lines.
    """
    lines = [
        "# Claims",
        "",
        f"{title}. {counts(verdicts)}.",
        "",
        "| | Claim | Quantity | Measured | Expected | Article |",
        "|---|---|---|---:|---|---|",
    ]
    for verdict in verdicts:
        claim, how = verdict.claim, outcome(verdict)
        quantity = claim.quantity + (f" ({verdict.why_null})" if verdict.why_null else "")
        cells = (f"{SIGNS[how]} {WORDS[how]}", claim.statement, quantity, measured(verdict),
                 expected(verdict), claim.article)  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def comma_separated(verdicts: Sequence[Verdict]) -> str:
    """Write the ledger as CSV, its numbers in full precision; none is an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for verdict in verdicts:
        claim = verdict.claim
        value = "" if verdict.value is None else repr(verdict.value)
        writer.writerow(
            (claim.id, claim.article, claim.statement, claim.quantity, str(claim.expected), value,
             WORDS[outcome(verdict)], verdict.why_null or "")
        )  # fmt: skip
    return file.getvalue()
