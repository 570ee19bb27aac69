"""The window by keys alone: Tab goes to all that can be seen and to nothing else."""

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QScrollBar,
    QTextBrowser,
    QWidget,
)

from gui.widgets.drop_down import DropDown
from gui.window.arrangement.docks import DOCKS
from gui.window.arrangement.focus_navigation import in_front
from tests.gui.on_screen import takes_focus

TAB, BACKTAB = Qt.Key.Key_Tab, Qt.Key.Key_Backtab
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
UNIT = re.compile(
    r"positions?|tokens?|layer|head|pixels?|turns|share|unit|index|directions|values|steps?", re.I
)
"""What a number may count, or be measured in."""
MOST = 400


@pytest.fixture
def window(show_model, qtbot, wait_until_idle):
    """The window with the bundled model, of which every panel has something to show."""
    application = show_model("sample")
    window = application.window
    window.resize(1280, 800)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    application.controller.select((20, 40))
    application.session.prompt = "Hello my name is Adam"
    wait_until_idle(application)
    window.wait = lambda: wait_until_idle(application)
    return window


def named(window, widget):
    dock = next((d.name for d in DOCKS if window.docks[d.name].isAncestorOf(widget)), "centre")
    text = widget.text() if hasattr(widget, "text") else ""
    return f"{dock}: {type(widget).__name__} {widget.accessibleName() or text!r}"


def walk(window, key=TAB):
    """Press Tab until the focus is back in the 3D view; return where it was, in order."""
    window.viewport.interactor.setFocus()
    seen = [window.viewport.interactor]
    for _ in range(MOST):
        before = QApplication.focusWidget()
        QTest.keyClick(before, key)
        now = QApplication.focusWidget()
        if now is window.viewport.interactor:
            return seen
        # A text goes from link to link.
        assert now is not before or isinstance(now, QTextBrowser), f"trapped: {named(window, now)}"
        seen.append(now)
    raise AssertionError(f"Tab never comes round: {[named(window, w) for w in seen[-9:]]}")


def controls(panel):
    """All that can be seen of a panel and is for use, but for what arrow keys choose from."""
    for widget in panel.findChildren(QWidget):
        if not (widget.isVisible() and widget.isEnabled() and takes_focus(widget)):
            continue
        if isinstance(widget, QAbstractButton) and not widget.isChecked():
            group = widget.group()
            if widget.autoExclusive() or (group is not None and group.exclusive()):
                continue
        yield widget


def picture(widget):
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint8)
    return pixels.reshape(image.height(), image.bytesPerLine())[:, : 4 * image.width()].copy()


def shows_focus(window, widget):
    window.viewport.interactor.setFocus()
    without = picture(widget)
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    ringed = picture(widget)
    if without.shape != ringed.shape:
        return True
    return bool(np.abs(ringed.astype(int) - without).max(initial=0) > 20)


def every_panel(window):
    """Bring one panel after the other to the front, with what it has to show."""
    for dock in sorted(DOCKS, key=lambda dock: dock.name == "lesson"):
        window.lesson_player.open() if dock.name == "lesson" else window.bring(dock.name)
        window.wait()
        yield dock.name, window.docks[dock.name]


@pytest.mark.slow
def test_panels_work_by_keys(window):
    missed, hidden, unseen, unsaid = [], [], [], []
    for name, dock in every_panel(window):
        order = walk(window)
        missed += [named(window, w) for w in controls(dock.widget()) if w not in order]
        for widget in order[1:]:
            at = next((d for d in window.docks.values() if d.isAncestorOf(widget)), None)
            if at is not None and not in_front(at):
                hidden.append(f"{named(window, widget)} while {name} is in front")
        mine = [widget for widget in order if dock.isAncestorOf(widget)]
        assert mine, name
        unseen += [named(window, widget) for widget in mine if not shows_focus(window, widget)]
        unsaid += [named(window, w) for w in controls(dock.widget()) if not has_unit(w)]
    assert (missed, hidden, unseen, unsaid) == ([], [], [], [])


def has_unit(widget):
    """Whether a number has its unit in the tooltip."""
    number = isinstance(widget, QAbstractSpinBox | QAbstractSlider)
    return not number or isinstance(widget, QScrollBar) or UNIT.search(widget.toolTip()) is not None


@pytest.mark.slow
def test_keys_go_from_panel_to_panel_and_back_to_the_view(window):
    view = window.viewport.interactor
    view.setFocus()
    shown = [d.name for d in DOCKS if in_front(window.docks[d.name])]
    assert {"models", "positions", "view", "inspector", "prompt", "norms"} <= set(shown)
    for keys, order in ((CONTROL, shown), (CONTROL | SHIFT, shown[::-1])):
        for name in order:
            QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, keys)
            focus = QApplication.focusWidget()
            assert window.docks[name].isAncestorOf(focus), name
            assert focus in [*controls(window.docks[name])] or isinstance(focus, QLineEdit), name
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, keys)
        assert view.hasFocus()
        assert window.viewport.focus_ring.shown
    plot, panels = window.panels["norms"].content.painted[0].widget, window.panels
    plot.setFocus()
    QTest.keyClicks(plot, "0")
    assert view.hasFocus()
    panels["models"].take_focus()
    QTest.keyClicks(QApplication.focusWidget(), "0")
    assert panels["models"].search.text() == "0"
    for _ in range(2):  # the first one clears the field
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert view.hasFocus()
    forth, back = walk(window), walk(window, BACKTAB)
    assert len(forth) > 30
    assert back[1:] == forth[:0:-1]


def test_the_view_has_a_ring_for_who_came_by_a_key(window, qtbot):
    view, ring = window.viewport.interactor, window.viewport.focus_ring

    def edges():
        with qtbot.waitSignal(view.frameSwapped):
            view.update()
        image = view.grabFramebuffer()
        muted = np.array([int(window.viewport.scene.theme.muted[i : i + 2], 16) for i in (1, 3, 5)])
        found = [image.pixelColor(x, 1).getRgb()[:3] for x in range(20, 220)]
        return float((np.abs(np.array(found) - muted).max(axis=1) < 50).mean())

    view.setFocus()
    assert not ring.shown
    assert edges() == 0
    QTest.keyClick(view, TAB)
    QTest.keyClick(QApplication.focusWidget(), BACKTAB)
    assert view.hasFocus()
    assert ring.shown
    assert edges() > 0.9
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.rect().center())
    assert not ring.shown
    assert edges() == 0


def test_enter_follows_a_link_of_a_lesson(window):
    window.lesson_player.open()
    window.wait()
    page = window.docks["lesson"].widget().findChild(QTextBrowser)
    page.setMarkdown("Read [this](helix:one) and [that](helix:two).")
    followed = []
    page.linked.connect(lambda url: followed.append(url.toString()))
    page.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(2):
        QTest.keyClick(page, TAB)
        QTest.keyClick(page, Qt.Key.Key_Return)
    assert set(followed) <= {"helix:one", "helix:two"}
    assert followed


@pytest.mark.slow
def test_letters_are_commands_also_while_a_closed_list_has_the_focus(window):
    camera = window.viewport.camera
    camera.frame()
    window.wait()
    framed = camera.place.pose
    combos = window.panels["positions"].components.combos
    for combo in (window.panels["view"].findChildren(DropDown)[0], combos[0]):
        camera.zoom(1.5)
        window.wait()
        combo.setFocus()
        chosen = combo.currentIndex()
        QTest.keyClick(combo, Qt.Key.Key_F)
        window.wait()
        np.testing.assert_allclose(camera.place.pose.position, framed.position, atol=0.01)
        assert (combo.currentIndex(), combo.hasFocus()) == (chosen, True)
        QTest.keyClick(combo, Qt.Key.Key_Down)  # the keys of a list are its own
        assert combo.currentIndex() == chosen + 1


def test_arrows_change_the_range_after_the_key_of_positions(window):
    session, (first, last) = window.session, window.session.positions
    selected = session.selection
    window.viewport.interactor.setFocus()
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_8)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    window.wait()
    assert session.positions == (first + 1, last)
    assert session.selection == selected
