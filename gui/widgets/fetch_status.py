"""Progress of a download: a bar, a text, and a cancel button."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from geometry.checkpoints.transfer import TransferProgress
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.boxes import hbox
from gui.widgets.opening_row import FixedText, share_of, transfer_lines
from gui.widgets.share_bar import ShareBar

_BAR_WIDTH = 120
_BUTTON = QSize(7 * GRID, 20)


def transfer_text(progress: TransferProgress | None) -> str:
    """Describe a download and its progress in one line."""
    line = " ".join(filter(None, transfer_lines(progress)))
    if progress is None or progress.waiting or share_of(progress) is None:
        return line
    return f"{progress.verb} {progress.what}: {line}"


class FetchBar(ShareBar):
    """A bar of a download's progress, indeterminate if the size is unknown."""

    def __init__(self) -> None:
        super().__init__("Downloading")

    def show_transfer(self, progress: TransferProgress | None) -> None:
        """Show a download's progress; None for no download."""
        self.show_share(share_of(progress))


class FetchStatus(QWidget):
    """Progress of a download in the status bar; hidden if there is none."""

    cancelRequested = Signal()  # The user cancels it

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.text = FixedText(1, SMALL, Qt.TextElideMode.ElideRight)
        self.bar = FetchBar()
        self.bar.setFixedWidth(_BAR_WIDTH)
        self.cancel = QToolButton()
        self.cancel.setText("Cancel")
        self.cancel.setProperty("class", "chip")
        self.cancel.setFixedSize(_BUTTON)
        self.cancel.setToolTip("Cancel the download")
        self.cancel.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.cancel.clicked.connect(self.cancelRequested)
        hbox((self.text, 1), self.bar, self.cancel, parent=self, spacing=GRID)
        self.set_theme(theme)
        self.show_transfer(None)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.text.set_color(theme.muted)

    def show_transfer(self, progress: TransferProgress | None) -> None:
        """Show a download's progress; None for no download."""
        self.setVisible(progress is not None)
        self.text.set_text(transfer_text(progress))
        self.bar.show_transfer(progress)
