"""Bookmarks in the window: made, named, gone to, removed and carried, by keys and mouse."""

import io

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.export.save_picture import PictureOptions
from gui.services.jobs.jobs import InlineJobs
from gui.services.work_files.bookmarks import Bookmarks
from gui.services.work_files.work_file import read_work
from gui.side_panels.bookmark_row import PICTURE, SMALLER
from gui.side_panels.bookmarks import EMPTY, BookmarksPanel
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT
from gui.window.bookmark_keeper import connect
from gui.window.palette import items_of, matching
from gui.window.settings.settings import Settings
from tests.gui.dialogs import answer_file
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import LEFT, NONE
from tests.gui.services.work_files.test_work_file import WORK

CONTROL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


def picture():
    """A picture of a bookmark."""
    Image.new("RGB", (320, 240), "white").save(drawn := io.BytesIO(), "PNG")
    return drawn.getvalue()


@pytest.fixture
def alone(qtbot, tmp_path):
    """The panel alone with two bookmarks, of which the second is chosen."""
    session = Session()
    bookmarks = Bookmarks(session, tmp_path / "bookmarks.zip", InlineJobs())
    keys = [bookmarks.add(f"View {n}", "gpt2", WORK, picture()) for n in (1, 2)]
    panel = put_on_screen(qtbot, BookmarksPanel(session, LIGHT), 280, 500)
    connect(panel, bookmarks)
    with qtbot.waitActive(panel):
        panel.activateWindow()
    panel.choose(keys[1])
    panel.setFocus()
    return panel


@pytest.fixture
def application(application):
    """The window, with no bookmarks in its file."""
    application.settings.bookmarks.unlink(missing_ok=True)
    application.window.bookmarks.bookmarks._removed.clear()
    return application


@pytest.fixture
def key(qtbot):
    """Press keys in the window, wherever they go."""

    def press(window, code, modifiers=NONE):
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QTest.keyClick(window.focusWidget() or window, code, modifiers)

    return press


@pytest.fixture
def bookmark(key, wait_until_idle):
    """Bookmark what is shown."""

    def make(application):
        wait_until_idle(application)
        key(application.window, Qt.Key.Key_D, CONTROL)
        wait_until_idle(application)
        return application.session.bookmarks[-1]

    return make


@pytest.fixture
def two(application, bookmark):
    """The application with two bookmarks, of a part and of the whole."""
    session = application.session
    session.change(components=(2, 1, 3), color_by="norm", selection=(20, 30))
    session.positions = (4, 120)
    bookmark(application)
    session.change(components=(1, 2, 3), color_by="position", selection=())
    session.positions = (1, 199)
    application.window.viewport.camera.view("xy")
    bookmark(application)
    return application


def panel_of(application) -> BookmarksPanel:
    return application.window.panels["bookmarks"]


def names(panel) -> list[str]:
    return [row.name.text() for row in panel.rows.values()]


def pixels(application) -> np.ndarray:
    image: QImage = application.window.pictures.picture(PictureOptions(scale=1))
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def test_an_empty_name_leaves_the_one_before_and_there_is_a_menu(alone):
    row = alone.rows[alone.current]
    row.rename()
    QTest.keyClick(row.name, Qt.Key.Key_Delete)
    alone.setFocus()
    assert row.name.text() == "View 2"
    assert alone.session.bookmarks[1].name == "View 2"
    first = next(iter(alone.rows.values()))
    QTest.mouseClick(first.thumbnail, LEFT)
    first.menuRequested.emit(first.mapToGlobal(first.rect().center()))
    menu = QApplication.activePopupWidget()
    texts = {action.text().partition("\t")[0]: action for action in menu.actions()}
    assert list(texts) == ["Go to", "Rename", "Move up", "Move down", "Remove"]
    texts["Move down"].trigger()
    menu.close()
    assert names(alone) == ["View 2", "View 1"]


@pytest.mark.parametrize("name", ["Go to", "Rename", "Move up", "Move down", "Remove"])
def test_the_menu_of_one_that_another_window_has_removed_does_nothing(alone, name):
    panel, gone = alone, []
    key = next(iter(panel.rows))
    panel.choose(key)
    first = panel.rows[key]
    first.menuRequested.emit(first.mapToGlobal(first.rect().center()))
    menu = QApplication.activePopupWidget()
    (action,) = (one for one in menu.actions() if one.text().partition("\t")[0] == name)
    for signal in (panel.goRequested, panel.moveRequested, panel.removeRequested):
        signal.connect(lambda *asked: gone.append(asked))
    session = panel.session
    session.bookmarks = tuple(one for one in session.bookmarks if one.key != key)
    assert key not in panel.rows
    action.trigger()
    menu.close()
    assert gone == []


def test_what_is_removed_leaves_words_and_is_brought_back(alone, key):
    for _ in range(2):
        QTest.mouseClick(alone.remove, LEFT)
    assert alone.rows == {}
    assert alone.empty.isVisible()
    assert alone.empty.text() == EMPTY
    assert not alone.go.isVisible()
    assert alone.removed.text() == "Removed “View 1”."
    QTest.mouseClick(alone.back, LEFT)
    assert names(alone) == ["View 1"]
    assert alone.removed.text() == "Removed “View 2”."
    QTest.mouseClick(alone.back, LEFT)
    assert names(alone) == ["View 1", "View 2"]
    assert not alone.back.isVisible()
    key(alone, Qt.Key.Key_Up)
    key(alone, Qt.Key.Key_Delete)
    assert names(alone) == ["View 2"]
    assert alone.removed.text() == "Removed “View 1”."
    assert alone.rows[alone.current].thumbnail.hasFocus()
    QTest.mouseClick(alone.back, LEFT)
    assert names(alone) == ["View 1", "View 2"]
    assert alone.current == alone.session.bookmarks[0].key
    assert not alone.back.isVisible()


def test_rows_move_by_keys_and_buttons(alone, key):
    key(alone, Qt.Key.Key_Up, ALT)
    assert names(alone) == ["View 2", "View 1"]
    assert alone.rows[alone.current].name.text() == "View 2"
    assert not alone.up.isEnabled()
    first, second = alone.rows.values()
    assert first.thumbnail.hasFocus()
    for expected in (first.name, first.note, second.thumbnail, second.name, second.note, alone.go):
        key(alone, Qt.Key.Key_Tab)
        assert expected.hasFocus()
    alone.choose(alone.session.bookmarks[0].key)
    QTest.mouseClick(alone.down, LEFT)
    assert names(alone) == ["View 1", "View 2"]
    assert not alone.down.isEnabled()


def test_pictures_grow_and_themes_reach_rows(alone, qtbot):
    row = alone.rows[alone.current]
    assert row.thumbnail.size() == SMALLER
    alone.resize(480, 500)
    qtbot.waitUntil(lambda: row.thumbnail.size() == PICTURE)
    for theme in (DARK, LIGHT):
        alone.set_theme(theme)
        frames = {
            row.thumbnail.grab().toImage().pixelColor(0, 0).name() for row in alone.rows.values()
        }
        assert frames <= {theme.line, theme.muted, theme.text}


@pytest.mark.slow
def test_control_d_keeps_view_and_picture(application, bookmark):
    assert not application.window.docks["bookmarks"].isVisible()
    one = bookmark(application)
    panel = panel_of(application)
    assert panel.isVisible()
    assert (one.name, one.model, one.work.positions) == ("View 1", "tiny-gpt2", (1, 199))
    with Image.open(io.BytesIO(one.picture)) as picture:
        assert picture.format == "PNG"
        assert picture.width == 320 or picture.height == 240
        colourful = np.ptp(np.array(picture.convert("RGB")).astype(int), axis=2) > 60
        assert colourful.mean() > 0.005
        rgb = np.array(picture.convert("RGB"))
        drawn = (rgb != rgb[0, 0]).any(axis=2)
        # No caption in a corner, no bar of colours: so small, nobody could read them.
        for edge in (drawn[:5], drawn[-5:, :160], drawn[:, :5], drawn[:100, -5:]):
            assert not edge.any()
    row = panel.rows[one.key]
    assert row.scope.text() == "tiny-gpt2 · positions 1–199"
    assert row.thumbnail.accessibleName() == "View 1: tiny-gpt2 · positions 1–199"
    assert not panel.empty.isVisible()
    window = application.window
    window.bookmarks.show()
    window.commands.by_name["reset_layout"].trigger()
    assert not window.docks["bookmarks"].isVisible()
    window.docks["bookmarks"].toggleViewAction().trigger()
    assert panel_of(application).isVisible()


@pytest.mark.slow
def test_enter_goes_there_and_undo_comes_back(two, key, wait_until_idle):
    window, session, panel = two.window, two.session, panel_of(two)
    before = pixels(two)
    panel.setFocus()
    key(two.window, Qt.Key.Key_Up)
    assert panel.current == session.bookmarks[0].key
    model = session.model
    key(two.window, Qt.Key.Key_Return)
    wait_until_idle(two)
    assert session.model is model
    assert session.positions == session.curve.pca.positions == (4, 120)
    assert (session.components, session.color_by) == ((2, 1, 3), "norm")
    assert session.selection == (20, 30)
    assert session.notice is None
    place = session.bookmarks[0].work.place.pose
    np.testing.assert_allclose(window.viewport.camera.place.pose.position, place.position)
    for _ in range(2):
        key(two.window, Qt.Key.Key_Z, CONTROL)
        wait_until_idle(two)
    assert session.positions == (1, 199)
    assert session.selection == ()
    assert np.abs(pixels(two) - before).max() <= 3


@pytest.mark.slow
def test_bookmark_shows_same_pixels_in_other_model(two, wait_until_idle, write_table):
    before, panel = pixels(two), panel_of(two)
    first, second = panel.rows.values()
    QTest.mouseDClick(first.thumbnail, LEFT)
    wait_until_idle(two)
    assert np.abs(pixels(two) - before).max() > 50
    QTest.mouseDClick(second.thumbnail, LEFT)
    wait_until_idle(two)
    assert np.abs(pixels(two) - before).max() <= 3
    (item,) = matching(items_of(two.window, two.window.bookmarks.items()), "go to view 1")
    assert (item.title, item.kind) == ("Go to “View 1”", "Bookmarks")
    item.run()
    wait_until_idle(two)
    assert two.session.positions == (4, 120)
    commands = items_of(two.window, two.window.bookmarks.items())
    assert len(matching(commands, "show bookmarks")) == 1
    two.controller.open(str(write_table()))
    wait_until_idle(two)
    panel, session = panel_of(two), two.session
    panel.choose(session.bookmarks[0].key)
    QTest.mouseClick(panel.go, LEFT)
    wait_until_idle(two)
    assert session.model.name == "tiny-gpt2"
    assert session.curve.pca.positions == (4, 120)
    assert session.notice is None


@pytest.mark.slow
def test_name_and_note_in_place(start_application, write_gpt2, bookmark, key, settings, qtbot):
    two = start_application(write_gpt2())
    bookmark(two)
    bookmark(two)
    panel = panel_of(two)
    row = panel.rows[panel.current]
    qtbot.waitUntil(row.thumbnail.isVisible)
    panel.setFocus()
    key(two.window, Qt.Key.Key_Tab)
    assert row.name.hasFocus()
    assert row.name.selectedText() == "View 2"
    QTest.keyClicks(row.name, "From above")
    key(two.window, Qt.Key.Key_Return)
    assert row.thumbnail.hasFocus()
    qtbot.waitUntil(lambda: two.session.bookmarks[1].name == "From above")
    row.note.setFocus()
    QTest.keyClicks(row.note, "Three turns")
    QTest.keyClick(row.note, Qt.Key.Key_Return)
    QTest.keyClicks(row.note, "op in 199 positions")
    # Letters in a note are no commands.
    assert (two.session.outside, two.session.projection) == ("hidden", "perspective")
    two.close()  # while it is being written
    # The panel is there again where it was left open.
    again = start_application(settings=settings)
    assert [(one.name, one.note) for one in again.session.bookmarks] == [
        ("View 1", ""),
        ("From above", "Three turns\nop in 199 positions"),
    ]
    assert names(panel_of(again)) == ["View 1", "From above"]


@pytest.mark.slow
def test_saved_work_carries_them_to_another_machine(
    bookmark, key, tmp_path, monkeypatch, start_application, write_gpt2, wait_until_idle
):
    here = start_application(write_gpt2(), positions=(4, 120))
    bookmark(here)
    path = tmp_path / "mine.helix"
    answer_file(monkeypatch, path)
    key(here.window, Qt.Key.Key_S, CONTROL | ALT)
    wait_until_idle(here)
    assert [one.work.beside for one in read_work(path).bookmarks] == ["tiny-gpt2"]
    here.close()
    (tmp_path / "there").mkdir()
    for name in ("tiny-gpt2", "mine.helix"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    settings = Settings(tmp_path / "fresh" / "settings.json")
    fresh = start_application(tmp_path / "there" / "mine.helix", settings=settings)
    assert [one.name for one in fresh.session.bookmarks] == ["View 1"]
    fresh.window.bookmarks.go_to(fresh.session.bookmarks[0].key)
    wait_until_idle(fresh)
    assert fresh.session.positions == (4, 120)
    assert fresh.session.notice is None
    assert settings.bookmarks.exists()


@pytest.mark.slow
def test_without_a_model_there_is_nothing_to_keep(start_application, key, monkeypatch):
    monkeypatch.setattr("gui.services.opening.first_source", lambda _: (None, None))
    application = start_application()
    assert application.session.model is None
    application.window.bookmarks.show()
    panel = panel_of(application)
    assert panel.isVisible()
    assert panel.empty.isVisible()
    assert not panel.add.isEnabled()
    application.window.bookmarks.add()
    assert application.session.bookmarks == ()


@pytest.mark.slow
def test_the_models_side_by_side_stay(two, write_table, helix, wait_until_idle):
    session, comparing = two.session, two.controller.comparing
    other = comparing.add(str(write_table(helix(120, 16, 3), "other")))
    wait_until_idle(two)
    comparing.make_current(other)
    wait_until_idle(two)
    assert session.model.name == "other"
    first, second = session.bookmarks
    for bookmark in (first, second):
        two.window.bookmarks.go_to(bookmark.key)
        wait_until_idle(two)
        assert session.model.name == "tiny-gpt2"
        assert session.positions == session.curve.pca.positions == bookmark.work.positions
        assert [one.session.model.name for one in session.others] == ["other"]


def test_no_size_lets_the_layout_go_round_in_circles(application, qtbot, tmp_path):
    """At some, a scroll bar that came and went changed the width, and with it the height."""
    session = Session()
    bookmarks = Bookmarks(session, tmp_path / "bookmarks.zip", InlineJobs())
    for words in (20, 0):
        model = "gpt2 · positions 1–1023 · PC 1, 2, 3"
        bookmarks.add("View", model, WORK, picture(), note="word " * words)
    panel = put_on_screen(qtbot, BookmarksPanel(session, LIGHT), 350, 500)
    for size in ((380, 267), (384, 349)):
        panel.resize(*size)
        QApplication.processEvents()
    assert (panel.width(), panel.height()) == (384, 349)
