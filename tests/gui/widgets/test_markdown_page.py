"""Pages of Markdown: another text while a cursor of the old one is in use."""

import pytest
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QApplication

from gui.widgets.markdown_page import MarkdownPage, blocks, runs
from tests.gui.on_screen import put_on_screen

FEATURES = QTextDocument.MarkdownFeature.MarkdownNoHTML
LONG = "\n\n".join(f"Paragraph {number} with [a link](somewhere)." for number in range(60))


def undressed(document):
    pass


@pytest.fixture
def page(qtbot):
    made = MarkdownPage(8)
    made.write(LONG, FEATURES, undressed)
    return put_on_screen(qtbot, made, 300, 200, active=True)


def test_a_text_is_dressed_before_it_is_shown(page):
    before, dressed = page.document(), []

    def dress(document):
        assert page.document() is before
        dressed.extend(block.text() for block in blocks(document))

    page.write("One.\n\nTwo.", FEATURES, dress)
    assert dressed == ["One.", "Two."]
    assert page.document().documentMargin() == 8
    assert not page.document().isUndoRedoEnabled()
    first = next(blocks(page.document()))
    assert [(start, length) for start, length, _ in runs(first)] == [(0, 4)]


def test_cursor_stays_with_the_scroll_bar_focus(page, qtbot):
    """A screen reader may focus the bar; as it hides, Qt moves the cursor of the page to a link."""
    bar = page.verticalScrollBar()
    bar.setFocus()
    assert QApplication.focusWidget() is bar
    page.write("Short.", FEATURES, undressed)
    qtbot.waitUntil(lambda: not bar.isVisible())
    at = page.textCursor().position()
    QTextCursor(page.document()).insertText("before ")
    assert page.textCursor().position() == at + len("before ")


def test_old_texts_are_deleted(page, qtbot):
    for text in ("One.", "Two.", "Three."):
        page.write(text, FEATURES, undressed)
    qtbot.waitUntil(lambda: len(page.findChildren(QTextDocument)) == 1)
    assert page.toPlainText() == "Three."
