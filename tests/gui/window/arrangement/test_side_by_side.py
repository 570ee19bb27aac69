"""The nine GPT-2s of the article by one command; here three small tables stand for them."""

from dataclasses import replace

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from geometry.models.sources.catalogue import CatalogueEntry
from geometry.models.sources.source import Source
from gui.state.values import ModelRow
from gui.window.arrangement.side_by_side import ARTICLE

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def sources(write_table, helix):
    return [str(write_table(helix(120 + n, 16, n), f"gpt2-{n}")) for n in range(3)]


@pytest.fixture
def start(start_application, sources, qtbot):
    """Start the application in a list of models that has those three, all of them here."""

    def started(source=None, *, state="cached", offline=False):
        application = start_application(source, offline=offline)
        application.session.models = tuple(
            ModelRow(CatalogueEntry(path, path, ARTICLE[number % 2], 120, 16, ""), state)
            for number, path in enumerate(sources)
        )
        application.window.activateWindow()
        qtbot.waitUntil(application.window.isActiveWindow)
        return application

    return started


@pytest.fixture
def empty(start, monkeypatch):
    """The application with no model open."""
    monkeypatch.setattr("gui.services.opening.first_source", lambda _: (None, None))
    return start()


def show_nine(application):
    QTest.keyClick(application.window, Qt.Key.Key_9, CTRL)


def names(application):
    return [cell.name.text() for cell in application.window.grid.shown_cells]


@pytest.mark.slow
def test_no_model_here_and_making_room(start, sources, write_gpt2, wait_until_idle):
    application = start(write_gpt2(), state="online", offline=True)
    session = application.session
    show_nine(application)
    assert session.notice.text.startswith("None of the nine GPT-2 models is on this machine")
    assert names(application) == ["tiny-gpt2"]
    application.controller.comparing.add(sources[2])
    wait_until_idle(application)
    show_nine(application)
    wait_until_idle(application)
    assert names(application) == ["tiny-gpt2", "gpt2-2"], "a comparison stays as it is"
    session.models = tuple(replace(row, state="cached") for row in session.models)
    show_nine(application)
    wait_until_idle(application)
    assert names(application) == ["gpt2-0", "gpt2-1", "gpt2-2"]
    application.controller.comparing.clear()
    application.controller.open(sources[1])
    wait_until_idle(application)
    show_nine(application)
    wait_until_idle(application)
    assert names(application) == ["gpt2-1", "gpt2-0", "gpt2-2"]


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["one of them", "another"])
def test_they_take_the_place_of_a_comparison_which_comes_back_by_one_undo(
    start, sources, write_gpt2, write_table, helix, wait_until_idle, opened
):
    source = sources[0] if opened == "one of them" else str(write_gpt2())
    application = start(source, offline=True)
    session, window = application.session, application.window
    window.grid.link_cameras(False)
    key = application.controller.comparing.add(str(write_table(helix(90), "mine")), (5, 80))
    wait_until_idle(application)
    session.others[0].session.components = (2, 1, 3)
    window.grid.cells[key].viewport.camera.view("xy")
    wait_until_idle(application)
    before, looks = names(application), places(window)
    show_nine(application)
    wait_until_idle(application)
    after = names(application)
    assert after == ["gpt2-0", "gpt2-1", "gpt2-2"]
    assert window.commands.by_name["undo"].text() == "Undo: the nine GPT-2s"
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    wait_until_idle(application)
    assert names(application) == before
    (mine,) = session.others
    assert (mine.session.positions, mine.session.components) == ((5, 80), (2, 1, 3))
    np.testing.assert_allclose(places(window), looks, atol=1e-6)
    assert window.commands.by_name["undo"].text() == "Undo: adding mine.npy"
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.ShiftModifier)
    wait_until_idle(application)
    assert names(application) == after


def places(window):
    return [cell.viewport.camera.place.pose.position for cell in window.grid.shown_cells]


@pytest.mark.slow
def test_failed_view_can_be_retried(start, sources, write_table, tmp_path, helix, wait_until_idle):
    application = start(sources[0])
    session, window = application.session, application.window
    window.start_in("compare")
    key = application.controller.comparing.add(str(tmp_path / "late.npy"))
    wait_until_idle(application)
    cell = window.grid.cells[key]
    assert cell.facts.text() == "could not be opened"
    rows = window.panels["compare"].content.table.rows
    span = [rows.index(row, 2).data() for row in range(2)]
    assert span == ["1–119", "could not be opened"]
    write_table(helix(60), "late")
    menu = cell.make_menu()
    next(one for one in menu.actions() if one.text() == "Try again").trigger()
    wait_until_idle(application)
    assert names(application) == ["gpt2-0", "late"]
    assert session.others[0].failed == ""
    assert [rows.index(row, 2).data() for row in range(2)] == ["1–119", "1–59"]
    assert "Try again" not in [one.text() for one in cell.make_menu().actions()]


def test_a_model_of_the_hub_that_is_not_here_says_so_offline(start, sources, wait_until_idle):
    application = start(sources[0], offline=True)
    application.window.start_in("compare")
    application.controller.comparing.add("nobody/nothing")
    wait_until_idle(application)
    rows = application.window.panels["compare"].content.table.rows
    assert rows.index(1, 2).data() == "could not be opened"
    (other,) = application.session.others
    assert "nobody/nothing is not on this machine" in other.failed


def test_view_menu_belongs_to_the_window(start, sources, wait_until_idle, qtbot, qtlog):
    application = start(sources[0])
    window, comparing = application.window, application.controller.comparing
    key = comparing.add(sources[1])
    wait_until_idle(application)
    header = window.grid.cells[key].header
    QTest.mouseClick(header, Qt.MouseButton.RightButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert not [one.message for one in qtlog.records if "top level" in one.message]
    comparing.remove(key)
    qtbot.waitUntil(lambda: not shiboken6.isValid(menu))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancelled", "another one"])
def test_empty_window_shows_all(empty, sources, write_gpt2, wait_until_idle, monkeypatch, how):
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(empty.controller, "open", asked.append)
        show_nine(empty)
    assert asked == [Source.parse(sources[0])]
    assert empty.session.others == ()
    if how == "cancelled":
        empty.session.opening = Source.parse(sources[0])
        empty.controller.cancel()
    else:
        empty.controller.open(str(write_gpt2()))
        wait_until_idle(empty)
    empty.controller.open(sources[0])
    wait_until_idle(empty)
    assert names(empty) == ["gpt2-0"]
    show_nine(empty)
    wait_until_idle(empty)
    assert names(empty) == ["gpt2-0", "gpt2-1", "gpt2-2"]
    assert empty.session.notice is None
