"""The widget of a result panel, made from its :class:`gui.panels.kit.spec.PanelSpec`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton

from gui.export.save_result import ResultSaver
from gui.panels.kit.asking import (
    NullAnswers,
    question_about,
    scope_of,
    waits_for_drag,
)
from gui.panels.kit.body import PanelBody, PanelForm
from gui.panels.kit.choices import Button, Play, Shared
from gui.panels.kit.controls import ControlRow
from gui.panels.kit.guiding import GuidePlayer, Playback
from gui.panels.kit.intents import ChangeShared, ShowPanel
from gui.panels.kit.layout import ResultLayout
from gui.panels.kit.other_models import OtherModels
from gui.panels.kit.others_legend import OtherCurve, OthersLegend
from gui.panels.kit.result_header import ResultHeader
from gui.panels.kit.saved_choices import restored, saved
from gui.panels.kit.saving import ResultFiles
from gui.panels.kit.spec import AnyPanel, at_stops, changed
from gui.panels.kit.views import AnyView, View
from gui.panels.table import GROUPS, PANELS
from gui.services.questions import Question
from gui.state.answer import Answer
from gui.state.session import Session
from gui.state.values import Fields
from gui.style.listening import Listening
from gui.style.sentences import as_sentence
from gui.style.theme import GRID, Theme, format_bytes
from gui.widgets.buttons import push_button
from gui.widgets.panel import INTERVAL_MS, Panel
from gui.widgets.words_page import WordsPage
from gui.widgets.working_strip import WorkingStrip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.models.model import PositionalModel
    from gui.plots.qt_painter import PaintedRow

CANCELLED = "Cancelled before it was complete."
DRAWING = "Drawing random tables for comparison…"


class ResultPanel(Panel):
    """Asks a spec's question about the open model, and shows the result.

    It asks only while visible, and again when its question has changed. While an answer is
    pending, the previous one of the same model stays until there is a partial result. Esc and the
    button cancel the question; the shown result stays. The same question is asked about compared
    models, which are drawn behind the open one.

    Parameters
    ----------
    spec
        The panel's spec.
    session, theme
        As for all panels.
    saver
        Writes figures and numbers.
    """

    choicesChanged = Signal()
    """The user, or another panel, has changed its options."""
    chosen = Signal(object)
    """The user has changed its options; the previous ones."""
    asked = Signal(object, bool)
    """A question; whether the user agrees to a large download."""
    otherAsked = Signal(int, object, bool)
    """The key of another model, a question about it, and whether a large download is agreed to."""
    nullsAsked = Signal(object)
    """A question about null distributions beside the shown result; None to cancel it."""
    hidden = Signal()
    """The panel was hidden: its pending questions can wait."""
    shown = Signal()
    """The panel was shown again, and has asked."""
    cancelRequested = Signal()
    selectionRequested = Signal(tuple)
    hoverRequested = Signal(object)
    guideRequested = Signal(object)
    """A :class:`gui.state.guides.Guide` beside the curve; None for none."""
    intended = Signal(object)

    def __init__(
        self,
        spec: AnyPanel,
        session: Session,
        theme: Theme,
        saver: ResultSaver | None = None,
    ) -> None:
        super().__init__(session, theme)
        self.spec = spec
        self.files = ResultFiles(self, spec, self.view, saver)
        self._shared = [control.field for control in spec.controls if control.shared]
        shared = {field: getattr(session, field) for field in self._shared}
        self.choices = replace(spec.defaults, **shared) if shared else spec.defaults
        self.content: PanelBody | PaintedRow | None = None
        self._answer: Answer | None = None
        self._ready: Answer | None = None
        self._menu: QMenu | None = None
        self._followed: PositionalModel | None = None
        self._first_model = session.first_model
        self._in_front, self._stale = True, False
        # Whether drawing waits, and whether something is to be drawn.
        self._held = self._due = False
        self._grid = Listening()
        self._guided: object = None
        self._play = next((control for control in spec.controls if isinstance(control, Play)), None)
        self.playback = Playback(self)
        self._guides = GuidePlayer(
            spec, self.playback, lambda guide: self.guideRequested.emit(guide)
        )
        self.playback.finished.connect(lambda: self._set_playing(False))
        self._headline = spec.headline(self.choices)
        entry = PANELS.get(spec.name)
        group = GROUPS[entry.group] if entry is not None else ()
        self.header = ResultHeader(*self._headline, theme, group, spec.name)
        self.header.menuRequested.connect(self._show_menu)
        self.header.panelRequested.connect(lambda name: self.intended.emit(ShowPanel(name, {})))
        self.controls = ControlRow(spec, theme, lambda field, value: self._choose(field, value))
        for widget in self.controls.widgets.values():
            self.header.add(widget)
        self.form: PanelForm | None = None
        if spec.form:
            self.form = _imported(spec.form)()
            self.form.changed.connect(self._change_choices)
        self.buttons = {button.text: self._button(button) for button in spec.buttons}
        for button in self.buttons.values():
            self.header.add_action(button)
        self.legend = OthersLegend(theme)
        self.legend.hide()
        self.strip = WorkingStrip(theme)
        self.strip.cancelRequested.connect(self.cancelRequested)
        self.strip.againRequested.connect(self._on_button)
        self.words = WordsPage()
        self.words.button.clicked.connect(self._on_button)
        # Limits the redraws for values that may change with each frame, such as a training's step:
        # drawing the panel each time would cost the viewport a third of its frames.
        self._redraw_timer = QTimer(self, interval=INTERVAL_MS, singleShot=True)
        self._draws_later = False
        self._redraw_timer.timeout.connect(self._on_redraw_timeout)
        self._builder = QTimer(self, interval=0, singleShot=True)
        self._builder.timeout.connect(self._make_content)
        if self.controls.number is not None:
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.parts = ResultLayout(self, self.header, self.legend, self.form, self.words, self.strip)
        self.header.resized.connect(self._place_strip)
        self._follow_model()
        self._asked: Question[object] | None = None
        self._nulls = NullAnswers(session, spec, lambda question: self.nullsAsked.emit(question))
        self.others = OtherModels(
            session,
            spec,
            self.legend,
            lambda: self.choices,
            ask=lambda key, question, fetch: self.otherAsked.emit(key, question, fetch),
            intend=lambda intent: self.intended.emit(intent),
            changed=self._on_others_changed,
        )
        self._listen()
        self._show_answer()

    def _listen(self) -> None:
        events = self.session.events
        self.listen(events.model, self._on_model_changed)
        self.listen(events.opening, self._show_answer)
        self.listen(events.answers, self._on_answers_changed)
        if self.spec.depends_on:
            self.listen(events.answers, self._follow_results)
        self.listen(events.components, self._on_components_changed)
        self.listen_throttled(events.positions, self._show_marks)
        if self.spec.follows_drag:
            self.listen_throttled(events.positions, self.ask)
        else:
            # Slow questions wait for the end of a drag.
            self.listen(events.positions, self.ask)
        self.listen(events.dragging, self._on_dragging)
        if self.spec.compares_all_models:
            self.listen(events.open_models, self._follow_grid)
            self._follow_grid()
        for control in self.spec.controls:
            if control.shared:
                animated = isinstance(control, Shared) and control.animated
                follow = self._follow_animated if animated else self._follow_shared
                self.listen(events[control.field], follow)
        for signal in (events.hover, events.selection, events.tokens):
            self.listen(signal, self._show_marks)
        # A guide may depend on the current position, and on the components of the curve.
        for signal in (events.selection, events.curve):
            self.listen(signal, self._show_guide)

    def _button(self, button: Button) -> QPushButton:
        widget = push_button(button.text, button.tip)

        def press() -> None:
            at = widget.mapToGlobal(QPoint(0, widget.height()))
            self.intended.emit(button.make_intent((at.x(), at.y())))

        widget.clicked.connect(press)
        return widget

    def _follow_grid(self) -> None:
        self._grid.stop()
        for other in self.session.others:
            events = other.session.events
            for signal in (events.model, events.positions, events.components, events.dragging):
                self._grid.to(signal, self.ask)
        self.ask()

    # ---- choices ---------------------------------------------------------------------------

    def configure(self, **options: object) -> None:
        self._set_choices(changed(self.spec, self.choices, options))

    def configure_lesson(self, **options: object) -> None:
        if self.session.model is not None:
            first = self.spec.choices_for_lesson(self.session.model, self.choices)
            shared = {field: getattr(self.session, field) for field in self._shared}
            self._set_choices(changed(self.spec, replace(first, **shared), options))

    def restore(self, options: Fields) -> None:
        if self.session.model is not None:
            self._set_choices(restored(self.spec, options, self.session.model, self.choices))

    def all_choices(self) -> object:
        return self.choices

    def restore_all(self, choices: Any) -> None:
        shared = {field: getattr(self.session, field) for field in self._shared}
        self._set_choices(replace(choices, **shared))

    def options(self) -> Fields:
        return saved(self.spec, self.choices)

    def _choose(self, field: str, value: object) -> None:
        if field in self._shared:
            self.intended.emit(ChangeShared(field, value))
        else:
            self._change_choices({field: value})

    def _change_choices(self, changes: Mapping[str, object]) -> None:
        choices, before = replace(self.choices, **changes), self.options()
        self._set_choices(self.spec.agreeing(choices, changes.keys()))
        if self.options() != before:
            self.chosen.emit(before)

    def _follow_animated(self) -> None:
        self._follow_shared(throttled=True)

    def _follow_shared(self, *, throttled: bool = False) -> None:
        shared = {field: getattr(self.session, field) for field in self._shared}
        choices = replace(self.choices, **shared)
        if self.session.model is self._followed:
            self._set_choices(choices, throttled=throttled)
        else:  # the result is still the previous model's
            self.choices = choices

    def _set_choices(self, choices: Any, *, throttled: bool = False) -> None:
        if self._play is not None and self._ready is None:
            choices = replace(choices, **{self._play.field: False})
        if choices == self.choices:
            return
        self.choices = choices
        self.choicesChanged.emit()
        self._show_choices()
        self._draws_later = throttled and self._redraw_timer.isActive()
        with self._drawing_once():  # with the answer and the null distributions, if they are kept
            if self._ready is not None and not self._draws_later:
                self._draw()
                if throttled:
                    self._redraw_timer.start()
            self.ask()

    def _on_redraw_timeout(self) -> None:
        if self._draws_later and self._ready is not None:
            self._draw()
            self._redraw_timer.start()
        self._draws_later = False

    def _follow_model(self) -> None:
        before, model = self._followed, self.session.model
        self._followed = model
        if model is not None:
            same = before is not None and _table_of(before) == _table_of(model)
            adapt = self.spec.choices_for_later_step if same else self.spec.choices_for
            self.choices = adapt(model, self.choices)
        self.controls.follow_model(model)
        self._show_choices()

    def _show_choices(self) -> None:
        self.controls.show(self.choices)
        if self._body is not None:
            self._body.show_choices(self.choices)
        headline = self.spec.headline(self.choices)
        if headline != self._headline:
            self._headline = headline
            self.header.set_headline(*headline)
        self._show_form()

    def _show_form(self) -> None:
        if self.form is not None:
            self.form.set_choices(self.choices, self.session.model, self.theme)
            self.parts.place_form()

    # ---- asking ----------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask if the panel is visible and its question has changed."""
        if self.session.model is None or not self.is_shown:
            return
        if waits_for_drag(self.session, self.spec):
            return
        question = self._question()
        if question is None:
            return
        answer = self._answer
        stale = answer is None or answer.question != question or answer is not self._current()
        # Ask again also if another question has been asked since the shown answer, which that
        # question's answer would replace.
        if stale or self._asked != question:
            self._asked = question
            self.asked.emit(question, False)
            if self.content is None:
                # Build the content while the answer is computed, to avoid a long block at the end.
                self._builder.start()
        self._ask_nulls()
        self.others.ask(asking=True)
        self._show_legend()

    def _question(self) -> Question[object] | None:
        return question_about(self.session, self.spec, self.choices)

    def _ask_nulls(self) -> None:
        if self.is_shown:
            self._nulls.ask(self._nulls.question(self._ready, self.choices))
        self._show_nulls()

    def _on_dragging(self) -> None:
        """Cancel pending null distributions during a drag, which they would slow down."""
        if self.session.dragging:
            self._nulls.give_up()
        self.ask()

    def _show_nulls(self) -> None:
        """Redraw if the null distributions of the result have changed."""
        if self._ready is None or self.session.model is not self._followed:
            return
        if self._nulls.result(self._ready, self.choices) is not self._nulls.drawn:
            self._draw()
        else:
            self._show_finding()

    def _show_finding(self) -> None:
        """Show the outcome of the result, in a line that is also there while it is computed."""
        question = None
        if self._ready is not None and self.session.model is not None:
            question = self.spec.nulls_question(scope_of(self.session), self.choices)
        self.header.finding.setVisible(question is not None)
        if question is None:
            return
        view, drawing = self.view(), self._nulls.is_drawing(question)
        self.header.finding.show_finding(
            None if view.nulls is None else self.spec.finding(view), DRAWING if drawing else ""
        )

    @property
    def result(self) -> Any:
        """The shown result, perhaps partial; None without one."""
        return None if self._ready is None else self._ready.result

    # ---- drawing -----------------------------------------------------------------------------

    def view(self, theme: Theme | None = None) -> AnyView:
        """Return the view of the shown result."""
        assert self._ready is not None
        assert self.session.model is not None
        theme = theme or self.theme
        choices = at_stops(self.spec, self.choices, self._ready.result)
        return View(
            scope_of(self.session),
            choices,
            self._ready.question,
            self._ready.result,
            theme,
            self.session.model.name,
            own_color=self.others.own_color(theme),
            others=self.others.views(choices, theme),
            label_at=self.session.label_at,
            nulls=self._nulls.result(self._ready, self.choices),
        )

    @property
    def _body(self) -> PanelBody | None:
        """The content, if it is a :class:`PanelBody`."""
        return self.content if isinstance(self.content, PanelBody) else None

    def caption(self) -> str:
        """Return the line above the plots."""
        return self.header.caption.text()

    def figure(self) -> Callable[[], Figure]:
        """Return a function that draws the view for print, to be called on a thread."""
        return self.files.figure()

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the shown numbers, by column name."""
        return self.files.numbers()

    def tables(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Return the shown numbers as tables, by name; the main one is called ""."""
        return self.files.tables()

    def python(self) -> str:
        """Return a script that computes and prints the shown result."""
        return self.files.python()

    @contextmanager
    def _drawing_once(self) -> Iterator[None]:
        """Draw at most once for all that changes in the block, at its end."""
        outermost, self._held = not self._held, True
        try:
            yield
        finally:
            if outermost:
                self._held, due = False, self._due
                self._due = False
                if due and self._ready is not None:
                    self._draw()

    def _draw(self) -> None:
        """Draw the view; a hidden panel is drawn when it is shown."""
        if self._held:
            self._due = True
            return
        self._stale = not self.is_shown
        if self._stale:
            self._forget()
            return
        view = self.view()
        self._make_content()
        self._nulls.drawn = view.nulls
        self.controls.follow_view(view)
        if isinstance(self.content, PanelBody):
            self.content.draw(view)
        elif self.content is not None:
            self.content.draw(self.spec.plots(view))
        self.header.caption.set_text(self.spec.caption(view))
        self._show_finding()
        self._show_legend()
        self._show_guide()

    def _forget(self) -> None:
        """Release the drawn view with its models, which may have been closed meanwhile."""
        self._nulls.drawn = None
        if self.content is not None:
            self.content.forget()

    def _make_content(self) -> None:
        if self.content is not None:
            return
        if self.spec.body:
            content: PanelBody | PaintedRow = _imported(self.spec.body)(self.session, self.theme)
            assert isinstance(content, PanelBody)
            content.changed.connect(self._change_choices)
            content.offered.connect(self.controls.offer)
            for widget in content.controls():
                self.header.add(widget)
            content.show_choices(self.choices)
        else:
            from gui.plots.qt_painter import PaintedRow

            content = PaintedRow(self.session, self.theme)
            content.stepped.connect(self._on_stepped)
        content.intended.connect(self.intended)
        content.chosen.connect(self._choose)
        content.hoverRequested.connect(self.hoverRequested)
        content.selectionRequested.connect(self.selectionRequested)
        self.content = content
        if isinstance(content, PanelBody) and content.focus_widget is not None:
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.parts.add_content(content)

    def _on_stepped(self, steps: int) -> None:
        if self.controls.number is not None:
            self.controls.number.step(steps)

    def _show_marks(self) -> None:
        if self._ready is not None and self.content is not None and not self._stale:
            self.content.show_marks()

    def _show_legend(self) -> None:
        self.others.show_legend(has_result=self._ready is not None, summary_of=self._summary)

    def _summary(self, curve: OtherCurve) -> str:
        for other in () if self._ready is None else self.view().others:
            if other.name == curve.name:
                return self.spec.summary(other)
        return ""

    def _show_guide(self) -> None:
        """Request the guide while the panel is visible."""
        session, spec = self.session, self.spec
        current = session.current if spec.guides_current else None
        shown = (id(self._ready), self.choices, session.components, session.pca, current)
        if shown == self._guided:
            return
        self._guided = shown
        view = None if self._ready is None else self.view()
        playing = self._play is not None and getattr(self.choices, self._play.field)
        if self._guides.play(view if playing else None):
            return
        if playing and self._play is not None:
            self.choices = replace(self.choices, **{self._play.field: False})
            self.controls.show(self.choices)
        self._guides.set_guide(None if view is None else spec.guide(view, current))

    def _set_playing(self, playing: bool) -> None:
        if self._play is not None:
            self._choose(self._play.field, playing)

    # ---- visibility --------------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether it is in front and visible; for Qt, panels behind another tab are visible too."""
        return self._in_front and self.isVisible()

    def set_in_front(self, in_front: bool) -> None:
        if not in_front:
            self._set_playing(False)
            if self._body is not None:
                self._body.leave()
        changed, guide = in_front is not self._in_front, self._guides.guide
        self._in_front = self._guides.in_front = in_front
        if in_front:
            self._catch_up()
        if changed and guide is not None and guide is self._guides.guide:  # else already emitted
            self.guideRequested.emit(guide if in_front else None)
        if in_front:
            self.shown.emit()
        else:
            self.others.ask(asking=False)
            self.hidden.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._catch_up()

    def _catch_up(self) -> None:
        """Draw the changes since the panel was hidden."""
        if self._stale and self.is_shown:
            self._stale = False
            if self.content is not None:
                self.content.set_theme(self.theme)
            if self._ready is not None:
                self._draw()
        self.ask()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.header.set_room(self.height())
        self.parts.place_form()
        self._place_strip()

    def _place_strip(self) -> None:
        self.parts.place_strip(has_result=self._ready is not None)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        for part in (self.header, self.controls, self.legend, self.strip):
            part.set_theme(theme)
        self._show_form()
        self._stale = not self.is_shown
        if self.content is not None and not self._stale:
            self.content.set_theme(theme)
        if self._ready is not None:
            self._draw()

    def release(self) -> None:
        self.others.close()
        self.playback.stop()
        self._redraw_timer.stop()
        self._builder.stop()
        self._grid.stop()
        if self._body is not None:
            self._body.stop()
        super().release()

    @property
    def is_settled(self) -> bool:
        return not self._draws_later

    def take_focus(self) -> None:
        if self._body is not None:
            self._body.take_focus()
        else:
            super().take_focus()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Pass the focus on; with a focus proxy, Tab would skip the buttons before the slider."""
        super().focusInEvent(event)
        if self.controls.number is not None:
            self.controls.number.slider.setFocus(event.reason())
        elif self._body is not None and self._body.focus_widget is not None:
            self._body.focus_widget.setFocus(event.reason())

    def minimumSizeHint(self) -> QSize:
        return QSize(45 * GRID, 176)

    def sizeHint(self) -> QSize:
        return QSize(960, 208)

    def min_height_for(self, width: int) -> int:
        layout = self.layout()
        assert layout is not None
        return layout.minimumHeightForWidth(width)

    # ---- changes of the session ----------------------------------------------------------------

    def _on_model_changed(self) -> None:
        self._asked = None  # it may hold large data of the previous model
        first, self._first_model = self._first_model, self.session.first_model
        keeps = self.spec.keeps_result or (first is not None and first is self._first_model)
        if keeps and self.session.model and self._ready is not None:
            # The result contains the names of its models, or is of an earlier step of the same
            # training: it stays until there is a new one.
            self._answer = None
            self._follow_model()
            self.ask()
            return
        self._answer = None
        self._lose_result()
        self._follow_model()
        self._show_answer()
        self.ask()

    def _on_components_changed(self) -> None:
        self.ask()
        if self._ready is not None:
            # The result may be the same, but not within the shown components.
            view = self.view()
            self.controls.follow_view(view)
            self.header.caption.set_text(self.spec.caption(view))
            self._show_guide()

    def _current(self) -> Answer | None:
        return self.session.answers.get(self.spec.name)

    def _on_answers_changed(self) -> None:
        answer = self._current()
        nulls = self._nulls.answer
        if answer is not self._answer:
            self._answer = answer
            self._show_answer()
        elif nulls is self._nulls.last_answer:
            return
        self._nulls.last_answer = nulls
        self._ask_nulls()

    def _follow_results(self) -> None:
        """Ask again when a result that the question depends on has changed."""
        model = self.session.model
        asked = model is not None and model is self._followed and self._asked is not None
        if asked and self._question() != self._asked:
            self.ask()

    def _on_others_changed(self) -> None:
        self._show_legend()
        if self._ready is not None:
            self._draw()

    def _show_answer(self) -> None:
        """Show one of the four states, with its button."""
        model = self.session.model
        self.header.set_controls_enabled(model is not None and self.spec.concerns(model))
        answer = self._answer
        state = None if answer is None or self.session.model is None else answer.state
        self.strip.setVisible(state == "working")
        self._place_strip()
        if answer is None or state is None:
            if self._ready is None:
                self._show_words(self._waiting_for())
        elif state == "ready":
            self._show_ready(answer)
        elif state == "working":
            self.strip.show_progress(answer.fraction, answer.message, answer.question)
            if answer.result is not None:
                self._show_ready(answer)
            elif self._ready is None:
                self._show_words("")
            self._place_strip()
        elif state == "impossible":
            advice = f"{answer.advice} {self._instead}"
            self._show_words(as_sentence(answer.why), advice, "Try again" * answer.retry)
            self._offer_help()
        elif state == "cancelled":
            self._show_cancelled(answer)
        else:
            size = format_bytes(answer.bytes_to_fetch) if answer.bytes_to_fetch else ""
            why = answer.why or f"This needs {size} from the Hub."
            self._show_words(why, self._instead, f"Download {size}".rstrip())

    @property
    def _instead(self) -> str:
        model = self.session.model
        return "" if model is None else self.spec.instead_for(model)

    def _show_cancelled(self, answer: Answer) -> None:
        """Keep the shown result, even if partial, with a button to continue."""
        if answer.result is not None:
            self._show_ready(answer)
        if self._ready is None:
            self._show_words(CANCELLED, button="Compute")
            return
        self.strip.show_cancelled()
        self.strip.show()
        self._place_strip()

    def _offer_help(self) -> None:
        model = self.session.model
        if model is not None and self.spec.helps_without_result(model):
            self._make_content()
            assert self._body is not None
            self._body.draw_without_result()
            self.parts.show_content()

    def _waiting_for(self) -> str:
        if (opening := self.session.opening) is not None:
            return f"Opening {opening.name}…"
        return self.spec.empty if self.session.model is None else ""

    def _show_ready(self, answer: Answer) -> None:
        self._ready = answer
        if self.is_shown:
            self._make_content()
        self._draw()
        # Partial results are not saved.
        self.header.more.setEnabled(answer.state == "ready")
        self.parts.show_content()

    def _lose_result(self) -> None:
        self._ready = None
        self._forget()
        if self._menu is not None:
            self._menu.close()  # its actions need the result

    def _show_words(self, text: str, advice: str = "", button: str = "") -> None:
        """Show a text instead of a result."""
        self._lose_result()
        self._show_guide()
        self._show_legend()
        self.header.caption.set_text("")
        self.header.more.setEnabled(False)
        self.words.show_message(text, advice, button)
        self.parts.show_words()

    # ---- requests of the user ------------------------------------------------------------------

    def _on_button(self) -> None:
        if self.session.model is not None:
            question = self._question()
            fetch = self._answer is not None and self._answer.state == "to fetch"
            if question is not None:
                self._asked = question
                self.asked.emit(question, fetch)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc cancels here too, since the panel may be in a separate window."""
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        keys = {} if self._ready is None or not plain else self.controls.keys()
        if self._body is not None and plain:
            keys |= self._body.keys()
        if event.key() in keys:
            keys[event.key()]()
        elif event.key() == Qt.Key.Key_Escape and self.strip.is_working:
            self.cancelRequested.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._ready is not None and self._ready.state == "ready":
            self._show_menu(event.globalPos())

    def menu(self) -> QMenu:
        """Return the menu of saving and copying a result; the caller shows it."""
        return self.files.menu(self._body, self.intended.emit)

    def _show_menu(self, at: QPoint) -> None:
        menu = self._menu = self.menu()
        menu.aboutToHide.connect(lambda: self._on_menu_hidden(menu))
        menu.popup(at)

    def _on_menu_hidden(self, menu: QMenu) -> None:
        menu.deleteLater()
        if self._menu is menu:
            self._menu = None


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _table_of(model: PositionalModel) -> tuple[object, ...]:
    """Return what is the same at each step of a training: the source, and the table's size."""
    return model.source, model.n_positions, model.d_model
