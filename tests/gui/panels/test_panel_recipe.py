"""The panel in docs/architecture.md works as it stands there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gui.panels.table import PANELS, PanelEntry

ROOT = Path(__file__).resolve().parents[3]
RECIPE = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("**A panel**")[2]


@pytest.fixture
def entry(monkeypatch):
    """Its row, with its file in place."""
    code, row = re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL)[:2]
    assert len(code.splitlines()) <= 40
    made = eval(row, {"PanelEntry": PanelEntry})
    module = ModuleType(f"gui.panels.{made.name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, vars(module))
    monkeypatch.setitem(PANELS, made.name, made)
    return made


def test_the_example_is_a_whole_panel(entry, stage_of, tmp_path):
    table = np.cumsum(np.random.default_rng(0).normal(size=(60, 8)), axis=0)
    np.save(tmp_path / "table.npy", table)
    stage = stage_of(entry.name, tmp_path / "table.npy", (5, 40), size=(800, 320))
    assert stage.answer.state == "ready"
    panel = stage.panel
    expected = np.linalg.norm(table[6:41] - table[5:40], axis=1)
    np.testing.assert_allclose(panel.numbers()["gap"], expected)
    assert panel.numbers()["position"].tolist() == [*range(5, 40)]
    assert panel.caption() == "table · positions 5–40"
    figure = panel.figure()()
    assert len(figure.axes) == 1
    menu = panel.menu()
    texts = [action.text() for action in menu.actions()]
    menu.deleteLater()
    assert "Save numbers…" in texts
    assert "Copy as Python" not in texts
