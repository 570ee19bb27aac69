"""The whole window through real events: open, drag, type, drop, save, close, come back."""

from pathlib import Path

import numpy as np
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from safetensors.numpy import save_file

from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca
from gui.window.main_window import TITLE_BAR, first_size
from tests.gui.on_screen import drop

LEFT = Qt.MouseButton.LeftButton
NONE, CONTROL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def test_dropped_file_is_copied(window, qtbot, settle, write_table):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(write_table(name="mine")))])
    actions = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction | Qt.DropAction.LinkAction
    panels = window.panels
    fields = (panels["models"].search, panels["prompt"].field, panels["positions"].first)
    for target in (window.viewport.interactor, *fields, window.toolbar):
        at = target.mapTo(window, target.rect().center())
        # With Shift a file manager proposes to move, with Ctrl and Shift a link.
        for keys in (NONE, SHIFT, CONTROL | SHIFT):
            events = (
                QDragEnterEvent(at, actions, data, LEFT, keys),
                QDragMoveEvent(at, actions, data, LEFT, keys),
                QDropEvent(QPointF(at), actions, data, LEFT, keys),
            )
            events[1].accept()  # as Qt does once the first is accepted
            for event in events:
                QApplication.sendEvent(window.windowHandle(), event)
                assert event.isAccepted()
                assert event.dropAction() is Qt.DropAction.CopyAction
    settle()
    assert window.session.model.name == "mine"
    moved = Qt.DropAction.MoveAction  # all that is allowed
    how = (moved, data, LEFT, NONE)
    for event in (QDragEnterEvent(at, *how), QDropEvent(QPointF(at), *how)):
        QApplication.sendEvent(window.windowHandle(), event)
        assert not event.isAccepted()


def test_several_that_are_dropped_are_compared(window, settle, write_table):
    session = window.session
    first, second, third = (write_table(name=name) for name in ("first", "second", "third"))
    drop(window, first, second, second)
    settle()
    assert [one.name for one in session.open_models] == ["first", "second"]
    assert session.model.name == "first"
    drop(window, third, first)  # instead of those beside the open one
    settle()
    assert [one.name for one in session.open_models] == ["first", "third"]
    window.undo.undo()
    settle()
    assert [one.name for one in session.open_models] == ["first", "second"]


def test_the_page_of_a_model_can_be_dropped(window, settle):
    window.session.offline = True
    drop(window, "https://huggingface.co/openai-community/gpt2-xl")
    settle()
    assert window.session.notice.source == Source.parse("openai-community/gpt2-xl")
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/a.safetensors")])  # nothing is downloaded from there
    how = (Qt.DropAction.CopyAction, data, LEFT, NONE)
    entered = QDragEnterEvent(QPoint(400, 300), *how)
    QApplication.sendEvent(window, entered)
    assert not entered.isAccepted()


def test_the_first_window_is_no_larger_than_the_screen(window):
    for screen, size in (
        ((1920, 1080), (1440, 900)),
        ((1440, 900), (1440, 900 - TITLE_BAR)),  # else the title bar pushed the last line out
        ((1280, 760), (1280, 760 - TITLE_BAR)),
    ):
        assert first_size(QSize(*screen)) == QSize(*size)
    assert window.size() == first_size(window.screen().availableSize())


def test_model_is_asked_for(window, settle, qtbot, write_gpt2, write_table, monkeypatch):
    folder, file = write_gpt2("a folder"), write_table(name="a file")
    starts = []

    def folder_asked(_parent, _title, start):
        starts.append(start)
        return str(folder)

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", folder_asked)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    for name, ask in (
        ("a folder", window.commands.by_name["open_folder"].trigger),
        ("a file", lambda: qtbot.keyClick(window, Qt.Key.Key_O, CONTROL | SHIFT)),
        ("dropped", lambda: drop(window, write_table(name="dropped"))),
    ):
        ask()
        settle()
        assert window.session.model.name == name
        assert window.windowTitle().startswith(name)
        assert Path(window.session.recent[0].id).stem == name
    window.open_folder()
    assert starts == ["", str(file.parent)]  # where the last model was chosen


def test_bad_source_is_reported_unknown_offers_tables(window, settle, tmp_path, helix, qtbot):
    before, bar = window.session.curve, window.notice_bar
    broken, strange = (tmp_path / f"{name}.safetensors" for name in ("broken", "strange"))
    broken.write_bytes(b"\xff" * 64)
    drop(window, broken)
    settle()
    assert bar.isVisible()
    assert "broken" in bar.text
    assert "\n" not in bar.text
    assert window.session.curve is before
    assert window.viewport.scene.state is not None
    qtbot.mouseClick(bar.close_button, LEFT)
    assert not bar.isVisible()
    save_file({"some.where": helix().astype(np.float32), "else.where": np.eye(5, 24)}, strange)
    drop(window, strange)
    settle()
    offered = []

    def choose():
        rows = QApplication.activeModalWidget().list
        offered.extend(rows.topLevelItem(i).text(0) for i in range(rows.topLevelItemCount()))
        for _ in range(offered.index("some.where")):
            QTest.keyClick(rows, Qt.Key.Key_Down)
        QTest.keyClick(rows, Qt.Key.Key_Return)

    QTimer.singleShot(0, choose)
    assert bar.tables_button.isVisible()
    qtbot.mouseClick(bar.tables_button, LEFT)
    settle()
    assert set(offered) == {"some.where", "else.where"}
    assert window.session.model.table == "some.where"
    assert not bar.isVisible()


def test_slider_drag_is_followed_live_and_ends_exact(window, settle, qtbot):
    session, slider = window.session, window.panels["positions"].slider
    fits = []
    session.events.curve.connect(lambda curve: fits.append((curve.pca.positions, curve.pca.exact)))
    start = slider.handle_rect(0).center()
    handle = slider.windowHandle() or window.windowHandle()
    offset = slider.mapTo(window, QPoint(0, 0))
    QTest.mousePress(handle, LEFT, NONE, offset + start)
    assert session.dragging
    for step in range(1, 9):
        QTest.mouseMove(handle, offset + start + QPoint(6 * step, 0))
        QApplication.processEvents()
    assert len({positions for positions, _ in fits}) >= 4
    dragged = session.positions
    assert dragged[0] > 10
    assert dragged[1] == 199
    QTest.mouseRelease(handle, LEFT, NONE, offset + start + QPoint(48, 0))
    assert not session.dragging
    settle()
    assert session.curve.pca.exact
    exact = fit_pca(session.model.W_pos, dragged, 10).explained_variance_ratio[:3]
    np.testing.assert_allclose(session.curve.explained_variance_ratio, exact)
    caption = window.viewport.scene.state.caption[0]
    assert f"positions {dragged[0]}–{dragged[1]}" in caption


def test_prompt_labels_positions(window, settle, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_L, CONTROL)
    typing = QApplication.focusWidget()
    assert window.panels["prompt"].isAncestorOf(typing)
    qtbot.keyClicks(typing, "hello my name is adam")
    qtbot.keyClick(typing, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.tokens is not None)
    settle()
    assert window.session.tokens.texts[0] == "<|endoftext|>"
    assert window.session.text_at(1) == "hello"
    labels = window.viewport.scene.state.labels
    assert [labels[p] for p in (1, 2, 3)] == ["hello", "my", "name"]
