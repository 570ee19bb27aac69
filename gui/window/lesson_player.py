"""Lessons in the window: each step sets it up, and leaving restores it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QByteArray, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget

from geometry.measures.stretches import AFTER
from geometry.models.sources.source import Source
from gui.panels.table import PANELS
from gui.services.lessons.course import Lessons
from gui.state.values import Fields, Notice
from gui.style.listening import Listening
from gui.window.arrangement.docks import RIGHT, is_docked, share
from gui.window.arrangement.layout import drop_dragged_dock
from gui.window.palette import Item

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.services.arrangement import Arrangement
    from gui.state.camera import Place
    from gui.state.lesson_setup import Setup
    from gui.state.lessons import Lesson
    from gui.window.host import HostWindow


BESIDE = ("inspector", "prompt")
"""Panels that a step may show below the lesson."""
BOOKMARKS = "bookmarks"
COLUMN = (*BESIDE, BOOKMARKS)
"""Panels that share the room below the lesson, one at a time."""
WIDTH, MIN_HEIGHT, BELOW = 336, 320, {"inspector": 208, "prompt": 152, BOOKMARKS: 240}
"""Width of the lesson's column, minimum height of the lesson, and heights of the panel below it, in
pixels.
"""
ALWAYS = (
    "components",
    "color_component",
    "color_by",
    "outside",
    "sphere",
    "prompt",
    "norms_quantity",
    "norms_after",
)
OF_MODEL = ("positions", "selection", "snapshot")
"""Session fields set by a lesson that are restored only for the same model."""


@dataclass(frozen=True, eq=False, slots=True)
class Before:
    """The state of the window before a lesson."""

    layout: QByteArray  # Layout of its docks, with the front tabs
    fields: Fields  # Fields of the session
    model: PositionalModel | None
    models: Arrangement | None  # The open models
    options: Mapping[str, Fields]  # Saved choices of the result panels
    choices: Mapping[str, object]  # All choices of those that are built
    place: Place  # The camera's place

    @classmethod
    def of(cls, window: HostWindow) -> Before:
        """Record the state of a window."""
        session = window.session
        fields = {name: getattr(session, name) for name in (*ALWAYS, *OF_MODEL)}
        return cls(
            window.saveState(),
            MappingProxyType(fields),
            session.model,
            window.controller.comparing.arrangement(),
            window.results.options(),
            window.results.choices(),
            window.viewport.camera.place,
        )

    def restore(self, window: HostWindow) -> None:
        """Restore the window; what is of a model only if it is open."""
        same = self.model is window.session.model
        names = (*ALWAYS, *(OF_MODEL if same else ()))
        window.session.want(**{name: self.fields[name] for name in names})
        drop_dragged_dock()
        window.restore_docks(self.layout)
        window.results.tabs.settle()
        if same:
            window.results.restore(self.options)
            for name, choices in self.choices.items():
                window.panels[name].restore_all(choices)
            window.viewport.camera.return_to(self.place)


def make_room(window: HostWindow, lesson: QDockWidget) -> None:
    """Place the lesson at the top of the right column, wide enough for its lines.

    Other panels of the column are tabs below it, so that the lesson keeps its height. Result panels
    at the right have a column of their own.
    """
    drop_dragged_dock()
    if lesson.isFloating():
        lesson.setFloating(False)
    results = [
        window.docks[name]
        for name in PANELS
        if is_docked(window.docks[name]) and window.dockWidgetArea(window.docks[name]) == RIGHT
    ]
    orientation = Qt.Orientation.Horizontal if results else Qt.Orientation.Vertical
    window.addDockWidget(RIGHT, lesson, orientation)
    lesson.show()
    docked = [window.docks[name] for name in COLUMN if not window.docks[name].isFloating()]
    for dock in docked:
        if dock is docked[0]:
            window.splitDockWidget(lesson, dock, Qt.Orientation.Vertical)
        else:
            window.tabifyDockWidget(docked[0], dock)
        dock.hide()
    for name in BESIDE:
        window.docks[name].hide()
    widths = dict.fromkeys(results, (window.width() - WIDTH) // 2)
    share(window, {**widths, lesson: WIDTH}, Qt.Orientation.Horizontal)


def show_beside(window: HostWindow, lesson: QDockWidget, beside: str) -> None:
    """Show one of the panels below the lesson, or none."""
    for name in BESIDE:
        dock = window.docks[name]
        if dock.isHidden() is (name == beside):
            drop_dragged_dock()
            dock.setVisible(name == beside)
            if name == beside:
                dock.raise_()
                share_column(window, lesson, name)


def share_column(window: HostWindow, lesson: QDockWidget, name: str) -> None:
    """Set the height of a panel below the lesson; the lesson gets the remaining height."""
    dock = window.docks[name]
    room = {lesson: max(lesson.height() - BELOW[name], MIN_HEIGHT), dock: BELOW[name]}
    share(window, room, Qt.Orientation.Vertical)


log = logging.getLogger(__name__)

DOCK = "lesson"
SHIPPED = Path(__file__).parents[2] / "resources" / "lessons"


class LessonPlayer(QObject):
    """Plays lessons.

    Attributes
    ----------
    restore_maximized
        Called before a lesson starts or ends, to restore what a maximised panel hides.
    is_covered
        Returns whether a maximised panel or 3D view hides the lesson, which then stays active.
    """

    ending = Signal()
    """A lesson is about to end; its dock is still in place."""
    left = Signal()
    """A lesson has ended, and the window is restored."""

    def __init__(self, window: HostWindow, folders: Sequence[Path]) -> None:
        super().__init__(window)
        self._window = window
        self._session, self._dock = window.session, window.docks[DOCK]
        self.lessons = Lessons(window.session, folders, window.docks)
        self.restore_maximized: Callable[[], None] = lambda: None
        self.is_covered: Callable[[], bool] = lambda: False
        self._before: Before | None = None
        self._linked: Source | None = None  # What its link was to open
        self._aim, self._due = "", False
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._aim_camera)
        # A panel that begins to float, also by a drag, is hidden for a moment; restoring a layout
        # then would delete what Qt is about to move.
        self._toggled = QTimer(self, interval=0, singleShot=True)
        self._toggled.timeout.connect(self._on_dock_toggled)
        self.action = QAction("Lesson", window)
        self.action.setCheckable(True)
        self.action.triggered.connect(lambda on: self.open() if on else self.leave())
        self._dock.visibilityChanged.connect(self._toggled.start)
        self._bookmarks = window.docks[BOOKMARKS]
        self._bookmarks.visibilityChanged.connect(self._on_bookmarks_toggled)
        self._listening = Listening()
        events = self._session.events
        # After panels that a step configures have followed the model.
        self._listening.to(events.shown, self._on_model_changed)
        self._listening.to(events.answers, self._on_answers_changed)
        for signal in (events.curve, events.turn):
            self._listening.to(signal, self._on_curve_changed)
        self._show_state()

    @property
    def on(self) -> bool:
        """Whether a lesson is active."""
        return self._before is not None

    # ---- start and end -------------------------------------------------------------------

    def open(self, file: str = "") -> None:
        """Show the lesson of a file.

        Without one, continue where the user left off, or bring the active lesson to the front.
        """
        begins = self._before is None
        if begins:
            self.restore_maximized()
            self._before = Before.of(self._window)
            self.lessons.read()
            self._build()
            make_room(self._window, self._dock)
        if file or begins:
            if self.lessons.go_on(file):
                self.set_up()
            self._show_state()
        self._dock.show()
        self._dock.raise_()

    def items(self) -> list[Item]:
        """Return an item for each lesson, for the command palette."""
        if not self._session.lessons:
            self.lessons.read()
        return [
            Item(
                f"Lesson {number}: {lesson.title}",
                "Help",
                partial(self.open, lesson.file),
                about=lesson.about,
            )
            for number, lesson in enumerate(self._session.lessons, start=1)
        ]

    def begin_with_sample(self) -> None:
        """Open the bundled model, and start."""
        self._window.controller.open("sample", table="")
        self.open()

    def leave(self) -> None:
        """End the lesson and restore the window."""
        if self._before is None:
            return
        self.restore_maximized()
        self.ending.emit()
        before, self._before = self._before, None
        self._aim, self._due = "", False
        self._close_linked(before)
        before.restore(self._window)
        self._dock.hide()
        self._window.controller.answers.forget(DOCK)
        self._show_state()
        self.left.emit()

    def _close_linked(self, before: Before) -> None:
        """Show the model from before the lesson in place of one that its link opened."""
        linked, self._linked = self._linked, None
        controller, shown = self._window.controller, self._session.model
        opening = controller.opening
        if linked is None or opening.wanted is None or opening.wanted.source != linked:
            return
        if shown is before.model:
            if opening.failed is not opening.wanted:
                opening.cancel()
        elif before.models is not None:
            controller.comparing.give_back(before.models, "model of the lesson")

    def finish(self) -> None:
        """End the lesson after its last step; the next one begins when lessons are opened again."""
        if self.on:
            self.lessons.finish()
            self.leave()

    def stop(self) -> None:
        """End the lesson and stop listening, because the window is closing."""
        self.leave()
        self._soon.stop()
        self._toggled.stop()
        self._listening.stop()
        self._dock.visibilityChanged.disconnect(self._toggled.start)
        self._bookmarks.visibilityChanged.disconnect(self._on_bookmarks_toggled)

    def _show_state(self) -> None:
        self.action.setChecked(self.on)
        for name in ("lesson_next", "lesson_previous"):
            self._window.commands.by_name[name].setEnabled(self.on)

    def _build(self) -> None:
        if DOCK in self._window.panels:
            return
        from gui.side_panels.lesson import LessonPanel

        panel = self._window.make_panel(DOCK)
        assert isinstance(panel, LessonPanel)
        answers = self._window.controller.answers
        panel.asked.connect(lambda question, fetch: answers.ask(DOCK, question, fetch=fetch))
        panel.questionCleared.connect(lambda: answers.forget(DOCK))
        panel.stepRequested.connect(self.go_on)
        panel.againRequested.connect(self.set_up)
        panel.finishRequested.connect(self.finish)
        panel.lessonRequested.connect(lambda number: self._go(self._session.lessons[number]))
        panel.showRequested.connect(self._window.bring)
        panel.openRequested.connect(self._open_linked)

    # ---- steps ---------------------------------------------------------------------------

    def go_on(self, steps: int) -> None:
        """Go some steps forward or back within the lesson."""
        if self.on and self.lessons.step(steps):
            self.set_up()

    def set_up(self) -> None:
        """Set the window up for the current step."""
        from gui.services.lessons.text import options_for
        from gui.state.lesson_setup import position_of, range_of

        course, model = self._session.lesson, self._session.model
        if not self.on or course is None or model is None or not course.steps:
            return
        assert self._before is not None
        session, controller, setup = self._session, self._window.controller, self._setup(model)
        session.snapshot = None
        session.components = setup.components
        controller.request_positions(*range_of(setup.positions, model.n_positions))
        controller.color_by(setup.color_by, setup.color_component)
        session.outside, session.sphere = setup.outside, setup.sphere
        session.norms_quantity, session.norms_after = setup.norms, AFTER
        prompt = setup.prompt
        session.change(prompt=self._before.fields["prompt"] if prompt is None else prompt)
        controller.select(tuple(position_of(place, model.n_positions) for place in setup.select))
        show_beside(self._window, self._dock, setup.beside)
        if setup.panel:
            self._window.bring(setup.panel)
            self._configure(setup.panel, options_for(setup, model, None), begins=True)
            self._due = True
            self._on_answers_changed()
        self._aim = setup.camera
        self._soon.start()

    def _setup(self, model: PositionalModel) -> Setup:
        from gui.services.lessons.text import setup_for

        assert self._session.lesson is not None
        return setup_for(self._session.lesson.step, model)

    def _go(self, lesson: Lesson, line: int = 0) -> None:
        self.lessons.go(lesson, line)
        self.set_up()

    def _open_linked(self, source: str) -> None:
        """Open a source for the time of the lesson."""
        self._linked = Source.parse(source)
        self._window.controller.open(self._linked)

    def _configure(self, name: str, options: Fields, *, begins: bool = False) -> None:
        """Set a panel's options, also the others if a step begins; or report why it cannot be."""
        panel = self._window.panels[name]
        try:
            (panel.configure_lesson if begins else panel.configure)(**options)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            course = self._session.lesson
            assert course is not None
            log.warning("A lesson's options", exc_info=error)
            self._session.notice = Notice(
                f"The lesson {course.lesson.file}, line {course.step.line}: the panel “{name}” "
                "does not support this step's options.",
                details=str(error),
            )

    # ---- camera --------------------------------------------------------------------------

    def _on_curve_changed(self) -> None:
        if self._aim:
            self._soon.start()

    def _aim_camera(self) -> None:
        """Set the step's view once the curve has been fitted exactly."""
        session = self._session
        curve, straight = session.curve, np.array_equal(session.turn, np.eye(3))
        if not self._aim or curve is None or not (straight or session.keep_turned):
            return
        shown = curve.pca.positions, tuple(curve.components)
        if curve.pca.exact and shown == (session.positions, session.components):
            view, self._aim = self._aim, ""
            self._window.viewport.camera.view(view)

    # ---- events --------------------------------------------------------------------------

    def _on_model_changed(self) -> None:
        course = self._session.lesson
        if self.on and course is not None and self._session.model is not None:
            self._go(course.lesson, course.step.line)

    def _on_answers_changed(self) -> None:
        """Update options that depend on the model's numbers when these are known."""
        if not self._due:  # as without a lesson, whose module takes long to import
            return
        from gui.services.lessons.text import options_for, wanted_for

        session = self._session
        answer, model, course = session.answers.get(DOCK), session.model, session.lesson
        if answer is None or model is None or course is None:
            return
        if answer.state == "ready" and answer.question.wanted == wanted_for(course.step, model):
            self._due = False
            setup = self._setup(model)
            options, before = (options_for(setup, model, facts) for facts in (answer.result, None))
            if options != before:
                self._configure(setup.panel, options)

    def _on_bookmarks_toggled(self, visible: bool) -> None:
        """Share the column when bookmarks are opened below the lesson."""
        if visible and self.on and not self._bookmarks.isFloating():
            share_column(self._window, self._dock, BOOKMARKS)

    def _on_dock_toggled(self) -> None:
        """End the lesson if its dock is closed; start if Qt's own menu of docks has shown it."""
        hidden = self._dock.isHidden()
        if self.on and hidden and not self.is_covered():
            self.leave()
        elif not self.on and not hidden:
            self._dock.hide()  # the layout to restore has no lesson
            self.open()
