"""The settings dialog over a cache with three models."""

import pytest

from geometry.hub.tensor_cache import TensorCache
from tests.gui.window.settings.settings_stage import dialogs, fill


@pytest.fixture
def cache(tmp_path):
    return TensorCache(tmp_path / "hub")


@pytest.fixture
def filled(cache):
    return fill(cache)


@pytest.fixture
def make(qtbot, session, dress):
    return dialogs(qtbot, session, dress)
