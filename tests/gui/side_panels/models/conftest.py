"""The model panel with the catalogue."""

import pytest

from tests.gui.side_panels.models.models_stage import hear, listed, show_models


@pytest.fixture
def session():
    return listed()


@pytest.fixture
def panel(qtbot, session):
    return show_models(qtbot, session)


@pytest.fixture
def heard(panel):
    return hear(panel)
