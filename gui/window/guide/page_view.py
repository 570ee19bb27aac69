"""A page of the guide: Markdown with its pictures in the application's style."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QImage,
    QPainter,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)
from PySide6.QtWidgets import QTextEdit

from gui.style.theme import GRID, TEXT, TITLE, Theme
from gui.widgets.links import is_web_page, open_web_page
from gui.widgets.markdown_page import MarkdownPage, blocks, runs
from gui.widgets.tooltips import wrapped
from gui.window.guide.pages import Page, UserGuide, anchor

DIMMED = 0.3
"""Opacity of the shade over pictures, which show light windows, in the dark theme."""
LINE_HEIGHT = 130
"""Line height in percent of the font's, for legibility of longer texts."""
MARGIN = 2 * GRID
_FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
_FENCED = QTextFormat.Property.BlockCodeFence


class GuidePage(MarkdownPage):
    """Shows a page with scaled pictures; links open pages of the guide, or the browser."""

    followed = Signal(str)
    """A link to another place of the guide, by its address."""

    def __init__(self, guide: UserGuide, theme: Theme) -> None:
        super().__init__(MARGIN)
        self._guide, self._theme = guide, theme
        self._page: Page | None = None
        self._words: Sequence[str] = ()
        self._images: dict[str, QImage] = {}
        self.setAccessibleName("Page of the guide")
        self.setProperty("ring", True)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._on_link)

    def show_page(self, page: Page) -> None:
        """Show a page from its beginning."""
        if page is not self._page:
            self._page = page
            self._images.clear()
            self._write()
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(0)

    def go_to(self, part: str) -> None:
        """Scroll to the section with an anchor."""
        for block in blocks(self.document()):
            if block.blockFormat().headingLevel() and anchor(block.text()) == part:
                self._scroll_to(block.blockNumber())
                return

    def return_to(self, scrolled: int) -> None:
        """Scroll to a number of pixels below the page's beginning."""
        self.document().size()  # lays all of it out, which sets the bar's range
        self.verticalScrollBar().setValue(scrolled)

    def _scroll_to(self, number: int, below: int = 0) -> None:
        """Scroll to a number of pixels below the beginning of a block."""
        top = self._top(number)
        self.setTextCursor(QTextCursor(self.document().findBlockByNumber(number)))
        self.verticalScrollBar().setValue(top + below)

    def _top(self, number: int) -> int:
        """Return the top of a block, in pixels from the page's beginning."""
        document = self.document()
        document.size()  # lays all of it out
        block = document.findBlockByNumber(number)
        return round(document.documentLayout().blockBoundingRect(block).top())

    def _place(self) -> tuple[int, int]:
        """Return the number of the block at the top, and how many pixels of it are above."""
        number = self.cursorForPosition(QPoint(MARGIN, MARGIN // 2)).blockNumber()
        return number, self.verticalScrollBar().value() - self._top(number)

    def highlight(self, words: Sequence[str]) -> None:
        """Mark all occurrences of some words."""
        self._words = tuple(words)
        marks = []
        for word in self._words:
            cursor = self.document().find(word)
            while not cursor.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = cursor
                mark.format.setBackground(QColor(self._theme.faint))
                mark.format.setForeground(QColor(self._theme.text))
                marks.append(mark)
                cursor = self.document().find(word, cursor)
        self.setExtraSelections(marks)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours, and the sizes of texts."""
        self._theme = theme
        if not self.isVisible():
            self._page = None  # written anew when it is shown
        if self._page is None:
            return
        number, below = self._place()
        self._write()
        self._scroll_to(number, below)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit pictures into the width, and keep the place at the top."""
        document, (number, below) = self.document(), self._place()
        super().resizeEvent(event)
        for name in self._images:
            url = QUrl(name)
            document.addResource(document.ResourceType.ImageResource, url, self._fitted(name))
        if self._images:
            document.markContentsDirty(0, document.characterCount())
        self.verticalScrollBar().setValue(self._top(number) + below)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Return a picture of the guide; nothing else is loaded."""
        if kind != int(QTextDocument.ResourceType.ImageResource.value):
            return None
        address = name.toString() if isinstance(name, QUrl) else name
        file = Path(self._guide.folder, address).resolve()
        if not file.is_relative_to(self._guide.folder.parent.resolve()):
            return QImage()
        self._images[address] = QImage(str(file))
        return self._fitted(address)

    def _fitted(self, name: str) -> QImage:
        image, ratio = self._images[name], self.devicePixelRatioF()
        width = round(ratio * max(self.viewport().width() - 2 * MARGIN, 1))
        if image.width() > width:
            image = image.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
            image.setDevicePixelRatio(ratio)
        return _dimmed(image) if self._theme.name == "dark" else image

    def _on_link(self, url: QUrl) -> None:
        link = url.toString()
        assert self._page is not None
        target = self._guide.target(link, self._page.name)
        if target is not None:
            self.followed.emit(target)
        else:
            open_web_page(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # ---- style -------------------------------------------------------------------------

    def _write(self) -> None:
        assert self._page is not None
        self.write(self._page.markdown, _FEATURES, self._dress)
        self.highlight(self._words)

    def _dress(self, document: QTextDocument) -> None:
        for block in blocks(document):
            self._dress_block(block)
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._dress_table(frame)

    def _dress_block(self, block: QTextBlock) -> None:
        """Format a paragraph, a heading, or a line of code."""
        kind = block.blockFormat()
        level, code = kind.headingLevel(), kind.hasProperty(_FENCED)
        cursor = QTextCursor(block)
        in_table, item = cursor.currentTable() is not None, block.textList() is not None
        look = QTextBlockFormat()
        look.setTopMargin((0, 0, 3 * GRID, 2 * GRID)[min(level, 3)])
        after = block.next()
        goes_on = code and after.isValid() and after.blockFormat().hasProperty(_FENCED)
        in_list = item and after.isValid() and after.textList() is not None
        look.setBottomMargin(0 if in_table or goes_on else GRID // 2 if in_list else GRID)
        picture = any(format_.isImageFormat() for _, _, format_ in runs(block))
        height = 100 if picture else LINE_HEIGHT
        look.setLineHeight(height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if code:
            look.setBackground(QColor(self._theme.panel))
            look.setNonBreakableLines(False)
        cursor.mergeBlockFormat(look)
        for start, length, format_ in runs(block):
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            self._dress_run(cursor, format_, level)

    def _dress_run(self, cursor: QTextCursor, there: QTextCharFormat, level: int) -> None:
        if there.isImageFormat():
            return
        assert self._page is not None
        look, link = QTextCharFormat(there), there.anchorHref()
        leads = self._guide.target(link, self._page.name) is not None or is_web_page(link)
        look.setForeground(QColor(self._theme.text))
        size = self._theme.px(TITLE if level == 1 else TEXT)
        look.setProperty(QTextFormat.Property.FontPixelSize, size)
        if level:
            look.clearProperty(QTextFormat.Property.FontSizeAdjustment)
            look.setFontWeight(QFont.Weight.DemiBold)
        if there.fontFixedPitch():
            fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
            look.setFontFamilies(fixed.families())
        if link:
            look.setFontUnderline(leads)
            look.setToolTip(wrapped(link if is_web_page(link) else ""))
            if not leads:
                look.setAnchor(False)
                look.setAnchorHref("")
        cursor.setCharFormat(look)

    def _dress_table(self, table: QTextTable) -> None:
        look = table.format()
        look.setBorder(1)
        look.setBorderBrush(QColor(self._theme.line))
        look.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        look.setBorderCollapse(True)
        look.setCellPadding(GRID // 2)
        look.setCellSpacing(0)
        look.setBottomMargin(GRID)
        look.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        table.setFormat(look)


def _dimmed(image: QImage) -> QImage:
    shaded = image.convertToFormat(QImage.Format.Format_RGB32)
    painter = QPainter(shaded)
    painter.setOpacity(DIMMED)
    painter.fillRect(shaded.rect(), Qt.GlobalColor.black)
    painter.end()
    return shaded
