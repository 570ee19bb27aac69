"""Claims: what the articles say, and whether it holds for the open model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.claims import CLAIMS, Verdict, check, known_verdict
from geometry.claims.measurements import Measurements, Scope
from geometry.hub.faults import HubError
from geometry.models.matrices import WeightName
from geometry.models.residual_stream import Subject
from gui.panels.choices import Choice, Option
from gui.panels.claims.words import (
    WORDS,
    comma_separated,
    counts,
    ledger_figure,
    markdown,
    outcome,
)
from gui.panels.kit import PanelSpec, Reported, Texts, View
from gui.panels.kit import Scope as Shown
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of
from gui.services.snippets import opening

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAYER = 0
"""The articles speak of the first layer's weights."""


@dataclass(frozen=True, eq=False, slots=True)
class Ledger:
    """The claims checked on one model.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the claims that are about the shown range.
    verdicts
        In the order of the articles; a pending one has neither value nor reason.
    layer, fold_ln
        Of the weights.
    """

    positions: tuple[int, int]
    verdicts: tuple[Verdict, ...]
    layer: int = LAYER
    fold_ln: bool = False


@dataclass(frozen=True, slots=True)
class ClaimsOf:
    """The ledger for a range of positions."""

    positions: tuple[int, int]

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(
            Subject("E"),
            Subject("W_Q", LAYER),
            Subject("W_K", LAYER),
            Subject("W_V", LAYER),
            Subject("W_O", LAYER),
            Subject("W_in", LAYER),
        )

    def steps(self, about: QuestionContext) -> Iterator[Progress | Ledger]:
        """Check one claim after another, with partial results."""
        for name, layer in self.tensors():
            yield Progress(0.0, f"Reading {name}")
            about.once(("read", name, layer), partial(_read, about, name, layer))
        done, verdicts = 0, {claim: Verdict(claim, None, None, None) for claim in CLAIMS}

        def so_far() -> Ledger:
            return Ledger(self.positions, tuple(verdicts.values()))

        def report(share: float, message: str) -> None:
            about.tell((done + share) / len(CLAIMS), message, so_far())

        scope = Scope(self.positions, LAYER)
        measured = Measurements(about.model, scope, about.measured(report))
        # Claims that do not depend on the range are cached: these come first.
        order = sorted(CLAIMS, key=lambda claim: known_verdict(claim, measured) is None)
        for done, claim in enumerate(order):
            yield Progress(done / len(order), f"Claim {done + 1} of {len(order)}", so_far())
            verdicts[claim] = check(claim, measured)
        # A cancelled check is no verdict.
        about.check()
        yield so_far()


def _read(about: QuestionContext, name: str, layer: int) -> bool:
    """Fetch a tensor that is on the Hub; other errors are reported by its claims."""
    try:
        if name == "W_E":
            _ = about.model.W_E
        else:
            about.model.weight(cast(WeightName, name), layer)
    except HubError:
        raise
    except HelixscopeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Choices:
    """Which claims are shown: "all", "holds", "fails" or "unknown"."""

    outcome: str = "all"


LedgerView = View[Choices, Ledger]


class ClaimsPanel(PanelSpec[Choices, Ledger]):
    """A row for each claim, which opens its panel."""

    name = "claims"
    formula = "Claims"
    meaning = "of the articles about positional embeddings"
    explanation = (
        "Every claim of the articles about matrices, in our words, with the number that is measured"
        " for it and what the claim says of that number. Where an article speaks in words the bound"
        " is our reading of them, and a claim that does not hold is a finding about the model."
    )
    empty = "Open a model to see which claims of the articles hold for it."
    defaults = Choices()
    controls = (
        Choice(
            field="outcome",
            label="Claims shown",
            options=(
                Option("all", "All", "Show all claims"),
                Option("holds", "Hold", "Show the claims that hold for this model"),
                Option("fails", "Do not", "Show the claims that do not hold for this model"),
                Option("unknown", "Cannot tell", "Show the claims that lack something to be told"),
            ),
        ),
    )
    body = "gui.panels.claims.table:ClaimsBody"

    def question(self, scope: Shown, choices: Choices) -> ClaimsOf:
        return ClaimsOf(scope.positions)

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[ClaimsOf, Ledger]:
        positions = reported.measured.positions
        ledger = Ledger(positions, reported.verdicts, reported.layer, reported.fold_ln)
        return ClaimsOf(positions), ledger

    def plots(self, view: LedgerView) -> tuple[()]:
        return ()

    def heading(self, view: LedgerView) -> tuple[str, str]:
        result = view.result
        weights = "LayerNorm gain folded in" if result.fold_ln else "raw weights"
        first, last = result.positions
        scope = (
            f"{view.model.name} · the shown positions {first}–{last} or all rows, by claim"
            f" · layer {result.layer}, {weights}"
        )
        return counts(result.verdicts), scope

    def caption(self, view: LedgerView) -> str:
        return " · ".join(self.heading(view))

    def figure(self, view: LedgerView) -> Figure:
        return ledger_figure(self.heading(view)[1], view.result.verdicts, view.theme)

    def texts(self, view: LedgerView) -> Texts:
        scope, verdicts = self.heading(view)[1], view.result.verdicts
        return Texts(
            "Save ledger",
            {
                "md": ("Markdown table (*.md)", lambda: markdown(scope, verdicts)),
                "csv": ("CSV table (*.csv)", lambda: comma_separated(verdicts)),
            },
        )

    def numbers(self, view: LedgerView) -> Mapping[str, np.ndarray]:
        verdicts = view.result.verdicts
        values = [np.nan if one.value is None else one.value for one in verdicts]
        return {
            "claim": np.array([one.claim.id for one in verdicts]),
            "measured": np.array(values),
            "expected": np.array([str(one.claim.expected) for one in verdicts]),
            "outcome": np.array([WORDS[outcome(one)] for one in verdicts]),
        }

    def script(self, view: LedgerView) -> str:
        return opening(view.model) + (
            "from geometry import check_claims\n"
            "from geometry import Measurements, Scope\n\n"
            f"measured = Measurements(model, Scope(positions={view.scope.positions}))\n"
            'words = {True: "holds", False: "does not hold", None: "cannot tell"}\n'
            "for verdict in check_claims(measured):\n"
            "    print(words[verdict.holds], verdict.value, verdict.claim.statement, sep='\\t')\n"
        )
