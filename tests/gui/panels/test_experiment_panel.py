"""The panel "Line or helix": made-up curves through LayerNorm, by mouse and keys; what it asks."""

import json
from dataclasses import asdict, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from geometry.checkpoints.errors import RangeError
from geometry.measures.synthetic import KINDS, SyntheticCurve
from geometry.models.head_projections import mean_token_norm
from geometry.models.sources.opening import open_model
from gui.panels.experiment.body import FIELDS
from gui.panels.experiment.question import (
    MAX_POSITIONS,
    ExperimentLike,
    ExperimentOf,
    ExperimentSettings,
)
from gui.panels.experiment.spec import Choices, ExperimentPanel, flat
from gui.panels.experiment.words import NAMES, amount, reading, scope
from gui.panels.kit.intents import OpenSource
from gui.panels.kit.saved_choices import usable
from gui.panels.kit.views import Scope, View
from gui.plots.curve_picture import thinned
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import DARK
from gui.window.arrangement.result_docks import carry_out
from tests.gui.hand_jobs import HandJobs
from tests.gui.result_stage import LEFT, ResultStage, drag, enter, hover, named
from tests.scripts import run_script
from tests.small_models import write_small_gpt2

WIDE, NARROW = (1100, 320), (700, 260)


def settings(**fields):
    given = {"n_positions": 301, "d_model": 32, "spacing": 0.1, "turns": 2.0, "climb": 0.4}
    token_norm, lag = fields.pop("token_norm", 0.0), fields.pop("lag", 20)
    return ExperimentSettings(SyntheticCurve("helix", **{**given, **fields}), token_norm, lag)


@cache
def experiment(wanted):
    """What comes of settings; a curve like a model's needs the model, and this does not."""
    *_, result = ExperimentOf(wanted).steps(None)
    return result


@pytest.fixture
def stage(stage_of, helix_table):
    """The panel, answered about the small helix of 200 positions."""
    return stage_of("experiment", helix_table, size=WIDE)


@pytest.fixture
def narrow(stage_of, helix_table):
    return stage_of("experiment", helix_table, size=NARROW).panel


def button(panel, field, value):
    return panel.controls.widgets[field].buttons[value]


def steps_of(panel):
    return named(panel, "Steps between neighbours")


def numbers(panel, kind):
    return [cell.text() for cell in panel.content.table.rows[kind]]


def test_all_three_are_drawn_described_and_summed_up(stage):
    panel = stage.panel
    for kind in KINDS:
        one = panel.result.curves[kind]
        picture = panel.content.pictures.pictures[kind]
        np.testing.assert_allclose(picture.points, flat(one.drawn_after))
        places = picture.places()
        assert (places >= 0).all()
        assert (places <= (picture.width(), picture.height())).all()
        said = panel.content.pictures.readings[kind].text()
        assert said == reading(panel.result, kind, after=True)
        assert numbers(panel, kind)[1] == str(one.after.alike)
        assert numbers(panel, kind)[2].startswith(f"{one.look_back_after:.3f}"[:4].strip("-")) or (
            one.look_back_after < 0
        )
    assert panel.content.table.isVisible()
    said = stage.panel.header.caption.text()
    assert said.startswith("synthetic: 199 positions")
    assert said.endswith("as in helix, positions 1–199")
    enter(stage.panel.content.form.sliders["turns"].field, "1.5")
    said = stage.panel.header.caption.text()
    assert "1.50 turns" in said
    assert said.endswith("chosen, with the 24 dimensions of helix")


def test_layernorm_pages_themes_and_help(stage):
    panel = stage.panel
    after = numbers(panel, "line")
    QTest.mouseClick(button(panel, "before", "True"), LEFT)
    before = numbers(panel, "line")
    assert before[0] == "1.00"
    assert before != after
    assert before[3] == after[3]  # what it costs is the same
    picture = panel.content.pictures.pictures["line"]
    np.testing.assert_allclose(picture.points, flat(panel.result.curves["line"].drawn_before))
    QTest.mouseClick(button(panel, "page", "steps"), LEFT)
    np.testing.assert_allclose(steps_of(panel).curves[0].y, 1)
    QTest.mouseClick(button(panel, "before", "False"), LEFT)
    assert numbers(panel, "line") == after
    QTest.mouseClick(button(panel, "page", "curves"), LEFT)
    light = panel.grab().toImage()
    panel.set_theme(DARK)
    assert panel.grab().toImage() != light
    dark = panel.content.pictures.grab().toImage()
    stage.session.colormap = "viridis"
    assert panel.content.pictures.grab().toImage() != dark
    QTest.mouseClick(stage.panel.header.help, LEFT)
    assert "equally long" in QToolTip.text().replace("\n", " ")
    QToolTip.hideText()
    for name, _, _, tip in FIELDS:
        assert stage.panel.content.form.sliders[name].slider.accessibleName()
        assert tip


def test_dragging_a_slider_answers_with_every_step_and_arrow_keys_step_it(stage):
    panel, questions = stage.panel, []
    panel.asked.connect(lambda question, fetch: questions.append(question))
    slider = panel.content.form.sliders["turns"].slider
    before = panel.result.settings
    y = slider.height() // 2
    handle = slider.style().sliderPositionFromValue(0, 400, slider.value(), slider.width() - 10) + 5
    drag(slider, QPoint(handle, y), QPoint(handle + 20, y))
    assert len(questions) >= 2
    assert all(isinstance(question, ExperimentOf) for question in questions)
    now = panel.result.settings
    assert now.curve.turns > before.curve.turns
    assert replace(now.curve, turns=before.curve.turns) == before.curve
    assert panel.content.form.sliders["turns"].value == pytest.approx(now.curve.turns, abs=0.01)
    slider = stage.panel.content.form.sliders["climb"].slider
    slider.setFocus()
    before = stage.panel.result.settings.curve.climb
    QTest.keyClick(slider, Qt.Key.Key_Right)
    QApplication.processEvents()
    assert 0 < stage.panel.result.settings.curve.climb - before < 0.005


def test_each_number_can_be_typed_and_is_as_in_the_model_again(stage):
    panel, again = stage.panel, stage.panel.controls.widgets["settings"]
    first = panel.result.settings
    assert not again.isEnabled()
    for name, text, value in (
        ("n_positions", "64", 64),
        ("climb", "0.25", 0.25),
        ("token_norm", "7", 7.0),
        ("offset", "1.5", 1.5),
        ("spacing", "0.2", 0.2),
        ("noise", "0.5", 0.5),
        ("lag", "9", 9),
    ):
        enter(panel.content.form.sliders[name].field, text)
        found = panel.result.settings
        owner = found if name in ("token_norm", "lag") else found.curve
        assert getattr(owner, name) == value
        assert panel.result.positions is None
    assert again.isEnabled()
    QTest.mouseClick(again, LEFT)
    assert panel.result.settings == first
    assert panel.content.form.sliders["noise"].value == 0
    assert not again.isEnabled()


def test_max_turns_and_saved_settings(stage):
    form = stage.panel.content.form
    enter(form.sliders["turns"].field, "50")
    enter(form.sliders["n_positions"].field, "21")
    assert stage.panel.result.settings.curve.turns == 10
    assert form.sliders["turns"].value == 10
    assert stage.panel.result.settings.lag == 10
    saved = {"page": "steps", "before": True, "settings": SETTINGS}
    stage.panel.configure(**json.loads(json.dumps(saved)))
    assert stage.panel.options() == saved
    assert stage.panel.result.settings == settings(noise=0.5, offset=1.0, seed=3)
    assert usable(stage.panel.spec, saved, stage.session.model) == saved


def test_other_range_and_model_are_followed(stage, write_table):
    panel = stage.panel
    stage.session.positions = (20, 120)
    assert panel.result.settings.curve.n_positions == 101
    enter(panel.content.form.sliders["turns"].field, "1")
    stage.session.positions = (20, 150)
    assert panel.result.settings.curve.n_positions == 101
    stage.open(write_table(np.random.default_rng(1).normal(size=(60, 9)), "other"), (1, 59))
    assert panel.result.positions == (1, 59)
    assert panel.result.settings.curve.d_model == 9


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_opens_as_a_model(stage, kind):
    panel = stage.panel
    enter(panel.content.form.sliders["turns"].field, "2.5")
    enter(panel.content.form.sliders["climb"].field, "0.3")
    curve = panel.result.settings.curve.of_kind(kind)
    QTest.mouseClick(panel.content.pictures.buttons[kind], LEFT)
    assert stage.intents == [OpenSource(curve.source)]
    carry_out(stage.intents[0], stage.controller)
    assert stage.session.model.source.text == curve.source
    np.testing.assert_array_equal(stage.session.model.W_pos, curve.table())
    if kind == "helix":  # and is found again in it
        assert panel.result.is_helix
        assert panel.result.settings.curve.turns == pytest.approx(2.5 * 197 / 198, abs=0.01)


def test_pictures_stand_below_each_other_where_that_makes_them_larger(narrow):
    def places():
        pictures = narrow.content.pictures
        return [
            [part.geometry() for part in parts]
            for parts in (
                pictures.pictures.values(),
                pictures.buttons.values(),
                pictures.readings.values(),
            )
        ]

    sizes = (NARROW, False), ((700, 900), True), ((480, 900), True), (NARROW, False), (WIDE, False)
    for size, below in sizes:
        narrow.resize(*size)
        QApplication.processEvents()
        drawn, *_ = places()
        left, top = {one.left() for one in drawn}, {one.top() for one in drawn}
        assert (len(left), len(top)) == ((1, 3) if below else (3, 1))
        # All on one scale: about as wide, and, side by side, of one height.
        widths = [one.width() for one in drawn]
        assert max(widths) - min(widths) < 3
        assert below or len({one.height() for one in drawn}) == 1
        kinds = list(zip(*places(), strict=True))
        assert all(picture.bottom() < text.top() for picture, _, text in kinds)


def test_without_room_the_table_is_a_page_and_there_is_a_legend(narrow):
    panel = narrow
    assert not panel.content.table.isVisible()
    QTest.mouseClick(button(panel, "page", "table"), LEFT)
    assert panel.content.table.isVisible()
    assert not panel.content.pictures.isVisible()
    panel.resize(*WIDE)
    QApplication.processEvents()
    assert panel.content.table.isVisible()
    assert panel.content.pictures.isVisible()
    assert panel.choices.page == "curves"
    assert not button(panel, "page", "table").isVisible()
    panel.resize(*NARROW)
    QApplication.processEvents()
    assert not panel.content.table.isVisible()
    assert button(panel, "page", "table").isVisible()
    panel.configure(page="price")
    QApplication.processEvents()
    legend = panel.content.plots["price"].legend
    assert legend.isVisible()
    panel.resize(*WIDE)
    QApplication.processEvents()
    assert not legend.isVisible()


def test_steps_price_and_dragged_mark(stage):
    panel = stage.panel
    QTest.mouseClick(button(panel, "page", "steps"), LEFT)
    plot = steps_of(panel)
    assert plot.isVisible()
    for kind, curve in zip(KINDS, plot.curves, strict=True):
        steps = panel.result.curves[kind].after.steps
        np.testing.assert_allclose(curve.y, steps / steps.mean())
    hover(plot, plot.point_of(2, 90).toPoint())
    assert plot.hover_text().endswith("mean steps")
    assert plot.hover_text().startswith(("Helix, ", "Circle, ", "Line, "))
    QTest.mouseClick(button(panel, "page", "price"), LEFT)
    plot = named(panel, "Cost under weight decay")
    for kind, curve in zip(KINDS, plot.curves, strict=True):
        np.testing.assert_allclose(curve.y, panel.result.prices[kind])
    prices = [curve.y for curve in plot.curves]
    at = plot.marker_point().toPoint()
    drag(plot.viewport(), at, at - QPoint(60, 0))
    n = panel.result.settings.curve.n_positions
    assert 16 <= n < 199
    assert panel.content.form.sliders["n_positions"].value == n
    for before, curve in zip(prices, plot.curves, strict=True):  # it is the same curve
        np.testing.assert_allclose(curve.y, before, rtol=1e-9)
    hover(plot, plot.point_of(0, 40).toPoint())
    assert "‖p‖²" in plot.hover_text()


def test_many_points_are_thinned_and_numbers_changed_to_what_can_be():
    rows = np.arange(4 * 3000.0).reshape(3000, 4)
    few = thinned(rows)
    assert len(few) == 512
    assert (few[0] == rows[0]).all()
    assert (few[-1] == rows[-1]).all()
    changed = settings(turns=50.0, lag=100).with_(n_positions=21)
    assert (changed.curve.n_positions, changed.curve.turns, changed.lag) == (21, 10.0, 10)
    assert changed.with_(turns=99.0, climb=0.9).curve.turns == 10.0
    assert settings().with_(lag=3.0, token_norm=2.5) == settings(lag=3, token_norm=2.5)
    assert settings().with_(lag=0.0).lag == 1


@pytest.mark.parametrize("after", [True, False])
def test_the_figure_has_curves_steps_and_prices(after):
    found = experiment(settings())
    scope = Scope(SimpleNamespace(name="gpt2"), (0, 300), (1, 2, 3))
    figure = ExperimentPanel().figure(View(scope, Choices(before=not after), None, found))
    FigureCanvasAgg(figure).draw()
    curves, steps, price = figure.axes
    assert [line.get_label() for line in curves.lines] == [NAMES[kind] for kind in KINDS]
    assert [line.get_color() for line in steps.lines] == [c.get_color() for c in curves.lines]
    one = found.curves["helix"]
    shown = one.drawn_after if after else one.drawn_before
    np.testing.assert_allclose(curves.lines[2].get_xydata(), flat(shown))
    assert price.lines[0].get_ydata() == pytest.approx(found.prices["line"])
    assert (steps.get_xlabel(), price.get_ylabel()) == ("Position", "Mean ‖p‖²")


def test_numbers_are_named_columns_and_the_copied_python_prints_the_same(stage):
    found = stage.panel.numbers()
    assert found["position"].tolist() == list(range(199))
    assert len(found["helix_step_after"]) == 198
    np.testing.assert_array_equal(
        found["circle_nearest_other_before"], stage.panel.result.curves["circle"].before.others
    )
    assert len(found["n_positions"]) == len(found["line_mean_square"])
    stage.panel.configure(settings=settings(token_norm=3.0, noise=0.2))
    printed = run_script(stage.python()).splitlines()
    for line, (kind, one) in zip(printed, stage.panel.result.curves.items(), strict=True):
        name, *values = line.split()
        assert name == kind
        assert [float(value) for value in values] == pytest.approx(
            [one.after.evenness, one.after.alike, one.look_back_after, one.mean_square], rel=1e-6
        )


SETTINGS = asdict(settings(noise=0.5, offset=1.0, seed=3))
CURVE = SETTINGS["curve"]


def test_settings_that_make_no_sense_are_left_out(model):
    for wrong in (
        {"lag": 0},
        {"lag": True},
        {"token_norm": float("nan")},
        {"token_norm": -1.0},
        {"more": 1},
        {"curve": None},
        {"curve": {"kind": "helix"}},
        {"curve": {**CURVE, "climb": 2.0}},
        {"curve": {**CURVE, "kind": "knot"}},
        {"curve": {**CURVE, "seed": 1.5}},
        {"curve": {**CURVE, "spacing": "1"}},
        {"curve": {**CURVE, "d_model": 10**9}},
        {"curve": {**CURVE, "n_positions": 10**9}},
    ):
        options = {"settings": {**SETTINGS, **wrong}, "before": 1}
        assert usable(ExperimentPanel(), options, model) == {}, wrong


def test_while_curves_are_on_the_way_the_sliders_stay_where_they_are(qtbot, write_table):
    jobs = HandJobs()
    stage = ResultStage(qtbot, "experiment", jobs, size=WIDE)
    stage.open(write_table())
    jobs.deliver_all()
    panel, turns = stage.panel, stage.panel.content.form.sliders["turns"]
    before = panel.result
    enter(turns.field, "1.5")
    assert panel.result is before
    assert turns.value == 1.5
    jobs.deliver_all()
    assert panel.result.settings.curve.turns == turns.value == 1.5


def asked(model, positions):
    return resolve(ExperimentLike(positions), QuestionContext(model))


def test_default_size_and_mean_norm(model, tmp_path):
    found = asked(model, (1, 198))
    curve = found.settings.curve
    assert found.positions == (1, 198)
    assert found.is_helix
    assert (curve.n_positions, curve.d_model) == (198, 24)
    assert curve.turns == pytest.approx(6 / 2 * 197 / 199, abs=0.02)
    assert curve.offset == pytest.approx(np.linalg.norm(model.W_pos[1:199].mean(axis=0)))
    assert found.settings.token_norm == 0  # a bare table has no tokens
    assert found.settings.lag == 19
    gpt2 = open_model(write_small_gpt2(tmp_path / "gpt2"))
    assert asked(gpt2, (0, 63)).settings.token_norm == pytest.approx(mean_token_norm(gpt2))


def test_long_short_and_straight_tables(open_table):
    long = open_table(np.cumsum(np.ones((MAX_POSITIONS + 9, 3)), axis=0), "long")
    assert asked(long, (0, MAX_POSITIONS + 8)).settings.curve.n_positions == MAX_POSITIONS
    with pytest.raises(RangeError, match="at least 4 positions; the range is 2–4"):
        asked(long, (2, 4))
    noise = open_table(np.random.default_rng(3).normal(size=(80, 20)), "noise")
    found = asked(noise, (0, 79))
    assert not found.is_helix
    assert found.settings.curve.turns == 2.0
    narrow = open_table(np.random.default_rng(3).normal(size=(30, 2)), "narrow")
    assert asked(narrow, (0, 29)).settings.curve.d_model == 6
    line = open_model("synthetic:line,n=300,d=32")
    found = asked(line, (1, 299))
    assert not found.is_helix
    assert (found.settings.curve.turns, found.settings.curve.spacing) == pytest.approx((2.0, 0.1))
    assert scope(line, found).endswith("positions 1–299, no clear helix")


def test_prices_of_longer_and_shorter_curves():
    found = experiment(settings())
    assert found.lengths[0] == 4
    assert found.lengths[-1] == 4 * MAX_POSITIONS
    for kind in KINDS:
        assert found.prices[kind] == pytest.approx(
            found.settings.curve.of_kind(kind).mean_square(found.lengths)
        )
        at = np.searchsorted(found.lengths, 301)
        low, high = found.prices[kind][at - 1], found.prices[kind][at]
        assert low <= found.curves[kind].mean_square * (1 + 1e-9)
        assert found.curves[kind].mean_square <= high * (1 + 1e-9)
    *steps, _ = ExperimentOf(settings()).steps(None)
    assert [step.fraction for step in steps] == pytest.approx([0, 1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("after", "kind", "fields", "said"),
    [
        (True, "line", {}, "onto two points"),
        (True, "line", {"token_norm": 5.0}, "into an arc, crowded at its ends: "),
        (True, "line", {"token_norm": 99.0}, "hardly bends it"),
        (True, "line", {"offset": 4.0}, "into an arc"),
        (True, "circle", {"turns": 0.9}, "All rows are equally long: LayerNorm only scales it."),
        (True, "circle", {}, "only scales it. 301 positions coincide with another."),
        (True, "circle", {"noise": 0.1, "turns": 0.9}, "nearly equally long"),
        (True, "helix", {"token_norm": 99.0}, "hardly changes it"),
        (True, "helix", {"climb": 0.3}, "Its turns stay apart but get closer towards the ends"),
        (True, "helix", {"turns": 40.0, "climb": 0.02}, "come too close to each other"),
        (False, "line", {}, "ends are far from the origin"),
        (False, "circle", {"turns": 0.9}, "every position remains distinct"),
        (False, "circle", {}, "301 positions coincide with another"),
        (False, "helix", {}, "its turns stay apart"),
        (False, "helix", {"turns": 40.0, "climb": 0.001}, "already hard to distinguish"),
    ],
)
def test_a_sentence_for_each_curve_before_and_after_layernorm(after, kind, fields, said):
    text = reading(experiment(settings(**fields)), kind, after=after)
    assert said in text
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.02934, "0.0293"),
        (1.0, "1.00"),
        (75.31, "75.3"),
        (1234.5, "1\N{THIN SPACE}234"),
        (1e-9, "0.000000"),
    ],
)
def test_amounts_of_any_size(value, text):
    assert amount(value) == text
