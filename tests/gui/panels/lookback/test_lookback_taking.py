"""What the look-back panel gives away: numbers, figure, Python."""

import numpy as np
import pytest
from PySide6.QtTest import QTest

from tests.gui.panels.lookback.lookback_stage import LEFT
from tests.scripts import run_script


@pytest.mark.parametrize("space", ["3", "6", "all"])
def test_numbers_and_figure(noisy, tmp_path, monkeypatch, space):
    panel = noisy.panel
    QTest.mouseClick(panel.controls.widgets["space"].buttons[space], LEFT)
    numbers = np.load(noisy.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz"))
    np.testing.assert_allclose(numbers["lag"], panel.result.lags)
    np.testing.assert_allclose(numbers["r2_screw"], panel.result.back.found.r2["screw"])
    angles = [name for name in numbers if name.endswith("_deg")]
    assert len(angles) == {"3": 2, "6": 3, "all": 0}[space]
    figure = panel.figure()()
    assert len(figure.axes) == (1 if space == "all" else 2)
    assert figure.axes[0].get_ylim()[0] >= -0.6


def test_figure_and_numbers_of_heads(heads, gpt2, tmp_path, monkeypatch):
    numbers = np.load(gpt2.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz"))
    assert numbers["query_r2"].shape == (len(heads.result.lags), 2)
    np.testing.assert_array_equal(numbers["preferred_lag"], heads.result.back.preferred)
    labels = [text.get_text() for text in heads.figure()().axes[0].get_legend().texts]
    assert labels == ["queries", "keys"]


@pytest.mark.parametrize("space", ["3", "all", "heads"])
def test_python_prints_what_is_shown(gpt2, space):
    panel = gpt2.panel
    QTest.mouseClick(panel.controls.widgets["space"].buttons[space], LEFT)
    printed = run_script(gpt2.python())
    lag = panel.controls.number.value
    back = panel.result.back
    found = back.queries[1] if space == "heads" else back.found
    assert str(found.r2["screw"][found.index(lag)])[:9] in printed
