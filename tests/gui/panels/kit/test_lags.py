"""Rows of a model with biases by lag: numbered as rows, and named with their lags."""

import pytest

from gui.panels.table import PANELS
from tests.gui.result_stage import ResultStage
from tests.small_models import saved

SIZES = {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 4, "vocab_size": 30}


@pytest.fixture
def view(qtbot, tmp_path):
    saved("t5", tmp_path, relative_attention_max_distance=24, **SIZES)
    stage = ResultStage(qtbot, "norms")
    stage.open(tmp_path)
    return stage.panel.view()


def test_an_axis_of_rows_does_not_pass_for_one_of_lags(view):
    first = -view.model.lags.first
    assert first > 0
    assert view.along == f"row (0: lag \N{MINUS SIGN}{first}, ahead)"
    assert view.at(first) == f"{first} (lag 0)"
    assert view.at(0) == f"0 (lag \N{MINUS SIGN}{first}, ahead)"
    assert view.model.place_of(3) in next(iter(PANELS["norms"].spec.plots(view))).hover(0, 3)
