"""A step's text: Markdown in the application's style, with the answer behind a click."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QKeyEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)

from geometry.checkpoints.plain_text import visible
from gui.state.lessons import OPEN_LINK, PANEL_LINK, Section
from gui.style.theme import GRID, SMALL, Theme
from gui.widgets.links import is_web_page
from gui.widgets.markdown_page import MarkdownPage, blocks, runs
from gui.widgets.tooltips import wrapped

ANSWER = "answer:"
"""The link that shows the answer."""
HEADINGS: Mapping[Section, str] = {
    "look": "LOOK AT",
    "try": "TRY",
    "question": "A QUESTION",
    "answer": "AN ANSWER",
}
LINE_HEIGHT = 125
"""Line height in percent of the font's, for legibility of longer texts."""
_OWN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_LIKE_HTML = QTextDocument.MarkdownFeature.MarkdownNoHTML
_PICTURE = re.compile(r"(?<!\\)((?:\\\\)*)!(?=\[)")
"""Matches the "!" that makes a link a picture, unless it is escaped."""


class LessonPage(MarkdownPage):
    """Shows a text by sections; most keys are left to the window."""

    linked = Signal(QUrl)
    """A link was clicked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(0)
        self._theme = theme
        self._text: dict[Section, str] = {}
        self._answered = False
        self.setAccessibleName("Text of the lesson")
        self.setProperty("ring", True)
        self.setOpenLinks(False)
        self.viewport().setAutoFillBackground(False)
        self.anchorClicked.connect(self.linked)

    def show_text(
        self, text: Mapping[Section, str], *, answered: bool = False, keep: bool = False
    ) -> None:
        """Write Markdown by section; the answer only if ``answered``.

        With ``keep`` the scroll position is kept, for the same text with other numbers.
        """
        self._text, self._answered = dict(text), answered
        at = self.verticalScrollBar().value() if keep else 0
        self.write("\n\n".join(self._parts()), _LIKE_HTML, self._dress)
        self.verticalScrollBar().setValue(at)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.show_text(self._text, answered=self._answered, keep=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Follow a focused link, and scroll by pages; other keys are left to the window."""
        if event.key() in _OWN_KEYS:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def _parts(self) -> Iterator[str]:
        for section, text in self._text.items():
            if section == "answer" and not self._answered:
                yield f"[Show an answer]({ANSWER})"
                continue
            if section in HEADINGS:
                yield f"#### {HEADINGS[section]}"
            # No line break between a number and its sign.
            text = text.replace(" %", "\N{NO-BREAK SPACE}%")
            # Pictures become links: their files would be read from anywhere on this machine.
            yield _PICTURE.sub(r"\1\!", text)

    def _dress(self, document: QTextDocument) -> None:
        for block in blocks(document):
            self._dress_block(block)

    def _dress_block(self, block: QTextBlock) -> None:
        """Format a paragraph."""
        heading = bool(block.blockFormat().headingLevel())
        cursor = QTextCursor(block)
        space = QTextBlockFormat()
        space.setTopMargin(GRID if heading else 0)
        space.setBottomMargin(0 if heading else GRID)
        space.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.mergeBlockFormat(space)
        for start, length, there in runs(block):
            target = there.anchorHref()
            link = _has_action(target)
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            look = QTextCharFormat()
            look.setToolTip(wrapped(visible(target)))
            if not link:
                look.setAnchor(False)
                look.setAnchorHref("")
            look.setForeground(QColor(self._theme.muted if heading else self._theme.text))
            look.setFontUnderline(link)
            if heading:  # instead of Markdown's format
                look.setProperty(QTextCharFormat.Property.FontPixelSize, self._theme.px(SMALL))
                look.setFontWeight(QFont.Weight.DemiBold)
                cursor.setCharFormat(look)
            else:
                cursor.mergeCharFormat(look)


def _has_action(target: str) -> bool:
    """Return whether a link has an action; others are shown as plain text."""
    within = (f"{PANEL_LINK}:", f"{OPEN_LINK}:")
    return target == ANSWER or target.startswith(within) or is_web_page(target)
