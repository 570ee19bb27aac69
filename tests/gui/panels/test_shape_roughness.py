"""How rough a curve is, in the shape panel: numbers, angles by position, what is taken away."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.roughness import roughness
from geometry.models.sources import open_source
from gui.panels.shape.spec import TITLES, ShapeOf, ShapePanel, rough_parts
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import format_number
from tests.gui.compared_stage import ComparedStage
from tests.gui.result_stage import ResultStage, hover, named, shape_view
from tests.scripts import run_script

LEFT = Qt.MouseButton.LeftButton


def plot_of(panel):
    return named(panel, "What is plotted of each position")


@pytest.fixture
def stage(stage_of, helix_table):
    return stage_of("shape", helix_table, size=(960, 260))


def texts(panel):
    return [line.text() for line in panel.content.numbers.rough.values() if line.isVisible()]


def show_turning(stage):
    QTest.mouseClick(stage.panel.controls.widgets["plotted"].buttons["turning"], LEFT)


def test_the_numbers_are_those_of_the_shown_components(stage):
    stage.session.components = (2, 1, 4)
    result = stage.panel.result
    found = roughness(result.coordinates)
    assert result.rough.turning_angle == found.turning_angle
    assert texts(stage.panel) == [
        f"Turning {found.turning_angle:.1f}° at a position",
        f"Shaking {100 * found.high_frequency_energy:.4f}\N{NO-BREAK SPACE}%",
        f"Loops {found.loops:.2f}",
    ]
    tips = [
        line.toolTip().replace("\n", " ") for line in stage.panel.content.numbers.rough.values()
    ]
    assert "White noise has 75 %" in tips[1]
    assert "Independent random points have some 120°" in tips[0]


def test_gpt2(gpt2_folder):
    shape = resolve(ShapeOf((1, 1022), (1, 2, 3)), QuestionContext(open_source(gpt2_folder)))
    assert shape.rough.loops == pytest.approx(1.84, abs=0.05)
    parts = rough_parts(shape)
    assert shape.rough.high_frequency_energy == pytest.approx(4.2e-6, abs=1e-7)
    assert parts["high_frequency"].endswith(" 0.0004\N{NO-BREAK SPACE}%")
    figure = ShapePanel().figure(shape_view(shape))
    FigureCanvasAgg(figure).draw()
    assert figure.get_suptitle().splitlines() == [
        *ShapePanel().heading(shape_view(shape)), " · ".join(parts.values())
    ]  # fmt: skip


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


def test_angles_are_plotted_by_position(stage):
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


def test_hovering_tells_the_angle_and_not_that_of_an_end(stage):
    show_turning(stage)
    plot, angles = plot_of(stage.panel), stage.panel.result.rough.turning_angles
    stage.session.hover = 57
    assert plot.hover_text() == f"position 57 · {angles[57 - 2]:.1f}°"
    stage.session.hover = 1
    assert plot.hover_text() == ""
    index = 40 - 2
    hover(plot, plot.point_of(0, index).toPoint())
    assert stage.session.hover == 40


def test_a_click_selects_the_position_of_an_angle(stage):
    show_turning(stage)
    plot = plot_of(stage.panel)
    QTest.mouseClick(plot.viewport(), LEFT, pos=plot.point_of(0, 100).toPoint())
    assert stage.session.selection == (102,)
    assert plot.marked() == (102,)


def test_a_step_of_no_length_has_no_angle(qtbot, write_table, helix):
    table = helix()
    table[81] = table[80]
    stage = ResultStage(qtbot, "shape", size=(960, 260))
    stage.open(write_table(table))
    show_turning(stage)
    stage.session.hover = 80
    assert plot_of(stage.panel).hover_text() == "position 80 · no angle"
    assert np.isfinite(plot_of(stage.panel).curves[0].y).all()


def test_another_panel_asks_for_it(stage):
    stage.panel.configure(plotted="turning", curve="circle")
    assert stage.panel.controls.widgets["plotted"].value() == "turning"
    assert plot_of(stage.panel).y_axis.title == TITLES["turning"]


def test_the_numbers_have_the_angles_by_position(stage, tmp_path, monkeypatch):
    path = stage.save(monkeypatch, "Save numbers…", tmp_path / "shape.npz")
    result = stage.panel.result
    with np.load(path) as saved:
        assert saved["turning_angle"][1:-1] == pytest.approx(result.rough.turning_angles)
        assert np.isnan(saved["turning_angle"][[0, -1]]).all()
        assert len(saved["turning_angle"]) == len(saved["position"])
        assert saved["loops"].tolist() == [result.rough.loops]
        assert saved["high_frequency_energy"].tolist() == [result.rough.high_frequency_energy]
        assert saved["median_turning_angle"].tolist() == [result.rough.turning_angle]


def test_at_a_position_all_models_values_are_there(stage, write_table, helix):
    others = ComparedStage(stage.session)
    others.add(write_table(helix(50, 24, 3), "other"), (0, 40))
    found = others.session.compared[0].session.answers["shape"].result
    stage.session.hover = 30
    distance = found.distances(found.first_choice)[30]
    assert plot_of(stage.panel).hover_text().endswith(f" · other {format_number(distance)}")
    show_turning(stage)
    assert stage.panel.legend.words.text() == "Turning angle:"
    angle = found.rough.turning_angles[29]
    assert plot_of(stage.panel).hover_text().endswith(f" · other {format_number(angle)}")
    stage.session.hover = 45
    assert "other" not in plot_of(stage.panel).hover_text()
    others.close()
