"""The look-back panel with tables and models of several kinds."""

import numpy as np
import pytest
from PySide6.QtTest import QTest

from tests.gui.result_stage import LEFT

SIZE = (1000, 280)


@pytest.fixture
def stage(stage_of, helix_table):
    """The panel with the helix of 200 positions, 1–198 of them shown."""
    return stage_of("lookback", helix_table, (1, 198), size=SIZE)


@pytest.fixture
def panel(stage):
    return stage.panel


@pytest.fixture
def gpt2(stage_of, small_gpt2):
    """The panel with a small GPT-2 of random numbers with all that its heads need."""
    return stage_of("lookback", small_gpt2(), size=SIZE)


@pytest.fixture
def heads(gpt2):
    """The panel with the heads of a small GPT-2."""
    QTest.mouseClick(gpt2.panel.controls.widgets["space"].buttons["heads"], LEFT)
    return gpt2.panel


@pytest.fixture(scope="module")
def noisy_table(tmp_path_factory, helix_table):
    """The file of a helix that needs more than six components, 900 positions."""
    from tests.gui.conftest import _helix

    table = _helix(900)
    path = tmp_path_factory.mktemp("noisy") / "helix.npy"
    np.save(path, table + 0.05 * np.random.default_rng(0).standard_normal(table.shape))
    return path


@pytest.fixture
def noisy(stage_of, noisy_table):
    return stage_of("lookback", noisy_table, size=SIZE)
