"""The panel "Line or helix": made-up curves through LayerNorm, driven by mouse and keys."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from geometry.measures.synthetic import KINDS
from gui.panels.experiment import ExperimentPanel
from gui.panels.experiment_form import FIELDS
from gui.panels.experiment_look import flat, thinned
from gui.panels.experiment_question import ExperimentLike, ExperimentOf
from gui.panels.experiment_text import NAMES, reading
from gui.style.theme import DARK, LIGHT
from tests.gui.experiment_stage import experiment, settings
from tests.gui.result_stage import ResultStage, drag, hover
from tests.scripts import run_script

LEFT = Qt.MouseButton.LeftButton
WIDE, NARROW = (1100, 320), (700, 260)


@pytest.fixture
def stage(qtbot, write_table):
    """The panel, answered about the small helix of 200 positions."""
    made = ResultStage(qtbot, ExperimentPanel, size=WIDE)
    made.open(write_table())
    assert made.panel.result is not None
    return made


def type_into(slider, text):
    """Type a number into a slider's field, and press Enter."""
    field = slider.field
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()


def numbers(panel, kind):
    return [cell.text() for cell in panel.view.table.rows[kind]]


# ---- what is shown ----------------------------------------------------------------------------


def test_all_three_are_drawn_described_and_summed_up(stage):
    panel = stage.panel
    for kind in KINDS:
        one = panel.result.curves[kind]
        picture = panel.view.pictures.pictures[kind]
        np.testing.assert_allclose(picture.points, flat(one.drawn_after))
        places = picture.places()
        assert (places >= 0).all()
        assert (places <= (picture.width(), picture.height())).all()
        said = panel.view.pictures.readings[kind].text()
        assert said == reading(panel.result, kind, after=True)
        assert numbers(panel, kind)[1] == str(one.after.alike)
        assert numbers(panel, kind)[2].startswith(f"{one.look_back_after:.3f}"[:4].strip("-"))  or (
            one.look_back_after < 0
        )  # fmt: skip
    assert panel.view.table.isVisible()


def test_the_caption_says_what_was_made_and_like_what(stage):
    said = stage.panel.header.caption.text()
    assert said.startswith("made up: 199 positions")
    assert said.endswith("as in helix, positions 1–199")
    type_into(stage.panel.view.form.sliders["turns"], "1.5")
    said = stage.panel.header.caption.text()
    assert "1.50 turns" in said
    assert said.endswith("chosen, with the 24 dimensions of helix")


def test_before_layernorm_and_after(stage):
    panel = stage.panel
    after = numbers(panel, "line")
    QTest.mouseClick(panel.when.buttons["before"], LEFT)
    before = numbers(panel, "line")
    assert before[0] == "1.00"
    assert before != after
    assert before[3] == after[3]  # what it costs is the same
    picture = panel.view.pictures.pictures["line"]
    np.testing.assert_allclose(picture.points, flat(panel.result.curves["line"].drawn_before))
    QTest.mouseClick(panel.page.buttons["steps"], LEFT)
    np.testing.assert_allclose(panel.view.steps.curves[0].y, 1)
    QTest.mouseClick(panel.when.buttons["after"], LEFT)
    assert numbers(panel, "line") == after


def test_dragging_a_slider_answers_with_every_step(stage):
    panel, questions = stage.panel, []
    panel.asked.connect(lambda question, fetch: questions.append(question))
    slider = panel.view.form.sliders["turns"].slider
    before = panel.result.settings
    y = slider.height() // 2
    handle = slider.style().sliderPositionFromValue(0, 400, slider.value(), slider.width() - 10) + 5
    drag(slider, QPoint(handle, y), QPoint(handle + 20, y))
    assert len(questions) >= 2
    assert all(isinstance(question, ExperimentOf) for question in questions)
    now = panel.result.settings
    assert now.curve.turns > before.curve.turns
    assert replace(now.curve, turns=before.curve.turns) == before.curve
    assert panel.view.form.sliders["turns"].value == pytest.approx(now.curve.turns, abs=0.01)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("n_positions", "64", 64), ("climb", "0.25", 0.25), ("token_norm", "7", 7.0),
     ("offset", "1.5", 1.5), ("spacing", "0.2", 0.2), ("noise", "0.5", 0.5), ("lag", "9", 9)],
)  # fmt: skip
def test_each_number_can_be_typed(stage, name, text, value):
    type_into(stage.panel.view.form.sliders[name], text)
    found = stage.panel.result.settings
    owner = found if name in ("token_norm", "lag") else found.curve
    assert getattr(owner, name) == value
    assert stage.panel.result.positions is None


def test_arrow_keys_step_a_slider(stage):
    slider = stage.panel.view.form.sliders["climb"].slider
    slider.setFocus()
    before = stage.panel.result.settings.curve.climb
    QTest.keyClick(slider, Qt.Key.Key_Right)
    QApplication.processEvents()
    assert 0 < stage.panel.result.settings.curve.climb - before < 0.005


def test_fewer_positions_leave_no_more_turns_than_they_can(stage):
    form = stage.panel.view.form
    type_into(form.sliders["turns"], "50")
    type_into(form.sliders["n_positions"], "21")
    assert stage.panel.result.settings.curve.turns == 10
    assert form.sliders["turns"].value == 10
    assert stage.panel.result.settings.lag == 10


def test_as_in_the_model_again(stage):
    panel = stage.panel
    first = panel.result.settings
    assert not panel.like.isEnabled()
    type_into(panel.view.form.sliders["noise"], "1")
    assert panel.like.isEnabled()
    QTest.mouseClick(panel.like, LEFT)
    assert panel.result.settings == first
    assert panel.view.form.sliders["noise"].value == 0
    assert not panel.like.isEnabled()


def test_another_range_and_another_model_are_followed_unless_chosen_otherwise(stage, write_table):
    panel = stage.panel
    stage.session.positions = (20, 120)
    assert panel.result.settings.curve.n_positions == 101
    type_into(panel.view.form.sliders["turns"], "1")
    stage.session.positions = (20, 150)
    assert panel.result.settings.curve.n_positions == 101
    stage.open(write_table(np.random.default_rng(1).normal(size=(60, 9)), "other"))
    assert panel.result.positions == (1, 59)
    assert panel.result.settings.curve.d_model == 9


def test_a_drag_of_the_range_is_waited_for(stage):
    questions = []
    stage.panel.asked.connect(lambda question, fetch: questions.append(question))
    stage.session.dragging = True
    stage.session.positions = (10, 150)
    assert questions == []
    stage.session.dragging = False
    assert questions == [ExperimentLike((10, 150))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_opens_as_a_model(stage, kind):
    panel = stage.panel
    type_into(panel.view.form.sliders["turns"], "2.5")
    type_into(panel.view.form.sliders["climb"], "0.3")
    curve = panel.result.settings.curve.of_kind(kind)
    QTest.mouseClick(panel.view.pictures.buttons[kind], LEFT)
    QApplication.processEvents()
    assert stage.session.model.source == curve.source
    np.testing.assert_array_equal(stage.session.model.W_pos, curve.table())
    if kind == "helix":  # and is found again in it
        assert panel.result.is_helix
        assert panel.result.settings.curve.turns == pytest.approx(2.5 * 197 / 198, abs=0.01)


# ---- the pages --------------------------------------------------------------------------------


def test_the_table_is_a_page_where_there_is_no_room_beside_the_others(qtbot, write_table):
    stage = ResultStage(qtbot, ExperimentPanel, size=NARROW)
    stage.open(write_table())
    panel = stage.panel
    assert not panel.view.table.isVisible()
    QTest.mouseClick(panel.page.buttons["table"], LEFT)
    assert panel.view.table.isVisible()
    assert not panel.view.pictures.isVisible()
    panel.resize(*WIDE)
    QApplication.processEvents()
    assert panel.view.table.isVisible()
    assert panel.view.pictures.isVisible()
    assert panel.page.value() == "curves"
    assert not panel.page.buttons["table"].isVisible()
    panel.resize(*NARROW)
    QApplication.processEvents()
    assert not panel.view.table.isVisible()
    assert panel.page.buttons["table"].isVisible()


def test_steps_are_drawn_and_told(stage):
    panel = stage.panel
    QTest.mouseClick(panel.page.buttons["steps"], LEFT)
    plot = panel.view.steps
    assert plot.isVisible()
    for kind, curve in zip(KINDS, plot.curves, strict=True):
        steps = panel.result.curves[kind].after.steps
        np.testing.assert_allclose(curve.y, steps / steps.mean())
    hover(plot, plot.point_of(2, 90).toPoint())
    assert plot.hover_text().endswith("mean steps")
    assert plot.hover_text().startswith(("Helix, ", "Circle, ", "Line, "))


def test_the_price_is_drawn_and_its_mark_dragged_to_another_length(stage):
    panel = stage.panel
    QTest.mouseClick(panel.page.buttons["price"], LEFT)
    plot = panel.view.price
    for kind, curve in zip(KINDS, plot.curves, strict=True):
        np.testing.assert_allclose(curve.y, panel.result.prices[kind])
    prices = [curve.y for curve in plot.curves]
    at = plot.marker_point().toPoint()
    drag(plot.viewport(), at, at - QPoint(60, 0))
    n = panel.result.settings.curve.n_positions
    assert 16 <= n < 199
    assert panel.view.form.sliders["n_positions"].value == n
    for before, curve in zip(prices, plot.curves, strict=True):  # it is the same curve
        np.testing.assert_allclose(curve.y, before, rtol=1e-9)
    hover(plot, plot.point_of(0, 40).toPoint())
    assert "‖p‖²" in plot.hover_text()


def test_the_legend_is_there_where_the_table_is_not(qtbot, write_table):
    stage = ResultStage(qtbot, ExperimentPanel, size=NARROW)
    stage.open(write_table())
    panel = stage.panel
    panel.configure(page="price")
    QApplication.processEvents()
    (legend,) = [page.legend for page in panel.view._plots if page.plot is panel.view.price]
    assert legend.isVisible()
    panel.resize(*WIDE)
    QApplication.processEvents()
    assert not legend.isVisible()


def test_both_themes_and_another_colour_map(stage):
    panel = stage.panel
    light = panel.grab().toImage()
    panel.set_theme(DARK)
    assert panel.grab().toImage() != light
    dark = panel.view.pictures.grab().toImage()
    stage.session.colormap = "viridis"
    assert panel.view.pictures.grab().toImage() != dark


def test_the_question_mark_tells_why(stage):
    QTest.mouseClick(stage.panel.header.help, LEFT)
    assert "equally long" in QToolTip.text().replace("\n", " ")
    QToolTip.hideText()
    for name, _, _, tip in FIELDS:
        assert stage.panel.view.form.sliders[name].slider.accessibleName()
        assert tip


def test_many_points_are_thinned_but_not_the_ends():
    rows = np.arange(4 * 3000.0).reshape(3000, 4)
    few = thinned(rows)
    assert len(few) == 512
    assert (few[0] == rows[0]).all()
    assert (few[-1] == rows[-1]).all()


# ---- taking it away ---------------------------------------------------------------------------


@pytest.mark.parametrize("after", [True, False])
def test_the_figure_has_curves_steps_and_prices(after):
    found = experiment(settings())
    from gui.panels.experiment_figure import experiment_figure

    figure = experiment_figure(found, "made up", after=after)
    FigureCanvasAgg(figure).draw()
    curves, steps, price = figure.axes
    for axes in (curves, steps):
        assert [line.get_label() for line in axes.lines] == [NAMES[kind] for kind in KINDS]
    one = found.curves["helix"]
    shown = one.drawn_after if after else one.drawn_before
    np.testing.assert_allclose(curves.lines[2].get_xydata(), flat(shown))
    assert price.lines[0].get_ydata() == pytest.approx(found.prices["line"])
    assert (steps.get_xlabel(), price.get_ylabel()) == ("Position", "Mean ‖p‖²")


def test_numbers_are_named_columns(stage):
    found = stage.panel.numbers(stage.panel.result)
    assert found["position"].tolist() == list(range(199))
    assert len(found["helix_step_after"]) == 198
    np.testing.assert_array_equal(
        found["circle_nearest_other_before"], stage.panel.result.curves["circle"].before.others
    )
    assert len(found["n_positions"]) == len(found["line_mean_square"])


def test_the_copied_python_prints_the_same(stage):
    stage.panel.configure(settings=settings(token_norm=3.0, noise=0.2))
    printed = run_script(stage.python()).splitlines()
    for line, (kind, one) in zip(printed, stage.panel.result.curves.items(), strict=True):
        name, *values = line.split()
        assert name == kind
        assert [float(value) for value in values] == pytest.approx(
            [one.after.evenness, one.after.alike, one.look_back_after, one.mean_square], rel=1e-6
        )


def test_it_says_what_it_will_show(session, qtbot):
    panel = ExperimentPanel(session, LIGHT)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.message.text() == ExperimentPanel.empty
    panel.release()


def test_in_the_window_it_is_answered_and_can_be_configured(
    start_application, write_gpt2, wait_until_idle
):
    app = start_application(write_gpt2())
    app.window.docks["experiment"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["experiment"]
    assert panel.result.is_helix
    panel.configure(page="steps", before=True, settings=settings())
    wait_until_idle(app)
    assert panel.view.steps.isVisible()
    assert panel.when.value() == "before"
    assert panel.result.settings == settings()
    panel.configure(settings=None)
    wait_until_idle(app)
    assert panel.result.positions == (1, 199)
    with pytest.raises(TypeError, match="takes no options"):
        panel.configure(nothing=1)
