"""The look-back panel through real events: what is shown, choosing N, spaces and scorings."""

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.lookback_range import look_back_range
from gui.panels.lookback.question import HeadsLookBackOf, LookBackOf
from gui.panels.lookback.spec import FIRST_LAG
from gui.style.theme import LIGHT, SERIES, format_number
from tests.gui.others_stage import Beside
from tests.gui.panels.lookback.lookback_stage import (
    cursors,
    curves,
    guide,
    head_table,
    lag_point,
    part,
    press,
    readings,
)
from tests.gui.result_stage import LEFT, NONE, drag, enter, named
from tests.scripts import run_script


def test_shown_range_is_measured_and_drawn(panel, model):
    assert panel.view().question == LookBackOf((1, 198), "3", "even_odd")
    found = look_back_range(model.W_pos, (1, 198)).found
    at = found.index(FIRST_LAG)
    fits = {name: curve.y for name, curve in curves(panel, "R²").items()}
    assert list(fits) == ["rotation + shift", "shift alone", "rotation alone"]
    np.testing.assert_allclose(fits["rotation + shift"], found.r2["screw"])
    np.testing.assert_allclose(fits["shift alone"], found.r2["translation"])
    assert f"N = {FIRST_LAG}: R² {found.r2['screw'][at]:.3f}" in panel.caption()
    legend = readings(panel, "R²")
    assert legend.startswith(f"rotation + shift {found.r2['screw'][at]:.3f} · shift alone ")
    angle, fitted = curves(panel, "Angle").values()
    assert len(angle.x) > 100
    np.testing.assert_allclose(angle.y, fitted.y, atol=12)
    assert panel.result.motions.degrees_per_token == pytest.approx(360 * 3 / 199, rel=0.02)
    assert "° per token" in readings(panel, "Angle")


def test_a_range_that_is_too_short(stage, write_table):
    stage.open(write_table(), positions=(5, 12))
    assert "at least 9 positions" in stage.panel.words.message.text()
    assert "Show a longer range." in stage.panel.words.advice.text()
    assert guide(stage) is None


def test_lag_by_slider_field_and_shorter_range(panel, stage):
    before = cursors(panel)
    press(panel.controls.number.slider, Qt.Key.Key_Right)
    assert (panel.controls.number.value, panel.controls.number.slider.value()) == (51, 51)
    assert all(now > then for now, then in zip(cursors(panel), before, strict=True))
    enter(panel.controls.number.field, "20")
    assert (panel.controls.number.value, panel.controls.number.slider.value()) == (20, 20)
    panel.controls.number.slider.setValue(100)
    stage.controller.request_positions(1, 40)
    assert panel.controls.number.value == panel.result.lags[-1] < 40
    stage.controller.request_positions(1, 198)
    assert panel.controls.number.value == 100


def test_arrow_keys_and_choices_ask_anew(panel):
    keys, last = Qt.Key, panel.result.lags[-1]
    for key, lag in (
        (keys.Key_Right, 51),
        (keys.Key_Right, 52),
        (keys.Key_Left, 51),
        (keys.Key_Home, 1),
        (keys.Key_Left, 1),
        (keys.Key_End, last),
    ):
        press(named(panel, "R²"), key)
        assert panel.controls.number.value == lag
    QTest.mouseClick(panel.controls.widgets["scoring"].buttons["halves"], LEFT)
    assert panel.view().question == LookBackOf((1, 198), "3", "halves")
    assert "fitted on the first half" in panel.caption()
    QTest.mouseClick(panel.controls.widgets["space"].buttons["6"], LEFT)
    assert panel.view().question == LookBackOf((1, 198), "6", "halves")
    assert readings(panel, "Angle").startswith("plane 1 ")
    assert len(curves(panel, "Angle")) == 3
    QTest.mouseClick(panel.controls.widgets["space"].buttons["heads"], LEFT)
    assert "only a position table" in panel.words.message.text()
    QTest.mouseClick(panel.controls.widgets["space"].buttons["3"], LEFT)
    assert panel.result is not None


@pytest.mark.parametrize("which", ["R²", "Angle"])
def test_pressing_or_dragging_in_a_plot_goes_to_a_lag(panel, which):
    plot = named(panel, which)
    QTest.mouseClick(plot.viewport(), LEFT, NONE, lag_point(plot, 30))
    assert panel.controls.number.value == pytest.approx(30, abs=1)
    drag(plot.viewport(), lag_point(plot, 30), lag_point(plot, 80))
    assert panel.controls.number.value == pytest.approx(80, abs=1)
    assert all(abs(x - lag_point(plot, 80).x()) <= 2 for x in cursors(panel)[:1]) or which != "R²"


@pytest.mark.parametrize("lag", [10, 50, 90])  # the last turns by more than half a turn
def test_caption_and_plot_have_one_angle(lag, panel, qtbot):
    panel.controls.number.slider.setValue(lag)
    qtbot.waitUntil(lambda: f"N = {lag}: " in panel.caption())
    (angle,) = re.findall(r"angle ([\d.]+)°", panel.caption())
    assert readings(panel, "Angle").startswith(f"angle {angle}°")
    assert float(angle) == pytest.approx(lag * 360 * 3 / 199, abs=12)


def test_another_lag_asks_nothing_and_numbers_follow_soon(panel, stage, qtbot):
    asked = []
    panel.asked.connect(lambda *question: asked.append(question))
    panel.controls.number.slider.setValue(10)
    panel.controls.number.slider.setValue(90)
    assert not asked
    panel.controls.number.slider.setValue(10)
    qtbot.waitUntil(lambda: "N = 10: " in panel.caption())
    r2 = panel.result.motions.look_back.r2["rotation"][9]
    assert f"rotation alone {r2:.3f} · smooth " in readings(panel, "R²")


@pytest.mark.slow
def test_all_dimensions_have_no_angles_and_spread_lags(noisy):
    panel = noisy.panel
    QTest.mouseClick(panel.controls.widgets["space"].buttons["all"], LEFT)
    k = panel.result.back.coordinates.shape[1]
    assert k > 6
    assert panel.result.back.variance_share >= 0.999
    # No axes without a curve: the caption says why.
    assert [part.name for part in panel.spec.plots(panel.view())] == ["R²"]
    assert f"in {k} dimensions there are {k // 2} angles" in panel.caption()
    assert "turns" not in panel.caption()
    lags, number = panel.result.lags, panel.controls.number
    wide = int(lags[-10])
    panel.configure(lag=wide + 1)
    assert number.value == wide
    press(number.slider, Qt.Key.Key_Right)
    assert number.value == lags[-9] > wide + 1


def test_beside_other_models_colours_are_theirs(qtbot, tmp_path):
    made = Beside(qtbot, "lookback", tmp_path)
    panel = made.add_both()
    looks = {name: (one.color, one.style) for name, one in curves(panel, "R²").items()}
    assert looks == {
        "rotation + shift": (LIGHT.text, "solid"),
        "shift alone": (SERIES["light"][3], "solid"),
        "rotation alone": (SERIES["light"][4], "solid"),
    }
    for other in made.session.others:
        found = look_back_range(other.session.model.W_pos, other.session.positions).found
        np.testing.assert_allclose(made.lines("R²")[other.name].y, found.r2["screw"])
    legends = [one.get_title().get_text() for one in panel.figure()().legends]
    assert legends == ["R² of rotation + shift"]


def test_heads_are_listed_and_chosen_by_click(heads, gpt2, qtbot):
    assert heads.view().question == HeadsLookBackOf(heads.session.positions, "even_odd")
    back = heads.result.back
    assert [row.position for row in head_table(heads).rows] == [0, 1]
    lag = heads.controls.number.value
    for head, row in enumerate(head_table(heads).rows):
        r2 = [side[head].r2["screw"][lag - 1] for side in (back.queries, back.keys)]
        assert row.cells == (str(head), str(back.preferred[head]), *map(format_number, r2))
    assert guide(gpt2) is None
    assert not heads.controls.play.isEnabled()
    assert "head 0, N = " in heads.caption()
    table = head_table(heads)
    at = table.visualRect(table.model().index(1, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, NONE, at)
    assert heads.choices.head == 1
    found = curves(heads, "R²")
    np.testing.assert_allclose(found["queries"].y, heads.result.back.queries[1].r2["screw"])
    np.testing.assert_allclose(found["keys"].y, heads.result.back.keys[1].r2["screw"])
    assert "head 1, N = " in heads.caption()
    before = head_table(heads).rows
    heads.controls.number.slider.setValue(2)
    qtbot.waitUntil(lambda: head_table(heads).rows != before)
    assert head_table(heads).rows[0].cells[2] == format_number(
        heads.result.back.queries[0].r2["screw"][1]
    )


@pytest.mark.parametrize("space", ["3", "6", "all"])
def test_numbers_and_figure(noisy, space):
    panel = noisy.panel
    QTest.mouseClick(panel.controls.widgets["space"].buttons[space], LEFT)
    numbers = panel.numbers()
    np.testing.assert_allclose(numbers["lag"], panel.result.lags)
    np.testing.assert_allclose(numbers["r2_screw"], panel.result.back.found.r2["screw"])
    angles = [name for name in numbers if name.endswith("_deg")]
    assert len(angles) == {"3": 2, "6": 3, "all": 0}[space]
    figure = panel.figure()()
    assert len(figure.axes) == (1 if space == "all" else 2)
    assert figure.axes[0].get_ylim()[0] >= -0.6


def test_figure_and_numbers_of_heads(heads):
    numbers = heads.numbers()
    assert numbers["query_r2"].shape == (len(heads.result.lags), 2)
    np.testing.assert_array_equal(numbers["preferred_lag"], heads.result.back.preferred)
    labels = [text.get_text() for text in heads.figure()().axes[0].get_legend().texts]
    assert labels == ["queries", "keys"]


@pytest.mark.parametrize("space", ["3", "all", "heads"])
def test_python_prints_what_is_shown(gpt2, space):
    panel = gpt2.panel
    QTest.mouseClick(panel.controls.widgets["space"].buttons[space], LEFT)
    printed = run_script(gpt2.python())
    lag = panel.controls.number.value
    back = panel.result.back
    found = back.queries[1] if space == "heads" else back.found
    assert str(found.r2["screw"][found.index(lag)])[:9] in printed


def test_r2_is_judged_by_random_curves_as_in_the_script(panel, stage):
    QTest.mouseClick(panel.controls.widgets["scoring"].buttons["halves"], LEFT)
    smooth, walks = part(panel, "R²").bands
    assert len(smooth.x) == len(walks.x) == len(panel.result.lags)
    for lag in (10, 60):
        panel.configure(lag=lag)
        view = panel.view()
        found = panel.spec.finding(view)
        assert panel.header.finding.text() == str(found)
        *_, first, second, last = run_script(stage.python()).splitlines()
        assert last.partition(" ")[2] == found.outcome
        at = panel.result.motions.look_back.index(lag)
        for line, (kind, null) in zip((first, second), view.nulls.items(), strict=True):
            name, draws, *numbers = line.split()
            assert (name, int(draws)) == (kind, null.at(at).draws)
            np.testing.assert_allclose([float(n) for n in numbers], null.at(at).band)


def test_a_random_walk_looks_back_as_any_smooth_curve(stage, panel, write_table):
    walk = np.cumsum(np.random.default_rng(4).standard_normal((200, 30)), axis=0)
    stage.open(write_table(walk, "walk"))
    panel.configure(lag=1)
    assert panel.spec.finding(panel.view()).outcome == "as any smooth curve"
    assert panel.header.finding.text().startswith("≈ as random walks: R²")
    smooth, walks = part(panel, "R²").bands
    assert smooth.color != walks.color, "they can be told apart"
    assert walks.color in {reading.color for reading in part(panel, "R²").readings}
    panel.configure(lag=120)
    assert panel.spec.finding(panel.view()).outcome == "does not hold"
    box = panel.controls.widgets["in_view"]
    assert box.isEnabled() == (panel.result.motions.look_back.r2["screw"][119] >= 0.5)
    for reading in part(panel, "Angle").readings:
        assert reading.text not in ("–", "–°")


def test_other_spaces_have_no_random_curves(panel):
    QTest.mouseClick(panel.controls.widgets["space"].buttons["6"], LEFT)
    assert part(panel, "R²").bands == ()
    assert not panel.header.finding.isVisible()


def test_it_is_said_where_the_rotation_alone_does_better(stage, panel, write_table):
    angle = 4 * np.pi * np.arange(200) / 200
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    noise = 0.2 * np.random.default_rng(0).standard_normal(circle.shape)
    stage.open(write_table(circle + noise, "circle"))
    panel.configure(scoring="halves")
    found = panel.result.motions.look_back
    better = found.r2["rotation"] > found.r2["screw"]
    for lag in (found.lags[better.argmax()], found.lags[better.argmin()]):
        panel.configure(lag=int(lag))
        at = found.index(lag)
        alone = f"rotation alone fits better: {format_number(found.r2['rotation'][at])}"
        assert (alone in panel.header.finding.text()) is bool(better[at])
    assert better.any()
    assert not better.all()


def test_a_jump_over_a_full_turn_is_explained_and_steady_angles_are_not(panel):
    motions = panel.result.motions
    assert "jumps" not in panel.caption()
    angles, lags = motions.followed.copy(), motions.look_back.lags
    at = int(np.flatnonzero(angles > 365)[0])
    angles[at:] += 15
    angles[:at] = np.minimum(angles[:at], 352)
    motions.__dict__["followed"] = angles  # kept by the cached property
    panel._draw()
    (note,) = re.findall(r"jumps by ([0-9]+)° at N = ([0-9]+)", panel.caption())
    assert note == (f"{angles[at] - angles[at - 1]:.0f}", str(lags[at]))


@pytest.mark.parametrize("scoring", ["even_odd", "halves"])
def test_both_plots_end_at_the_same_lag(panel, scoring):
    panel.configure(scoring=scoring)
    fits, angle = (part(panel, name) for name in ("R²", "Angle"))
    assert fits.x.span == angle.x.span
