"""The submenu of recent sources, saved work and surveys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from gui.services.loading import forget_recent
from gui.services.surveys import is_survey
from gui.services.work_files.projects import is_work
from gui.side_panels.models.model_line import parsed
from gui.style.listening import Listening
from gui.widgets.label import without_keys
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from gui.window.host import HostWindow


class RecentMenu(QMenu):
    """Opens recent sources; filled each time it is shown."""

    def __init__(self, window: HostWindow) -> None:
        super().__init__("Open recent", window)
        self._window = window
        self.setToolTipsVisible(True)
        self._listening = Listening()
        self._listening.to(window.session.events.missing, self._fill)
        self.aboutToShow.connect(window.controller.look_for_recent)
        self.aboutToShow.connect(self._fill)
        self._fill()  # some systems show no empty menus

    def release(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def _fill(self) -> None:
        self.clear()
        session, opening = self._window.session, self._window.controller.open
        if not session.recent and not session.surveys:
            self.addAction("Nothing has been opened yet").setEnabled(False)
            return
        surveys = map(parsed, session.surveys)
        for number, source in enumerate((*session.recent, *surveys), start=1):
            if number == len(session.recent) + 1:
                self.addSeparator()
            missing = source.kind == "path" and source.id in session.missing
            file = is_work(source.id) or is_survey(source.id)
            name = Path(source.id).name if file else source.name
            text = f"{without_keys(name)} (missing)" if missing else without_keys(name)
            action = self.addAction(f"&{number} {text}" if number < 10 else text)
            action.setToolTip(wrapped(source.id))
            action.setStatusTip(source.id)
            action.setEnabled(not missing)
            action.triggered.connect(lambda _=False, source=source: opening(source))
        self.addSeparator()
        clear = self.addAction("Clear this list")
        clear.triggered.connect(lambda: forget_recent(session))
