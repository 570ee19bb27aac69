"""Before and after: which model is before, and what is counted of the rows."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.panels.kit.intents import AddModel
from gui.plots.spec import Plot, Table
from tests.gui.open_models import add_beside
from tests.scripts import run_script
from tests.small_models import write_model

BASE = np.random.default_rng(0).normal(size=(24, 6)).astype(np.float32)


@pytest.fixture
def tables(tmp_path):
    """Save a base, one with two changed rows and four new ones, and one of another width."""
    tuned = np.concatenate([BASE, BASE[:4]])
    tuned[5] *= 2
    tuned[9] *= 1.25
    made = {"base": BASE, "tuned": tuned, "wide": np.ones((24, 7), np.float32)}
    for name, table in made.items():
        np.save(tmp_path / f"{name}.npy", table)
    return {name: tmp_path / f"{name}.npy" for name in made}


@pytest.fixture
def stage(stage_of, tables):
    return stage_of("change", tables["tuned"], size=(1000, 320))


def test_alone_it_asks_for_the_model_before(stage):
    assert stage.answer.state == "ready"
    assert "Add model…" in stage.panel.caption()
    QTest.mouseClick(stage.panel.buttons["Add model…"], Qt.MouseButton.LeftButton)
    assert isinstance(stage.intents[-1], AddModel)


def test_the_rows_are_counted_by_kind(stage, tables):
    for name in ("wide", "base"):  # the first has another width
        add_beside(stage.controller, tables[name])
    result = stage.answer.result
    assert result.before == "base"
    assert np.flatnonzero(~result.rows.unchanged).tolist() == [5, 9]
    plot, new, table = stage.panel.spec.plots(stage.panel.view())
    assert isinstance(plot, Plot)
    assert isinstance(new, Plot)
    assert isinstance(table, Table)
    assert [len(one.curves[0].x) for one in (plot, new)] == [24, 4]
    assert not new.curves[0].y.any()
    assert [row.cells[1] for row in table.rows] == ["22", "2", "4", "0"]
    np.testing.assert_allclose(plot.curves[0].y[[5, 9]], [1, 0.25], rtol=1e-6)
    assert "22 of 24 rows unchanged" in stage.panel.caption()
    assert "4 new" in stage.panel.caption()
    assert "26" in new.hover(0, 2)
    printed = run_script(stage.panel.spec.script(stage.panel.view()))
    assert "5 " in printed
    assert "unchanged rows: 22" in printed


def test_after_becomes_before(stage, tables):
    key = stage.controller.comparing.add(str(tables["base"]))
    stage.controller.comparing.make_current(key)
    assert stage.answer.result.before == "tuned"
    assert "4 removed" in stage.panel.caption()


def test_of_another_width_it_is_impossible(stage, tables):
    add_beside(stage.controller, tables["wide"])
    assert stage.answer.state == "impossible"


def test_the_model_before_is_chosen(stage, tables, tmp_path):
    """Of several, a menu names them, and a model that was chosen and is closed is forgotten."""
    menu = stage.panel.controls.widgets["before"]
    add_beside(stage.controller, tables["base"])
    assert menu.isHidden()
    np.save(tmp_path / "other.npy", BASE + 1)
    other = add_beside(stage.controller, tmp_path / "other.npy")
    assert not menu.isHidden()
    assert [menu.itemText(at) for at in range(menu.count())] == ["Before: base", "Before: other"]
    menu.setFocus()
    QTest.keyClick(menu, Qt.Key.Key_Down)
    assert stage.answer.result.before == "other"
    assert menu.currentText() == "Before: other"
    stage.controller.comparing.make_current(other.key)
    assert stage.answer.result.before != "other"
    assert menu.currentText() == f"Before: {stage.answer.result.before}"


def test_patches_of_another_grid_are_not_compared(stage_of, tmp_path):
    for name, side in (("small", 3), ("large", 4)):
        config = {"model_type": "vit", "hidden_size": 8, "image_size": side, "patch_size": 1}
        table = np.random.default_rng(side).normal(size=(1, side * side + 1, 8))
        write_model(tmp_path / name, config, {"embeddings.position_embeddings": table})
    stage = stage_of("change", tmp_path / "large", size=(1000, 320))
    add_beside(stage.controller, tmp_path / "small")
    assert stage.answer.state == "impossible"
