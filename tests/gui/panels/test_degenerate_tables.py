"""Panels of tables that do not vary, vary little, or have numbers of unusual size."""

import numpy as np
import pytest

from gui.panels.table import PANELS
from tests.degenerate_tables import TABLES, write_gpt2_of
from tests.gui.result_stage import ResultStage


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: write_gpt2_of(folder / name, table) for name, table in TABLES.items()}


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("table", TABLES)
def test_each_panel_shows_a_result_or_says_why_not(panel, table, models, qapp):
    stage = ResultStage(None, panel)
    try:
        stage.open(models[table])
        assert stage.answer.state in ("ready", "impossible"), stage.answer.why
        if stage.answer.state == "impossible":
            assert stage.answer.why
            return
        stage.panel.figure()().canvas.draw()
        for name, values in stage.panel.numbers().items():
            assert (
                not np.isinf(np.asarray(values, dtype=float)).any()
                if np.asarray(values).dtype.kind == "f"
                else True
            ), name
    finally:
        stage.close()
