"""The ledger as a page for print."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from matplotlib.figure import Figure

from geometry.claims.claims import Verdict
from gui.panels.claims_text import SIGNS, WORDS, counts, expected, measured, outcome
from gui.plots.figure_base import POINTS
from gui.style.theme import LIGHT, SMALL, TEXT, Theme

WIDTH = 9.0
LINE, GAP, MARGIN = 0.15, 0.07, 0.2
"""Inches: a line of text, the space between two claims, the edge."""
CHARACTERS = 78
"""Of a claim's line."""
# Where the columns are, in inches; numbers end where theirs does.
_OUTCOME, _CLAIM, _MEASURED, _EXPECTED = 0.2, 1.3, 7.2, 7.4


def ledger_figure(scope: str, verdicts: Sequence[Verdict], theme: Theme = LIGHT) -> Figure:
    """Draw the ledger as a table, as long as it is.

    Parameters
    ----------
    scope
        The model and what the claims were checked on.
    verdicts
        Its lines.
    theme
        Colours.
    """
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
