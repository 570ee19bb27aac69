"""The arrangement of the window, as it is closed and started again."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from gui.state.layout import Layout, Tabs, WindowPlace
from gui.window.arrangement.docks import DOCKS, RIGHT, share
from gui.window.arrangement.layout import TITLE_BAR, apply_layout, put, take_layout, take_place

H, V = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
TOP = Qt.DockWidgetArea.TopDockWidgetArea
NEAR = 4
"""Pixels by which a panel's first minimum height differs from its later one."""


def first(window):
    pass


def moved(window):
    docks = window.docks
    window.tabifyDockWidget(docks["models"], docks["view"])
    docks["models"].raise_()
    window.addDockWidget(RIGHT, docks["positions"])
    docks["prompt"].hide()
    docks["spectra"].raise_()
    window.resizeDocks([docks["models"], docks["inspector"]], [310, 250], H)
    window.resizeDocks([docks["norms"]], [230], V)


def split(window):
    docks = window.docks
    window.splitDockWidget(docks["norms"], docks["shape"], H)
    window.tabifyDockWidget(docks["shape"], docks["spectra"])
    docks["shape"].raise_()
    window.addDockWidget(TOP, docks["prompt"])
    docks["capture"].hide()
    window.resizeDocks([docks["norms"], docks["shape"]], [430, 300], H)


def floating(window):
    docks = window.docks
    docks["capture"].setFloating(True)
    docks["capture"].setGeometry(QRect(60, 90, 420, 300))
    docks["inspector"].setFloating(True)
    docks["inspector"].setGeometry(QRect(500, 100, 260, 333))
    docks["inspector"].hide()
    docks["bookmarks"].show()


def closed(window):
    for dock in window.docks.values():
        dock.hide()
    window.docks["shape"].show()


def seen(window):
    """What a user sees of each dock."""
    return {
        name: (
            window.dockWidgetArea(dock),
            dock.isFloating(),
            dock.isHidden(),
            dock.isVisible() and not dock.visibleRegion().isEmpty(),
            tuple(dock.geometry().getRect()) if not dock.visibleRegion().isEmpty() else None,
        )
        for name, dock in window.docks.items()
    }


def assert_looks_the_same(after, before):
    for name, (*state, rectangle) in before.items():
        *found, other = after[name]
        assert (name, found) == (name, state)
        if rectangle is not None:
            assert other == pytest.approx(rectangle, abs=NEAR), name


@pytest.mark.slow
@pytest.mark.parametrize("arrange", [first, moved, split, floating, closed])
def test_window_starts_as_closed(arrange, start_application, settings, write_gpt2, wait_until_idle):
    model = write_gpt2()
    application = start_application(model)
    window = application.window
    window.resize(1200, 760)
    if arrange is not first:
        window.results.tabs.open()
    arrange(window)
    wait_until_idle(application)
    before, size, layout = seen(window), window.size(), take_layout(window)
    application.close()
    application = start_application(model, settings=type(settings)(settings._file))
    window = application.window
    assert window.size().toTuple() == pytest.approx(size.toTuple(), abs=NEAR)
    assert_looks_the_same(seen(window), before)
    again = take_layout(window)
    assert (again.hidden, set(again.floating)) == (layout.hidden, set(layout.floating))
    assert application.session.notice is None
    assert {name for name, one in before.items() if one[3]} <= set(window.built_panels)


@pytest.mark.slow
@pytest.mark.parametrize("arrange", [moved, split, floating])
def test_saved_work_arranges_it(arrange, application, tmp_path, settle, wait_until_idle):
    window, path = application.window, tmp_path / "mine.helix"
    window.arrange()
    window.results.tabs.open()
    settle()
    arrange(window)
    settle()
    before = seen(window)
    window.work._write(path)
    settle()
    window.arrange()
    settle()
    built = set(window.built_panels)
    application.controller.open(str(path))
    settle()
    assert_looks_the_same(seen(window), before)
    assert {name for name, one in before.items() if one[3]} <= set(window.built_panels)
    assert set(window.built_panels) <= built | {name for name, one in before.items() if one[3]}
    window.arrange()


def test_a_layout_that_knows_no_dock_of_the_window_arranges_it_as_at_first(application, settle):
    window = application.window
    window.arrange()
    window.results.tabs.open()
    settle()
    before = seen(window)
    apply_layout(window, Layout({"left": Tabs(("gone",), "gone", 500)}, {"old": "top"}))
    settle()
    for name, (area, floats, hidden, *_) in seen(window).items():
        assert (area, floats, hidden) == before[name][:3]
    (bottom,) = {node for area, node in take_layout(window).areas.items() if area == "bottom"}
    assert bottom.docks == tuple(dock.name for dock in DOCKS if dock.lazy and not dock.closed)
    window.arrange()


@pytest.mark.slow
@pytest.mark.parametrize(
    "rectangle",
    [
        (30_000, 20, 900, 700),
        (-32_000, -32_000, 32_767, 32_767),
        (40, 5_000, 1, 1),
        (1000, 50, 1280, 700),
        (-900, 60, 1000, 700),
        (200, 700, 900, 700),  # of a larger screen
    ],
)
def test_a_window_of_a_screen_that_is_gone_comes_to_one_that_is_there(application, rectangle):
    window = application.window
    before = take_place(window)
    put(window, WindowPlace(rectangle))
    room = window.screen().availableGeometry()
    assert room.contains(window.geometry())
    assert window.y() >= room.top() + TITLE_BAR
    put(window, before)
    assert take_place(window) == before


def test_layout_change_ends_a_dock_drag(application, qtbot, wait_until_idle):
    """Qt's pointers into the layout last as long as the drag."""
    window, dock = application.window, application.window.docks["inspector"]
    at = dock.titleBarWidget().mapTo(window, QPoint(30, 10))
    handle = window.windowHandle()
    before = take_layout(window)
    for change in (window.arrange, lambda: apply_layout(window, before)):
        QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=at)
        for step in range(1, 6):
            QTest.mouseMove(handle, at + QPoint(-20 * step, 15 * step))
        assert QWidget.mouseGrabber() is dock
        change()
        assert QWidget.mouseGrabber() is None
        for step in range(6, 9):
            QTest.mouseMove(handle, at + QPoint(-20 * step, 15 * step))
        QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=at + QPoint(-160, 120))
        wait_until_idle(application)
        assert not dock.isFloating()
        assert window.dockWidgetArea(dock) == RIGHT


def test_a_dock_that_is_out_of_the_window_gets_no_share(qtbot, qtlog):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(QWidget())
    docks = [QDockWidget(title) for title in ("stays", "leaves")]
    for dock in docks:
        dock.setWidget(QWidget())
        window.addDockWidget(RIGHT, dock)
    window.resize(800, 600)
    window.show()
    qtbot.waitExposed(window)
    window.removeDockWidget(docks[1])
    docks[1].show()
    share(window, dict.fromkeys(docks, 300), Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: docks[0].width() == 300)
    assert not qtlog.records
