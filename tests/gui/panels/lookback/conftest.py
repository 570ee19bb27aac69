"""The look-back panel with tables and models of several kinds."""

import numpy as np
import pytest
from PySide6.QtTest import QTest
from safetensors.numpy import load_file, save_file

from tests.gui.panels.lookback.lookback_stage import LEFT
from tests.gui.result_stage import ResultStage, write_small_gpt2


@pytest.fixture
def stage(qtbot) -> ResultStage:
    return ResultStage(qtbot, "lookback", size=(1000, 280))


@pytest.fixture
def panel(stage, write_table):
    """The panel with the helix of 200 positions, 1–198 of them shown."""
    stage.open(write_table(), positions=(1, 198))
    return stage.panel


@pytest.fixture
def gpt2(tmp_path):
    """A small GPT-2 of random numbers with all that its heads need."""
    folder = write_small_gpt2(tmp_path / "small")
    tensors = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(1)
    for layer in (0, 1):
        tensors[f"h.{layer}.attn.c_attn.bias"] = rng.normal(size=48).astype(np.float32)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture
def noisy(stage, write_table, helix):
    """The panel with a helix that needs more than six components, 900 positions."""
    table = helix(900)
    stage.open(write_table(table + 0.05 * np.random.default_rng(0).standard_normal(table.shape)))
    return stage.panel


@pytest.fixture
def heads(stage, gpt2):
    """The panel with the heads of a small GPT-2."""
    stage.open(gpt2)
    QTest.mouseClick(stage.panel.controls.widgets["space"].buttons["heads"], LEFT)
    return stage.panel
