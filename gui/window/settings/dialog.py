"""The settings dialog: appearance, downloaded models, the network."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QWidget

from gui.services.jobs.jobs import Job, Jobs
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import GRID
from gui.widgets.boxes import vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.tooltips import wrapped
from gui.window.actions import TIPS
from gui.window.dialogs import room_on_screen
from gui.window.settings.appearance_page import AppearancePage
from gui.window.settings.kept_page import KeptPage

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache

log = logging.getLogger(__name__)

SIZE = QSize(760, 600)
TOKEN = "access token"
RESET_TIP = "Restore the default appearance; downloads and network settings are not affected"
OFFLINE_TIP = (
    "Models on this machine still open; for others, Helixscope shows what would have to be "
    "downloaded."
)
FORCED_TIP = (
    "HF_HUB_OFFLINE is set in the environment. To work online, unset it and restart Helixscope."
)
NO_TOKEN = (
    "No access token was found. Public models do not need one; for gated and private models, set "
    "the variable HF_TOKEN or run “hf auth login” in a terminal."
)


class SettingsDialog(QDialog):
    """All settings on one page.

    Modeless; changes take effect at once. The disk is read whenever the dialog is shown, and when a
    model has been opened.

    Parameters
    ----------
    cache
        The cache; its ``max_bytes`` is shown, and changed by the user.
    appearance
        The first section.
    find_token
        Returns the place of the access token, or None; run as a job.
    forced_offline
        Whether the environment disables the network, regardless of the switch.
    """

    offlineRequested = Signal(bool)  # The user switches offline mode on or off
    limitRequested = Signal(object)  # The new size limit of the cache, in bytes, to be stored
    keysRequested = Signal()  # The user wants to change keys of commands
    removed = Signal()  # Models were removed: lists of local models are outdated

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        cache: TensorCache,
        find_token: Callable[[], str | None],
        appearance: AppearancePage,
        *,
        forced_offline: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self._session, self._jobs = session, jobs
        self._find_token, self._forced_offline = find_token, forced_offline
        self.appearance = appearance
        self.kept = KeptPage(jobs, cache)
        self.offline = QCheckBox("Work offline: do not connect to the Hub")
        self.token = label(role="small", selectable=True, wrap=True)
        self._widening = QTimer(self, interval=0, singleShot=True)
        self._widening.timeout.connect(self._widen)
        self._arrange()
        self._connect()
        self._on_offline_changed()
        self.kept.table.setFocus()
        self.resize(SIZE.boundedTo(room_on_screen(self)))

    def showEvent(self, event: QShowEvent) -> None:
        """Read the disk, which may have changed while the dialog was closed."""
        super().showEvent(event)
        if not event.spontaneous():
            self._refresh()
            self._widening.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange and self.isVisible():
            self._widening.start()  # once the style has reached the controls

    def _widen(self) -> None:
        """Make room for controls whose text has become larger."""
        missing = self.appearance.sizeHint().width() - self.appearance.width()
        wanted = QSize(self.width() + missing, self.height()).boundedTo(room_on_screen(self))
        if missing > 0 and wanted.width() > self.width():
            self.resize(wanted)
            self._widening.start()  # a scroll bar may have appeared

    def release(self) -> None:
        """Stop listening; called by the owner before deletion."""
        self._listening.stop()
        self._jobs.cancel(TOKEN)
        self.kept.release()

    def _arrange(self) -> None:
        self.offline.setToolTip(wrapped(FORCED_TIP if self._forced_offline else OFFLINE_TIP))
        self.offline.setEnabled(not self._forced_offline)
        # Room for the longest answer, so that nothing moves when it arrives.
        self.token.setMinimumHeight(2 * self.token.fontMetrics().lineSpacing())
        self.token.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        buttons = QDialogButtonBox()
        # Enter belongs to the focused field.
        close = buttons.addButton(QDialogButtonBox.StandardButton.Close)
        close.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        self.defaults = push_button("Reset appearance", RESET_TIP)
        self.defaults.clicked.connect(self.appearance.reset)
        buttons.addButton(self.defaults, QDialogButtonBox.ButtonRole.ResetRole)
        self.keys = push_button("Keyboard shortcuts…", TIPS["change_keys"])
        self.keys.clicked.connect(self.keysRequested)
        buttons.addButton(self.keys, QDialogButtonBox.ButtonRole.ActionRole)
        look, downloads, network = (
            label(title, "title") for title in ("Appearance", "Downloads", "Network")
        )
        inside = QWidget()
        above = (look, self.appearance, downloads, (self.kept, 1))
        column = vbox(*above, network, self.offline, self.token, parent=inside, spacing=GRID)
        vbox((ScrollColumn(inside), 1), buttons, parent=self, spacing=GRID, margins=2 * GRID)
        # In reading order; the places of the buttons depend on the desktop.
        for before, after in itertools.pairwise((self.offline, self.defaults, self.keys, close)):
            self.setTabOrder(before, after)
        for title in (downloads, network):
            column.insertSpacing(column.indexOf(title), GRID)

    def _connect(self) -> None:
        self.kept.limitRequested.connect(self.limitRequested)
        self.kept.removed.connect(self.removed)
        self.offline.clicked.connect(self._on_offline_clicked)
        self._listening = Listening()
        self._listening.to(self._session.events.offline, self._on_offline_changed)
        self._listening.to(self._session.events.model, self._on_model_changed)

    def _refresh(self) -> None:
        self.appearance.refresh()
        self.kept.refresh()
        self._jobs.start(TOKEN, Job(self._find_token, self._show_token, self._on_token_failed))

    def _show_token(self, place: str | None) -> None:
        if place is None:
            self.token.setText(NO_TOKEN)
            return
        where = place if "/" in place or "\\" in place else f"the variable {place}"
        self.token.setText(f"An access token was found in {where}. It is sent only to the Hub.")

    def _on_token_failed(self, error: Exception) -> None:
        log.error("The search for an access token failed", exc_info=error)
        self.token.setText("The search for an access token failed; see the log for details.")

    def _on_offline_clicked(self, on: bool) -> None:
        self.offlineRequested.emit(on)
        self._on_offline_changed()  # show the actual state, even if the request was refused

    def _on_offline_changed(self) -> None:
        self.offline.setChecked(self._forced_offline or self._session.offline)

    def _on_model_changed(self) -> None:
        if self.isVisible():
            self.kept.refresh()
