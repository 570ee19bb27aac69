"""The submenu of recent sources and saved work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from gui.services.loading import forget_recent, path_exists, short_name
from gui.services.work_files.reopening import is_work
from gui.widgets.label import without_keys
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from gui.window.host import HostWindow


class RecentMenu(QMenu):
    """Opens what was opened before; filled each time it is shown."""

    def __init__(self, window: HostWindow) -> None:
        super().__init__("Open recent", window)
        self._window = window
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)
        self._fill()  # some systems show no empty menus

    def _fill(self) -> None:
        self.clear()
        session, opening = self._window.session, self._window.controller.open
        for number, source in enumerate(session.recent, start=1):
            missing = Path(source).is_absolute() and not path_exists(source)
            name = Path(source).name if is_work(source) else short_name(source)
            words = f"{without_keys(name)} (missing)" if missing else without_keys(name)
            action = self.addAction(f"&{number} {words}" if number < 10 else words)
            action.setToolTip(wrapped(source))
            action.setStatusTip(source)
            action.setEnabled(not missing)
            action.triggered.connect(lambda _=False, source=source: opening(source))
        if not session.recent:
            self.addAction("Nothing has been opened yet").setEnabled(False)
            return
        self.addSeparator()
        clear = self.addAction("Clear this list")
        clear.triggered.connect(lambda: forget_recent(session))
