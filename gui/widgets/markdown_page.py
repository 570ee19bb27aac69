"""Markdown on a page, formatted in the application's style."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QTextBrowser, QWidget

from gui.widgets.native_keys import native_keys


class MarkdownPage(QTextBrowser):
    """Shows a text of Markdown.

    Each text is a new document, as a shown document cannot be cleared safely: Qt saves the cursors
    of a document meanwhile, and lays it out. If that hides a scroll bar with the focus, the page
    moves its cursor to a link, and a dangling pointer to the old one stays among those saved.
    """

    def __init__(self, margin: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._margin = margin
        self._written: QTextDocument | None = None
        self.document().setDocumentMargin(margin)

    def write(
        self,
        markdown: str,
        features: QTextDocument.MarkdownFeature,
        dress: Callable[[QTextDocument], None],
    ) -> None:
        """Show another text, once ``dress`` has formatted it."""
        document = QTextDocument(self)  # the parent, which loads its pictures
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(self.font())
        document.setDocumentMargin(self._margin)
        document.setMarkdown(native_keys(markdown), features)
        dress(document)
        self.setDocument(document)
        if self._written is not None:
            self._written.deleteLater()
        self._written = document


def blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    """Yield the paragraphs of a document."""
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def runs(block: QTextBlock) -> list[tuple[int, int, QTextCharFormat]]:
    """Return position, length and format of each text fragment of a block."""
    fragments, iterator = [], block.begin()
    while not iterator.atEnd():
        run = iterator.fragment()
        fragments.append((run.position(), run.length(), run.charFormat()))
        iterator += 1
    return fragments
