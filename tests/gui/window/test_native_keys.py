"""Keys as the system writes them, and those that it keeps for itself."""

import numpy as np
import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent, QKeySequence
from PySide6.QtWidgets import QApplication

from gui.widgets import native_keys as keys
from gui.window.actions import COMMANDS, for_system

HIDING = {"Ctrl+H", "Ctrl+M", "Ctrl+Alt+H", "Ctrl+Alt+M", "Ctrl+Alt+D", "F11"}
PICTURES = {"Ctrl+Shift+3", "Ctrl+Shift+4", "Ctrl+Shift+5"}
KEPT_BY_MACOS = HIDING | PICTURES | {"Ctrl+Shift+Q", "Meta+Ctrl+Q", "Ctrl+Space", "Ctrl+Tab"}
KEPT_BY_WINDOWS = {"Ctrl+Esc", "Ctrl+Shift+Esc", "Alt+F4", "Alt+Esc", "Alt+Space", "Ctrl+Alt+Del"}


@pytest.mark.parametrize(
    ("system", "kept"), [("darwin", KEPT_BY_MACOS), ("win32", KEPT_BY_WINDOWS)]
)
def test_no_command_has_a_key_that_the_system_keeps(system, kept):
    shortcuts = [one.shortcut for one in for_system(COMMANDS, system) if one.shortcut]
    assert kept.isdisjoint(shortcuts)
    assert len(set(shortcuts)) == len(shortcuts)
    assert all(QKeySequence(key).toString() == key for key in shortcuts)


@pytest.fixture
def macos(monkeypatch):
    """Write keys as on macOS."""
    signs = {"Ctrl+": "⌘", "Alt+": "⌥", "Shift+": "⇧", "Meta+": "⌃"}

    def written(sequence):
        text = QKeySequence(sequence).toString()
        for name, sign in signs.items():
            text = text.replace(name, sign)
        return text

    monkeypatch.setattr(keys, "_sequence", written)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Press Ctrl+K.", "Press ⌘K."),
        ("**Ctrl+Alt+S** and `Ctrl+Shift+F6`", "**⌘⌥S** and `⌘⇧F6`"),
        ("Ctrl+1 to Ctrl+4, Ctrl+/", "⌘1 to ⌘4, ⌘/"),
        ("Shift+drag, Ctrl+click", "⇧drag, ⌘click"),
        ("a + b, control, Alt", "a + b, control, Alt"),
    ],
)
def test_keys_in_a_text(macos, text, expected):
    assert keys.native_keys(text) == expected


def test_keys_in_menus_and_pages(macos):
    by_name = {one.name: one for one in COMMANDS}
    assert by_name["palette"].key == "⌘K"
    assert by_name["next"].key == "→"


def test_here_keys_are_written_as_they_are():
    assert keys.native_keys("Ctrl+K, Ctrl+click") == "Ctrl+K, Ctrl+click"
    assert {one.name: one.key for one in COMMANDS}["roll_left"] == "Alt+←"


def test_a_file_that_the_desktop_opens(application, settle, write_safetensors, tmp_path):
    rng = np.random.default_rng(0)
    tensors = {"wpe.weight": rng.standard_normal((50, 8)).astype(np.float32)}
    path = write_safetensors(tmp_path / "double click.safetensors", tensors)
    event = QFileOpenEvent(QUrl.fromLocalFile(str(path)))
    QApplication.sendEvent(QApplication.instance(), event)
    settle()
    assert application.session.model.n_positions == 50


def test_a_link_that_the_desktop_opens(application, settle):
    before = application.session.model
    for url in ("https://huggingface.co/gpt2", "helixscope://open?model=sample"):
        QApplication.sendEvent(QApplication.instance(), QFileOpenEvent(QUrl(url)))
        settle()
        assert (application.session.model is before) == url.startswith("https")
    assert application.session.model.name == "sample"
