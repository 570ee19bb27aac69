"""What a user chose in a panel stays while a training goes on, and not with another model."""

import pytest

from geometry.history.position_log import PositionLog
from gui.services.effects import EffectsRun
from tests.geometry.history_stage import growing
from tests.gui.result_stage import ResultStage

CHOICES = {
    "effects": {"length": 24},
    "extend": {"kept": 11},
    "shape": {"curve": "circle"},
    "dimensions": {"dimensions": (3, 7)},
}


@pytest.fixture
def log(tmp_path):
    made = PositionLog(tmp_path / "run")
    made(0, growing([0])[0])
    return made


def watched(qtbot, log, panel):
    stage = ResultStage(qtbot, panel, show=False)
    stage.open(log.file.parent)
    stage.panel._change_choices(CHOICES[panel])
    return stage


def chosen(stage, panel):
    return {name: getattr(stage.panel.choices, name) for name in CHOICES[panel]}


@pytest.mark.parametrize("panel", CHOICES)
def test_a_later_step_keeps_what_was_chosen(qtbot, log, panel, helix_table):
    stage = watched(qtbot, log, panel)
    log(100, growing([100])[0])
    stage.controller.watch()
    assert stage.session.model.name == "run · step 100"
    assert chosen(stage, panel) == CHOICES[panel]
    stage.open(helix_table)
    assert chosen(stage, panel) == {
        n: getattr(stage.panel.spec.defaults, n) for n in CHOICES[panel]
    }


def test_a_later_step_forgets_what_was_measured(qtbot, log):
    stage = watched(qtbot, log, "effects")
    stage.panel._change_choices({"run": EffectsRun("sample", 24, 4, False, (), 0)})
    log(100, growing([100])[0])
    stage.controller.watch()
    assert stage.session.model.name == "run · step 100"
    assert stage.panel.choices.run is None
