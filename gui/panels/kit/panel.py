"""The widget of a result panel, made from its :class:`gui.panels.kit.spec.PanelSpec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QMenu, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from gui.export.save_result import ResultSaver
from gui.panels.kit.choices import Button, MenuEntry, Play, Shared
from gui.panels.kit.compared_legend import ComparedLegend
from gui.panels.kit.controls import ControlRow
from gui.panels.kit.intents import ChangeShared, HideCurves, ShowPanel
from gui.panels.kit.outputs import all_numbers, all_scripts, all_tables
from gui.panels.kit.playback import Playback
from gui.panels.kit.result_header import ResultHeader
from gui.panels.kit.saved_choices import restored, saved
from gui.panels.kit.spec import AnyPanel, at_stops, changed
from gui.panels.kit.views import AnyView, Scope, Shown, Texts, View
from gui.panels.table import GROUPS, PANELS
from gui.services.compared_curves import ComparedCurve, ComparedCurves, compared_color
from gui.services.controller import Controller
from gui.services.loading import short_name
from gui.services.questions import Question
from gui.state.answer import Answer
from gui.state.session import MAIN, Session
from gui.state.values import Fields
from gui.style.listening import Listening
from gui.style.sentences import as_sentence
from gui.style.theme import GRID, LIGHT, Theme, format_bytes
from gui.widgets.boxes import vbox
from gui.widgets.panel import INTERVAL_MS, Panel
from gui.widgets.tooltips import wrapped
from gui.widgets.words_page import WordsPage
from gui.widgets.working_strip import WorkingStrip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.models.model import PositionalModel
    from gui.plots.qt_painter import PaintedRow
    from gui.state.guides import Guide

CANCELLED = "Cancelled before it was complete."
DRAWING = "Drawing random tables for comparison…"


class PanelBody(QWidget):
    """The content of a panel that is more than a row of plots.

    Parameters
    ----------
    session
        The session, for hover and selection.

    Attributes
    ----------
    focus_widget
        Gets the panel's focus, also on a click.
    """

    chosen = Signal(str, object)
    """A choice of the panel, by its name, and its new value."""
    changed = Signal(dict)
    """Several choices of the panel at once."""
    hoverRequested = Signal(object)
    """The position under the mouse, or None."""
    selectionRequested = Signal(tuple)
    """Positions; the last one becomes the current one."""
    intended = Signal(object)
    """An intent: one of the small classes of :mod:`gui.panels.kit.intents`."""
    offered = Signal(str, object, bool)
    """A choice of the panel, one of its options or None for all, and whether it is visible."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.focus_widget: QWidget | None = None

    def controls(self) -> Sequence[QWidget]:
        """Return widgets to add after the panel's controls."""
        return ()

    def show_choices(self, choices: Any) -> None:
        """Show the choices, with or without a result."""

    def draw(self, view: AnyView) -> None:
        """Show a view."""
        raise NotImplementedError

    def draw_without_result(self) -> None:
        """Show the way to a result.

        See :meth:`gui.panels.kit.spec.PanelSpec.helps_without_result`.
        """

    def show_marks(self) -> None:
        """Mark the hovered and selected positions."""

    def leave(self) -> None:
        """Stop what runs only while the panel is visible."""

    def forget(self) -> None:
        """Let go of the view, which holds models; it is drawn again before it is seen."""

    def set_theme(self, theme: Theme) -> None:
        """Set the colours; it is drawn again right after."""
        self.theme = theme

    def keys(self) -> Mapping[int, Callable[[], None]]:
        """Return actions by key, without modifiers."""
        return {}

    def take_focus(self) -> None:
        """Give the focus to the main widget."""
        (self.focus_widget or self).setFocus()

    def fill_menu(self, menu: QMenu) -> None:
        """Add entries to the panel's menu, before those for saving and copying."""

    def stop(self) -> None:
        """Stop timers before deletion."""


class PanelForm(QWidget):
    """Controls beside the result or above it, if they do not fit in a row.

    They are visible in all states, so that the user can change an impossible choice.
    """

    changed = Signal(dict)
    """Choices of the panel, by their names, with their new values."""

    def take(self, choices: Any, model: PositionalModel | None, theme: Theme) -> None:
        """Show choices without reporting a change, and offer what a model has."""
        raise NotImplementedError

    def stands_beside(self, room: QSize) -> bool:
        """Return whether to place it beside the result instead of above it."""
        return True


class ResultPanel(Panel):
    """Asks a spec's question about the open model, and shows the result.

    It asks only while visible, and again when its question has changed. While an answer is
    pending, the previous one of the same model stays until there is a partial result. Esc
    cancels, as the button does; what is shown stays. Compared models are asked the same question,
    and drawn behind the open one.

    Parameters
    ----------
    spec
        What it shows.
    session, theme
        As for all panels.
    saver
        Writes figures and numbers.
    """

    choicesChanged = Signal()  # The user, or another panel, has changed its options
    chosen = Signal(object)  # The user has changed its options; those before
    asked = Signal(object, bool)
    """A question; whether the user agrees to a large download."""
    comparedAsked = Signal(int, object, bool)
    """A compared model's key, a question about it, and whether a large download is agreed to."""
    nullsAsked = Signal(object)
    """A question about null distributions beside the shown result; None: no longer."""
    unwatched = Signal()
    """The panel is hidden: its pending questions can wait."""
    watched = Signal()
    """The panel is seen again, and has asked."""
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
        self.spec, self.saver = spec, saver
        self._shared = [one.field for one in spec.controls if one.shared]
        shared = {field: getattr(session, field) for field in self._shared}
        self.choices = replace(spec.defaults, **shared) if shared else spec.defaults
        self.content: PanelBody | PaintedRow | None = None
        self._answer: Answer | None = None
        self._ready: Answer | None = None
        self._menu: QMenu | None = None
        self._followed: PositionalModel | None = None
        self._in_front, self._stale = True, False
        self._grid = Listening()
        self._guide: Guide | None = None
        self._guided: object = None
        self._play = next((one for one in spec.controls if isinstance(one, Play)), None)
        self._course: Callable[[float], Guide] | None = None
        self.playback = Playback(self)
        self.playback.moved.connect(self._on_moved)
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
            self.form.changed.connect(self._take)
        self.buttons = {button.text: self._button(button) for button in spec.buttons}
        for made in self.buttons.values():
            self.header.add_action(made)
        self.legend = ComparedLegend(theme)
        self.legend.hide()
        self.legend.toggled.connect(self._on_toggled)
        self.legend.fetchRequested.connect(self._on_fetch)
        self.strip = WorkingStrip(theme)
        self.strip.cancelRequested.connect(self.cancelRequested)
        self.strip.againRequested.connect(self._on_button)
        self.words = WordsPage()
        self.words.button.clicked.connect(self._on_button)
        # The time between two drawings of what may change with each frame, such as a training's
        # step: painting the panel as well would cost the viewport a third of its frames.
        self._rest, self._draws_later = QTimer(self, interval=INTERVAL_MS, singleShot=True), False
        self._rest.timeout.connect(self._on_rested)
        self._builder = QTimer(self, interval=0, singleShot=True)
        self._builder.timeout.connect(self._make_content)
        if self.controls.number is not None:
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._build_layout()
        self._follow_model()
        self._asked: Question[object] | None = None
        self._nulls_asked: Question[object] | None = None
        self._nulls_answer: Answer | None = None
        self._nulls_drawn: object = None
        self.others = ComparedCurves(
            session,
            spec.name,
            self._compared_question,
            lambda key, question: self.comparedAsked.emit(key, question, False),
            self._on_others_changed,
        )
        self._listen()
        self._show_answer()

    def _listen(self) -> None:
        events = self.session.events
        self.listen(events.model, self._on_model_changed)
        self.listen(events.opening, self._show_answer)
        self.listen(events.answers, self._on_answers_changed)
        if self.spec.reads:
            self.listen(events.answers, self._follow_results)
        self.listen(events.components, self._on_components_changed)
        self.listen_throttled(events.positions, self._show_marks)
        if self.spec.follows_drag:
            self.listen_throttled(events.positions, self.ask)
        else:
            # Slow questions wait for the end of a drag.
            self.listen(events.positions, self.ask)
        self.listen(events.dragging, self._on_dragging)
        if self.spec.about_grid:
            self.listen(events.main_at, self.ask)
            self.listen(events.compared, self._follow_grid)
            self._follow_grid()
        for one in self.spec.controls:
            if one.shared:
                animated = isinstance(one, Shared) and one.animated
                follow = self._follow_animated if animated else self._follow_shared
                self.listen(events[one.field], follow)
        for signal in (events.hover, events.selection, events.tokens):
            self.listen(signal, self._show_marks)
        # A guide may depend on the current position, and on the components of the curve.
        for signal in (events.selection, events.curve):
            self.listen(signal, self._show_guide)

    def _button(self, button: Button) -> QPushButton:
        made = QPushButton(button.text)
        made.setToolTip(wrapped(button.tip))

        def press() -> None:
            at = made.mapToGlobal(QPoint(0, made.height()))
            self.intended.emit(button.intends((at.x(), at.y())))

        made.clicked.connect(press)
        return made

    def _follow_grid(self) -> None:
        self._grid.stop()
        for one in self.session.compared:
            events = one.session.events
            for signal in (events.model, events.positions, events.components, events.dragging):
                self._grid.to(signal, self.ask)
        self.ask()

    # ---- choices ---------------------------------------------------------------------------

    def configure(self, **options: object) -> None:
        self._set_choices(changed(self.spec, self.choices, options))

    def restore(self, options: Fields) -> None:
        if self.session.model is not None:
            self._set_choices(restored(self.spec, options, self.session.model, self.choices))

    def options(self) -> Fields:
        return saved(self.spec, self.choices)

    def _choose(self, field: str, value: object) -> None:
        if field in self._shared:
            self.intended.emit(ChangeShared(field, value))
        else:
            self._take({field: value})

    def _take(self, changes: Mapping[str, object]) -> None:
        choices, before = replace(self.choices, **changes), self.options()
        self._set_choices(self.spec.agreeing(choices, changes.keys()))
        if self.options() != before:
            self.chosen.emit(before)

    def _follow_animated(self) -> None:
        self._follow_shared(in_turn=True)

    def _follow_shared(self, *, in_turn: bool = False) -> None:
        shared = {field: getattr(self.session, field) for field in self._shared}
        choices = replace(self.choices, **shared)
        if self.session.model is self._followed:
            self._set_choices(choices, in_turn=in_turn)
        else:  # the result is still the previous model's
            self.choices = choices

    def _set_choices(self, choices: Any, *, in_turn: bool = False) -> None:
        if self._play is not None and self._ready is None:
            choices = replace(choices, **{self._play.field: False})
        if choices == self.choices:
            return
        self.choices = choices
        self.choicesChanged.emit()
        self._show_choices()
        self._draws_later = in_turn and self._rest.isActive()
        if self._ready is not None and not self._draws_later:
            self._draw()
            if in_turn:
                self._rest.start()
        self.ask()

    def _on_rested(self) -> None:
        if self._draws_later and self._ready is not None:
            self._draw()
            self._rest.start()
        self._draws_later = False

    def _follow_model(self) -> None:
        self._followed = model = self.session.model
        if model is not None:
            self.choices = self.spec.choices_for(model, self.choices)
        self.controls.follow_model(model)
        self._show_choices()

    def _show_choices(self) -> None:
        self.controls.show(self.choices)
        if isinstance(self.content, PanelBody):
            self.content.show_choices(self.choices)
        headline = self.spec.headline(self.choices)
        if headline != self._headline:
            self._headline = headline
            self.header.set_headline(*headline)
        self._show_form()

    def _show_form(self) -> None:
        if self.form is not None:
            self.form.take(self.choices, self.session.model, self.theme)
            self._place_form()

    # ---- asking ----------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask if the panel is visible and its question has changed."""
        if self.session.model is None or not self.is_watched or self._waits_for_drag():
            return
        question = self._question(self.session)
        if question is None:
            return
        answer = self._answer
        stale = answer is None or answer.question != question or answer is not self._current()
        # The shown answer does not suffice if another question has been asked since: its answer
        # would replace the shown one.
        if stale or self._asked != question:
            self._asked = question
            self.asked.emit(question, False)
            if self.content is None:
                # Build the content while the answer is computed, to avoid a long block at the end.
                self._builder.start()
        self._ask_nulls()
        self.others.ask(asking=True)
        self._show_legend()

    def _nulls_question(self) -> Question[object] | None:
        """Return the question about nulls beside the shown result; None before it rests."""
        ready = self._ready
        if ready is None or ready.state != "ready" or self.session.dragging:
            return None
        if self.session.model is None or ready.question != self._question(self.session):
            return None
        return self.spec.nulls_question(_scope(self.session), self.choices)

    def _ask_nulls(self) -> None:
        question = self._nulls_question()
        if question != self._nulls_asked and self.is_watched:
            self._nulls_asked = question
            self.nullsAsked.emit(question)
        self._show_nulls()

    def _on_dragging(self) -> None:
        """Give up nulls that are being drawn, which would take time from the drag."""
        if self.session.dragging and self._nulls_drawn is None and self._nulls_asked is not None:
            self._nulls_asked = None
            self.nullsAsked.emit(None)
        self.ask()

    def _nulls_result(self) -> Any:
        """Return the null distributions beside the shown result; None without them."""
        question = self._nulls_question()
        answer = self.session.answers.get(nulls_slot(self.spec))
        return answer.result if answer is not None and answer.question == question else None

    def _show_nulls(self) -> None:
        """Draw nulls that have come, and no longer those of another result."""
        if self._ready is None or self.session.model is not self._followed:
            return
        if self._nulls_result() is not self._nulls_drawn:
            self._draw()
        else:
            self._show_finding()

    def _show_finding(self) -> None:
        """Show what the result is worth, in a line that stays where nulls are still drawn."""
        question = None
        if self._ready is not None and self.session.model is not None:
            question = self.spec.nulls_question(_scope(self.session), self.choices)
        self.header.finding.setVisible(question is not None)
        if question is None:
            return
        view = self.view()
        answer = self.session.answers.get(nulls_slot(self.spec))
        working = answer is not None and answer.question == question and answer.state == "working"
        self.header.finding.show_finding(
            None if view.nulls is None else self.spec.finding(view), DRAWING if working else ""
        )

    def _waits_for_drag(self) -> bool:
        if self.spec.follows_drag:
            return False
        others = self.session.compared if self.spec.about_grid else ()
        return any(one.dragging for one in (self.session, *(other.session for other in others)))

    def _question(self, session: Session) -> Question[object] | None:
        answers = {name: session.answers.get(name) for name in self.spec.reads}
        results = {
            name: one.result for name, one in answers.items() if one and one.state == "ready"
        }
        return self.spec.question(replace(_scope(session), results=results), self.choices)

    def _compared_question(self, session: Session) -> Question[object] | None:
        if session.model is None or not self.spec.compares(self.choices):
            return None
        return self.spec.compared_question(_scope(session), self.choices)

    @property
    def result(self) -> Any:
        """The shown result, perhaps partial; None without one."""
        return None if self._ready is None else self._ready.result

    # ---- what is shown -----------------------------------------------------------------------

    def view(self, theme: Theme | None = None) -> AnyView:
        """Return the view of the shown result."""
        assert self._ready is not None
        assert self.session.model is not None
        theme = theme or self.theme
        choices = at_stops(self.spec, self.choices, self._ready.result)
        sessions = {compared.key: compared.session for compared in self.session.compared}
        others = tuple(
            View(
                _scope(sessions[curve.key]),
                choices,
                curve.answer.question if curve.answer is not None else None,
                curve.result,
                theme,
                curve.name,
                compared_color(curve.color, theme),
                label_at=sessions[curve.key].label_at,
            )
            for curve in self._drawn()
        )
        return View(
            _scope(self.session),
            choices,
            self._ready.question,
            self._ready.result,
            theme,
            self.session.model.name,
            others=others,
            label_at=self.session.label_at,
            nulls=self._nulls_result(),
        )

    def caption(self) -> str:
        """Return the line above the plots."""
        return self.header.caption.text()

    def figure(self) -> Callable[[], Figure]:
        """Return a function that draws the view for print, to be called on a thread."""
        spec, view = self.spec, self.view(LIGHT)
        return lambda: spec.figure(view)

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the shown numbers, by column name."""
        return all_numbers(self.spec, self.view())

    def tables(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Return the shown numbers as tables, by name; the main one is called ""."""
        return all_tables(self.spec, self.view())

    def python(self) -> str:
        """Return a script that computes and prints what is shown."""
        return all_scripts(self.spec, self.view())

    def file_name(self) -> str:
        """Return the default file name, without an ending."""
        assert self.session.model is not None
        # The slashes of a revision such as gpt2@refs/pr/1.
        return f"{self.session.model.name.replace('/', '-')} {self.spec.name}"

    def _drawn(self) -> tuple[ComparedCurve, ...]:
        if not self.spec.compares(self.choices):
            return ()
        return tuple(curve for curve in self.others.curves if curve.drawn)

    def _draw(self) -> None:
        """Draw the view; a panel that is not seen does when it is."""
        self._stale = not self.is_watched
        if self._stale:
            self._forget()
            return
        view = self.view()
        self._make_content()
        self._nulls_drawn = view.nulls
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
        """Let go of what was drawn, with its models: they may have been closed meanwhile."""
        self._nulls_drawn = None
        if self.content is not None:
            self.content.forget()

    def _make_content(self) -> None:
        if self.content is not None:
            return
        if self.spec.body:
            content: PanelBody | PaintedRow = _imported(self.spec.body)(self.session, self.theme)
            assert isinstance(content, PanelBody)
            content.changed.connect(self._take)
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
        self._page.addWidget(content, 1)

    def _on_stepped(self, way: int) -> None:
        if self.controls.number is not None:
            self.controls.number.step(way)

    def _show_marks(self) -> None:
        if self._ready is not None and self.content is not None and not self._stale:
            self.content.show_marks()

    def _show_legend(self) -> None:
        curves = () if self._ready is None else self.others.curves
        words = self.spec.compares(self.choices) if curves else ""
        self.legend.setVisible(bool(words))
        if words:
            self.legend.show_curves(words, curves, self._summary)
        else:
            self.legend.forget()

    def _summary(self, curve: ComparedCurve) -> str:
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
        self._course = spec.course(view) if view is not None and playing else None
        if self._course is not None:
            if self.playback.is_playing:
                self._on_moved(self.playback.share)
            else:
                self.playback.start()
            return
        self.playback.stop()
        if playing and self._play is not None:
            self.choices = replace(self.choices, **{self._play.field: False})
            self.controls.show(self.choices)
        self._set_guide(None if view is None else spec.guide(view, current))

    def _on_moved(self, share: float) -> None:
        if self._course is not None:
            self._set_guide(self._course(share))

    def _set_guide(self, guide: Guide | None) -> None:
        if guide is not self._guide:
            self._guide = guide
            if self._in_front:
                self.guideRequested.emit(guide)

    def _set_playing(self, playing: bool) -> None:
        if self._play is not None:
            self._choose(self._play.field, playing)

    # ---- being seen --------------------------------------------------------------------------

    @property
    def is_watched(self) -> bool:
        """Whether it can be seen: Qt keeps the panels behind the tab in front visible."""
        return self._in_front and self.isVisible()

    def set_in_front(self, in_front: bool) -> None:
        if not in_front:
            self._set_playing(False)
            if isinstance(self.content, PanelBody):
                self.content.leave()
        changed, guide = in_front is not self._in_front, self._guide
        self._in_front = in_front
        if in_front:
            self._catch_up()
        if changed and guide is not None and guide is self._guide:  # a new one has been told
            self.guideRequested.emit(guide if in_front else None)
        if in_front:
            self.watched.emit()
        else:
            self.others.ask(asking=False)
            self.unwatched.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._catch_up()

    def _catch_up(self) -> None:
        """Draw what has changed while the panel was not seen."""
        if self._stale and self.is_watched:
            self._stale = False
            if self.content is not None:
                self.content.set_theme(self.theme)
            if self._ready is not None:
                self._draw()
        self.ask()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.header.set_room(self.height())
        self._place_form()
        self._place_strip()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        for part in (self.header, self.controls, self.legend, self.strip):
            part.set_theme(theme)
        self._show_form()
        self._stale = not self.is_watched
        if self.content is not None and not self._stale:
            self.content.set_theme(theme)
        if self._ready is not None:
            self._draw()

    def release(self) -> None:
        self.others.close()
        self.playback.stop()
        self._rest.stop()
        self._builder.stop()
        self._grid.stop()
        if isinstance(self.content, PanelBody):
            self.content.stop()
        super().release()

    @property
    def is_settled(self) -> bool:
        return not self._draws_later

    def take_focus(self) -> None:
        if isinstance(self.content, PanelBody):
            self.content.take_focus()
        else:
            super().take_focus()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Pass the focus on; with a focus proxy, Tab would skip the buttons before the slider."""
        super().focusInEvent(event)
        if self.controls.number is not None:
            self.controls.number.slider.setFocus(event.reason())
        elif isinstance(self.content, PanelBody) and self.content.focus_widget is not None:
            self.content.focus_widget.setFocus(event.reason())

    def minimumSizeHint(self) -> QSize:
        return QSize(45 * GRID, 176)

    def sizeHint(self) -> QSize:
        return QSize(960, 208)

    def least_height(self, width: int) -> int:
        layout = self.layout()
        assert layout is not None
        return layout.minimumHeightForWidth(width)

    # ---- the session has changed ---------------------------------------------------------------

    def _on_model_changed(self) -> None:
        self._asked = None  # it may hold what is large of the previous model
        if self.spec.outlasts_model and self.session.model and self._ready is not None:
            # The result contains the names of its models: it stays until there is a new one.
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
        nulls = self.session.answers.get(nulls_slot(self.spec))
        if answer is not self._answer:
            self._answer = answer
            self._show_answer()
        elif nulls is self._nulls_answer:
            return
        self._nulls_answer = nulls
        self._ask_nulls()

    def _follow_results(self) -> None:
        """Ask again when a result that the question uses has come, or is no more."""
        model = self.session.model
        asked = model is not None and model is self._followed and self._asked is not None
        if asked and self._question(self.session) != self._asked:
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
            self.strip.show_progress(answer.fraction, answer.message)
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
        """Keep what is shown, also a partial result, with a way to go on."""
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
            assert isinstance(self.content, PanelBody)
            self.content.draw_without_result()
            self._stack.setCurrentWidget(self._content_page)

    def _waiting_for(self) -> str:
        if self.session.opening:
            return f"Opening {short_name(self.session.opening)}…"
        return self.spec.empty if self.session.model is None else ""

    def _show_ready(self, answer: Answer) -> None:
        self._ready = answer
        self._draw()
        # Partial results are not saved.
        self.header.more.setEnabled(answer.state == "ready")
        self._stack.setCurrentWidget(self._content_page)

    def _lose_result(self) -> None:
        self._ready = None
        self._forget()
        if self._menu is not None:
            self._menu.close()  # what it offers needs the result

    def _show_words(self, text: str, advice: str = "", button: str = "") -> None:
        """Show a text instead of a result."""
        self._lose_result()
        self._show_guide()
        self._show_legend()
        self.header.caption.set_text("")
        self.header.more.setEnabled(False)
        self.words.say(text, advice, button)
        self._stack.setCurrentWidget(self.words)

    # ---- what the user wants -------------------------------------------------------------------

    def _on_button(self) -> None:
        if self.session.model is not None:
            question = self._question(self.session)
            fetch = self._answer is not None and self._answer.state == "to fetch"
            if question is not None:
                self._asked = question
                self.asked.emit(question, fetch)

    def _on_toggled(self, key: int) -> None:
        self.intended.emit(HideCurves(self.others.toggled(key)))

    def _on_fetch(self, key: int) -> None:
        question = self.others.question_about(key)
        if question is not None:
            self.comparedAsked.emit(key, question, True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc cancels here too, since the panel may be a window of its own."""
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        keys = {} if self._ready is None or not plain else self.controls.keys()
        if isinstance(self.content, PanelBody) and plain:
            keys |= self.content.keys()
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
        """Return the menu of saving and copying; the caller shows it."""
        menu = QMenu(self)
        for texts in () if self._ready is None else self.spec.texts(self.view()):
            menu.addAction(f"{texts.title}…", partial(self._save_text, texts))
        if isinstance(self.content, PanelBody) and self._ready is not None:
            self.content.fill_menu(menu)
        for text, act in (
            ("Save figure…", self._save_figure),
            ("Save numbers…", self._save_numbers),
            ("Copy figure", lambda: self._saver.copy_figure(self.figure())),
            ("Copy as Python", lambda: self._saver.copy_text(self.python())),
        ):
            action = menu.addAction(text)
            action.setEnabled(self._ready is not None)
            action.triggered.connect(lambda _=False, act=act: act())
        acts = () if self._ready is None else self.spec.acts(self.view())
        if acts or self.spec.menu:
            menu.addSeparator()
        for text, intent in acts:
            menu.addAction(text, partial(self.intended.emit, intent))
        for entry in self.spec.menu:
            action = menu.addAction(entry.text)
            action.setEnabled(self._ready is not None)
            action.triggered.connect(lambda _=False, entry=entry: self._intend_named(entry))
        return menu

    def _intend_named(self, entry: MenuEntry) -> None:
        self.intended.emit(entry.intends(self.file_name()))

    def _show_menu(self, at: QPoint) -> None:
        menu = self._menu = self.menu()
        menu.aboutToHide.connect(lambda: self._on_menu_hidden(menu))
        menu.popup(at)

    def _on_menu_hidden(self, menu: QMenu) -> None:
        menu.deleteLater()
        if self._menu is menu:
            self._menu = None

    @property
    def _saver(self) -> ResultSaver:
        assert self.saver is not None
        return self.saver

    def _save_figure(self) -> None:
        self._saver.save_figure(self, self.file_name(), self.figure())

    def _save_numbers(self) -> None:
        self._saver.save_numbers(self, self.file_name(), self.numbers(), self.tables())

    def _save_text(self, texts: Texts) -> None:
        kinds = {ending: called for ending, (called, _) in texts.kinds.items()}
        written = {ending: write for ending, (_, write) in texts.kinds.items()}
        self._saver.save_text(self, texts.title, self.file_name(), kinds, written)

    # ---- the parts -----------------------------------------------------------------------------

    def _build_layout(self) -> None:
        margins = (GRID, GRID // 2, GRID, GRID // 2)
        page = vbox(self.header, self.legend, parent=self, spacing=GRID // 2, margins=margins)
        # A floating panel would keep the minimum width of the widest arrangement.
        page.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        self._holder = QWidget()
        self._stack = QStackedLayout(self._holder)
        self._beside = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._beside.setSpacing(GRID // 2)
        if self.form is not None:
            self._beside.addWidget(self.form)
        self._beside.addWidget(self._holder, 1)
        page.addLayout(self._beside, 1)
        self._content_page = QWidget()
        self._page = vbox(parent=self._content_page)
        self._stack.addWidget(self.words)
        self._stack.addWidget(self._content_page)
        self.strip.setParent(self)
        self.strip.hide()

    def _place_form(self) -> None:
        if self.form is None:
            return
        taken = self.header.sizeHint().height()
        room = QSize(self.width() - 2 * GRID, self.height() - taken - 2 * GRID)
        directions = QBoxLayout.Direction
        beside = self.form.stands_beside(room)
        way = directions.LeftToRight if beside else directions.TopToBottom
        if self._beside.direction() is not way:
            self._beside.setDirection(way)

    def _place_strip(self) -> None:
        """Place the progress beside the caption of a result, or in the middle without one."""
        if self.strip.isHidden():
            self.header.caption.keep_free(0)
        elif self._ready is None:
            self.strip.stand_amid(self._holder.geometry())
        else:
            caption = self.header.caption
            row = QRect(caption.mapTo(self, QPoint(0, 0)), caption.size())
            caption.keep_free(self.strip.stand_in(row))


def connect(panel: ResultPanel, controller: Controller, intend: Callable[[object], None]) -> None:
    """Connect a panel with the controller.

    Parameters
    ----------
    panel
        Of any spec.
    controller
        Answers questions, selects positions and draws guides.
    intend
        Called with intents such as :class:`gui.panels.kit.intents.ShowPanel`.
    """
    name, answers, others = panel.spec.name, controller.answers, controller.compared_answers
    panel.asked.connect(lambda question, fetch: answers.ask(name, question, fetch=fetch))
    beside = nulls_slot(panel.spec)
    panel.nullsAsked.connect(
        lambda question: (
            answers.forget(beside)
            if question is None
            else answers.ask(beside, question, quiet=True)
        )
    )
    panel.unwatched.connect(lambda: answers.hold(beside))
    panel.watched.connect(lambda: answers.resume(beside))
    panel.comparedAsked.connect(
        lambda key, question, fetch: others.ask(name, key, question, fetch=fetch)
    )
    for one in (answers, others):
        panel.unwatched.connect(partial(one.hold, name))
        panel.watched.connect(partial(one.resume, name))
    panel.cancelRequested.connect(lambda: answers.cancel(name))
    panel.selectionRequested.connect(controller.select)
    panel.hoverRequested.connect(controller.hover)
    panel.guideRequested.connect(lambda guide: controller.show_guide(name, guide))
    panel.intended.connect(intend)


def nulls_slot(spec: AnyPanel) -> str:
    """Return the slot of the questions about null distributions."""
    return f"{spec.name} nulls"


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _scope(session: Session) -> Scope:
    assert session.model is not None
    shown = [
        replace(_shown(one.key, one.name, one.session), failed=bool(one.failed))
        for one in session.compared
    ]
    shown.insert(session.main_at, _shown(MAIN, session.model.name, session))
    return Scope(session.model, session.positions, session.components, session.pca, tuple(shown))


def _shown(key: int, name: str, session: Session) -> Shown:
    model = session.model
    name = name if model is None else model.name
    return Shown(key, name, model, session.positions, session.components)
