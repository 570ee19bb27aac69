"""The controls of the curve that is laid over the shown one, by mouse and keys."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.panels.compare.aligned_row import NOTHING, RANGE, STEP, AlignedRow
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.style.theme import LIGHT
from tests.gui.aligned_stage import KEY
from tests.gui.on_screen import put_on_screen
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, NONE, choose, enter
from tests.gui.training_stage import write_trained
from tests.scripts import run_script


@pytest.fixture
def other(opened, controller, write_table, helix):
    """A model beside the open one."""
    return add_beside(controller, write_table(helix(120, 24, 9), "other")).session


def put_row(qtbot, session):
    row = put_on_screen(qtbot, AlignedRow(session, LIGHT), 900, 90)
    row.alignmentRequested.connect(lambda alignment: setattr(session, "alignment", alignment))
    return row


@pytest.fixture
def row(qtbot, opened, other):
    return put_row(qtbot, opened)


def press(button):
    QTest.mouseClick(button, LEFT, NONE, QPoint(10, button.height() // 2))
    QApplication.processEvents()


def names(row):
    return [row.what.itemText(i) for i in range(row.what.count())]


def shown(row):
    parts = ("first", "last", "step", "how", "mirror", "middle", "copy", "readout")
    return {name for name in parts if getattr(row, name).isVisible()}


def test_a_model_is_laid_over_and_aligned_as_wanted_and_goes(row, opened, controller, other):
    assert names(row)[:2] == ["nothing", "other"]
    assert row.what.currentData() == NOTHING
    assert shown(row) == set()
    assert opened.guides == {}
    choose(row.what, KEY)
    press(row.copy)
    printed = run_script(QApplication.clipboard().text()).splitlines()
    assert float(printed[0].split()[0]) == pytest.approx(opened.aligned.alignment.disparity)
    assert opened.status == "Copied as Python"
    choose(row.what, KEY)
    assert opened.alignment == CurveAlignment(OfOther(KEY))
    assert shown(row) == {"how", "mirror", "copy", "readout"}
    found = opened.aligned.alignment
    assert row.readout.text() == (
        f"disparity {found.disparity:.3f} · RMS {found.rms:.3f} · in all 24 dimensions "
        f"{opened.aligned.more.whole:.3f}"
    )
    press(row.how.buttons["scaled"])
    assert opened.alignment == CurveAlignment(OfOther(KEY), "scaled")
    assert opened.aligned.alignment.disparity == found.disparity
    press(row.mirror)
    assert opened.alignment == CurveAlignment(OfOther(KEY), "scaled", mirrored=False)
    press(row.how.buttons["basis"])
    assert shown(row) == {"how", "middle", "copy", "readout"}
    assert row.middle.value() == "own"
    before = opened.shown_guides[0].lines[0]
    press(row.middle.buttons["basis"])
    assert opened.alignment.middle == "basis"
    assert np.abs(opened.shown_guides[0].lines[0] - before).max() > 0.01
    assert row.readout.text().startswith("PC\N{NO-BREAK SPACE}1, 2, 3 explain ")
    choose(row.what, NOTHING)
    assert opened.alignment is None
    assert shown(row) == set()
    assert opened.shown_guides == ()
    choose(row.what, KEY)
    controller.comparing.clear()
    assert "other" not in names(row)
    assert row.what.currentData() == NOTHING
    assert shown(row) == set()


def test_other_positions_are_others_at_first_and_can_be_typed(row, opened):
    choose(row.what, RANGE)
    assert opened.alignment.what == OfRange((100, 199)), "all are shown: their later half"
    choose(row.what, NOTHING)
    opened.positions = (20, 119)
    choose(row.what, RANGE)
    assert opened.alignment.what == OfRange((120, 199))
    assert shown(row) == {"first", "last", "how", "mirror", "copy", "readout"}
    enter(row.first, "150")
    assert opened.alignment.what == OfRange((150, 199))
    enter(row.last, "140")
    assert opened.alignment.what == OfRange((140, 150)), "in their order"
    assert (row.first.value(), row.last.value()) == (140, 150)
    QTest.keyClick(row.last, Qt.Key.Key_Up)
    assert opened.alignment.what == OfRange((140, 151))
    press(row.how.buttons["basis"])
    assert row.middle.value() == "basis"


def test_steps_are_offered_and_printed_once_they_are_read(qtbot, session, controller, tmp_path):
    from geometry.history.here import history_here

    controller.open(str(write_trained(tmp_path / "trained")))
    row = put_row(qtbot, session)
    at = row.what.findData(STEP)
    assert not row.what.model().item(at).isEnabled()
    assert "Training" in row.what.itemData(at, Qt.ItemDataRole.ToolTipRole)
    session.history = history_here(session.model)
    assert row.what.model().item(at).isEnabled()
    choose(row.what, STEP)
    assert session.alignment.what == OfStep(0)
    assert shown(row) == {"step", "how", "mirror", "copy", "readout"}
    choose(row.step, 1000)
    assert session.alignment.what == OfStep(1000)
    assert session.aligned.above.name.endswith("at step 1\N{THIN SPACE}000")
    session.snapshot = 0
    assert row.readout.text().startswith("hidden while a training step is shown · ")
    session.snapshot, session.alignment = None, CurveAlignment(OfStep(100))
    press(row.copy)
    printed = run_script(QApplication.clipboard().text()).splitlines()
    found = session.aligned
    assert float(printed[0].split()[0]) == pytest.approx(found.alignment.disparity, abs=1e-9)
    assert float(printed[1]) == pytest.approx(found.more.whole, abs=1e-9)


def test_why_not_is_said(row, opened, other):
    other.positions = (5, 9)
    opened.positions = (50, 90)
    choose(row.what, KEY)
    assert row.readout.text() == "The positions 5–9 and 50–90 do not overlap."
    assert not row.copy.isEnabled()


def test_without_a_model_there_is_nothing_to_choose(qtbot, session):
    row = AlignedRow(session, LIGHT)
    qtbot.addWidget(row, before_close_func=AlignedRow.release)
    assert not row.isEnabled()


@pytest.mark.slow
def test_overlay_in_the_window(application, wait_until_idle, write_table, helix, qtbot):
    """Chosen above the table of models; drawn with the curve; taken back and done again."""
    window, session = application.window, application.session
    application.controller.comparing.add(str(write_table(helix(120, 24, 9), "other")))
    window.bring("compare")
    wait_until_idle(application)
    row = window.panels["compare"].content.aligned
    (other,) = session.others
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_Y, keys)
    assert window.focusWidget() is row.what
    choose(row.what, other.key)
    wait_until_idle(application)
    state = window.viewport.scene.state
    (guide,) = state.guides
    assert len(guide.lines[0]) == 119
    assert state.caption[-1].startswith("blue: other · positions 1–119\n")
    assert row.readout.text().startswith("disparity ")
    window.bring("norms")
    wait_until_idle(application)
    assert window.viewport.scene.state.guides == (guide,), "it stays, whatever is in front"
    session.positions = (20, 90)
    wait_until_idle(application)
    assert len(window.viewport.scene.state.guides[0].lines[0]) == 71
    window.undo.undo()
    window.undo.undo()
    wait_until_idle(application)
    assert session.alignment is None
    assert window.viewport.scene.state.guides == ()
    window.undo.redo()
    wait_until_idle(application)
    assert session.alignment == CurveAlignment(OfOther(other.key))
    assert len(window.viewport.scene.state.guides) == 1
    application.controller.comparing.make_current(other.key)
    wait_until_idle(application)
    assert session.model.name == "other"
    assert session.aligned.above.name == "tiny-gpt2", "the two have changed places"
    assert session.aligned.positions == session.positions
    assert len(window.viewport.scene.state.guides) == 1
    (other,) = session.others
    application.controller.comparing.remove(other.key)
    wait_until_idle(application)
    assert session.alignment is None
    assert window.viewport.scene.state.guides == ()
