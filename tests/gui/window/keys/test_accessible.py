"""What a screen reader finds, and what can be read: names, roles and contrast of every control."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QImage, QPixmap, QRegion
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QWidget,
)

from gui.export.film_dialog import FilmDialog, FilmOptions, FilmProgress, TurntableDialog
from gui.export.save_picture import PictureDialog, PictureOptions
from gui.export.turntable import Turn
from gui.panels.compare.columns import STANDARD, ColumnChooser
from gui.style.theme import THEMES
from gui.widgets.label import message_box
from gui.window.arrangement.docks import DOCKS
from gui.window.dialogs import about_dialog, shortcuts_dialog
from gui.window.palette import AddPalette
from tests.gui.on_screen import takes_focus

ROLE = QAccessible.Role


def interface(widget):
    return QAccessible.queryAccessibleInterface(widget)


def focusable(widget):
    """All that can be seen in a widget, and can have the focus."""
    for one in (widget, *widget.findChildren(QWidget)):
        if one.isVisible() and one.isEnabled() and takes_focus(one):
            yield one


def faults(widget):
    """The controls of a widget without a name, or without a role that says what they are."""
    for one in focusable(widget):
        found = interface(one)
        name, role = found.text(QAccessible.Text.Name), found.role()
        if not name.strip() or role in (ROLE.NoRole, ROLE.Client, ROLE.Pane, ROLE.Window):
            yield f"{type(one).__name__} {one.objectName()} {name!r} {role.name}"


SCALE = 3
"""Pixels of a picture for one on the screen, so that letters have parts of their full colour."""
READABLE = 4.5
"""Contrast of text in WCAG 2.2, level AA."""


def written(widget):
    """The text that a widget shows in one colour; "" for others, and for disabled ones."""
    if not (widget.isVisible() and widget.isEnabled()):
        return ""
    match widget:
        case QLabel() if "<" not in widget.text():
            return widget.text().strip()
        case QAbstractButton() | QLineEdit():
            return widget.text().strip()
        case QComboBox():
            return widget.currentText().strip()
    return ""


def contrast(widget, panel):
    """The contrast between a widget's most frequent colour on a panel, and the farthest from it."""
    picture = QPixmap(SCALE * widget.size())
    picture.setDevicePixelRatio(SCALE)
    picture.fill(Qt.GlobalColor.transparent)
    widget.render(picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
    whole = picture.toImage().convertToFormat(QImage.Format.Format_ARGB32)
    pixels = np.frombuffer(whole.constBits(), np.uint8).reshape(-1, 4).astype(float) / 255
    behind = np.array([int(panel[i : i + 2], 16) for i in (5, 3, 1)]) / 255
    colors = pixels[:, :3] * pixels[:, 3:] + behind * (1 - pixels[:, 3:])
    distinct, counts = np.unique(np.round(255 * colors), axis=0, return_counts=True)
    values = distinct / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.0722, 0.7152, 0.2126]
    most = luminance[counts.argmax()]
    return max((max(one, most) + 0.05) / (min(one, most) + 0.05) for one in luminance)


@pytest.fixture
def window(application, settle):
    """The window with something selected, labelled, and shown in every panel."""
    application.window.resize(1280, 800)
    application.controller.select((20, 40))
    application.session.prompt = "Hello my name is Adam"
    settle()
    return application.window


@pytest.mark.slow
def test_every_control_of_every_panel_has_a_name_and_a_role(window, settle):
    found = {}
    for dock in DOCKS:
        window.lesson_player.open() if dock.name == "lesson" else window.bring(dock.name)
        settle()
        found[dock.name] = [*faults(window.docks[dock.name])]
    found["the rest"] = [*faults(window.centralWidget())]
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_contrast_of_a_label_is_that_of_its_colours(qtbot, theme):
    colors, label = THEMES[theme], QLabel("A text")
    qtbot.addWidget(label)
    for color, readable in ((colors.muted, True), (colors.faint, False), (colors.disabled, False)):
        label.setStyleSheet(f"color: {color}; background: {colors.panel};")
        label.adjustSize()
        assert bool(contrast(label, colors.panel) >= READABLE) is readable


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(window, settle, theme):
    window.commands.by_name[f"theme_{theme}"].trigger()
    settle()
    found, texts = {}, 0
    for dock in DOCKS:
        window.lesson_player.open() if dock.name == "lesson" else window.bring(dock.name)
        settle()
        for widget in window.docks[dock.name].findChildren(QWidget):
            if text := written(widget):
                texts += 1
                if (ratio := contrast(widget, THEMES[theme].panel)) < READABLE:
                    found[f"{dock.name}: {type(widget).__name__} {text}"] = round(ratio, 2)
    assert texts > 300
    assert found == {}


@pytest.mark.slow
def test_every_control_of_every_dialog_has_a_name_and_a_role(window, settle):
    found = {}

    def look():
        for top in QApplication.topLevelWidgets():
            if top is not window and top.isVisible():
                found[top.windowTitle() or type(top).__name__] = [*faults(top)]

    for name in ("settings", "change_keys", "guide", "palette", "measure_inside"):
        window.commands.by_name[name].trigger()
        settle()
        look()
    made = [
        shortcuts_dialog(window),
        about_dialog(window),
        PictureDialog(PictureOptions(), window.size(), window),
        FilmDialog(FilmOptions(), window.size(), 40, window),
        TurntableDialog(FilmOptions(), Turn(), window.size(), window.size(), (1, 2, 3), window),
        FilmProgress("Save turntable", "turn.mp4", 90, window),
        ColumnChooser(STANDARD, window),
        AddPalette(window, lambda source: None),
        message_box(window, "Helixscope", "Save the changes?"),
    ]
    for dialog in made:
        dialog.show()
        look()
        dialog.close()
        dialog.deleteLater()
    assert {"Settings", "Keyboard shortcuts", "Palette", "Keyboard and mouse reference"} <= {*found}
    assert {dialog.windowTitle() or type(dialog).__name__ for dialog in made} <= {*found}
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.slow
def test_what_the_mouse_alone_reaches_has_a_name_too(window, settle):
    """Buttons of the toolbar, of titles and tab bars; all menus; the status bar."""
    unnamed = []
    for name in ("shape", "compare"):
        window.bring(name)
        settle()
        buttons = [one for one in window.findChildren(QAbstractButton) if one.isVisible()]
        assert len(buttons) > 20
        unnamed += [
            f"{type(one).__name__} {one.objectName()} in {type(one.parent()).__name__}"
            for one in buttons
            if not interface(one).text(QAccessible.Text.Name).strip()
        ]
    waiting = [window.menuBar()]
    while waiting:
        for action in waiting.pop().actions():
            if action.menu() is not None:
                waiting.append(action.menu())
            if not action.isSeparator() and not action.text().strip():
                unnamed.append(f"an action of {action.parent()}")
    status = window.statusBar().findChildren(QWidget)
    assert any(interface(one).text(QAccessible.Text.Name) for one in status)
    assert unnamed == []


def test_what_paints_itself_says_what_it_is(window):
    view = interface(window.viewport.interactor)
    assert view.role() == ROLE.Canvas
    assert "3D view" in view.text(QAccessible.Text.Name)
    assert interface(window.panels["norms"].content.painted[0].widget).role() == ROLE.Chart
