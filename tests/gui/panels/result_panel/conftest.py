"""The least result panel that there can be, answered at once."""

from __future__ import annotations

import pytest

from tests.gui.panels.result_panel.sum_panel import FAILURES, SumPanel
from tests.gui.result_stage import ResultStage


@pytest.fixture(autouse=True)
def no_failures():
    FAILURES.clear()


@pytest.fixture
def stage(qtbot):
    return ResultStage(qtbot, SumPanel())


@pytest.fixture
def opened(stage, write_table):
    stage.open(write_table())
    return stage
