"""Compared models in the panels under the viewport: the legend of their curves, names, scripts."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from gui.panels.kit.other_models import names_of_others
from gui.panels.kit.others_legend import shares
from gui.panels.kit.outputs import all_numbers, unique_names
from gui.state.answer import Answer
from gui.state.session import OpenModel, Session
from gui.style.theme import format_number
from tests.gui.others_stage import Beside, drawn_names
from tests.gui.result_stage import LEFT
from tests.scripts import run_script


@pytest.fixture
def beside(qtbot, tmp_path):
    return lambda panel: Beside(qtbot, panel, tmp_path)


def test_the_legend_is_reached_and_used_by_keys(beside, qtbot):
    made = beside("spectra")
    panel = made.add_both()
    with qtbot.waitActive(panel):
        panel.activateWindow()
    made.chips[1].setFocus()
    QTest.keyClick(made.chips[1], Qt.Key.Key_Space)
    assert drawn_names(panel) == {"short"}
    assert QApplication.focusWidget() is made.chips[1], "drawn anew, it is the same button"
    QTest.keyClick(made.chips[1], Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is made.chips[2]


def test_tooltips_and_script_of_compared_curves(beside):
    made = beside("lookback")
    made.add_both()
    tip = made.chips[1].toolTip()
    found = made.session.others[0].session.answers["lookback"].result.motions.look_back
    assert made.panel.controls.number.value == 45, "the largest of the open model"
    said = f"N = 45: R² {format_number(found.r2['screw'][44])}, angle "
    assert tip.startswith(f"long · positions 2–70\n{said}")
    assert tip.endswith("Click to hide its curve")
    assert made.panel.legend.words.text() == "R² of rotation + shift:"
    own = made.panel.legend.own
    assert own.shown_text == made.session.model.name
    assert not own.isEnabled()
    QTest.mouseClick(made.chips[2], LEFT)
    script = made.stage.python()
    assert str(made.sources[0]) in script
    assert str(made.sources[1]) not in script
    alone, other = script.split("# Beside it, long:")
    assert run_script(script).startswith(run_script(alone))
    line = made.lines("R²")["long"]
    r2 = line.y[np.flatnonzero(line.x == made.panel.controls.number.value)[0]]
    assert float(run_script(other).split()[1]) == pytest.approx(r2)


def test_chips_tell_models_of_one_name_apart_and_which_are_being_read(
    beside, write_table, helix, hand_jobs, monkeypatch
):
    made = beside("spectra")
    made.add(made.sources[0], (2, 70))
    made.add(made.sources[0], (10, 30))
    assert [chip.shown_text for chip in made.chips.values()] == ["long 2–70", "long 10–30"]
    comparing = made.stage.controller.comparing
    monkeypatch.setattr(comparing, "_jobs", hand_jobs)
    comparing.add(str(write_table(helix(40), "slow")))
    assert made.chips[3].shown_text == "slow.npy …"
    assert "is loading" in made.chips[3].toolTip()
    hand_jobs.deliver_all()
    assert "slow" in drawn_names(made.panel)
    assert made.chips[3].shown_text == "slow"


def test_what_a_model_lacks_is_said_at_its_name(beside, write_table, helix):
    made = beside("layernorm")
    made.add(write_table(helix(40, 16), "bare"))
    assert made.chips[1].shown_text == "bare –"
    assert "no token embeddings" in made.chips[1].toolTip().replace("\n", " ")
    assert drawn_names(made.panel) == set()


def test_widths_share_a_room_and_what_is_called_the_same_gets_numbers():
    assert shares([30, 100, 20], 200) == [30, 100, 20]
    assert shares([30, 100, 90], 120) == [30, 45, 45]
    assert shares([], 50) == []
    assert sum(shares([80] * 7, 100)) <= 100
    for names, apart in (
        ("", []), ("a b", ["a", "b"]), ("a b a a b", ["a", "b", "a (2)", "a (3)", "b (2)"]),
    ):  # fmt: skip
        assert unique_names(names.split()) == apart
    found = unique_names(["a", "a (2)", "a", "a (2)"])
    assert found[:2] == ["a", "a (2)"]
    assert len(set(found)) == 4


def test_numbers_of_models_of_one_name_are_kept_apart():
    models = [("a", {"x": np.full(n, n), "y": np.full(n, -n)}) for n in (2, 3, 4)]
    models.append(("b", {"x": np.zeros(5)}))
    others = [SimpleNamespace(name=name, numbers=columns) for name, columns in models]
    view = SimpleNamespace(numbers={"x": np.zeros(1)}, others=others)
    columns = all_numbers(SimpleNamespace(numbers=lambda one: one.numbers), view)
    assert {name: len(values) for name, values in columns.items()} == {
        "x": 1, "a: x": 2, "a: y": 2, "a (2): x": 3, "a (2): y": 3, "a (3): x": 4, "a (3): y": 4,
        "b: x": 5,
    }  # fmt: skip
    assert columns["a (3): y"][0] == -4


def test_models_of_one_name_are_told_by_their_ranges_and_then_by_numbers():
    session = Session()

    def named(key, name, positions):
        other = Session()
        other.change(model=SimpleNamespace(name=name), positions=positions)
        return OpenModel(key, Source.parse(name), name, other)

    session.open_models = (
        named(1, "gpt2", (1, 99)), named(2, "opt", (1, 99)), named(3, "gpt2", (1, 99)),
        named(4, "gpt2", (0, 9)),
    )  # fmt: skip
    assert names_of_others(session) == ["gpt2 1–99", "opt", "gpt2 1–99 (2)", "gpt2 0–9"]


def test_hidden_asks_nothing_and_legend_is_one_row(beside):
    made = beside("spectra")
    made.panel.set_in_front(False)
    made.add_both()
    assert all("spectra" not in c.session.answers for c in made.session.others)
    made.panel.set_in_front(True)
    assert drawn_names(made.panel) == {"long", "short"}
    for _ in range(6):
        made.add(made.sources[0])
    for width in (420, 700, 1600):
        made.panel.resize(width, 300)
        QApplication.processEvents()
        chips = list(made.legend.chips.values())
        assert len(chips) == 8
        assert len({chip.y() for chip in chips}) == 1
        assert all(a.geometry().right() < b.x() for a, b in itertools.pairwise(chips))
        assert chips[-1].geometry().right() <= made.legend.width()


def test_heads_are_the_open_models_and_drags_end(beside):
    made = beside("lookback")
    panel = made.add_both()
    space = panel.controls.widgets["space"].buttons
    QTest.mouseClick(space["heads"], LEFT)
    assert drawn_names(panel) == set()
    assert not panel.legend.isVisible()
    QTest.mouseClick(space["3"], LEFT)
    assert drawn_names(panel) == {"long", "short"}
    other = made.session.others[0].session
    other.dragging = True
    other.positions = (10, 60)
    assert other.answers["lookback"].question.positions == (2, 70)
    assert drawn_names(made.panel) == {"long", "short"}, "that of before stays meanwhile"
    other.dragging = False
    assert other.answers["lookback"].question.positions == (10, 60)
    assert made.lines("R²")["long"].x[-1] < 51


@pytest.mark.parametrize("panel_class", ["spectra", "lookback"])
def test_drags_and_hidden_panels_draw_nothing(beside, panel_class, monkeypatch):
    made = beside(panel_class)
    panel = made.add_both()
    drawn = []
    monkeypatch.setattr(panel, "_draw", lambda: drawn.append(True))
    others = [compared.session for compared in made.session.others]
    for other in others:
        other.dragging = True
        for first in range(10):
            other.positions = (first, 40)
    assert not drawn
    panel.set_in_front(False)
    for other in others:
        other.dragging = False
        other.positions = (1, 35)
    assert not drawn
    panel.set_in_front(True)
    assert drawn


def test_what_has_to_be_fetched_is_asked_for_by_a_press(beside):
    made = beside("spectra")
    panel = made.add_both()
    asked = []
    panel.otherAsked.connect(lambda *said: asked.append(said))
    other = made.session.others[0].session
    question = panel.spec.question_about_other(panel.view().scope, panel.choices)
    other.answers = {"spectra": Answer(question, "to fetch", bytes_to_fetch=154_000_000)}
    assert made.chips[1].shown_text == "long ↓ 154\N{NO-BREAK SPACE}MB"
    assert "Click to download 154" in made.chips[1].toolTip()
    QTest.mouseClick(made.chips[1], LEFT)
    assert asked == [(1, question, True)]
    assert drawn_names(panel) == {"long", "short"}
    assert made.session.hidden_curves == frozenset()
