"""The shape panel's curve in the viewport, and its distances by position, by mouse and keys."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from geometry.models.sources import open_source
from geometry.models.tokens import TokenizedPrompt
from gui.panels.shape.body import NAMES
from gui.panels.shape.spec import ShapeOf, axis_line, chosen, shape_guide
from gui.scene.scene_state import resolve_scene
from gui.services.questions import QuestionContext, resolve
from tests.gui.result_stage import named

LEFT = Qt.MouseButton.LeftButton
NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


def plot_of(panel):
    return named(panel, "What is plotted of each position")


@pytest.fixture
def shape(stage_of, helix_table):
    """The panel with a helix of 200 positions, all but both ends of them shown."""
    return stage_of("shape", helix_table, (1, 198), size=(960, 260))


def click_row(panel, name, modifiers=NONE):
    table = panel.content.numbers.table
    where = table.visualRect(table.model().index(list(NAMES).index(name), 1)).center()
    QTest.mouseClick(table.viewport(), LEFT, modifiers, where)


def drawn(panel):
    return plot_of(panel).curves[0].y


# ---- the curve in the view ----------------------------------------------------------------


def test_the_curve_that_it_is_is_drawn_with_its_axis(shape):
    (guide,) = shape.session.shown_guides
    result = shape.panel.result
    fit = result.fits[result.best]
    assert result.best in ("helix", "drifting_helix")
    assert not guide.pale
    (line,), (axis,) = guide.lines, guide.dashed
    # Wherever a position is fitted to be, the next point of the line is half a step away at most.
    for value in fit.values[::20]:
        assert np.linalg.norm(line - value, axis=1).min() < 0.055 * fit.radius
    np.testing.assert_allclose(line[[0, -1]], fit.values[[0, -1]], atol=1e-9)
    along = axis[1] - axis[0]
    np.testing.assert_allclose(np.cross(along, fit.frame[2]), 0, atol=1e-9)
    np.testing.assert_allclose(axis.mean(axis=0), fit.centre)
    caption = resolve_scene(shape.session).caption[2]
    assert caption.startswith(f"thin line: the {fit.name.replace('_', ' ')} fitted to them, R² ")
    assert caption.endswith("dashed: its axis")


def test_a_click_on_a_row_shows_another_curve(shape):
    panel = shape.panel
    for name in ("circle", "line", "helix"):
        click_row(panel, name)
        (guide,) = shape.session.shown_guides
        fit = panel.result.fits[name]
        np.testing.assert_allclose(guide.lines[0][0], fit.values[0], atol=1e-9)
        np.testing.assert_array_equal(drawn(panel), panel.result.distances(name))
        assert (f"the {name}: RMS distance {panel.result.rms(name):.3f}") in (
            panel.header.caption.text()
        )
        assert len(guide.dashed) == (name != "line")


def test_keys_choose_a_row_too(shape):
    table = shape.panel.content.numbers.table
    table.selectRow(0)
    QTest.keyClick(table, Qt.Key.Key_Down)
    QTest.keyClick(table, Qt.Key.Key_Return)
    marked = table.selectionModel().selectedRows()[0].row()
    assert chosen(shape.panel.view()) == list(NAMES)[marked] != "helix"


def test_the_choice_stays_with_the_range_and_goes_with_the_model(shape, write_table, helix):
    panel = shape.panel
    click_row(panel, "circle")
    shape.session.positions = (20, 150)
    assert chosen(panel.view()) == "circle"
    assert len(drawn(panel)) == 131
    shape.open(write_table(helix(90, 12), "other"))
    assert chosen(panel.view()) == panel.result.first_choice
    assert len(shape.session.shown_guides) == 1


def test_the_check_box_takes_it_out_of_the_view_and_back(shape):
    box = shape.panel.controls.widgets["in_view"]
    assert box.isChecked()
    QTest.mouseClick(box, LEFT, NONE, QPoint(8, box.height() // 2))
    assert shape.session.shown_guides == ()
    click_row(shape.panel, "circle")
    assert shape.session.shown_guides == ()
    QTest.mouseClick(box, LEFT, NONE, QPoint(8, box.height() // 2))
    (guide,) = shape.session.shown_guides
    assert "the circle" in guide.caption


def test_it_is_there_only_while_the_panel_is_in_front(shape):
    assert len(shape.session.shown_guides) == 1
    shape.panel.set_in_front(False)
    assert shape.session.shown_guides == ()
    shape.panel.set_in_front(True)
    assert len(shape.session.shown_guides) == 1


def test_what_is_stale_is_hidden_until_the_drag_ends(shape):
    shape.session.dragging = True
    shape.session.positions = (30, 160)
    assert shape.session.shown_guides == ()
    shape.session.dragging = False
    (guide,) = shape.session.shown_guides
    assert guide.pca.positions == (30, 160)
    shape.session.components = (2, 1, 3)
    (guide,) = shape.session.shown_guides
    assert guide.components == (2, 1, 3)


def test_too_short_a_range_has_none(shape):
    shape.session.positions = (5, 7)
    assert shape.session.shown_guides == ()
    shape.session.positions = (5, 150)
    assert len(shape.session.shown_guides) == 1


def test_many_turns_are_drawn_pale_and_flat_curves_have_a_short_axis(open_table):
    t = np.linspace(0, 1, 400)[:, None]
    angle = 2 * np.pi * 30 * t
    table = np.hstack([2 * np.cos(angle), 2 * np.sin(angle), 3 * t, 0 * t])
    found = resolve(ShapeOf((0, 399), (1, 2, 3)), QuestionContext(open_table(table)))
    assert found.best == "helix"
    assert shape_guide(found, "helix").pale
    assert len(shape_guide(found, "helix").lines[0]) > 30 * 48
    ends = axis_line(found.fits["circle"])
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(0.6 * found.fits["circle"].radius)


def test_gpt2s_helix_goes_through_its_positions(gpt2_folder):
    found = resolve(ShapeOf((100, 1022), (1, 2, 3)), QuestionContext(open_source(gpt2_folder)))
    guide = shape_guide(found, "helix")
    nearest = np.array(
        [np.linalg.norm(guide.lines[0] - p, axis=1).min() for p in found.coordinates]
    )
    assert np.median(nearest) < 0.2 * found.fits["helix"].radius
    assert 1.60 < found.fits["helix"].turns < 1.65
    assert not guide.pale


# ---- the distances by position ------------------------------------------------------------


def test_hover_tells_the_distance(shape):
    panel = shape.panel
    shape.session.hover = 60
    distance = panel.result.distances(panel.result.best)[59]
    assert plot_of(panel).hover_text() == f"position 60 · {distance:.3f}"


def test_the_hovered_position_says_its_token(shape):
    shape.session.tokens = TokenizedPrompt((0, 1, 2), ("a", " b", " my"))
    shape.session.hover = 2
    assert plot_of(shape.panel).hover_text().startswith("position 2 ·my · ")


def test_another_panel_can_ask_for_a_curve(shape):
    shape.panel.configure(curve="line", in_view=False)
    assert chosen(shape.panel.view()) == "line"
    assert shape.session.shown_guides == ()
    shape.panel.configure(in_view=True)
    (guide,) = shape.session.shown_guides
    assert "the line" in guide.caption
