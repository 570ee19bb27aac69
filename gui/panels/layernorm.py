"""The LayerNorm panel: how far it keeps token and position apart, and sums that look alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from geometry.measures.interference import MEASURES, Measure
from gui.panels import interference_text, layernorm_text
from gui.panels.figure_text import layernorm_scope
from gui.panels.interference_form import ExampleBox
from gui.panels.interference_question import Compared, ExampleOf, InterferenceOf, Typed
from gui.panels.layernorm_beside import LayerNormBeside
from gui.panels.layernorm_question import LayerNormOf, LayerNorms
from gui.state.session import Session
from gui.style.theme import Theme, format_number
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.interference_view import InterferenceView
    from gui.panels.layernorm_errors import ErrorsView

PAGES = (
    ("errors", "Errors", "What it costs to take token and position apart"),
    ("interference", "Interference", "Two sums of token and position: are they alike?"),
)
VERSIONS = (
    ("orthogonal", "Orthogonal", "Errors of the denominator √(‖E‖² + ‖p‖²)"),
    ("constant_norm", "Constant norm", "Errors of the denominator √(‖E‖² + c²)"),
)
SELECTED_TIP = "Put the two positions that were selected last into the sums"
SELECT_TWO = "Select two positions first, in the curve or in any plot: Shift-click adds one"
SUMS_FORMULA = "E(a) + pᵢ ≈ E(b) + pⱼ ?"
SUMS_MEANING = "interference"
SUMS_EXPLANATION = (
    "A model reads only the sum of token and position: were two sums alike, it could not tell one "
    "pair from the other. Two are compared as they are and after LayerNorm, before its gain, and "
    "ranked among random pairs of any tokens at any positions."
)


class LayerNormPanel(LayerNormBeside):
    """Errors of two simpler LayerNorms by position; and how alike two sums are."""

    slot = "layernorm"
    formula = "‖E + p‖² ≈ ‖E‖² + ‖p‖²"
    meaning = "LayerNorm taken apart"
    explanation = (
        "LayerNorm divides token plus position by its norm; the orthogonal version divides by "
        "√(‖E‖² + ‖p‖²) and the one of constant norm by √(‖E‖² + c²), c the mean ‖p‖ of the range. "
        "Shown are ‖approximate − exact‖ / ‖exact‖ by position over a sample of tokens, and |cos| "
        "of all tokens with all positions, which is why it is small."
    )
    empty = "Open a model to see how far LayerNorm keeps its tokens and positions apart."
    instead = "Norms shows how stable the positions’ norms are."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.errors: ErrorsView
        self.sums: InterferenceView
        self._views: QStackedWidget
        self._measure: Measure = MEASURES[0]
        self._asked: ExampleOf | InterferenceOf = ExampleOf("two tokens")
        self._typed = False
        self.page = Segmented(PAGES, "What is shown")
        self.version = Segmented(VERSIONS, "Version of LayerNorm")
        self.examples, self.selected = ExampleBox(), QPushButton("Use selection")
        self.page.chosen.connect(self._on_page_chosen)
        self.version.chosen.connect(self._on_version_changed)
        self.examples.exampleChosen.connect(lambda name: self._want(ExampleOf(name), typed=False))
        self.selected.clicked.connect(self._take_selection)
        for control in (self.page, self.version, self.examples, self.selected):
            self.header.add(control)
        self._show_controls()
        # All tokens with all positions take a moment: they wait for the end of a drag.
        for signal in (session.events.positions, session.events.dragging):
            self.listen(signal, self._ask_when_still)
        self.listen(session.events.hover, self._on_marks_changed)
        self.listen(session.events.selection, self._on_marks_changed)
        self._on_marks_changed()

    # What it asks.

    def question(self) -> LayerNormOf | ExampleOf | InterferenceOf:
        """Ask for the errors in the shown range, or for the two sums."""
        if self.page.value() == "errors":
            return LayerNormOf(self.session.positions)
        return self._within_table(self._asked)

    def configure(self, **options: Any) -> None:
        """Show a ``page``, "errors" or "interference".

        Of errors the ``version``, "orthogonal" or "constant_norm". Of two sums the ``measure``, and
        which: ``sums``, token (its number, or as it is typed) and position of each, or an
        ``example``.
        """
        self.page.show_value(options.pop("page", "errors"))
        self.version.show_value(options.pop("version", self.version.value()))
        self._measure = options.pop("measure", self._measure)
        if (sums := options.pop("sums", None)) is not None:
            one, other = (
                Typed(token if isinstance(token, str) else f"#{token}", position)
                for token, position in sums
            )
            self._want(InterferenceOf(one, other), typed=False)
        if (example := options.pop("example", None)) is not None:
            self._want(ExampleOf(example), typed=False)
        self._on_version_changed()
        self._on_page_chosen()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        page, version, asked = self.page.value(), self.version.value(), self._asked
        options = {"page": page, "version": version, "measure": self._measure}
        if isinstance(asked, ExampleOf):
            return {**options, "example": asked.name}
        sums = [[one.token, one.position] for one in (asked.one, asked.other)]
        return {**options, "sums": sums}

    def _on_page_chosen(self) -> None:
        self._show_controls()
        self.ask()

    def _show_controls(self) -> None:
        """Show what belongs to the page."""
        errors = self.page.value() == "errors"
        self.version.setVisible(errors)
        for control in (self.examples, self.selected):
            control.setVisible(not errors)
        words = self.explanation if errors else SUMS_EXPLANATION
        self.header.set_headline(
            self.formula if errors else SUMS_FORMULA,
            self.meaning if errors else SUMS_MEANING,
            words,
        )

    def _want(self, question: ExampleOf | InterferenceOf, *, typed: bool) -> None:
        """Ask for two sums, which stand in the form already if they were ``typed``."""
        self._asked, self._typed = question, typed
        if self.content is not None and not typed:
            self.sums.form.stop()
        self.ask()

    def _within_table(self, question: ExampleOf | InterferenceOf) -> ExampleOf | InterferenceOf:
        """Return a question about positions that the open table has."""
        if isinstance(question, ExampleOf):
            return question
        assert self.session.model is not None
        last = self.session.model.n_positions - 1
        one, other = (
            replace(typed, position=min(typed.position, last))
            for typed in (question.one, question.other)
        )
        return InterferenceOf(one, other)

    def _ask_when_still(self) -> None:
        if not self.session.dragging:
            self.ask()

    # What it shows.

    def build(self) -> QWidget:
        """Make both pages."""
        from gui.panels.interference_form import InterferenceForm
        from gui.panels.interference_view import InterferenceView
        from gui.panels.layernorm_errors import ErrorsView

        self.errors = ErrorsView(self.theme)
        self.errors.hoverRequested.connect(self.hoverRequested)
        self.errors.selectionRequested.connect(self.selectionRequested)
        form = InterferenceForm(self.theme)
        form.changed.connect(lambda: self._want(InterferenceOf(*form.typed()), typed=True))
        self.sums = InterferenceView(form, self.theme)
        self.sums.measureChosen.connect(self._on_measure_chosen)
        self._views = QStackedWidget()
        for view in (self.errors, self.sums):
            self._views.addWidget(view)
        return self._views

    def show_result(self, result: LayerNorms | Compared) -> None:
        """Show a page."""
        if isinstance(result, LayerNorms):
            self.errors.others = self.overlay_lines()
            self.errors.show_result(result, self.found(result))
            self._views.setCurrentWidget(self.errors)
        else:
            self._show_sums(result)
            self._views.setCurrentWidget(self.sums)
        self._on_marks_changed()

    def _show_sums(self, result: Compared) -> None:
        assert self.session.model is not None
        form, asked = self.sums.form, self._asked
        form.show_table(self.session.model.n_positions)
        form.show_terms(result.one, result.other, typed=not self._typed)
        self.examples.show_example(asked.name if isinstance(asked, ExampleOf) else None)
        self.sums.show_result(result, self._measure)

    def _on_version_changed(self) -> None:
        if isinstance(self.result, LayerNorms):
            self.redraw()
            self.show_caption()
            self.show_overlay_legend()

    def redraw(self) -> None:
        """Draw the errors anew; of two sums nothing is another."""
        if isinstance(self.result, LayerNorms):
            self.errors.others = self.overlay_lines()
            self.errors.show_errors(self.found(self.result))
            self._on_marks_changed()

    def _on_measure_chosen(self, measure: Measure) -> None:
        self._measure = measure
        if isinstance(self.result, Compared):
            self.sums.show_result(self.result, measure)
            self.show_caption()

    def _on_marks_changed(self) -> None:
        two = len(self.session.selection) > 1
        self.selected.setEnabled(two and isinstance(self.result, Compared))
        self.selected.setToolTip(wrapped(SELECTED_TIP if two else SELECT_TWO))
        if self.content is not None:
            self.errors.show_marks(self.session.hover, self.session.selection)

    def _take_selection(self) -> None:
        i, j = self.session.selection[-2:]
        form = self.sums.form
        form.show_positions((i, j))
        self._want(InterferenceOf(*form.typed()), typed=True)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.errors.set_theme(theme)
            self.sums.set_theme(theme)
            self.redraw()
            self._on_marks_changed()

    # What it says, and what can be taken away.

    def caption(self, result: LayerNorms | Compared) -> str:
        """Name the scope, the version, its median and 95th percentile; or the two sums."""
        assert self.session.model is not None
        if isinstance(result, Compared):
            return interference_text.caption(self.session.model, result, self._measure)
        median, p95 = self.found(result).overall
        name = "orthogonal" if self.version.value() == "orthogonal" else "constant norm"
        return (
            f"{self._scope(result)} · {name}: median {format_number(median)}, "
            f"95 % below {format_number(p95)}"
        )

    def figure(self, result: LayerNorms | Compared) -> Callable[[], Figure]:
        """Draw both versions and the histogram; or the random pairs with the two sums."""
        if isinstance(result, Compared):
            return self._figure_of_sums(result)
        title, others = self._scope(result), self.printed_lines("orthogonal")

        def draw() -> Figure:
            from gui.panels.layernorm_figure import layernorm_figure

            return layernorm_figure(result, title, others=others)

        return draw

    def _figure_of_sums(self, result: Compared) -> Callable[[], Figure]:
        assert self.session.model is not None
        title = interference_text.title(self.session.model, result)
        cosine = self._measure.endswith("cosine")

        def draw() -> Figure:
            from gui.panels.interference_figure import interference_figure

            return interference_figure(result, title, cosine=cosine)

        return draw

    def numbers(self, result: LayerNorms | Compared) -> Mapping[str, np.ndarray]:
        """Return the numbers of the page that is shown."""
        if isinstance(result, Compared):
            return interference_text.columns(result)
        return self.with_others(layernorm_text.columns(result))

    def python(self) -> str:
        """Return a script that prints the numbers of the page that is shown."""
        assert self.session.model is not None
        if isinstance(self.result, Compared):
            return interference_text.script(self.session.model, self.result)
        return self.with_other_scripts(
            layernorm_text.script(self.session.model, self.result.positions)
        )

    def _scope(self, result: LayerNorms) -> str:
        assert self.session.model is not None
        return layernorm_scope(self.session.model, result.positions, result.n_tokens)
