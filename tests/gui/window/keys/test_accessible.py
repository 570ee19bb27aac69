"""What a screen reader finds: every control has a name and a role, through Qt's own interfaces."""

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from gui.export.film_dialog import FilmDialog, FilmOptions, FilmProgress, TurntableDialog
from gui.export.save_picture import PictureDialog, PictureOptions
from gui.export.turntable import Turn
from gui.panels.compare.columns import STANDARD, ColumnChooser
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
