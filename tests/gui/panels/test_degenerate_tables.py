"""Panels of tables that do not vary, or vary in few dimensions."""

import numpy as np
import pytest

from gui.panels.table import PANELS
from tests.degenerate_tables import FLAT, ODD, write_gpt2_of
from tests.gui.result_stage import ResultStage
from tests.marks import slow_but

NAMES = (
    "zeros",
    "equal",
    "two rows in turn",
    "a plane",
    "one position",
    "two dimensions",
    "one column",
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder, tables = tmp_path_factory.mktemp("models"), {**FLAT, **ODD}
    return {name: write_gpt2_of(folder / name, tables[name]) for name in NAMES}


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("table", slow_but(["zeros"], NAMES))
def test_each_panel_shows_a_result_or_says_why_not(panel, table, models, qapp):
    stage = ResultStage(None, panel)
    try:
        stage.open(models[table])
        assert stage.answer.state in ("ready", "impossible"), stage.answer.why
        if stage.answer.state == "impossible":
            assert stage.answer.why
            return
        stage.panel.figure()().canvas.draw()
        numbers = [np.asarray(values) for values in stage.panel.numbers().values()]
        assert not any(np.isinf(one).any() for one in numbers if one.dtype.kind == "f")
    finally:
        stage.close()
