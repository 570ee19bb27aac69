"""Texts of the ledger: outcomes and numbers; as a page for print, as a Markdown or CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

from geometry.checkpoints.number_files import cell
from geometry.claims.claims import HELIX, NORMS, OURS, SUBSPACES, WHY, Verdict
from geometry.claims.published import Compared
from geometry.evidence.null import OUTCOMES, Outcome
from gui.style.outcomes import SIGNS, outcome_color, short
from gui.style.sentences import markdown_text
from gui.style.theme import LIGHT, SMALL, TEXT, Theme, format_number
from gui.style.verdicts import band, bound, interval_text, kind, measured, p_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PENDING = "…"
SHORT_ARTICLES = {
    HELIX: "Helix",
    NORMS: "Norms",
    SUBSPACES: "Insights",
    WHY: "Comments",
    OURS: "Helixscope",
}
CELLS: Mapping[str, Callable[[Verdict], str]] = {
    "Claim": lambda verdict: verdict.claim.statement,
    "Value": measured,
    "Bound": bound,
    "Null, 5–95 %": band,
    "p": lambda verdict: p_text(verdict.p),
    "p adj.": lambda verdict: p_text(verdict.p_adjusted),
    "Outcome": lambda verdict: word(verdict),
}
"""What stands in each column of the table, by its title."""
COLUMNS: Mapping[str, Callable[[Verdict], object]] = {
    "fact": lambda verdict: verdict.claim.fact,
    "id": lambda verdict: verdict.claim.id,
    "article": lambda verdict: verdict.claim.article,
    "statement": lambda verdict: verdict.claim.statement,
    "quantity": lambda verdict: verdict.claim.quantity,
    "expected": lambda verdict: verdict.claim.expected,
    "reason": lambda verdict: verdict.claim.reason,
    "measured": lambda verdict: verdict.value,
    "outcome": lambda verdict: verdict.outcome,
    "null": lambda verdict: verdict.null and verdict.null.name,
    "null_p5": lambda verdict: verdict.null and verdict.null.band[0],
    "null_p95": lambda verdict: verdict.null and verdict.null.band[2],
    "draws": lambda verdict: verdict.null and verdict.null.draws,
    "p": lambda verdict: verdict.p,
    "p_adjusted": lambda verdict: verdict.p_adjusted,
    "by_construction": lambda verdict: verdict.by_construction,
    "why": lambda verdict: verdict.why_null,
    "interval_low": lambda verdict: verdict.interval and verdict.interval[0],
    "interval_high": lambda verdict: verdict.interval and verdict.interval[1],
}
"""What stands in each column of a CSV file; None for an empty cell."""


def word(verdict: Verdict) -> str:
    """Return the outcome of a claim; "…" before it is checked."""
    if verdict.outcome is None:
        return PENDING
    words = short(verdict.outcome, verdict.null)
    return words.replace(" smooth", "").replace("worse than any curve", "worse than any")


def by_fact(verdicts: Iterable[Verdict]) -> Mapping[str, Sequence[Verdict]]:
    """Group verdicts by what they are about, in the order of the first of each."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        fact = verdict.claim.fact
        groups.setdefault(fact[:1].upper() + fact[1:], []).append(verdict)
    return groups


def article(verdict: Verdict) -> str:
    """Return the short name of the article that makes a claim."""
    return SHORT_ARTICLES.get(verdict.claim.article, verdict.claim.article)


def below(verdict: Verdict) -> str:
    """Return the measured quantity, with the interval over texts, if there is one."""
    interval = interval_text(verdict).rstrip(".")
    return f"{verdict.claim.quantity}. {interval}" if interval else verdict.claim.quantity


def sign(verdict: Verdict) -> str:
    """Return the mark of a claim's outcome."""
    return PENDING if verdict.outcome is None else SIGNS[verdict.outcome]


def counts(verdicts: Sequence[Verdict]) -> str:
    """Return a summary: ``12 hold · 9 as any smooth curve · 3 do not hold · …``."""
    outcomes = [verdict.outcome for verdict in verdicts]
    holds, usual, fails, worse, out, unknown = (outcomes.count(outcome) for outcome in OUTCOMES)
    parts = [f"{holds} {'holds' if holds == 1 else 'hold'}"]
    if usual:
        parts.append(f"{usual} as any smooth curve")
    parts.append(f"{fails} {'does' if fails == 1 else 'do'} not hold")
    if worse:
        parts.append(f"{worse} worse than any such curve")
    if out:
        parts.append(f"{out} not applicable")
    if unknown:
        parts.append(f"{unknown} undetermined")
    if pending := outcomes.count(None):
        parts.append(f"{pending} to be checked")
    return " · ".join(parts)


def within(compared: Compared) -> str:
    """Return whether our number is within the tolerance: ``✓ within ±0.02``."""
    number = compared.published
    tolerance = format_number(number.tolerance, 3 if number.tolerance < 0.01 else 2)
    mark = f"{SIGNS['holds']} " if compared.within else f"{SIGNS['does not hold']} not "
    return f"{mark}within ±{tolerance}"


def published_cells(compared: Compared) -> tuple[str, str, str, str, str]:
    """Return the cells of a line: quantity, published, ours, whether within, source."""
    number = compared.published
    unit = f" {number.unit}" if number.unit else ""
    published = f"{format_number(number.value, number.decimals)}{unit}"
    ours = f"{format_number(compared.ours, number.decimals)}{unit}"
    return number.quantity, published, ours, within(compared), number.source


def markdown(title: str, verdicts: Sequence[Verdict], published: Sequence[Compared] = ()) -> str:
    """Write the ledger as a Markdown table.

    Parameters
    ----------
    title
        The model and the scope of the check.
    verdicts
        Its lines.
    published
        Lines of a second table; none for no such table.
    """
    lines = [
        "# Claims",
        "",
        f"{markdown_text(title)}. {counts(verdicts)}.",
        "",
        f"| {' | '.join(CELLS)} | Random tables | Quantity | Article |",
        "|---|---:|---|---|---:|---:|---|---|---|---|",
    ]
    for fact, group in by_fact(verdicts).items():
        lines.append(f"| **{markdown_text(fact)}** |{' |' * (len(CELLS) + 2)}")
        for verdict in group:
            quantity = below(verdict) + (f" ({verdict.why_null})" if verdict.why_null else "")
            if verdict.by_construction:
                quantity += f" By construction: {verdict.by_construction}"
            *cells, outcome = (read(verdict) for read in CELLS.values())
            row = (*cells, f"{sign(verdict)} {outcome}", kind(verdict), quantity)
            texts = map(markdown_text, (*row, verdict.claim.article))
            lines.append(f"| {' | '.join(texts)} |")
    if published:
        lines += ["", "## Published numbers", "", "| Quantity | Published | Measured | | Source |"]
        lines.append("|---|---:|---:|---|---|")
    for compared in published:
        lines.append(f"| {' | '.join(map(markdown_text, published_cells(compared)))} |")
    return "\n".join(lines) + "\n"


def comma_separated(verdicts: Sequence[Verdict]) -> str:
    """Write the ledger as CSV, numbers in full precision; missing numbers are empty cells."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for verdict in chain.from_iterable(by_fact(verdicts).values()):
        values = (read(verdict) for read in COLUMNS.values())
        writer.writerow("" if value is None else cell(str(value)) for value in values)
    return file.getvalue()


# ---- a page for print ---

WIDTH = 10.8
LINE, GAP, MARGIN = 0.15, 0.07, 0.2
"""Inches: a line of text, the space between two claims, the edge."""
CHARACTERS, KIND, WORD = 66, 24, 16
"""Characters per line of a claim, of what is drawn, of an outcome."""
_CLAIM, _VALUE, _BOUND, _NULL, _P, _ADJUSTED, _OUTCOME = _PLACES = (
    0.2,
    5.8,
    5.95,
    6.65,
    8.75,
    9.3,
    9.45,
)
"""Left edges of the columns in inches; right edges of the numbers."""
_NUMBERS = (_VALUE, _P, _ADJUSTED)


def ledger_figure(
    scope: str,
    verdicts: Sequence[Verdict],
    theme: Theme = LIGHT,
    published: Sequence[Compared] = (),
) -> Figure:
    """Draw the ledger as a table, on a page of its height.

    Parameters
    ----------
    scope
        The model and the scope of the check.
    verdicts
        Its lines.
    theme
        Its colours.
    published
        Lines below it; none for no such part.
    """
    from matplotlib.figure import Figure

    from gui.plots.figure_base import POINTS

    groups = [
        (fact, [(verdict, _wrapped(verdict)) for verdict in group])
        for fact, group in by_fact(verdicts).items()
    ]
    cells = [texts for _, group in groups for _, texts in group]
    height = 2 * MARGIN + 5 * LINE + len(groups) * (2 * LINE + GAP)
    height += sum(max(map(len, texts)) * LINE + GAP for texts in cells)
    height += bool(published) * 3 * LINE + len(published) * (2 * LINE + GAP)
    figure = Figure(figsize=(WIDTH, height), facecolor=theme.viewport)
    at = height - MARGIN

    def write(x: float, text: str, color: str, size: int = SMALL, weight: str = "normal") -> None:
        figure.text(
            x / WIDTH,
            at / height,
            text,
            color=color,
            fontsize=size * POINTS,
            fontweight=weight,
            ha="right" if x in _NUMBERS else "left",
            va="top",
        )

    write(_CLAIM, f"Claims: {counts(verdicts)}", theme.text, TEXT)
    at -= 1.5 * LINE
    write(_CLAIM, scope, theme.muted)
    at -= 2 * LINE
    for x, title in zip(_PLACES, CELLS, strict=True):
        write(x, title, theme.muted)
    at -= LINE + GAP
    for fact, group in groups:
        at -= LINE
        write(_CLAIM, fact, theme.text, weight="bold")
        at -= LINE + GAP
        for verdict, texts in group:
            given = verdict.outcome
            color = theme.muted if given is None else outcome_color(given, theme)
            for x, lines in zip(_PLACES, texts, strict=True):
                write(x, "\n".join(lines), color if x == _OUTCOME else theme.text)
            at -= max(map(len, texts)) * LINE + GAP
    if published:
        at -= LINE
        for x, title in (
            (_CLAIM, "Published numbers"),
            (_VALUE, "Measured"),
            (_BOUND, "Published"),
            (_OUTCOME, "Tolerance"),
        ):
            write(x, title, theme.muted)
        at -= 2 * LINE
    for compared in published:
        quantity, reported, ours, how, source = published_cells(compared)
        outcome: Outcome = "holds" if compared.within else "does not hold"
        write(_CLAIM, f"{quantity}\n{source}", theme.text)
        write(_VALUE, ours, theme.text)
        write(_BOUND, reported, theme.text)
        write(_OUTCOME, how, outcome_color(outcome, theme))
        at -= 2 * LINE + GAP
    return figure


def _wrapped(verdict: Verdict) -> tuple[list[str], ...]:
    """Return the lines of each cell."""
    _, value, condition, null, p, adjusted, outcome = (read(verdict) for read in CELLS.values())
    return (
        wrap(_text(verdict), CHARACTERS),
        [value],
        [condition],
        [null, *wrap(kind(verdict), KIND)],
        [p],
        [adjusted],
        wrap(f"{sign(verdict)} {outcome}", WORD),
    )


def _text(verdict: Verdict) -> str:
    parts = [verdict.claim.statement, interval_text(verdict)]
    if verdict.by_construction is not None:
        parts.append(f"By construction: {verdict.by_construction}")
    if verdict.why_null is not None:
        parts.append(f"{word(verdict).capitalize()}: {verdict.why_null.rstrip('.')}.")
    return " ".join(filter(None, parts))
