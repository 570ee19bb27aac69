"""Gestures at random, with mouse and keyboard, in a real window."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import shiboken6
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QDrag,
    QGuiApplication,
    QInputMethodEvent,
    QKeySequence,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDockWidget,
    QFileDialog,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from gui.commands.application import Application
from gui.window.actions import COMMANDS
from gui.window.arrangement.dock_tabs import GroupBar
from gui.window.arrangement.docks import DOCKS, DockTitle

MAX_TICKS = 40
"""How often a dialog is given an answer before it counts as one that cannot be closed."""
NONSENSE = (
    "", " ", "0", "1", "-1", "7", "63", "1e309", "nan", "-0.0", "99999999999999999999", "3-50",
    "50-3", "a" * 500, "Hello, my name is Adam", "ДА\u202eне\u0000т", "😀" * 20,
    "<b>x</b>", "$\\frac{$b", "../../etc/passwd", "gpt2", "%s%n",
    "sinusoidal:64x8", "q", "norms", "1,2,3", "helix", "[red]x", "=1+1",
)  # fmt: skip
NONE = Qt.KeyboardModifier.NoModifier
MODIFIERS = (NONE, NONE, NONE, Qt.KeyboardModifier.ShiftModifier,
             Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier)  # fmt: skip
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
AREAS = (
    Qt.DockWidgetArea.LeftDockWidgetArea,
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
)
KINDS = (
    QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit,
    QTextEdit, QAbstractItemView, QTabBar, QWidget, QWidget,
)  # fmt: skip
KEYS = (
    *(command.shortcut for command in COMMANDS if command.shortcut not in ("", "Ctrl+Q")),
    "Tab", "Shift+Tab", "Return", "Esc", "Space", "Del", "PgUp", "PgDown", "End", "F10",
    *"123456789",
)  # fmt: skip


DRAGGED = (
    DockTitle, GroupBar, QTabBar, QLineEdit, QAbstractSpinBox, QComboBox, QTextEdit, QPlainTextEdit,
)  # fmt: skip
"""What holds texts that can be dragged, and what drags a dock."""


class Hands:
    """Gestures at random, each of a generator of its own."""

    def __init__(self, application: Application, folder: Path, journal: TextIO) -> None:
        self.application, self.window = application, application.window
        self._sources = sorted(str(path) for path in (folder / "models").iterdir())
        self._sources += ["sample", "sample", "sinusoidal", "sinusoidal:96x24", "no-such-folder"]
        self._saved = folder / "saved"
        self._saved.mkdir(exist_ok=True)
        self._journal = journal
        self._random = random.Random(0)
        self._busy = False
        self._ticks = 0
        self._widest = 1600
        self.stuck = ""
        self._answers = QTimer(application, interval=30)
        self._answers.timeout.connect(self._answer)
        self._answers.start()
        self._table: dict[str, tuple[int, Callable[[], str]]] = {
            "click": (8, self._click), "right click": (2, self._right_click),
            "double click": (2, self._double_click), "hover": (5, self._hover),
            "drag": (6, self._drag), "wheel": (4, self._wheel),
            "in the view": (10, self._in_view), "key": (8, self._key), "type": (5, self._type),
            "menu": (5, self._menu), "slider": (4, self._slider), "choice": (4, self._choice),
            "tab": (3, self._tab), "panel": (5, self._panel), "dock": (3, self._dock),
            "resize": (1, self._resize), "open": (3, self._open), "beside": (3, self._beside),
            "remove": (2, self._remove), "undo": (3, self._undo), "command": (4, self._command),
            "escape": (2, self._escape),
        }  # fmt: skip

    def do(self, number: int, bits: int) -> str:
        """Make the gesture of a number, and return its name."""
        self._random = random.Random(bits)
        names = list(self._table)
        name = self._random.choices(names, [self._table[one][0] for one in names])[0]
        popup = QApplication.activePopupWidget()
        if isinstance(popup, QMenu) and self._random.random() < 0.7:
            name, act = "popup", lambda: self._choose_in(popup)
        elif popup is not None and self._random.random() < 0.5:
            name, act = "escape", self._escape
        else:
            act = self._table[name][1]
        self._write(f"{number} {name}")
        self._busy, self._ticks = True, 0
        try:
            detail = act()
        except RuntimeError as error:  # of these hands, not of the window under them
            if "already deleted" not in str(error):
                raise
            detail = "its widget is gone"
        finally:
            self._busy = False
        self._write(f"  {detail}" if detail else "")
        width = self.window.width()
        if width > self._widest:
            self._widest = width
            self._write(f"  the window is {width} wide")
        return name

    # ---- with the mouse --------------------------------------------------------------------

    def _click(self) -> str:
        return self._press(LEFT)

    def _right_click(self) -> str:
        return self._press(RIGHT)

    def _press(self, button: Qt.MouseButton) -> str:
        widget = self._some()
        if widget is None:
            return "nothing"
        handle, at = self._place(widget, self._point(widget))
        QTest.mouseClick(handle, button, self._modifiers(), at)
        return ""

    def _double_click(self) -> str:
        widget = self._some()
        if widget is not None:
            handle, at = self._place(widget, self._point(widget))
            QTest.mouseDClick(handle, LEFT, self._modifiers(), at)
        return ""

    def _hover(self) -> str:
        widget = self._some()
        if widget is not None:
            for _ in range(3):
                QTest.mouseMove(*self._place(widget, self._point(widget)))
        return ""

    def _drag(self) -> str:
        widget, keys = self._some(), self._modifiers()
        if widget is None:
            return "nothing"
        handle, at = self._place(widget, self._point(widget))
        hit = widget.window().childAt(at) or widget.window()
        if QGuiApplication.platformName() == "wayland" and _may_be_dragged(hit):
            return "left to the compositor, which needs a mouse for it"
        QTest.mousePress(handle, LEFT, keys, at)
        if not shiboken6.isValid(handle):
            return "its window is gone"
        for _ in range(self._random.randint(1, 6)):
            at += QPoint(self._random.randint(-90, 90), self._random.randint(-60, 60))
            QTest.mouseMove(handle, at)
        QTest.mouseRelease(handle, LEFT, keys, at)
        return ""

    def _wheel(self) -> str:
        widget = self._some()
        return "nothing" if widget is None else self._turn_wheel(widget, self._point(widget))

    def _turn_wheel(self, widget: QWidget, at: QPoint) -> str:
        for _ in range(self._random.randint(1, 4)):
            turn = QPoint(0, self._random.choice((-240, -120, 120, 240)))
            event = QWheelEvent(
                QPointF(at), QPointF(widget.mapToGlobal(at)), QPoint(), turn,
                Qt.MouseButton.NoButton, self._modifiers(), Qt.ScrollPhase.NoScrollPhase, False,
            )  # fmt: skip
            QApplication.sendEvent(widget, event)
        return ""

    def _in_view(self) -> str:
        """Drag, click, turn the wheel in one of the 3D views; it is a native window of its own."""
        views = [one for one in widgets_in(self.window) if _is_view(one)]
        if not views:
            return "no view"
        view, keys = self._random.choice(views), self._modifiers()
        at, how = self._point(view), self._random.randrange(6)
        self._write(f"  view of {view.width()}x{view.height()}, {at.x()},{at.y()}, {how}")
        if how == 0:
            QTest.mouseClick(view, self._random.choice((LEFT, LEFT, RIGHT)), keys, at)
        elif how == 1:
            QTest.mouseDClick(view, LEFT, keys, at)
        elif how == 2:
            self._turn_wheel(view, at)
        elif how == 3:
            for _ in range(5):
                QTest.mouseMove(view, self._point(view))
        else:
            button = self._random.choice((LEFT, LEFT, RIGHT, Qt.MouseButton.MiddleButton))
            QTest.mousePress(view, button, keys, at)
            for _ in range(self._random.randint(1, 8)):
                at += QPoint(self._random.randint(-60, 60), self._random.randint(-60, 60))
                event = QMouseEvent(
                    QEvent.Type.MouseMove, QPointF(at), QPointF(view.mapToGlobal(at)),
                    Qt.MouseButton.NoButton, button, keys,
                )  # fmt: skip
                QApplication.sendEvent(view, event)
            QTest.mouseRelease(view, button, keys, at)
        return ""

    # ---- with the keyboard -----------------------------------------------------------------

    def _key(self) -> str:
        keys, target = self._random.choice(KEYS), self._focus()
        combination = QKeySequence(keys)[0]
        self._write(f"  {keys} in {_named(target)}")
        QTest.keyClick(target, combination.key(), combination.keyboardModifiers())
        return ""

    def _escape(self) -> str:
        QTest.keyClick(QApplication.activePopupWidget() or self._focus(), Qt.Key.Key_Escape)
        return ""

    def _type(self) -> str:
        fields = (QLineEdit, QAbstractSpinBox, QPlainTextEdit)
        field = self._some(*fields)
        if field is None:
            return "no field"
        text = self._random.choice(NONSENSE)
        self._write(f"  {text!r}")
        field.setFocus()
        if self._random.random() < 0.7 and not isinstance(field, QPlainTextEdit):
            field.selectAll()
        _enter(field, text)
        if self._random.random() < 0.8 and shiboken6.isValid(field):
            QTest.keyClick(field, self._random.choice((Qt.Key.Key_Return, Qt.Key.Key_Tab)))
        return ""

    # ---- kinds of widgets, menus -------------------------------------------------------------

    def _slider(self) -> str:
        slider = self._some(QAbstractSlider)
        if slider is None:
            return "no slider"
        if self._random.random() < 0.5:
            slider.setFocus()
            for _ in range(self._random.randint(1, 6)):
                key = self._random.choice(("Home", "End", "PgUp", "PgDown", "Left", "Right", "Up"))
                QTest.keyClick(slider, QKeySequence(key)[0].key())
        else:
            handle, at = self._place(slider, self._point(slider))
            hit = slider.window().childAt(at)
            if QGuiApplication.platformName() == "wayland" and hit is not slider:
                return "scrolled away: the drag would be one of what is there"
            QTest.mousePress(handle, LEFT, NONE, at)
            for _ in range(4):
                QTest.mouseMove(*self._place(slider, self._point(slider)))
            QTest.mouseRelease(*(handle, LEFT, NONE, self._place(slider, self._point(slider))[1]))
        return ""

    def _choice(self) -> str:
        box = self._some(QComboBox)
        if box is None or not box.count():
            return "no list"
        box.setFocus()
        for _ in range(self._random.randint(1, 3)):
            QTest.keyClick(box, self._random.choice((Qt.Key.Key_Down, Qt.Key.Key_Up)))
        return ""

    def _tab(self) -> str:
        bar = self._some(QTabBar)
        if bar is None or not bar.count():
            return "no tabs"
        index = self._random.randrange(bar.count())
        handle, at = self._place(bar, bar.tabRect(index).center())
        self._write(f"  {bar.tabText(index)!r}")
        QTest.mouseClick(handle, LEFT, NONE, at)
        return ""

    def _menu(self) -> str:
        """Open a menu with the mouse; what is chosen in it comes with a later gesture."""
        bar = self.window.menuBar()
        action = self._random.choice(bar.actions())
        handle, at = self._place(bar, bar.actionGeometry(action).center())
        self._write(f"  {action.text()!r}")
        QTest.mouseClick(handle, LEFT, NONE, at)
        return ""

    def _choose_in(self, menu: QMenu) -> str:
        actions = [one for one in menu.actions() if self._may(one)]
        if not actions:
            return self._escape()
        action = self._random.choice(actions)
        self._write(f"  {action.text()!r}")
        QTest.mouseClick(menu, LEFT, NONE, menu.actionGeometry(action).center())
        return ""

    def _may(self, action: QAction) -> bool:
        quits = self.window.commands.by_name["quit"]
        return action.isEnabled() and not action.isSeparator() and action is not quits

    def _command(self) -> str:
        named = self.window.commands.by_name
        names = [name for name, action in named.items() if self._may(action)]
        often = ("save_work_as", "open_work", "bookmark", "save_picture", "lesson", "lesson_next",
                 "theme_dark", "theme_light", "reset_layout", "copy_window")  # fmt: skip
        name = self._random.choice(names if self._random.random() < 0.5 else often)
        self._write(f"  {name}")
        if self._may(named[name]):
            named[name].trigger()
        return ""

    def _undo(self) -> str:
        name = self._random.choice(("undo", "undo", "redo"))
        self.window.commands.by_name[name].trigger()
        return name

    # ---- docks, the window, models -------------------------------------------------------------

    def _panel(self) -> str:
        name = self._random.choice(DOCKS).name
        self._write(f"  {name}")
        self.window.focus_on(name) if name != "lesson" else None
        return ""

    def _dock(self) -> str:
        dock: QDockWidget = self._random.choice(list(self.window.docks.values()))
        how = self._random.choice(("float", "back", "close", "area", "tab", "move"))
        self._write(f"  {how} {dock.objectName()}")
        if how in ("float", "back"):
            dock.setFloating(how == "float")
        elif how == "close":
            dock.toggleViewAction().trigger()
        elif how == "area":
            self.window.addDockWidget(self._random.choice(AREAS), dock)
        elif how == "tab":
            others = [one for one in self.window.docks.values() if one is not dock]
            self.window.tabifyDockWidget(self._random.choice(others), dock)
        elif dock.isFloating():
            dock.move(self._random.randint(0, 900), self._random.randint(0, 600))
            dock.resize(self._random.randint(100, 900), self._random.randint(60, 600))
        return ""

    def _resize(self) -> str:
        if self.window.isFullScreen():  # which nobody can, and which ends it on Wayland
            return "full screen"
        self.window.resize(self._random.randint(500, 1600), self._random.randint(360, 1000))
        return ""

    def _open(self) -> str:
        source = self._random.choice(self._sources)
        self._write(f"  {source}")
        self.application.controller.open(source)
        return ""

    def _beside(self) -> str:
        source = self._random.choice(self._sources)
        self._write(f"  {source}")
        grid = self._random.random() < 0.8
        self.application.controller.comparing.add(source, in_grid=grid)
        return ""

    def _remove(self) -> str:
        comparing = self.application.controller.comparing
        keys = [one.key for one in self.application.session.others]
        if keys:
            how = self._random.choice((comparing.remove, comparing.make_current))
            how(self._random.choice(keys))
        return str(len(keys))

    # ---- dialogs, which are answered whenever there is one -----------------------------------

    def _answer(self) -> None:
        # Selected text that is dragged waits for a release by the screen's own pointer.
        QDrag.cancel()
        dialog, popup = QApplication.activeModalWidget(), QApplication.activePopupWidget()
        if dialog is None and not (self._busy and popup is not None):
            self._ticks = 0
            return
        self._ticks += 1
        if self._ticks > MAX_TICKS:
            self.stuck = _named(dialog or popup)
            if isinstance(dialog, QDialog):
                dialog.reject()
            return
        if popup is not None:
            if self._ticks > 3:
                popup.close()
        elif dialog is not None:
            # An answer may lead to another question, in which this timer has to go on.
            QTimer.singleShot(0, partial(self._answer_one, dialog))

    def _answer_one(self, dialog: QWidget) -> None:
        if not shiboken6.isValid(dialog) or not dialog.isVisible():
            return
        if isinstance(dialog, QFileDialog):
            self._answer_file(dialog)
        elif self._ticks > 6 and isinstance(dialog, QDialog):
            dialog.reject()
        else:
            self._answer_any(dialog)

    def _answer_file(self, dialog: QFileDialog) -> None:
        if self._ticks > 2 or self._random.random() < 0.3:
            dialog.reject()
            return
        saved = sorted(str(path) for path in self._saved.iterdir())
        if dialog.acceptMode() == QFileDialog.AcceptMode.AcceptSave:
            path = str(self._saved / f"file {self._random.randrange(6)}")
            path = self._random.choice((path, path, path, "/no/such/folder/file", *saved[:1]))
        else:
            local = [one for one in self._sources if one.startswith("/")]
            path = self._random.choice(saved or local)
            path = path if self._random.random() < 0.6 else self._random.choice(local)
        self._write(f"  file dialog: {path}")
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        if isinstance(field, QLineEdit):
            field.setText(path)
        dialog.accept()

    def _answer_any(self, dialog: QWidget) -> None:
        widgets = [one for one in widgets_in(dialog) if _can_be_hit(one)]
        kinds = (QAbstractButton, QComboBox, QLineEdit, QAbstractSlider)
        widgets = [one for one in widgets if isinstance(one, kinds)] or [dialog]
        widget = self._random.choice(widgets)
        self._write(f"  dialog: {_named(widget)}")
        if isinstance(widget, QComboBox):
            QTest.keyClick(widget, Qt.Key.Key_Down)
        elif isinstance(widget, QLineEdit):
            _enter(widget, self._random.choice(NONSENSE))
        else:
            QTest.mouseClick(widget, LEFT, NONE, widget.rect().center())

    # ---- parts -----------------------------------------------------------------------------

    def _some(self, *kinds: type[QWidget]) -> Any:
        """Return a widget in sight, of a kind drawn first, so that rare ones come too."""
        windows = [one for one in QApplication.topLevelWidgets() if _can_be_hit(one)]
        others = [one for one in windows if one is not self.window]
        window: QWidget = self.window
        if others and self._random.random() < 0.4:
            window = self._random.choice(others)
        found = [one for one in widgets_in(window) if _can_be_hit(one)]
        kind = self._random.choice(kinds or KINDS)
        fitting = [one for one in found if isinstance(one, kind)]
        if not fitting:
            return None
        widget = self._random.choice(fitting)
        self._write(f"  {_named(widget)} of {_named(window)}")
        return widget

    def _point(self, widget: QWidget) -> QPoint:
        width, height = max(widget.width(), 1), max(widget.height(), 1)
        return QPoint(self._random.randrange(width), self._random.randrange(height))

    def _place(self, widget: QWidget, at: QPoint) -> tuple[Any, QPoint]:
        """Return the window of a widget, which gets events as from the screen, and the point."""
        window = widget.window()
        return window.windowHandle(), widget.mapTo(window, at)

    def _modifiers(self) -> Qt.KeyboardModifier:
        return self._random.choice(MODIFIERS)

    def _focus(self) -> QWidget:
        focus = QApplication.focusWidget()
        return focus if focus is not None and focus.isVisible() else self.window

    def _write(self, line: str) -> None:
        self._journal.write(line.encode("unicode_escape").decode() + "\n")
        self._journal.flush()


def widgets_in(window: QWidget) -> list[QWidget]:
    """Return the widgets in a window, and in those that belong to it.

    Not by ``findChildren``: in PySide the window then keeps a Python object of each that it has
    found, also once Qt has deleted that.
    """
    own = {one for one in QApplication.topLevelWidgets() if one.parentWidget() is window}
    own.add(window)
    return [one for one in QApplication.allWidgets() if one.window() in own]


def _can_be_hit(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled() and widget.window().windowHandle() is not None


def _may_be_dragged(widget: QWidget) -> bool:
    """Whether a drag in a widget may be one of a text, a dock or a window.

    On Wayland Qt asks the compositor for these, by a mouse that a headless one does not have.
    """
    if isinstance(widget, QDockWidget) or isinstance(widget.window(), QDockWidget):
        return True
    place: QWidget | None = widget
    while place is not None and not isinstance(place, DRAGGED):
        place = place.parentWidget()
    return place is not None


def _is_view(widget: QWidget) -> bool:
    return widget.isVisible() and type(widget).__name__ == "Interactor"


def _enter(field: QWidget, text: str) -> None:
    """Type a text, letter by letter; what is on no keyboard comes from an input method."""
    if text.isascii() and text.isprintable():
        for letter in text:
            if not shiboken6.isValid(field):
                return
            QTest.keyClicks(field, letter)
            QApplication.processEvents()  # no keyboard writes a text within one event
        return
    event = QInputMethodEvent()
    event.setCommitString(text)
    QApplication.sendEvent(field, event)


def _named(widget: QWidget | None) -> str:
    if widget is None:
        return "nothing"
    text = getattr(widget, "text", None)
    words = text() if isinstance(widget, QAbstractButton) and text is not None else ""
    name = widget.accessibleName() or widget.objectName() or widget.windowTitle() or words
    return f"{type(widget).__name__} {name[:40]!r}"
