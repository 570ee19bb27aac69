"""The question before work is lost: save, discard, or stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox

from gui.widgets.label import message_box

if TYPE_CHECKING:
    from gui.window.main_window import MainWindow

Button = QMessageBox.StandardButton


class SaveQuestion:
    """Asks the user before closing the window, or opening other work, loses changes.

    Only the application asks; tests and scripts close windows without a question.

    Attributes
    ----------
    given
        Keys of the models given on the command line, which do not count as work.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self.given: tuple[int, ...] = ()

    def before_closing(self) -> bool:
        """Return whether the window may close now; otherwise it may close after saving."""
        close, text = self._window.close, self.text
        if self._window.work.call_after(close):
            return False
        return not text or self._ask(text, close)

    @property
    def text(self) -> str:
        """The question before closing, "" if nothing would be lost."""
        session = self._window.session
        if session.in_memory:
            return ""  # no project could open it
        if self._window.work.changes.any:
            return f"Save the changes to {self._file} before closing?"
        keys = tuple(model.key for model in session.open_models)
        if len(keys) > 1 and not session.work_file and keys != self.given:
            return f"Save this comparison of {len(keys)} models before closing?"
        return ""

    def before_opening(self, name: str, then: Callable[[], None]) -> bool:
        """Return whether another model or other work may be opened now, by its name.

        Otherwise ``then`` is called once the work is saved. Without a file there is no question, as
        undo restores the work.
        """
        if self._window.work.call_after(then):
            return False
        if not self._window.work.changes.any:
            return True
        text = f"Save the changes to {self._file} before opening {name}?"
        return self._ask(text, then, "Unsaved changes can be restored with Undo.")

    @property
    def _file(self) -> str:
        return Path(self._window.session.work_file).name

    def _ask(
        self,
        text: str,
        then: Callable[[], object],
        consequence: str = "Unsaved changes will be lost.",
    ) -> bool:
        box = message_box(self._window, "Helixscope", text)
        box.setIcon(QMessageBox.Icon.Question)
        box.setInformativeText(consequence)
        box.setStandardButtons(Button.Save | Button.Discard | Button.Cancel)
        box.setDefaultButton(Button.Save)
        box.setEscapeButton(Button.Cancel)
        answer = box.exec()
        box.deleteLater()
        if answer == Button.Save:
            self._window.work.save(then)  # if it fails, a notice gives the reason
        return answer == Button.Discard
