"""The help dialogs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QMessageBox, QVBoxLayout, QWidget

from gui.actions import COMMANDS

MOUSE = (
    ("Drag", "rotate"),
    ("Shift-drag, or drag with the middle button", "move"),
    ("Ctrl-drag", "roll"),
    ("Wheel, or drag with the right button", "zoom"),
    ("Click a point", "select it"),
    ("Shift-click a point", "add it to the selection, or take it out"),
    ("Ctrl-Shift-click a point", "select everything up to it"),
    ("Double-click a point", "centre on it"),
    ("Double-click elsewhere", "frame the curve"),
)


def show_shortcuts(parent: QWidget) -> None:
    """Show what keys and mouse do, from the table of commands."""
    keys = [(c.shortcut, c.title.rstrip("…")) for c in COMMANDS if c.shortcut]
    keys.append(("1 … 9", "Open a panel"))
    rows = "".join(
        f"<tr><td style='padding:2px 24px 2px 0'><b>{what}</b></td><td>{does}</td></tr>"
        for what, does in (*MOUSE, ("", ""), *keys)
    )
    dialog = QDialog(parent)
    dialog.setWindowTitle("Keyboard and mouse")
    text = QLabel(f"<table>{rows}</table>")
    text.setTextFormat(Qt.TextFormat.RichText)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    layout = QVBoxLayout(dialog)
    layout.addWidget(text)
    layout.addWidget(buttons)
    dialog.exec()
    dialog.deleteLater()


def show_about(parent: QWidget) -> None:
    """Show the version and where the ideas come from."""
    try:
        number = version("helixscope")
    except PackageNotFoundError:
        number = "not installed"
    QMessageBox.about(
        parent,
        "About Helixscope",
        f"<b>Helixscope</b> {number}<p>A desktop microscope for positional embeddings.</p>"
        "<p>The ideas it makes explorable: “GPT-2’s positional embedding matrix is a helix”, "
        "the norms of positional embeddings that tame LayerNorm, “Insights into GPT-2’s "
        "positional encodings”, and looking back N tokens as a rotation.</p>",
    )
