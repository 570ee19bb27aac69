"""What is exported from the window that tests share."""

import pytest

from tests.gui.conftest import TIMEOUT_MS


@pytest.fixture
def finish(application, qtbot, settle):
    """Wait until a film is done, and everything else too."""

    def wait():
        qtbot.waitUntil(lambda: not application.window.films.busy, timeout=TIMEOUT_MS)
        settle()

    return wait
