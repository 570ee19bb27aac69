"""The overlaps panel with real checkpoints."""

from __future__ import annotations

import pytest

from tests.gui.result_stage import open_in, show_panel


@pytest.fixture
def panel(qtbot, controller):
    """A panel whose questions are answered before a click returns."""
    return show_panel(qtbot, "overlaps", controller)


@pytest.fixture
def gpt2(panel, controller, gpt2_folder):
    return open_in(panel, controller, gpt2_folder)


@pytest.fixture
def minilm(panel, controller, minilm_folder):
    return open_in(panel, controller, minilm_folder)
