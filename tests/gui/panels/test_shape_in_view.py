"""The shape panel's curve in the viewport, its plot by position, and how rough the curve is."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from geometry.measures.roughness import roughness
from geometry.models.sources.opening import open_model
from geometry.models.tokens import TokenizedPrompt
from gui.panels.shape.body import NAMES
from gui.panels.shape.spec import (
    TITLES,
    ShapeOf,
    ShapePanel,
    axis_line,
    chosen,
    rough_parts,
    shape_guide,
)
from gui.scene.scene_state import resolve_scene
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import format_number
from tests.gui.open_models import add_beside
from tests.gui.result_stage import LEFT, NONE, named, shape_view
from tests.scripts import run_script


def plot_of(panel):
    return named(panel, "Plotted quantity")


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


def test_fitted_curve_axis_and_distance(shape):
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
    assert caption.startswith(f"thin line: fitted {fit.name.replace('_', ' ')}, R² ")
    assert caption.endswith("dashed: its axis")
    panel = shape.panel
    shape.session.hover = 60
    distance = panel.result.distances(panel.result.best)[59]
    assert plot_of(panel).hover_text() == f"position 60 · {distance:.3f}"
    shape.session.tokens = TokenizedPrompt((0, 1, 2), ("a", " b", " my"))
    shape.session.hover = 2
    assert plot_of(shape.panel).hover_text().startswith("position 2 ·my · ")


def test_a_click_on_a_row_or_keys_show_another_curve(shape):
    panel = shape.panel
    for name in ("circle", "line", "helix"):
        click_row(panel, name)
        (guide,) = shape.session.shown_guides
        fit = panel.result.fits[name]
        np.testing.assert_allclose(guide.lines[0][0], fit.values[0], atol=1e-9)
        np.testing.assert_array_equal(drawn(panel), panel.result.distances(name))
        assert f"the {name}: RMS distance {panel.result.rms(name):.3f}" in panel.caption()
        assert len(guide.dashed) == (name != "line")
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


def test_the_check_box_or_another_panel_takes_it_out_of_the_view_and_back(shape):
    box = shape.panel.controls.widgets["in_view"]
    assert box.isChecked()
    for shown in (False, True):
        QTest.mouseClick(box, LEFT, NONE, QPoint(8, box.height() // 2))
        click_row(shape.panel, "circle")
        assert bool(shape.session.shown_guides) is shown
    assert "fitted circle" in shape.session.shown_guides[0].caption
    shape.panel.configure(curve="line", in_view=False)
    assert chosen(shape.panel.view()) == "line"
    assert shape.session.shown_guides == ()
    shape.panel.configure(in_view=True)
    (guide,) = shape.session.shown_guides
    assert "fitted line" in guide.caption


def test_guide_needs_length_and_rest(shape):
    assert len(shape.session.shown_guides) == 1
    shape.session.dragging = True
    shape.session.positions = (30, 160)
    assert shape.session.shown_guides == ()
    shape.session.dragging = False
    (guide,) = shape.session.shown_guides
    assert guide.pca.positions == (30, 160)
    shape.session.components = (2, 1, 3)
    (guide,) = shape.session.shown_guides
    assert guide.components == (2, 1, 3)
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
    found = resolve(ShapeOf((100, 1022), (1, 2, 3)), QuestionContext(open_model(gpt2_folder)))
    guide = shape_guide(found, "helix")
    nearest = [np.linalg.norm(guide.lines[0] - p, axis=1).min() for p in found.coordinates]
    assert np.median(nearest) < 0.2 * found.fits["helix"].radius
    assert 1.60 < found.fits["helix"].turns < 1.65
    assert not guide.pale


@pytest.fixture
def stage(stage_of, helix_table):
    return stage_of("shape", helix_table, size=(960, 260))


def texts(panel):
    return [line.text() for line in panel.content.numbers.rough.values() if line.isVisible()]


def show_turning(stage):
    QTest.mouseClick(stage.panel.controls.widgets["plotted"].buttons["turning"], LEFT)


def test_numbers_are_of_shown_components(stage):
    stage.session.components = (2, 1, 4)
    result = stage.panel.result
    found = roughness(result.coordinates)
    assert result.rough.turning_angle == found.turning_angle
    assert texts(stage.panel) == [
        f"Turning angle {found.turning_angle:.1f}° per step",
        f"roughness {100 * found.high_frequency_energy:.4f}\N{NO-BREAK SPACE}%",
        f"loops {found.loops:.2f} (median)",
    ]

    tip = stage.panel.content.numbers.rough["high_frequency"].toolTip()
    assert "75 % for white noise" in tip.replace("\n", " ")
    numbers = stage.panel.numbers()
    assert numbers["turning_angle"][1:-1] == pytest.approx(found.turning_angles)
    assert np.isnan(numbers["turning_angle"][[0, -1]]).all()
    assert len(numbers["turning_angle"]) == len(numbers["position"])
    assert numbers["loops"].tolist() == [found.loops]
    assert numbers["high_frequency_energy"].tolist() == [found.high_frequency_energy]
    assert numbers["median_turning_angle"].tolist() == [found.turning_angle]


def test_gpt2(gpt2_folder):
    shape = resolve(ShapeOf((1, 1022), (1, 2, 3)), QuestionContext(open_model(gpt2_folder)))
    assert shape.rough.loops == pytest.approx(1.84, abs=0.05)
    parts = rough_parts(shape)
    assert shape.rough.high_frequency_energy == pytest.approx(4.2e-6, abs=1e-7)
    assert parts["high_frequency"].endswith(" 0.0004\N{NO-BREAK SPACE}%")
    figure = ShapePanel().figure(shape_view(shape))
    FigureCanvasAgg(figure).draw()
    lines = *ShapePanel().heading(shape_view(shape)), " · ".join(parts.values())
    assert figure.get_suptitle() == "\n".join(lines)


def test_a_range_too_short_for_it_leaves_it_out(stage):
    show_turning(stage)
    stage.session.positions = (10, 16)
    result = stage.panel.result
    assert result.positions == (10, 16)
    assert result.rough is None
    assert texts(stage.panel) == []
    assert plot_of(stage.panel).y_axis.title == TITLES["distance"]
    assert plot_of(stage.panel).curves[0].y == pytest.approx(result.distances(result.first_choice))
    assert "loops" not in stage.panel.numbers()
    assert "rough" not in stage.python()
    assert run_script(stage.python()).splitlines()[0] == result.best
    view = stage.panel.view()
    title = ShapePanel().figure(view).get_suptitle()
    assert title == "\n".join(ShapePanel().heading(view))
    stage.session.positions = (10, 17)
    assert len(texts(stage.panel)) == 3


def test_angles_are_drawn_and_hovered(stage):
    plot, result = plot_of(stage.panel), stage.panel.result
    show_turning(stage)
    (angles,) = plot.curves
    (median,) = stage.panel.spec.plots(stage.panel.view())[0].rules
    assert plot.y_axis.title == "turning angle (°)"
    assert plot.positions() == (2, 198)
    assert angles.y == pytest.approx(result.rough.turning_angles)
    assert median.at == result.rough.turning_angle
    QTest.mouseClick(stage.panel.controls.widgets["plotted"].buttons["distance"], LEFT)
    assert plot.positions() == (1, 199)
    assert plot.y_axis.title == "distance (units of P)"
    stage.panel.configure(plotted="turning", curve="circle")
    assert stage.panel.controls.widgets["plotted"].value() == "turning"
    assert plot_of(stage.panel).y_axis.title == TITLES["turning"]
    plot, angles = plot_of(stage.panel), stage.panel.result.rough.turning_angles
    stage.session.hover = 57
    assert plot.hover_text() == f"position 57 · {angles[57 - 2]:.1f}°"
    stage.session.hover = 1
    assert plot.hover_text() == ""


def test_a_step_of_no_length_has_no_angle(stage, write_table, helix):
    table = helix()
    table[81] = table[80]
    stage.open(write_table(table))
    show_turning(stage)
    stage.session.hover = 80
    assert plot_of(stage.panel).hover_text() == "position 80 · no angle"
    assert np.isfinite(plot_of(stage.panel).curves[0].y).all()


def test_at_a_position_all_models_values_are_there(stage, write_table, helix):
    other = add_beside(stage.controller, write_table(helix(50, 24, 3), "other"), (0, 40))
    found = other.session.answers["shape"].result
    stage.session.hover = 30
    distance = found.distances(found.first_choice)[30]
    assert plot_of(stage.panel).hover_text().endswith(f" · other {format_number(distance)}")
    show_turning(stage)
    assert stage.panel.legend.words.text() == "Turning angle:"
    angle = found.rough.turning_angles[29]
    assert plot_of(stage.panel).hover_text().endswith(f" · other {format_number(angle)}")
    stage.session.hover = 45
    assert "other" not in plot_of(stage.panel).hover_text()


def test_a_fit_that_describes_nothing_is_drawn_only_if_it_is_asked_for(shape, write_table):
    shape.open(write_table(np.random.default_rng(0).standard_normal((90, 12)), "noise"))
    assert shape.panel.result.fits[chosen(shape.panel.view())].r2 < 0.5
    assert shape.session.shown_guides == ()
    click_row(shape.panel, "circle")
    (guide,) = shape.session.shown_guides
    assert "fitted circle" in guide.caption
