"""The row for an opening: name, progress, cancel button."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolTip, QWidget

from geometry.checkpoints.plain_text import visible
from geometry.checkpoints.transfer import TransferProgress
from gui.style.theme import GRID, SMALL, TEXT, Theme, format_bytes, format_part
from gui.widgets.boxes import hbox, vbox
from gui.widgets.fonts import sized
from gui.widgets.share_bar import ShareBar
from gui.widgets.tooltips import wrapped

SMALL_PIECE = 200_000
"""Size in bytes below which a download is too short for a bar, which would flicker."""


def transfer_lines(progress: TransferProgress | None) -> tuple[str, str]:
    """Describe a download's progress in two short lines; the second is used only for waits."""
    if progress is None:
        return "", ""
    if progress.waiting:
        why, _, then = progress.waiting.rstrip().rpartition(". ")
        return (f"{why}.", then) if why else (then, "")
    if progress.total <= 0 and progress.done:  # unknown size
        return f"Downloading {progress.what}: {format_bytes(progress.done)} so far", ""
    if progress.total <= 0:
        return f"Requesting {progress.what}…", ""
    if share_of(progress) is None:
        return f"Reading {progress.what}…", ""
    text = format_part(progress.done, progress.total)
    if progress.bytes_per_second is not None and progress.done < progress.total:
        text += f" · {format_bytes(progress.bytes_per_second)}/s"
    return text, ""


def share_of(progress: TransferProgress | None) -> float | None:
    """Return the share of a download that is done, None if it is not to be shown as a bar."""
    if progress is None or progress.total < SMALL_PIECE:
        return None
    return progress.done / progress.total


class FixedText(QWidget):
    """Lines of text of fixed height, which only repaint when they change.

    A QLabel requests a new layout for every text. Long lines are wrapped if there is room for more
    lines, otherwise elided, and complete in the tooltip.
    """

    def __init__(
        self, lines: int, pixels: int, elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__()
        self._room, self._pixels, self._elide = lines, pixels, elide
        self._lines: tuple[str, ...] = ()
        self._color = QColor()
        self.kept = 0
        """Pixels at the right end that are left to another widget."""
        self.tip = ""
        """Text of the tooltip below the full text."""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return the full text, even if elided."""
        return "\n".join(self._lines)

    def set_text(self, *lines: str) -> None:
        """Set the lines."""
        lines = tuple(visible(line) for line in lines if line)
        if lines != self._lines:
            self._lines = lines
            self.setAccessibleName(" ".join(lines))
            self.update()

    def set_room(self, lines: int) -> None:
        """Set the height in lines."""
        if lines != self._room:
            self._room = lines
            self.updateGeometry()
            self.update()

    def rows(self, metrics: QFontMetrics) -> list[str]:
        """Return the text as it is shown, row by row."""
        width, spare = max(self.width() - self.kept, 0), self._room - len(self._lines)
        rows = []
        for line in self._lines[: self._room]:
            remaining = line
            while spare > 0 and metrics.horizontalAdvance(remaining) > width:
                head = _head(remaining, metrics, width)
                if not head:
                    break
                rows.append(head)
                remaining, spare = remaining[len(head) :].lstrip(), spare - 1
            rows.append(metrics.elidedText(remaining, self._elide, width))
        return rows

    def set_color(self, color: str) -> None:
        """Set the colour."""
        self._color = QColor(color)
        self.update()

    def keep_free(self, width: int) -> None:
        """Leave some pixels at the right end to another widget."""
        if width != self.kept:
            self.kept = width
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, self._room * self._line_height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = "\n".join(filter(None, (self.text(), self.tip)))
            QToolTip.showText(event.globalPos(), wrapped(text), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font())
        painter.setPen(self._color)
        metrics = painter.fontMetrics()
        height = metrics.height()
        for row, shown in enumerate(self.rows(metrics)):
            painter.drawText(
                0, row * height, self.width(), height, Qt.AlignmentFlag.AlignVCenter, shown
            )

    def _font(self) -> QFont:
        font = sized(self.font(), self._pixels)
        # Tabular figures, if the font has them, so that changing numbers do not move.
        font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def _line_height(self) -> int:
        return QFontMetrics(self._font()).height()


def _head(line: str, metrics: QFontMetrics, width: int) -> str:
    """Return as many words of a line as fit into a width; "" if not even the first one fits."""
    end = 0
    for match in re.finditer(r"\S+", line):
        if metrics.horizontalAdvance(line[: match.end()]) > width:
            break
        end = match.end()
    return line[:end]


class OpeningRow(QWidget):
    """Name, progress and "Cancel", with constant height."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.name = FixedText(1, TEXT, Qt.TextElideMode.ElideMiddle)
        self.details = FixedText(2, SMALL)
        self.bar = ShareBar("Opening")
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Cancel opening; the current model stays open")
        below = hbox((self.details, 1), self.cancel, spacing=GRID)
        vbox(self.name, self.bar, below, parent=self, spacing=GRID // 2)
        self.set_theme(theme)
        self.show_transfer(None)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.name.set_color(theme.text)
        self.details.set_color(theme.muted)

    def show_source(self, title: str, source: str) -> None:
        """Show the source being opened."""
        self.name.set_text(f"Opening {title}…")
        self.name.tip = "" if source == title else source

    def show_transfer(self, progress: TransferProgress | None) -> None:
        """Show the progress; None if there is no download, or not yet."""
        self.details.set_text(*transfer_lines(progress))
        share = share_of(progress)
        self.details.tip = "" if progress is None or share is None else progress.what
        self.bar.show_share(share)
