"""How the curve is drawn, in the window: chosen with the mouse, undone, saved, copied, exported."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from geometry.checkpoints.column_files import PositionColumn
from gui.export.window_data import WindowData
from gui.services.work_files.work_file import read_work
from gui.window.exports import window_script
from tests.gui.on_screen import choose_by_keys

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def view(window):
    return window.panels["view"]


@pytest.mark.slow
def test_sizes_are_drawn_undone_and_saved(application, window, view, settle, tmp_path):
    session, actors = application.session, window.viewport.scene._actors
    QTest.mouseClick(view.more, LEFT)
    field = view.curve_options.sliders["point_size"].field
    field.selectAll()
    QTest.keyClicks(field, "12")
    QTest.keyClick(field, Qt.Key.Key_Return)
    view.curve_options.close()
    QTest.mouseClick(view.curve_parts.buttons["points"], LEFT)
    settle()
    ratio = window.viewport.interactor.devicePixelRatioF()
    assert actors["points"].prop.point_size == 12 * ratio
    assert not actors["curve"].GetVisibility()
    script = window_script(window)
    assert "point_size=12.0," in script
    assert "curve_parts='points'," in script
    window.bookmarks.add()
    window.work._write(tmp_path / "a.helix")
    settle()
    saved = read_work(tmp_path / "a.helix").fields
    assert (saved["point_size"], saved["curve_parts"]) == (12.0, "points")
    window.undo.undo()
    window.undo.undo()
    settle()
    assert (session.point_size, session.curve_parts) == (7.0, "both")
    assert actors["curve"].GetVisibility()
    assert window.work.changes.any
    window.bookmarks.go_to(session.bookmarks[-1].key)
    settle()
    assert (session.point_size, session.curve_parts) == (12.0, "points")
    assert not window.work.changes.any


def test_a_denser_screen_gets_more_pixels(application, window, settle, monkeypatch):
    interactor = window.viewport.interactor
    ratio = interactor.devicePixelRatioF()
    monkeypatch.setattr(interactor, "devicePixelRatioF", lambda: 2 * ratio)
    QApplication.sendEvent(interactor, QEvent(QEvent.Type.DevicePixelRatioChange))
    settle()
    assert window.viewport.scene._actors["points"].prop.point_size == 14 * ratio
    monkeypatch.undo()
    QApplication.sendEvent(interactor, QEvent(QEvent.Type.DevicePixelRatioChange))
    settle()
    assert window.viewport.scene._actors["points"].prop.point_size == 7 * ratio


def test_a_column_of_ones_own_table(application, window, view, settle, tmp_path, monkeypatch):
    session, bar = application.session, window.viewport.scene._bar
    own = tmp_path / "own.csv"
    own.write_text("kind,loss of it\n" + "".join(f"k{i % 3},{i}\n" for i in range(150)), "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(own), ""))
    choose_by_keys(view.color_by, Qt.Key.Key_End)
    settle()
    assert (session.color_by, session.color_column.name) == ("column", "loss of it")
    assert bar.title.text == "loss of it"
    assert (bar.low.text, bar.high.text) == ("1", "149")
    assert "150 of them for the 200 positions" in session.status
    window.undo.separate()
    choose_by_keys(view.column, Qt.Key.Key_Up)
    settle()
    assert session.color_column.name == "kind"
    assert [text.text for text in bar.names] == ["k0", "k1", "k2"]
    columns = WindowData.of(session).columns()
    assert columns["color_kind"][:4].tolist() == ["k0", "k1", "k2", "k0"]
    assert columns["color_kind"][160] == ""
    window.work._write(tmp_path / "a.helix")
    settle()
    own.unlink()
    window.undo.undo()
    settle()
    assert session.color_column.name == "loss of it"
    application.controller.open(str(tmp_path / "a.helix"))
    settle()
    assert session.color_by == "column"
    assert session.color_column.values[:4] == ("k0", "k1", "k2", "k0")
    assert view.column.currentText() == "kind"


def test_damaged_table_changes_nothing(application, window, view, settle, tmp_path, monkeypatch):
    session, own = application.session, tmp_path / "own.csv"
    own.write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    for answer in ("", str(own)):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, a=answer: (a, ""))
        choose_by_keys(view.color_by, Qt.Key.Key_End)
        settle()
        assert (session.color_by, session.color_column) == ("position", None)
        assert view.color_by.currentText() == "Position"
    assert session.notice.text == "own.csv is not text in UTF-8."


def test_colour_choice_is_common_to_views(application, window, settle, helix, tmp_path):
    np.save(tmp_path / "other.npy", helix(90, 16, 3))
    session = application.session
    application.controller.comparing.add(str(tmp_path / "other.npy"))
    settle()
    column = PositionColumn("kind", "a.csv", tuple("xy"[i % 2] for i in range(120)))
    session.change(color_by="column", color_column=column, line_width=4.0, opacity=0.5)
    settle()
    scenes = [cell.viewport.scene for cell in window.grid.cells.values()]
    assert len(scenes) == 2
    for scene in scenes:
        assert scene.state.scale.categories == ("x", "y")
        assert (scene.state.look.line_width, scene.state.look.opacity) == (4.0, 0.5)
    strip = window.grid.strip
    assert strip.scale.title == "kind"
    picture = strip.grab().toImage()
    colors = {
        picture.pixelColor(x, y).name()
        for x in range(picture.width())
        for y in range(picture.height())
    }
    legend = strip.scale.legend(strip.theme.viewport, 12)
    assert {"#{:02x}{:02x}{:02x}".format(*color[:3]) for _, color in legend} <= colors
