"""The settings of the cache: its content, size limit, and removal."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QLineEdit,
    QMessageBox,
    QSizePolicy,
    QWidget,
)

from geometry.checkpoints.errors import HelixscopeError
from gui.services.jobs.jobs import Job, Jobs
from gui.services.kept_models import (
    Kept,
    Removed,
    change_limit,
    list_kept,
    remove_all,
    remove_commits,
)
from gui.style.theme import GRID, format_bytes, format_percent
from gui.widgets.amount_box import AmountBox
from gui.widgets.boxes import grid, hbox, vbox
from gui.widgets.buttons import push_button
from gui.widgets.label import label, message_box
from gui.widgets.links import open_folder
from gui.widgets.share_bar import ShareBar
from gui.widgets.tooltips import wrapped
from gui.window.settings.kept_table import ROW_HEIGHT, KeptTable
from gui.window.settings.settings import MAX_CACHE, MIN_CACHE

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache

log = logging.getLogger(__name__)

LISTING, CHANGING = "kept models", "change of kept models"
EMPTY = "The cache is empty. Models opened from the Hub are stored here for reuse."
WHEN_FULL = (
    "When full, the least recently used entries are removed: single tensors first, then whole "
    "models."
)
BOUNDS = "The limit can be 100 MB to 1 TB."
READ_ONLY = "This folder is read-only: nothing more is cached."


class KeptPage(QWidget):
    """The cache's folder, size, and models.

    The disk is accessed only in jobs; only one removal runs at a time.

    The cache's ``max_bytes`` is shown, and changed by the user.
    """

    limitRequested = Signal(object)  # The new size limit, in bytes, to be stored
    removed = Signal()  # Models were removed: lists of local models are outdated

    def __init__(self, jobs: Jobs, cache: TensorCache) -> None:
        super().__init__()
        self._jobs, self._cache = jobs, cache
        self._kept, self._changing = Kept(), False
        self._build_place()
        self._build_list()
        self._arrange()
        self._connect()
        self._show(self._kept)
        self.table.show_message(" ")  # until the rows are known

    def refresh(self) -> None:
        """Read the content of the cache again."""
        if self._changing:  # a change ends with a refresh
            return
        self.limit.set_nbytes(self._cache.max_bytes)
        self._jobs.start(
            LISTING,
            Job(lambda: list_kept(self._cache), self._show, self._on_list_failed, self._on_slow),
        )

    def release(self) -> None:
        """Stop waiting for jobs; called by the owner before deletion."""
        self._jobs.cancel(LISTING)
        # A running removal is completed anyway.
        self._jobs.cancel(CHANGING)

    # ---- building ----------------------------------------------------------------------

    def _build_place(self) -> None:
        self.folder = QLineEdit(str(self._cache.root))
        self.folder.setReadOnly(True)
        self.folder.setCursorPosition(0)
        self.folder.setAccessibleName("Cache folder")
        self.folder.setToolTip(wrapped(f"Downloads are cached in {self._cache.root}"))
        self.open_folder = push_button("Open folder", "Show the folder in the file manager")
        self.usage = label()
        self.limit = AmountBox(MIN_CACHE, MAX_CACHE)
        self.limit.setAccessibleName("Size limit of the cache")
        self.limit.setToolTip(wrapped("Size limit, such as 500 MB or 2 GB; Enter applies it"))
        self.limit.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.limit.setFixedWidth(11 * GRID)
        self.bar = ShareBar("Share of the limit in use")
        self.note = label(role="small")

    def _build_list(self) -> None:
        self.table = KeptTable()
        self.table.setMinimumHeight(6 * ROW_HEIGHT)
        # As high as possible; the page scrolls if this minimum is too high.
        self.table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.remove = push_button(
            "Remove", "Remove the selected models; reopening them downloads them again (Delete)"
        )
        self.clear = push_button("Clear all…", "Remove everything from the cache")
        self.message = label(role="small")

    def _arrange(self) -> None:
        amount = hbox(self.usage, self.limit, 1, spacing=GRID)
        form = grid(None, GRID, GRID)
        form.setColumnStretch(1, 1)
        form.addWidget(label("Folder", "muted"), 0, 0)
        form.addWidget(self.folder, 0, 1)
        form.addWidget(self.open_folder, 0, 2)
        form.addWidget(label("In use", "muted"), 1, 0)
        form.addLayout(amount, 1, 1, 1, 2)
        form.addWidget(self.bar, 2, 1, 1, 2)
        form.addWidget(self.note, 3, 1, 1, 2)
        below = hbox(self.remove, self.clear, (self.message, 1), spacing=GRID)
        vbox(form, (self.table, 1), below, parent=self, spacing=GRID)

    def _connect(self) -> None:
        self.open_folder.clicked.connect(self._open_folder)
        self.limit.edited.connect(self._show_note)
        self.limit.chosen.connect(self._on_limit_chosen)
        self.table.selectionCountChanged.connect(self._enable)
        self.table.removeRequested.connect(self._on_remove)
        self.remove.clicked.connect(self._on_remove)
        self.clear.clicked.connect(self._ask_to_clear)

    # ---- content -----------------------------------------------------------------------

    def _show(self, kept: Kept) -> None:
        self._kept = kept
        share = kept.usage / self._cache.max_bytes
        self.usage.setText(f"{format_bytes(kept.usage)} of at most")
        self.bar.show_share(share)
        self.bar.setToolTip(wrapped(f"{format_percent(share)} of the limit"))
        self.table.show_commits(kept.commits)
        self.table.show_message("" if kept.commits else EMPTY)
        self._show_note()
        self._enable()

    def _on_slow(self) -> None:
        if not self._kept.commits:
            self.table.show_message("Reading the cache…")

    def _show_note(self) -> None:
        """Explain the effect of the typed limit."""
        typed, usage, role = self.limit.typed(), self._kept.usage, "small"
        if not self._kept.writable:
            text, role = READ_ONLY, "badge"
        elif typed is None:
            text = BOUNDS
        elif typed < usage:
            excess = format_bytes(usage - typed)
            text, role = (
                f"This removes at least {excess}: single tensors first, then models.",
                "badge",
            )
        else:
            text = WHEN_FULL
        self.note.setText(text)
        if self.note.property("role") != role:
            self.note.setProperty("role", role)
            self.note.style().polish(self.note)

    def _enable(self) -> None:
        idle = not self._changing
        self.remove.setEnabled(idle and bool(self.table.selected()))
        self.clear.setEnabled(idle and bool(self._kept.commits))
        self.limit.setEnabled(idle)
        self.open_folder.setEnabled(self._kept.folder_exists)

    def _on_list_failed(self, error: Exception) -> None:
        log.error("The cache could not be listed", exc_info=error)
        self._show(Kept(folder_exists=True))
        advice = error.advice if isinstance(error, HelixscopeError) else "See the log for details."
        self.table.show_message(f"{error} {advice}")

    # ---- changes by the user -----------------------------------------------------------

    def _open_folder(self) -> None:
        if not open_folder(self._cache.root):
            self.message.setText("No file manager was found: copy the path instead.")

    def _on_limit_chosen(self, nbytes: int) -> None:
        self._change(lambda: change_limit(self._cache, nbytes))
        self.limitRequested.emit(nbytes)

    def _on_remove(self) -> None:
        selected = self.table.selected()
        if selected and not self._changing:
            self._change(lambda: remove_commits(self._cache, selected))

    def _ask_to_clear(self) -> None:
        count = len(self._kept.commits)
        models = "the one model" if count == 1 else f"all {count} models"
        size = format_bytes(self._kept.usage)
        box = message_box(self, "Clear all", f"Remove {models} from this folder, {size}?")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setInformativeText(
            "Reopening these models downloads them again, which needs the network."
        )
        yes = box.addButton("Remove all", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))

        def answered(button: QAbstractButton) -> None:
            if button is yes:
                self._change(lambda: remove_all(self._cache))

        box.buttonClicked.connect(answered)
        box.open()

    def _change(self, work: Callable[[], Removed]) -> None:
        self._changing = True
        self.message.setText("")
        self._jobs.cancel(LISTING)
        self._enable()
        self._jobs.start(
            CHANGING,
            Job(
                work,
                self._on_changed,
                self._on_change_failed,
                lambda: self.message.setText("Removing…"),
            ),
        )

    def _on_changed(self, removed: Removed) -> None:
        self._changing = False
        self.message.setText(removed.message)
        self._show(removed.kept)
        if removed.freed:
            self.removed.emit()

    def _on_change_failed(self, error: Exception) -> None:
        log.error("The cache could not be changed", exc_info=error)
        self._changing = False
        self.message.setText(str(error))
        self._enable()
        self.refresh()
