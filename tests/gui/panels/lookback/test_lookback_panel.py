"""The look-back panel through real events: what is shown, choosing N, spaces and scorings."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.lookback_range import look_back_range
from gui.panels.lookback_controls import FIRST_LAG
from gui.panels.lookback_question import LookBackOf
from gui.style.theme import DARK
from tests.gui.panels.lookback.lookback_stage import LEFT, NONE, cursors, guide, lag_point, press
from tests.gui.result_stage import drag

# What is shown.


def test_it_is_answered_for_the_shown_range_in_three_components(panel, model):
    assert panel.answered == LookBackOf((1, 198), "3", "even_odd")
    found = look_back_range(model.W_pos, (1, 198)).found
    at = found.index(FIRST_LAG)
    fits = {line.name: line.values for line in panel.plots._lines[panel.plots.fits]}
    assert list(fits) == ["rotation + shift", "shift alone", "rotation alone"]
    np.testing.assert_allclose(fits["rotation + shift"], found.r2["screw"])
    np.testing.assert_allclose(fits["shift alone"], found.r2["translation"])
    assert f"N = {FIRST_LAG}: R² {found.r2['screw'][at]:.3f}" in panel.header.caption.text()
    legend = panel.plots.legends[panel.plots.fits].text()
    assert legend.startswith(f"rotation + shift {found.r2['screw'][at]:.3f} · shift alone ")


def test_the_angle_grows_with_the_lag(panel):
    """The helix makes three turns over 200 positions."""
    angle, fitted = panel.plots._lines[panel.plots.angles]
    known = np.isfinite(angle.values)
    assert known.sum() > 100
    np.testing.assert_allclose(angle.values[known], fitted.values[known], atol=12)
    assert panel.result.turned.degrees_per_token == pytest.approx(360 * 3 / 199, rel=0.02)
    assert "° a token" in panel.plots.legends[panel.plots.angles].text()


def test_the_empty_state_says_what_it_will_show(stage):
    assert stage.panel.message.text().startswith("Open a model to see")
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Space):
        QTest.keyClick(stage.panel, key)
    assert guide(stage) is None


def test_a_range_that_is_too_short(stage, write_table):
    stage.open(write_table(), positions=(5, 12))
    assert "9 positions or more" in stage.panel.message.text()
    assert "Show a longer range." in stage.panel.advice.text()
    assert guide(stage) is None


# Choosing N.


def test_slider_and_field_choose_a_lag(panel):
    before = cursors(panel)
    press(panel.lag.slider, Qt.Key.Key_Right)
    assert (panel.lag.value, panel.lag.slider.value()) == (51, 51)
    assert all(now > then for now, then in zip(cursors(panel), before, strict=True))
    panel.lag.field.setFocus()
    panel.lag.field.selectAll()
    QTest.keyClicks(panel.lag.field, "20")
    QTest.keyClick(panel.lag.field, Qt.Key.Key_Return)
    assert (panel.lag.value, panel.lag.slider.value()) == (20, 20)


def test_arrows_step_from_the_plots_too(panel):
    press(panel.plots.fits, Qt.Key.Key_Right)
    press(panel.plots.fits, Qt.Key.Key_Right)
    press(panel.plots.fits, Qt.Key.Key_Left)
    assert panel.lag.value == 51
    press(panel.plots.fits, Qt.Key.Key_Home)
    assert panel.lag.value == 1
    press(panel.plots.fits, Qt.Key.Key_Left)
    assert panel.lag.value == 1
    press(panel.plots.fits, Qt.Key.Key_End)
    assert panel.lag.value == panel.result.lags[-1]


@pytest.mark.parametrize("which", ["fits", "angles"])
def test_pressing_or_dragging_in_a_plot_goes_to_a_lag(panel, which):
    plot = getattr(panel.plots, which)
    QTest.mouseClick(plot.viewport(), LEFT, NONE, lag_point(plot, 30))
    assert panel.lag.value == pytest.approx(30, abs=1)
    drag(plot.viewport(), lag_point(plot, 30), lag_point(plot, 80))
    assert panel.lag.value == pytest.approx(80, abs=1)
    assert all(abs(x - lag_point(plot, 80).x()) <= 2 for x in cursors(panel)[:1]) or which != "fits"


def test_another_lag_asks_nothing(panel, stage):
    asked = []
    panel.asked.connect(lambda *question: asked.append(question))
    panel.lag.slider.setValue(10)
    panel.lag.slider.setValue(90)
    assert not asked


def test_numbers_follow_soon(panel, qtbot):
    panel.lag.slider.setValue(10)
    qtbot.waitUntil(lambda: "N = 10: " in panel.header.caption.text())
    r2 = panel.result.turned.found.r2["rotation"][9]
    assert panel.plots.legends[panel.plots.fits].text().endswith(f"rotation alone {r2:.3f}")


def test_a_shorter_range_holds_the_lag_only_while_it_is_shown(panel, stage):
    panel.lag.slider.setValue(100)
    stage.controller.request_positions(1, 40)
    assert panel.lag.value == panel.result.lags[-1] < 40
    stage.controller.request_positions(1, 198)
    assert panel.lag.value == 100


def test_the_range_is_asked_for_when_the_drag_is_over(panel, stage):
    stage.session.dragging = True
    stage.controller.request_positions(30, 150)
    assert panel.answered.positions == (1, 198)
    stage.session.dragging = False
    assert panel.answered.positions == (30, 150)


# Other spaces and scorings.


def test_scoring_and_space_are_part_of_the_question(panel):
    QTest.mouseClick(panel.scoring.buttons["halves"], LEFT)
    assert panel.answered == LookBackOf((1, 198), "3", "halves")
    assert "fitted on the first half" in panel.header.caption.text()
    QTest.mouseClick(panel.space.buttons["6"], LEFT)
    assert panel.answered == LookBackOf((1, 198), "6", "halves")
    assert panel.plots.legends[panel.plots.angles].text().startswith("plane 1 ")
    assert len(panel.plots._lines[panel.plots.angles]) == 3


def test_in_all_dimensions_there_are_no_angles(noisy):
    panel = noisy
    QTest.mouseClick(panel.space.buttons["all"], LEFT)
    k = panel.result.back.coordinates.shape[1]
    assert k > 6
    assert panel.result.back.variance_share >= 0.999
    assert panel.plots.legends[panel.plots.angles].text() == (
        f"in {k} dimensions there are {k // 2} angles"
    )
    assert "turns" not in panel.header.caption.text()


def test_where_lags_are_spread_a_step_goes_to_the_next(noisy):
    panel = noisy
    QTest.mouseClick(panel.space.buttons["all"], LEFT)
    lags = panel.result.lags
    wide = int(lags[-10])
    panel.go_to(wide + 1)
    assert panel.lag.value == wide
    press(panel.lag.slider, Qt.Key.Key_Right)
    assert panel.lag.value == lags[-9] > wide + 1
    press(panel.lag.slider, Qt.Key.Key_Left)
    assert panel.lag.value == wide


def test_themes_and_options(panel, stage):
    panel.set_theme(DARK)
    assert panel.plots.fits.curves[0].color == DARK.text
    panel.configure(lag=33, scoring="halves", play=True)
    assert panel.answered.scoring == "halves"
    assert panel.lag.value == 33
    assert panel.way.is_playing
    panel.configure(in_view=False)
    assert guide(stage) is None
    with pytest.raises(TypeError, match="no options"):
        panel.configure(wrong=1)


def test_gpt2(stage, gpt2_folder, qtbot):
    stage.open(gpt2_folder, positions=(100, 1022))
    panel = stage.panel
    assert "N = 50: R² 0.983, turns 33.5°" in panel.header.caption.text()
    QTest.mouseClick(panel.scoring.buttons["halves"], LEFT)
    assert "R² 0.942" in panel.header.caption.text()
    QTest.mouseClick(panel.space.buttons["heads"], LEFT)
    assert len(panel.heads.rows) == 12
    assert not panel.heads.isHidden()
