"""What panels show as it is saved: told by options(), taken by configure(), checked in a file."""

import json

import numpy as np
import pytest

from gui.panels.options import CHOICES, fitting, usable
from gui.panels.table import PANELS
from gui.style.theme import LIGHT
from gui.widgets.segmented import Segmented
from gui.window.docks import BOTTOM, DOCKS
from tests.gui.result_stage import ResultStage, write_small_gpt2

CASES = [
    (
        "layernorm",
        {"page": "errors", "version": "constant_norm", "measure": "cosine", "example": "nearest"},
    ),
    (
        "layernorm",
        {
            "page": "interference",
            "version": "orthogonal",
            "measure": "layernorm_cosine",
            "sums": [["#5", 10], ["#1", 20]],
        },
    ),
]  # fmt: skip
LAZY = [dock for dock in DOCKS if dock.lazy and dock.area == BOTTOM]


def panel_class(name: str, session):
    """The class of a dock's panel, or its name where it is made of a spec."""
    if name in PANELS:
        return name
    (dock,) = [dock for dock in LAZY if dock.name == name]
    made = dock.make(session, LIGHT)
    found = type(made)
    made.release()
    made.deleteLater()
    return found


@pytest.fixture
def stage(qtbot, session, tmp_path):
    """Show a panel, a small GPT-2 being open."""

    def make(name: str) -> ResultStage:
        made = ResultStage(qtbot, panel_class(name, session))
        made.open(write_small_gpt2(tmp_path / "small"))
        return made

    return make


def through_json(options):
    return json.loads(json.dumps(options))


def test_every_panel_of_results_is_tried():
    assert {name for name, _ in CASES} == {dock.name for dock in LAZY} - PANELS.keys()
    assert CHOICES.keys() < {dock.name for dock in LAZY}


@pytest.mark.parametrize(
    ("name", "wanted"), CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)]
)
def test_what_is_told_shows_the_same_again(stage, qtbot, session, name, wanted):
    shown = stage(name)
    panel = shown.panel
    first = panel.options()
    assert through_json(first) == first
    assert first == usable(name, first, shown.session.model)
    assert wanted != first or not wanted
    panel.configure(**wanted)
    assert panel.options() == wanted == usable(name, wanted, shown.session.model)
    question, answer = panel.question(), shown.answer
    panel.configure(**panel.options())
    assert panel.options() == wanted
    assert panel.question() == question
    assert shown.answer is answer  # it did not even ask again
    # Before it was ever seen, as where saved work is opened.
    other = ResultStage(qtbot, type(panel), show=False)
    other.open(shown.session.model.source)
    other.panel.configure(**fitting(wanted, other.session.model))
    with qtbot.waitExposed(other.panel):
        other.panel.show()
    assert other.panel.options() == wanted
    assert other.panel.question() == question


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_every_choice_that_is_offered_may_be_saved(stage, name):
    shown = stage(name)
    panel, model = shown.panel, shown.session.model
    said = panel.options()
    for choice in panel.findChildren(Segmented):
        told = [key for key, value in said.items() if value == choice.value()]
        for key in told:
            for value in choice.buttons:
                assert usable(name, {key: value}, model) == {key: value}


def changed(panel: str, name: str, value: object) -> tuple[str, dict[str, object]]:
    return panel, {name: value}


@pytest.mark.parametrize(
    ("panel", "options"),
    [
        changed("capture", "name", "P"),
        changed("layernorm", "sums", [["#1", 2]]),
        changed("layernorm", "sums", [["#1", 2], [3, 4]]),
    ],
    ids=range(3),
)
def test_what_makes_no_sense_is_left_out(panel, options, open_table):
    table = open_table(np.random.default_rng(0).normal(size=(20, 8)))
    assert usable(panel, options, table) == {}


def test_layers_and_heads_that_a_model_lacks_are_left_out(stage):
    shown = stage("lookback")
    model = shown.session.model
    assert (model.n_layers, model.n_heads) == (3, 2)
    assert fitting({"layer": 3, "head": 2, "lag": 9}, model) == {"lag": 9}
    assert fitting({"layer": 2, "head": 1}, model) == {"layer": 2, "head": 1}
