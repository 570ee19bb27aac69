"""The claims panel: what the articles say, and whether it holds for the open model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QStackedWidget, QWidget

from geometry.claims.claims import Claim, Verdict
from gui.panels.base import label
from gui.panels.claims_links import leading_to, what_a_click_opens
from gui.panels.claims_question import ClaimsOf, Ledger
from gui.panels.claims_table import ClaimsTable
from gui.panels.claims_text import WORDS, comma_separated, counts, markdown, outcome
from gui.panels.figure_text import ledger_scope
from gui.panels.result_panel import ResultPanel
from gui.services.snippets import opening
from gui.state.session import Session
from gui.style.theme import Theme
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = {"md": "Markdown table (*.md)", "csv": "CSV table (*.csv)"}
NONE_SUCH = {
    "holds": "None of the claims holds for this model.",
    "fails": "No claim fails for this model.",
    "unknown": "All claims can be told for this model.",
}


class ClaimsPanel(ResultPanel):
    """The ledger: a line for each claim, which leads to the panel that shows it."""

    slot = "claims"
    formula = "Claims"
    meaning = "of the articles about positional embeddings"
    explanation = (
        "Every claim of the articles about matrices, in our words, with the number that is measured"
        " for it and what the claim says of that number. Where an article speaks in words the bound"
        " is our reading of them, and a claim that does not hold is a finding about the model."
    )
    empty = "Open a model to see which claims of the articles hold for it."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.filter = Segmented(
            (
                ("all", "All", "Show all claims"),
                ("holds", "Hold", "Show the claims that hold for this model"),
                ("fails", "Do not", "Show the claims that do not hold for this model"),
                ("unknown", "Cannot tell", "Show the claims that lack something to be told"),
            ),
            "Claims shown",
        )
        self.filter.chosen.connect(lambda _: self._show_rows())
        self.header.add(self.filter)
        # A ledger takes seconds: it waits for the end of a drag.
        for signal in (session.events.positions, session.events.dragging):
            self.listen(signal, self._ask_when_still)

    def question(self) -> ClaimsOf:
        """Ask for the ledger of the shown range."""
        return ClaimsOf(self.session.positions)

    def configure(self, **options: Any) -> None:
        """Show the claims of one ``outcome``: "all", "holds", "fails" or "unknown"."""
        self.filter.show_value(options.pop("outcome", self.filter.value()))
        if self.result is not None:
            self._show_rows()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        return {"outcome": self.filter.value()}

    def build(self) -> QWidget:
        """Make the table, and what it says in place of lines."""
        self.table = ClaimsTable(self.theme)
        self.table.rows.leads_to = what_a_click_opens()
        self.table.chosen.connect(self._open)
        self.nothing = label("", "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        pages = QStackedWidget()
        pages.addWidget(self.table)
        pages.addWidget(self.nothing)
        return pages

    def show_result(self, result: Ledger) -> None:
        """Fill the table."""
        self._show_rows()

    def caption(self, result: Ledger) -> str:
        """Name the model and the scope, and count the outcomes."""
        return f"{counts(result.verdicts)} · {self._scope(result)}"

    def figure(self, result: Ledger) -> Callable[[], Figure]:
        """Draw the whole ledger."""
        scope, verdicts = self._scope(result), result.verdicts

        def draw() -> Figure:
            from gui.panels.claims_figure import ledger_figure

            return ledger_figure(scope, verdicts)

        return draw

    def numbers(self, result: Ledger) -> Mapping[str, np.ndarray]:
        """Return the whole ledger; a quantity that there is none of is not a number."""
        verdicts = result.verdicts
        values = [np.nan if one.value is None else one.value for one in verdicts]
        return {
            "claim": np.array([one.claim.id for one in verdicts]),
            "measured": np.array(values),
            "expected": np.array([str(one.claim.expected) for one in verdicts]),
            "outcome": np.array([WORDS[outcome(one)] for one in verdicts]),
        }

    def python(self) -> str:
        """Return a script that prints the ledger."""
        assert self.session.model is not None
        return (
            opening(self.session.model)
            + "from geometry.claims.claims import check_claims\n"
            + "from geometry.claims.measurements import Measurements, Scope\n\n"
            + f"measured = Measurements(model, Scope(positions={self.session.positions}))\n"
            + 'words = {True: "holds", False: "does not hold", None: "cannot tell"}\n'
            + "for verdict in check_claims(measured):\n"
            + "    print(words[verdict.holds], verdict.value, verdict.claim.statement, sep='\\t')\n"
        )

    def menu(self) -> QMenu:
        """Return the usual menu, with the ledger as a text first."""
        menu = super().menu()
        first = menu.actions()[0]
        action = menu.addAction("Save ledger…", self._save_ledger)
        action.setEnabled(self.result is not None)
        menu.insertAction(first, action)
        return menu

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.table.set_theme(theme)

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    def _shown(self) -> tuple[Verdict, ...]:
        chosen, result = self.filter.value(), self.result
        verdicts = () if result is None else result.verdicts
        return tuple(one for one in verdicts if chosen in ("all", outcome(one)))

    def _show_rows(self) -> None:
        if self.content is None:
            return
        shown = self._shown()
        self.table.show_verdicts(shown)
        self.nothing.setText(NONE_SUCH.get(self.filter.value(), ""))
        assert isinstance(self.content, QStackedWidget)
        self.content.setCurrentWidget(self.table if shown else self.nothing)

    def _open(self, claim: Claim) -> None:
        if (found := leading_to(claim)) is not None:
            self.showRequested.emit(*found)

    def _save_ledger(self) -> None:
        if self.result is None:
            return
        title, verdicts = self._scope(self.result), self.result.verdicts
        texts = {"md": lambda: markdown(title, verdicts), "csv": lambda: comma_separated(verdicts)}
        self.saver.save_text(self, "Save ledger", self.file_name(), FILES, texts)

    def _scope(self, result: Ledger) -> str:
        assert self.session.model is not None
        return ledger_scope(self.session.model, result.positions)
