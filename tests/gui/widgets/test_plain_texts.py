"""Names are shown as they are: no HTML, no keys of menus, no control characters."""

import ast
from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QTextDocumentFragment
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QGroupBox, QLabel, QMenu, QWidget

from geometry.checkpoints.plain_text import visible, visible_lines
from gui.widgets.label import PlainLabel, label, message_box, without_keys
from gui.widgets.tooltips import wrapped
from tests.command_line import ROOT

NAME = "<b>a<b><img src=x>&amp;$\\frac{$b\x1b[2J\u202e"
SHOWN = visible(NAME)


def told(tip):
    """The tooltip as it is read."""
    if not Qt.mightBeRichText(tip):
        return tip
    return QTextDocumentFragment.fromHtml(tip).toPlainText()


HTML = ("<b>a</b>", NAME, "a\n<b>b", "&lt;x", "<!doctype>", "<?xml ?><i>")


@pytest.mark.parametrize("text", [*HTML, "<s>", "</s>", "<|endoftext|>", "a < b", "<3", "R&D"])
def test_a_tooltip_is_read_as_it_was_meant(text):
    assert told(wrapped(text)) == visible_lines(text)


def test_labels_buttons_and_dialogs(qtbot):
    for made in (label(NAME), PlainLabel(NAME)):
        qtbot.addWidget(made)
        assert made.textFormat() == Qt.TextFormat.PlainText
        assert made.text() == SHOWN
        made.setText("two\nlines\x07")
        assert made.text() == "two\nlines�"
    assert without_keys("R&D\x1b") == "R&&D�"
    parent = QWidget()
    qtbot.addWidget(parent)
    box = message_box(parent, "Title", NAME)
    assert (box.textFormat(), box.text()) == (Qt.TextFormat.PlainText, SHOWN)


def texts_of(model, role, parent=None):
    parent = QModelIndex() if parent is None else parent
    for row in range(model.rowCount(parent)):
        for column in range(model.columnCount(parent)):
            index = model.index(row, column, parent)
            text = index.data(role)
            if isinstance(text, str):
                yield text
        yield from texts_of(model, role, model.index(row, 0, parent))


def test_a_window_shows_a_hostile_name_as_it_is(application, write_gpt2, wait_until_idle):
    """Every label, button, menu, tooltip and table of a window on such a folder, twice."""
    window, session = application.window, application.session
    folder = write_gpt2(NAME.replace("/", ""))
    application.controller.open(str(folder))
    wait_until_idle(application)
    application.controller.comparing.add(str(write_gpt2("second " + NAME)))
    wait_until_idle(application)
    application.controller.select((3, 9))
    wait_until_idle(application)
    assert session.model.name == SHOWN
    assert window.windowTitle() == f"{SHOWN} – Helixscope"
    seen = []
    for widget in window.findChildren(QWidget):
        tip = widget.toolTip()
        assert tip == "" or "<b>" not in tip, tip
        seen.append(told(tip))
        if isinstance(widget, QLabel):
            rich = widget.textFormat() == Qt.TextFormat.RichText
            auto = widget.textFormat() == Qt.TextFormat.AutoText
            assert not rich
            assert not (auto and widget.text()), widget.text()
            seen.append(widget.text())
        elif isinstance(widget, QAbstractButton | QGroupBox):
            text = widget.text() if isinstance(widget, QAbstractButton) else widget.title()
            assert "amp" not in text or "&&amp" in text, text
            seen.append(text)
        elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
            for found in texts_of(widget.model(), Qt.ItemDataRole.ToolTipRole):
                assert "<b>" not in found, found
                seen.append(told(found))
            seen += texts_of(widget.model(), Qt.ItemDataRole.DisplayRole)
        elif isinstance(widget, QMenu):
            seen.append(widget.title())
    for action in window.findChildren(QAction):
        assert "amp" not in action.text() or "&&amp" in action.text(), action.text()
        seen += [action.text(), action.statusTip()]
    assert sum(SHOWN in text.replace("\n", "") for text in seen) >= 5
    for text in seen:
        assert visible(text) == text.replace("\n", " ").replace("\t", " "), text


def is_plain(node):
    """A text of ours, or one that `wrapped` has seen."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.IfExp(body=body, orelse=other):
            return is_plain(body) and is_plain(other)
        case ast.Call(func=ast.Name(id="wrapped")):
            return True
        case ast.Call(func=ast.Attribute(attr="toolTip" | "currentData")):
            return True
    return False


def calls(about=""):
    """Yield the calls in files with a word."""
    for path in (ROOT / "gui").rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text if about in text else "")):
            if isinstance(node, ast.Call):
                yield path.relative_to(ROOT).as_posix(), node


def test_every_tooltip_is_wrapped():
    found = []
    for path, call in calls("ToolTip"):
        name = getattr(call.func, "attr", "")
        if name == "setToolTip" or (name == "showText" and "QToolTip" in ast.unparse(call)):
            text = call.args[1] if name == "showText" else call.args[-1]
        elif name == "setItemData" and "ToolTipRole" in ast.unparse(call):
            text = call.args[1]
        else:
            continue
        if not is_plain(text):
            found.append(f"{path}:{call.lineno}: {ast.unparse(text)}")
    assert found == []


@pytest.mark.slow
def test_no_widget_that_guesses_is_made_elsewhere():
    """A QLabel or QMessageBox takes what looks like HTML for it, unless it is told not to."""
    guessing = {"QLabel", "QMessageBox", "QErrorMessage", "TextItem", "LegendItem", "LabelItem"}
    found = {
        path
        for path, call in calls()
        if getattr(call.func, "id", getattr(call.func, "attr", "")) in guessing
    }
    for path in (ROOT / "gui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and "QLabel" in map(ast.unparse, node.bases):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"gui/widgets/label.py"}


def test_the_menu_of_undo_marks_no_keys_of_a_name(application, wait_until_idle):
    undo, actions = application.window.undo, application.window.commands.by_name
    application.session.colormap = "viridis"
    wait_until_idle(application)
    undo._done[-1] = replace(undo._done[-1], step=NAME)
    undo.on_changed()
    assert actions["undo"].text() == f"Undo: {SHOWN}".replace("&", "&&")
