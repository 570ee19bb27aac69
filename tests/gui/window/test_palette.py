"""The command palette: what a few letters mean, and that it is done."""

from dataclasses import replace

import pytest
import shiboken6
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.window.palette import Item, Palette, matching, positions_meant

CONTROL = Qt.KeyboardModifier.ControlModifier


def item(title, kind="View"):
    return Item(title, kind, lambda: None)


ITEMS = [item("Zoom in"), item("Show Norms", "Panels"), item("Isometric view"),
         item("Show Spectra", "Panels"), item("Open GPT-2 small", "Models"),
         item("Show sphere of mean norm")]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("", [one.title for one in ITEMS]),
        ("zoo", ["Zoom in"]),
        ("norm", ["Show Norms", "Show sphere of mean norm"]),
        ("NORMS show", ["Show Norms"]),
        ("panels", ["Show Norms", "Show Spectra"]),
        ("gpt small", ["Open GPT-2 small"]),
        ("2", ["Open GPT-2 small"]),
        ("metric", ["Isometric view"]),
        ("in", ["Zoom in"]),
        ("nothing like it", []),
    ],
)
def test_all_words_of_a_text_and_the_nearest_first(text, titles):
    assert [one.title for one in matching(ITEMS, text)] == titles


@pytest.mark.parametrize(
    ("text", "said"),
    [("7", "Go to position 7"), (" 5-9 ", "Show positions 5–9"), ("5–5", "Show positions 5–5"),
     ("99", "Go to position 99"), ("100", None), ("9-5", None), ("5-100", None), ("x", None),
     ("-3", None), ("1-2-3", None), ("99999999999", None)],
)  # fmt: skip
def test_numbers_are_positions(text, said):
    found = positions_meant(text, 100, lambda _: None, lambda *_: None)
    assert [one.title for one in found] == ([] if said is None else [said])


@pytest.fixture
def palette(window):
    """Open it by its key, as from anywhere."""

    def opened(typed="", focus=None):
        QTest.keyClick(focus or window, Qt.Key.Key_K, CONTROL)
        (shown,) = [w for w in window.findChildren(Palette) if w.isVisible()]
        QTest.keyClicks(shown.field, typed)
        return shown

    return opened


def titles(palette):
    return [palette.list.topLevelItem(i).text(0) for i in range(palette.list.topLevelItemCount())]


def test_a_command_by_its_letters(application, palette):
    shown = palette()
    many = shown.height()
    QTest.keyClicks(shown.field, "parallel")
    assert titles(shown) == ["Parallel projection"]
    assert shown.height() < many
    assert shown.list.topLevelItem(0).text(2) == "P"
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert application.session.projection == "parallel"


def test_arrows_walk_and_a_click_chooses(application, palette):
    shown = palette("show")
    first, second = titles(shown)[:2]
    assert shown.list.currentItem().text(0) == first
    QTest.keyClick(shown.field, Qt.Key.Key_Down)
    assert shown.list.currentItem().text(0) == second
    assert shown.field.text() == "show"
    shown.field.clear()
    QTest.keyClicks(shown.field, "show spectra")
    row = shown.list.visualItemRect(shown.list.topLevelItem(0))
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=row.center())
    QApplication.processEvents()
    assert application.window.panels["spectra"].isVisible()


@pytest.mark.parametrize("how", ["click", "key"])
def test_a_command_runs_once_the_palette_is_gone(palette, how):
    """A dialog's loop would delete the palette while it still handles the event that opened it."""
    shown, alive = palette("export data"), []

    def run():
        loop = QEventLoop()
        QTimer.singleShot(50, loop.quit)
        loop.exec()
        alive.append(shiboken6.isValid(shown))

    row = shown.list.topLevelItem(0)
    row.setData(0, Qt.ItemDataRole.UserRole, replace(ITEMS[0], run=run))
    if how == "click":
        at = shown.list.visualItemRect(row).center()
        QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    else:
        QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert alive == []
    QApplication.processEvents()
    assert alive == [False]


def test_positions_and_a_model(application, palette, wait_until_idle):
    QTest.keyClick(palette("20-60").field, Qt.Key.Key_Enter)
    QApplication.processEvents()
    wait_until_idle(application)
    assert application.session.positions == (20, 60)
    QTest.keyClick(palette("33").field, Qt.Key.Key_Enter)
    QApplication.processEvents()
    assert application.session.selection == (33,)
    QTest.keyClick(palette("open helixscope sample").field, Qt.Key.Key_Return)
    QApplication.processEvents()
    wait_until_idle(application)
    assert application.session.model.source == "sample"


def test_a_text_field_leaves_it_its_key_and_what_is_called_nothing_is_said(application, palette):
    field = application.window.panels["prompt"].field
    field.setFocus()
    QTest.keyClicks(field, "hello")
    before = field.toPlainText()
    shown = palette("qqqq", focus=QApplication.focusWidget())
    assert shown.field.hasFocus()
    assert field.toPlainText() == before
    assert shown.nothing.isVisible()
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert shown.isVisible()
    QTest.keyClick(shown.field, Qt.Key.Key_Escape)  # which closes it
    assert not application.window.findChildren(Palette) or not shown.isVisible()
