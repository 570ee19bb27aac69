"""The viewports of the window that tests share."""

import pytest


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def viewport(window):
    """The viewport of the open model, with the keyboard."""
    window.viewport.interactor.setFocus()
    return window.viewport
