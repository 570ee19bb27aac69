"""The panel "Line or helix": made-up curves through LayerNorm, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtWidgets import QPushButton, QWidget

from geometry.measures.synthetic import CurveKind
from gui.panels.experiment_question import (
    MOST_POSITIONS,
    Experiment,
    ExperimentLike,
    ExperimentOf,
    Settings,
)
from gui.panels.experiment_text import columns, scope, script
from gui.panels.options import settings_of
from gui.panels.result_panel import ResultPanel
from gui.state.session import Session
from gui.style.theme import Theme
from gui.widgets.segmented import Segmented
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.panels.experiment_view import ExperimentView

WHEN = (
    ("before", "Before", "The curves as they are made"),
    ("after", "After", "What LayerNorm makes of them: all rows equally long"),
)
PAGES = (
    ("curves", "Curves", "The three curves, seen from the side, all on one scale"),
    ("steps", "Steps", "How far each position is from the next one"),
    ("price", "Price", "Mean ‖p‖², which weight decay is paid on, if the same curve had more or"
     " fewer positions: drag the mark"),
    ("table", "Table", "What sums each curve up"),
)  # fmt: skip
LIKE_TIP = (
    "Make the curves with the open model’s number of positions, spacing, turns, offset and mean"
    " token norm"
)


class ExperimentPanel(ResultPanel):
    """Line, circle and helix with the same spacing, before and after LayerNorm."""

    slot = "experiment"
    formula = "LN(p) = √d · p / ‖p‖"
    meaning = "why not a line"
    explanation = (
        "Three made-up curves with the same distance between neighbours: which of them would serve"
        " as positions? LayerNorm makes all rows equally long, so of a line through the origin two"
        " points are left, a circle comes through unharmed but repeats itself after a turn, and a"
        " helix keeps its turns apart. Weight decay is paid on ‖p‖², which grows with the square of"
        " a line’s length."
    )
    empty = "Open a model to see what LayerNorm leaves of a line, a circle and a helix of its size."
    instead = "Shape shows which of them the open model’s positions are."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.view: ExperimentView
        self._settings: Settings | None = None
        self.when = Segmented(WHEN, "Before or after LayerNorm")
        self.page = Segmented(PAGES, "What is shown")
        self.like = QPushButton("As in the model")
        self.like.setToolTip(wrapped(LIKE_TIP))
        self.when.show_value("after")
        self.when.chosen.connect(self._on_shown_changed)
        self.page.chosen.connect(self._on_page_chosen)
        self.like.clicked.connect(self._on_like_clicked)
        for control in (self.when, self.page, self.like):
            self.header.add(control)
        events = session.events
        # A helix fitted to the model takes up to a second: it waits for the end of a drag.
        for signal in (events.positions, events.dragging):
            self.listen(signal, self._ask_when_still)
        self.listen(events.colormap, self._on_shown_changed)

    # What it asks.

    def question(self) -> ExperimentLike | ExperimentOf:
        """Ask for curves of the model's size, or as they are chosen."""
        if self._settings is None:
            return ExperimentLike(self.session.positions)
        return ExperimentOf(self._settings)

    def configure(self, **options: Any) -> None:
        """Show a ``page``, or the curves ``before`` LayerNorm (else after it).

        ``settings`` chooses the curves, as :class:`Settings` or as :meth:`options` has them; None
        takes those of the model's size.
        """
        self.page.show_value(options.pop("page", self.page.value()))
        if "before" in options:
            self.when.show_value("before" if options.pop("before") else "after")
        if "settings" in options:
            self._settings = settings_of(options.pop("settings"))
            self.ask()
        self._on_page_chosen()
        self._on_shown_changed()
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        settings = None if self._settings is None else asdict(self._settings)
        return {"page": self.page.value(), "before": not self._after(), "settings": settings}

    def _on_model_changed(self) -> None:
        self._settings = None
        super()._on_model_changed()

    def _ask_when_still(self) -> None:
        if self._settings is None and not self.session.dragging:
            self.ask()

    def _on_settings_changed(self, settings: Settings) -> None:
        self._settings = settings
        self.ask()

    def _on_length_dragged(self, n_positions: int) -> None:
        if isinstance(self.result, Experiment):
            settings = self._settings or self.result.settings
            n, curve = min(max(n_positions, 16), MOST_POSITIONS), settings.curve
            # The same curve, cut short or gone on: the prices are its own.
            turns = curve.turns * (n - 1) / (curve.n_positions - 1)
            self._on_settings_changed(settings.with_(n_positions=n, turns=turns))

    def _on_open_clicked(self, kind: CurveKind) -> None:
        if self.result is not None:
            self.openRequested.emit(self.result.settings.curve.of_kind(kind).source)

    def _on_like_clicked(self) -> None:
        self._settings = None
        self.ask()

    # What it shows.

    def build(self) -> QWidget:
        """Make controls, pictures, plots and table."""
        from gui.panels.experiment_view import ExperimentView

        self.view = ExperimentView(self.theme)
        self.view.form.changed.connect(self._on_settings_changed)
        self.view.pictures.openRequested.connect(self._on_open_clicked)
        self.view.lengthRequested.connect(self._on_length_dragged)
        self.view.widthChanged.connect(self._on_width_changed)
        self.view.show_page(self.page.value())
        return self.view

    def show_result(self, result: Experiment) -> None:
        """Show the curves before or after LayerNorm."""
        self.view.show_result(result, self.session.colormap, after=self._after())
        self.like.setEnabled(self._settings is not None)

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.view.set_theme(theme)

    def _after(self) -> bool:
        return self.when.value() == "after"

    def _on_shown_changed(self) -> None:
        if self.result is not None:
            self.view.show_result(self.result, self.session.colormap, after=self._after())
            self.show_caption()

    def _on_page_chosen(self) -> None:
        if self.content is not None:
            self.view.show_page(self.page.value())

    def _on_width_changed(self, wide: bool) -> None:
        """Offer the numbers as a page where they are not beside the others."""
        self.page.buttons["table"].setVisible(not wide)
        if wide and self.page.value() == "table":
            self.page.show_value("curves")
            self._on_page_chosen()

    # What it says, and what can be taken away.

    def caption(self, result: Experiment) -> str:
        """Say what was made up."""
        assert self.session.model is not None
        return scope(self.session.model, result)

    def figure(self, result: Experiment) -> Callable[[], Figure]:
        """Draw curves, steps and prices."""
        title, after = self.caption(result), self._after()

        def draw() -> Figure:
            from gui.panels.experiment_figure import experiment_figure

            return experiment_figure(result, title, after=after)

        return draw

    def numbers(self, result: Experiment) -> Mapping[str, np.ndarray]:
        """Return steps and distances by position, and the prices."""
        return columns(result)

    def python(self) -> str:
        """Return a script that makes the curves and sums them up."""
        return script(self.result)
