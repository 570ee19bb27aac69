"""The window on a Hub on this machine, driven as a user drives it."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.stand_ins import write_stand_in

GPT2, MEDIUM, LONG = "openai-community/gpt2", "openai-community/gpt2-medium", "someone/long"
LEFT = Qt.MouseButton.LeftButton
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def serve_three(hub, made, write_gpt2, write_safetensors, table):
    """Serve GPT-2 small and medium, and a larger model; the Hub."""
    for name in (GPT2, MEDIUM):
        hub.add(name, write_stand_in(made, name))
    folder = write_gpt2("long", table)
    # What comes with the first request is not all there is.
    tensors = {"a": np.zeros(50_000), "wpe.weight": table}
    write_safetensors(folder / "model.safetensors", tensors)
    hub.add(LONG, {path.name: path for path in folder.iterdir()})
    return hub


def start_with_keyboard(start_application, qtbot, source=None, **options):
    application = start_application(source, **options)
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow)
    return application


def click(button):
    assert button.isVisible()
    assert button.isEnabled()
    QTest.mouseClick(button, LEFT)
