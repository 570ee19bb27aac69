"""The viewports of the window that tests share."""

import pytest


@pytest.fixture
def settle(application, wait_until_idle):
    """Wait until the window is idle."""
    return lambda: wait_until_idle(application)


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def viewport(window):
    """The viewport of the open model, with the keyboard."""
    window.viewport.interactor.setFocus()
    return window.viewport
