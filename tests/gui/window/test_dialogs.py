"""The dialogs: what they say, that they fit a small screen, what buttons do; the status line."""

import pytest
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QScreen
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QWidget

from geometry.checkpoints.stores import TensorInfo
from geometry.checkpoints.suffixes import FILE_SUFFIXES
from geometry.checkpoints.transfer import TransferProgress
from geometry.models.sources.source import Source
from gui.export.save_picture import PictureDialog, PictureOptions
from gui.state.session import Session
from gui.state.values import Notice
from gui.style.theme import LIGHT
from gui.window.actions import COMMANDS
from gui.window.dialogs import TURNING, about_dialog, is_step, shortcuts_dialog, show_text
from gui.window.empty_state import EXPLANATION, EmptyState
from gui.window.host import file_filter
from gui.window.notice_bar import NoticeBar
from gui.window.status_bar import StatusBar
from tests.gui.dialogs import type_number
from tests.gui.on_screen import put_on_screen

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def parent(qtbot, dress):
    dress(LIGHT)
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def words(dialog):
    return [found.text() for found in dialog.findChildren(QLabel)]


def button(dialog, text):
    found = [b for b in dialog.findChildren(QPushButton) if b.text().replace("&", "") == text]
    assert len(found) == 1
    return found[0]


def when_open(act):
    """Do something to the dialog that is about to open."""
    QTimer.singleShot(0, lambda: act(QApplication.activeModalWidget()))


def read_when_open():
    """Read the text of the dialog that is about to open, and leave it by Escape."""
    read = []

    def act(dialog):
        read.append(dialog.findChild(QPlainTextEdit).toPlainText())
        QTest.keyClick(dialog, Qt.Key.Key_Escape)

    when_open(act)
    return read


def test_shortcuts_are_complete_and_fit_a_small_screen(parent):
    dialog = shortcuts_dialog(parent)
    said = words(dialog)
    for command in COMMANDS:
        if is_step(command):
            modifier, arrow = command.key.split("+")
            rows = [row for row in TURNING if row[0].startswith(modifier) and arrow in row[0]]
            assert [command.title.split()[0]] == [row[1] for row in rows]
            assert set(rows[0]) <= set(said)
        elif command.shortcut:
            assert command.key in said
            submenu = [name + ":" for name in command.menu.split("/")[1:]]
            assert " ".join([*submenu, command.title.rstrip("…")]) in said
    assert "Theme: Dark" in said  # "Dark" alone would say nothing
    assert dialog.sizeHint().height() <= 720
    assert dialog.sizeHint().width() <= 1240


@pytest.fixture
def small_screen(monkeypatch):
    """Windows are on a screen of 800 × 560 logical pixels."""
    monkeypatch.setattr(QScreen, "availableSize", lambda self: QSize(800, 560))


@pytest.mark.slow
@pytest.mark.usefixtures("small_screen")
def test_dialogs_fit_the_smallest_screen(start_application, wait_until_idle):
    application = start_application("sample")
    window, shown = application.window, {}
    for name in ("settings", "change_keys", "guide", "palette", "measure_inside"):
        window.commands.by_name[name].trigger()
        wait_until_idle(application)
        for top in QApplication.topLevelWidgets():
            if top is not window and top.isVisible():
                shown[name] = top.size()
                top.close()
    for dialog in (shortcuts_dialog(window), about_dialog(window)):
        shown[dialog.windowTitle()] = dialog.sizeHint()
        dialog.deleteLater()
    assert len(shown) == 7
    assert all(size.width() <= 800 and size.height() < 540 for size in shown.values()), shown


def test_reading_a_long_text_and_what_the_program_is(parent):
    read = read_when_open()
    show_text(parent, "Details", "one\ntwo")
    assert read == ["one\ntwo"]
    said = words(about_dialog(parent))
    assert "Helixscope" in said
    assert not any("not installed" in text for text in said)


def test_picture_options_are_those_that_were_chosen_and_enter_saves(parent, qtbot):
    dialog = PictureDialog(PictureOptions(), QSize(700, 500), parent)
    assert dialog.options() == PictureOptions()
    assert any("1\N{THIN SPACE}400 × 1\N{THIN SPACE}000" in text for text in words(dialog))
    QTest.mouseClick(dialog.scale.buttons["4"], LEFT)
    QTest.mouseClick(dialog.background.buttons["transparent"], LEFT)
    assert dialog.options() == PictureOptions(scale=4, background="transparent")
    assert not dialog.pixels.isVisibleTo(dialog)
    QTest.mouseClick(dialog.scale.buttons["pixels"], LEFT)
    assert dialog.pixels.isVisibleTo(dialog)
    assert dialog.options().pixels == (1400, 1000)  # as on the screen, twice
    type_number(dialog.width_, "1234")
    QTest.mouseClick(dialog.kind.buttons["svg"], LEFT)
    assert dialog.options().pixels == (1234, 1000)
    assert dialog.options().kind == "svg"
    assert any(
        "1\N{THIN SPACE}234 × 1\N{THIN SPACE}000 pixels, drawn as v" in t for t in words(dialog)
    )
    QTest.mouseClick(dialog.scale.buttons["print"], LEFT)
    assert dialog.options().print_mm == (84.0, 63.0)
    assert "Drawn as vectors" in words(dialog)
    assert not dialog.dpi.isEnabled()
    QTest.mouseClick(dialog.kind.buttons["png"], LEFT)
    assert dialog.dpi.isEnabled()
    assert any("992 × 744" in text for text in words(dialog))  # 300 an inch
    QTest.mouseClick(dialog.scale.buttons["4"], LEFT)
    assert not dialog.paper.isVisibleTo(dialog)
    QTest.mouseClick(dialog.what.buttons["window"], LEFT)
    assert not dialog.background.isEnabled()
    assert any("4\N{THIN SPACE}000 × 2\N{THIN SPACE}800" in text for text in words(dialog))
    dialog.show()
    with qtbot.waitSignal(dialog.accepted):
        QTest.keyClick(dialog.scale.buttons["2"], Qt.Key.Key_Return)
    assert not dialog.to_clipboard


def test_the_notice_offers_tables_and_details(parent, qtbot):
    session = Session()
    bar = NoticeBar(session, LIGHT)
    bar.setParent(parent)
    tables = (TensorInfo("a", (9, 4), "F32", 144), TensorInfo("b", (7, 4), "F32", 112))
    session.notice = notice = Notice(
        "What is this?", "Choose.", "trace", tables, Source.parse("source")
    )
    asked = []
    bar.tableRequested.connect(asked.append)
    qtbot.mouseClick(bar.tables_button, LEFT)
    assert asked == [notice]
    read = read_when_open()
    qtbot.mouseClick(bar.details_button, LEFT)
    assert read == ["What is this?\nChoose.\n\ntrace"]
    session.notice = Notice("What is this?", details="Error: What is this?")
    read = read_when_open()
    qtbot.mouseClick(bar.details_button, LEFT)
    assert read == ["Error: What is this?"]
    bar.release()


def test_the_empty_state_shows_all_its_words(qtbot, dress):
    dress(LIGHT)
    empty = put_on_screen(qtbot, EmptyState(Session(), LIGHT), 720, 500)
    QApplication.processEvents()
    explanation = next(x for x in empty.findChildren(QLabel) if x.text() == EXPLANATION)
    assert explanation.height() >= explanation.heightForWidth(explanation.width())


def test_fetching_is_not_ready(qtbot):
    """As a tokenizer, for which nothing is opened or fitted."""
    session = Session()
    bar = put_on_screen(qtbot, StatusBar(session, LIGHT))
    assert bar.status.text() == "Ready"
    session.transfer = TransferProgress("vocab.json", 0, 900_000, None)
    assert bar.status.text() == ""
    assert "vocab.json" in bar.fetch.text.text()
    assert put_on_screen(qtbot, StatusBar(session, LIGHT)).status.text() == ""  # from the start
    for status in ("Opening gpt2…", "Fitting positions 1–1023 exactly…"):
        session.status = status
        assert bar.status.text() == status
    session.status = "Ready"
    assert bar.status.text() == ""
    session.transfer = None
    assert bar.status.text() == "Ready"


def test_status_message_lasts_a_while(qtbot):
    session = Session()
    bar = put_on_screen(qtbot, StatusBar(session, LIGHT))
    session.status = "Saved picture.png"
    assert bar.status.text() == "Saved picture.png"
    assert bar._over.isActive()
    bar._over.timeout.emit()
    assert bar.status.text() == session.status == "Ready"
    session.status = "Opening gpt2…"
    assert not bar._over.isActive()


def test_every_file_that_opens_is_offered():
    globs = file_filter().replace("(", " ").replace(")", " ").split()
    assert {f"*{suffix}" for suffix in FILE_SUFFIXES} <= {*globs}


def test_the_empty_state_is_of_one_colour_up_to_its_edges(qtbot, dress):
    dress(LIGHT)
    empty = put_on_screen(qtbot, EmptyState(Session(), LIGHT), 720, 500)
    picture = empty.grab().toImage()
    edges = [(0, 0), (719, 0), (715, 250), (719, 499), (0, 499)]
    assert {picture.pixelColor(*edge).name() for edge in edges} == {LIGHT.viewport}
