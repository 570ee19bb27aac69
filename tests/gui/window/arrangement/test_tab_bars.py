"""Qt's bars of tabbed docks, in a window with tabs elsewhere too."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget

from gui.window.arrangement.docks import tab_bars


def test_the_bars_of_docks_are_found_and_no_others(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setCentralWidget(QTabWidget())
    docks = [QDockWidget(name, window) for name in "abc"]
    for dock in docks:
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    window.show()
    window.tabifyDockWidget(*docks[:2])
    qtbot.waitUntil(lambda: len(tab_bars(window)) == 1)
    (bar,) = tab_bars(window)
    assert {bar.tabText(at) for at in range(bar.count())} == {"a", "b"}
