"""The window that tests share, with the keyboard."""

import pytest


@pytest.fixture
def window(application, qtbot):
    """The window with its first panels, and active: only that one has shortcuts."""
    window = application.window
    window.activateWindow()
    # The X server makes it the active one in its own time.
    qtbot.waitUntil(lambda: bool(window.built_panels) and window.isActiveWindow())
    return window
