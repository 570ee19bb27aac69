"""A result panel on the screen, answered at once or when the test says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QFileDialog

from gui.answers import Answers
from gui.controller import Controller
from gui.jobs import InlineJobs, Jobs
from gui.panels.result_panel import ResultPanel
from gui.save_result import ResultSaver
from gui.session import Session
from gui.theme import LIGHT, Theme


class ResultStage:
    """A panel of a class, wired as the window wires it.

    Parameters
    ----------
    qtbot
        Takes the panel away after the test.
    panel_class
        What to show.
    jobs
        What answers; at once by default.
    """

    def __init__(
        self,
        qtbot: Any,
        panel_class: type[ResultPanel],
        jobs: Jobs | None = None,
        *,
        theme: Theme = LIGHT,
        size: tuple[int, int] = (900, 240),
        show: bool = True,
    ) -> None:
        self.session = Session()
        self.controller = Controller(self.session, InlineJobs())
        self.answers = Answers(self.session, jobs or InlineJobs())
        self.panel: Any = panel_class(self.session, theme)
        self.shown: list[tuple[str, dict[str, Any]]] = []
        panel, slot = self.panel, panel_class.slot
        panel.saver = ResultSaver(self.session, self.controller.in_background)
        panel.asked.connect(lambda question, fetch: self.answers.ask(slot, question, fetch=fetch))
        panel.unwatched.connect(lambda: self.answers.forget(slot))
        panel.cancelRequested.connect(lambda: self.answers.cancel(slot))
        panel.selectionRequested.connect(self.controller.select)
        panel.hoverRequested.connect(lambda at: setattr(self.session, "hover", at))
        panel.showRequested.connect(lambda name, options: self.shown.append((name, options)))
        qtbot.addWidget(panel, before_close_func=self._release)
        panel.resize(*size)
        if show:
            panel.show()
            qtbot.waitExposed(panel)

    def open(self, source: Path | str, positions: tuple[int, int] | None = None) -> None:
        """Open a source; the panel asks about it."""
        self.controller.open(str(source), positions=positions)
        assert self.session.notice is None or not self.session.notice.details
        QApplication.processEvents()

    @property
    def answer(self) -> Any:
        """What came of the panel's question; None if it has not asked."""
        return self.session.answers.get(type(self.panel).slot)

    def choose(self, text: str) -> None:
        """Choose an action of the panel's menu."""
        menu = self.panel.menu()
        (action,) = [action for action in menu.actions() if action.text() == text]
        assert action.isEnabled()
        action.trigger()
        menu.deleteLater()

    def save(self, monkeypatch: Any, what: str, path: Path) -> Path:
        """Choose an action that asks for a file, and answer with a path."""

        def choose(dialog: QFileDialog) -> int:
            dialog.selectFile(str(path))
            return QFileDialog.DialogCode.Accepted

        monkeypatch.setattr(QFileDialog, "exec", choose)
        self.choose(what)
        return path

    def python(self) -> str:
        """Return what "Copy as Python" puts on the clipboard."""
        self.choose("Copy as Python")
        return QApplication.clipboard().text()

    def _release(self, panel: Any) -> None:
        panel.release()
        self.answers.close()
        self.controller.close()
