"""When panels ask compared models, and what stays on the screen meanwhile."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.state.answer import Answer
from tests.gui.compared_stage import Beside, drawn_names

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def beside(qtbot, tmp_path):
    made = []

    def make(panel_class, **options):
        made.append(Beside(qtbot, panel_class, tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_nothing_is_asked_while_nobody_looks(beside):
    made = beside("spectra")
    made.panel.set_in_front(False)
    made.add_both()
    assert all("spectra" not in c.session.answers for c in made.session.compared)
    made.panel.set_in_front(True)
    assert drawn_names(made.panel) == {"long", "short"}


def test_a_range_that_is_dragged_is_asked_for_in_the_end(beside):
    made = beside("lookback")
    made.add_both()
    other = made.session.compared[0].session
    other.dragging = True
    other.positions = (10, 60)
    assert other.answers["lookback"].question.positions == (2, 70)
    assert drawn_names(made.panel) == {"long", "short"}, "that of before stays meanwhile"
    other.dragging = False
    assert other.answers["lookback"].question.positions == (10, 60)
    assert made.lines("R²")["long"].x[-1] < 51


def test_of_heads_only_the_open_models_are_shown(beside):
    made = beside("lookback")
    panel = made.add_both()
    space = panel.controls.widgets["space"].buttons
    QTest.mouseClick(space["heads"], LEFT)
    assert drawn_names(panel) == set()
    assert not panel.legend.isVisible()
    QTest.mouseClick(space["3"], LEFT)
    assert drawn_names(panel) == {"long", "short"}


@pytest.mark.parametrize("panel_class", ["spectra", "lookback"])
def test_neither_a_drag_nor_a_panel_that_nobody_sees_draws_anything(
    beside, panel_class, monkeypatch
):
    made = beside(panel_class)
    panel = made.add_both()
    drawn = []
    monkeypatch.setattr(panel, "_draw", lambda: drawn.append(True))
    others = [compared.session for compared in made.session.compared]
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
    panel.comparedAsked.connect(lambda *said: asked.append(said))
    other = made.session.compared[0].session
    question = panel.spec.compared_question(panel.view().scope, panel.choices)
    other.answers = {"spectra": Answer(question, "to fetch", bytes_to_fetch=154_000_000)}
    assert made.chips[1].shown_text == "long ↓ 154\N{NO-BREAK SPACE}MB"
    assert "Press to fetch 154" in made.chips[1].toolTip()
    QTest.mouseClick(made.chips[1], LEFT)
    assert asked == [(1, question, True)]
    assert drawn_names(panel) == {"long", "short"}
    assert made.session.hidden_curves == frozenset()
