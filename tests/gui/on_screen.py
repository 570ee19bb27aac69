"""Widgets on the screen, in tests, and events that QTest has no function for."""

from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

Shown = TypeVar("In view", bound=QWidget)


def put_on_screen(
    qtbot: QtBot, widget: Shown, width: int = 0, height: int = 0, *, active: bool = False
) -> Shown:
    """Show a widget, in a size if one is given, and wait until it is there, or active.

    It is closed after the test, and released if it can be.
    """
    qtbot.addWidget(widget, before_close_func=lambda one: getattr(one, "release", lambda: None)())
    if width:
        widget.resize(width, height)
    with qtbot.waitExposed(widget):
        widget.show()
    if active:
        widget.activateWindow()
        qtbot.waitUntil(widget.isActiveWindow)
    return widget


def turn_wheel(
    widget: QWidget, at: QPoint | QPointF | None = None, up: int = 0, right: int = 0
) -> None:
    """Turn the wheel by so many notches, over a point of a widget or its middle."""
    point = QPointF(widget.rect().center() if at is None else at)
    event = QWheelEvent(
        point, widget.mapToGlobal(point), QPoint(), QPoint(120 * right, 120 * up),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase,
        False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def drop(window: QWidget, *things: Path | str) -> None:
    """Drop files, folders and addresses onto a window."""
    data = QMimeData()
    paths = (QUrl(one) if isinstance(one, str) else QUrl.fromLocalFile(str(one)) for one in things)
    data.setUrls(list(paths))
    copied, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    at, how = QPoint(400, 300), (copied, data, button, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(at, *how)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(at), *how))


def ask_menu(widget: QWidget, at: QPoint) -> QWidget | None:
    """Ask a widget for its menu as the right button does; what has popped up, if anything."""
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    return QApplication.activePopupWidget()


def trigger(menu: QMenu, text: str) -> None:
    """Choose an action of a menu made for this."""
    (action,) = [action for action in menu.actions() if action.text() == text]
    assert action.isEnabled()
    action.trigger()
    menu.deleteLater()


def choose_by_keys(combo: QWidget, *keys: Qt.Key) -> None:
    """Press keys in a drop-down list."""
    combo.setFocus()
    for key in keys:
        QTest.keyClick(combo, key)


def takes_focus(widget: QWidget) -> bool:
    """Whether Tab goes to a widget itself.

    Only those with the policy are asked for another one that has the focus for them: in PySide what
    is returned becomes a child of what was asked. A scroll area's viewport names its scroll area,
    which Python then deletes with it.
    """
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
