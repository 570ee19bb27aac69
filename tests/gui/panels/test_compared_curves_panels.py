"""Compared models' curves in the panels under the viewport: asked for, drawn, hidden."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.panels.compared_legend import shares
from gui.panels.table import PANELS
from gui.services.controller import Controller
from gui.state.session import Session
from gui.style.theme import DARK, format_number
from tests.gui.compared_stage import Beside, drawn_names
from tests.gui.hand_jobs import HandJobs

COMPARED = [name for name, entry in PANELS.items() if entry.spec.compares(entry.spec.defaults)]
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


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_hidden_stays_hidden_when_all_is_drawn_anew(beside, name):
    made = beside(name)
    panel = made.add_both()
    QTest.mouseClick(made.chips[2], LEFT)
    panel.set_theme(DARK)
    made.stage.controller.request_positions(3, 60)
    made.session.compared[0].session.positions = (5, 60)
    assert drawn_names(panel) == {"long"}
    made.session.compared = made.session.compared[::-1]
    assert drawn_names(panel) == {"long"}
    assert not made.chips[2].isChecked()


# The legend.


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


def test_tooltips_tell_model_range_and_numbers(beside):
    made = beside("lookback")
    made.add_both()
    tip = made.chips[1].toolTip()
    found = made.session.compared[0].session.answers["lookback"].result.turned.found
    assert made.panel.controls.number.value == 48, "the largest of the open model"
    said = f"N = 48: R² {format_number(found.r2['screw'][47])}, turns "
    assert tip.startswith(f"long · positions 2–70\n{said}")
    assert tip.endswith("Press to hide its curve")
    assert made.panel.legend.words.text() == "R² of rotation + shift:"


def test_models_of_one_name_are_told_apart_by_their_ranges(beside):
    made = beside("spectra")
    made.others.add(made.sources[0], (2, 70))
    made.others.add(made.sources[0], (10, 30))
    assert [chip.shown_text for chip in made.chips.values()] == ["long 2–70", "long 10–30"]


def test_what_a_model_lacks_is_said_at_its_name(beside, write_table, helix):
    made = beside("layernorm")
    made.others.add(write_table(helix(40, 16), "bare"))
    assert made.chips[1].shown_text == "bare –"
    assert "no token embeddings" in made.chips[1].toolTip().replace("\n", " ")
    assert drawn_names(made.panel) == set()


def test_one_that_is_being_read_or_worked_out_says_so(beside, write_table, helix):
    made = beside("spectra")
    jobs, other = HandJobs(), Session()
    controller = Controller(other, jobs)
    from gui.state.session import ComparedModel

    made.session.compared = (ComparedModel(7, "slow", "slow", other),)
    assert made.chips[7].shown_text == "slow …"
    assert "being read" in made.chips[7].toolTip()
    controller.open(str(write_table(helix(40), "slow")))
    jobs.deliver_all()
    assert drawn_names(made.panel) == {"slow"}
    assert made.chips[7].shown_text == "slow"
    controller.close()


@pytest.mark.parametrize("width", [420, 700, 1600])
def test_the_legend_is_one_row_whatever_the_width(beside, width):
    made = beside("spectra", size=(width, 300))
    made.add_both()
    for _ in range(6):
        made.others.add(made.sources[0])
    QApplication.processEvents()
    legend = made.legend
    chips = list(legend.chips.values())
    assert len(chips) == 8
    assert len({chip.y() for chip in chips}) == 1
    assert all(a.geometry().right() < b.x() for a, b in itertools.pairwise(chips))
    assert chips[-1].geometry().right() <= legend.width()


def test_widths_share_a_room():
    assert shares([30, 100, 20], 200) == [30, 100, 20]
    assert shares([30, 100, 90], 120) == [30, 45, 45]
    assert shares([], 50) == []
    assert sum(shares([80] * 7, 100)) <= 100
