"""The window on a Hub on this machine."""

from functools import partial

import numpy as np
import pytest

from geometry.models import catalogue
from tests.gui.window.hub.window_hub import serve_three, start_with_keyboard


@pytest.fixture
def table(helix):
    """P of a model that takes its time: 1.5 MB."""
    return helix(2048, 192).astype(np.float32)


@pytest.fixture
def hub(loopback_hub, tmp_path, monkeypatch, write_gpt2, write_safetensors, table):
    """The Hub; no packages with models."""
    monkeypatch.setattr(catalogue, "_in_package", lambda entry: None)
    return serve_three(loopback_hub, tmp_path / "made", write_gpt2, write_safetensors, table)


@pytest.fixture
def start(hub, start_application, qtbot):
    """Start the application on this Hub, its window with the keyboard."""
    return partial(start_with_keyboard, start_application, qtbot)


@pytest.fixture
def application(start):
    """The application with nothing open."""
    return start()


@pytest.fixture
def window(application):
    return application.window
