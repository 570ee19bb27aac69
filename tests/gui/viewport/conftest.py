"""The viewports of the window that tests share."""

import numpy as np
import pytest

from tests.gui.viewport_mouse import pose


@pytest.fixture
def window(application):
    return application.window


@pytest.fixture
def viewport(window):
    """The viewport of the open model, with the keyboard."""
    window.viewport.interactor.setFocus()
    return window.viewport


@pytest.fixture
def assert_framed(viewport, settle):
    """Check that to frame the curve changes nothing."""

    def check(atol=1e-6):
        shown = pose(viewport)
        viewport.camera.frame()
        settle()
        np.testing.assert_allclose(pose(viewport), shown, atol=atol)

    return check
