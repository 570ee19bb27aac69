"""Shows the settings dialog, and applies its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gui.services.jobs.jobs import Jobs
from gui.services.notices import is_offline_by_environment
from gui.window.dialogs import show_in_front

if TYPE_CHECKING:
    from gui.window.main_window import MainWindow
    from gui.window.settings.dialog import SettingsDialog


class SettingsPage:
    """The settings dialog, created on first use."""

    def __init__(
        self, window: MainWindow, jobs: Jobs, choose_text_size: Callable[[int], None]
    ) -> None:
        self._window, self._jobs, self._choose_text_size = window, jobs, choose_text_size
        self.dialog: SettingsDialog | None = None
        window.settingsRequested.connect(self.show)

    def show(self) -> None:
        """Show the dialog."""
        if self.dialog is None:
            self.dialog = self._make()
        show_in_front(self.dialog)

    def release(self) -> None:
        """Close it, and stop listening; called by the owner before the window is deleted."""
        if self.dialog is not None:
            self.dialog.release()
            self.dialog.close()

    def _make(self) -> SettingsDialog:
        from geometry.hub.headers import token_place
        from gui.window.settings.appearance_page import AppearancePage
        from gui.window.settings.dialog import SettingsDialog

        window = self._window
        appearance = AppearancePage(window.settings, window.session)
        appearance.themeRequested.connect(window.choose_theme)
        appearance.textSizeRequested.connect(self._choose_text_size)
        dialog = SettingsDialog(
            window.session,
            self._jobs,
            window.controller.fetching.cache,
            token_place,
            appearance,
            forced_offline=is_offline_by_environment(),
            parent=window,
        )
        dialog.offlineRequested.connect(window.work_offline)
        dialog.limitRequested.connect(self._on_limit_requested)
        dialog.keysRequested.connect(window.keys.show)
        dialog.removed.connect(window.controller.refresh_models)
        return dialog

    def _on_limit_requested(self, nbytes: int) -> None:
        self._window.settings.cache_limit = nbytes
