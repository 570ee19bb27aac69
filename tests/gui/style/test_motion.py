"""Whether the system asks for reduced motion: its portal's answers, on a message bus of our own."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from PySide6.QtGui import QGuiApplication

from gui.style import motion
from tests.command_line import ROOT

SETTINGS = {
    "org.freedesktop.appearance": "reduced-motion",
    "org.gnome.desktop.interface": "enable-animations",
}


@pytest.mark.parametrize(
    ("answers", "reduced"),
    [((None, None), False), ((0, True), False), ((1, True), True), ((None, False), True)],
)
def test_either_setting_of_a_desktop_counts(qapp, monkeypatch, answers, reduced):
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    given = dict(zip(SETTINGS.items(), answers, strict=True))
    monkeypatch.setattr(motion, "_read", lambda *asked: given[asked])
    hints = SimpleNamespace(accessibility=SimpleNamespace)  # as before Qt 6.12
    monkeypatch.setattr(QGuiApplication, "styleHints", lambda: hints)
    assert motion.motion_reduced() is reduced


@pytest.mark.parametrize(("name", "reduced"), [("NoPreference", False), ("ReducedMotion", True)])
def test_qt_is_asked_where_it_knows(qapp, monkeypatch, name, reduced):
    told = SimpleNamespace(motionPreference=lambda: SimpleNamespace(name=name))
    hints = SimpleNamespace(accessibility=lambda: told)
    monkeypatch.setattr(QGuiApplication, "styleHints", lambda: hints)
    assert motion.motion_reduced() is reduced


ASK = """
from PySide6.QtGui import QGuiApplication
from gui.style import motion
app = QGuiApplication([])
print(motion._read("org.freedesktop.appearance", "reduced-motion"))
bus = "org.freedesktop.DBus"
motion.PORTAL = (bus, "/org/freedesktop/DBus", f"{bus}.Properties", "Get")
print(type(motion._read(bus, "Interfaces")).__name__)
"""


@pytest.mark.skipif(shutil.which("dbus-run-session") is None, reason="needs dbus-run-session")
def test_a_bus_is_asked_and_nothing_is_none():
    """The bus has no portal; as one, its own properties are asked for, which are variants too."""
    command = ["dbus-run-session", "--", sys.executable, "-c", ASK]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    assert subprocess.check_output(command, cwd=ROOT, env=environment, text=True, timeout=60) == (
        "None\nlist\n"
    )
