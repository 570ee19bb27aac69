"""Colours over the shown range, in the window: its switch, and all that shows or keeps it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.export import pictures
from gui.services.work_files.work_file import read_work
from gui.window.palette import Palette

LEFT = Qt.MouseButton.LeftButton


def bar_of(application):
    bar = application.window.viewport.scene._bar
    return bar.low.text, bar.high.text


@pytest.mark.slow
def test_a_click_on_the_switch_a_key_the_menu_and_the_palette(application, window, settle):
    session, action = application.session, window.commands.by_name["color_range"]
    switch = window.panels["view"].color_span
    application.controller.request_positions(10, 60)
    settle()
    last = session.model.n_positions - 1
    assert bar_of(application) == ("10", "60")
    assert action.isChecked()
    session.color_span = "table"
    window.undo.clear()
    settle()
    assert bar_of(application) == ("0", str(last))
    before = window.viewport.interactor.grab().toImage()
    QTest.mouseClick(switch.buttons["range"], LEFT)
    settle()
    assert session.color_span == "range"
    assert bar_of(application) == ("10", "60")
    assert window.viewport.interactor.grab().toImage() != before
    assert action.isChecked()
    window.undo.undo()
    settle()
    assert bar_of(application) == ("0", str(last))
    assert switch.buttons["table"].isChecked()
    assert not action.isChecked()
    window.viewport.interactor.setFocus()
    QTest.keyClick(window.viewport.interactor, Qt.Key.Key_R)
    assert session.color_span == "range"
    window.commands.by_name["palette"].trigger()
    (palette,) = window.findChildren(Palette)
    QTest.keyClicks(palette.field, "colour by shown")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    settle()
    assert session.color_span == "table"


def test_the_ends_follow_a_dragged_handle(application, window, settle):
    session = application.session
    session.color_span = "range"
    settle()
    session.dragging = True
    for last in (80, 40, 20):
        application.controller.request_positions(3, last)
        window.viewport.interactor.repaint()
        assert bar_of(application) == ("3", str(last))
    session.dragging = False
    settle()
    assert bar_of(application) == ("3", "20")


def test_saved_work_and_bookmarks_keep_it(application, window, settle, tmp_path):
    session = application.session
    session.color_span = "range"
    settle()
    window.bookmarks.add()
    window.work._write(tmp_path / "a.helix")
    settle()
    assert read_work(tmp_path / "a.helix").fields["color_span"] == "range"
    assert not window.work.changes.any
    session.color_span = "table"
    assert window.work.changes.any
    window.bookmarks.go_to(session.bookmarks[-1].key)
    assert session.color_span == "range"
    session.color_span = "table"
    application.controller.open(str(tmp_path / "a.helix"))
    settle()
    assert session.color_span == "range"
    application.settings.save_session(session)
    assert application.settings.new_session().color_span == "range"


def test_pictures_and_the_copied_script_have_it(application, window, settle, monkeypatch):
    from gui.export.save_picture import PictureOptions
    from gui.window.exports import window_script

    session = application.session
    session.color_span = "range"
    application.controller.request_positions(10, 60)
    settle()
    assert "limits=(10.0, 60.0)" in window_script(window)
    drawn = []
    real = pictures.OffScreen.drawing
    monkeypatch.setattr(
        pictures.OffScreen,
        "drawing",
        lambda stage, state, *rest, **more: (
            drawn.append(state.scale.limits) or real(stage, state, *rest, **more)
        ),
    )
    window.pictures.picture(PictureOptions(scale=1))
    assert drawn == [(10.0, 60.0)]
