"""Looking back in the real window: what is drawn among the positions, and that it moves."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.panels.lookback.guide import LINES, MOST, Carried
from gui.panels.lookback.question import LookBackOf
from gui.panels.lookback.spec import LookBackPanel
from gui.scene.scene_state import resolve_scene
from gui.services.questions import QuestionContext, resolve

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def app(start_application, write_gpt2, wait_until_idle):
    app = start_application(write_gpt2())
    app.window.focus_on("lookback")
    wait_until_idle(app)
    assert app.window.panels["lookback"].result is not None
    return app


def actor(app, name):
    return app.window.viewport.scene.plotter.actors[f"guide {name}"]


def points(app):
    return np.array(actor(app, "points").mapper.dataset.points)


def test_the_carried_positions_are_in_the_scene(app, wait_until_idle):
    panel = app.window.panels["lookback"]
    assert all(actor(app, name).GetVisibility() for name in ("points", "segments", "dashes"))
    back = panel.result.back
    expected = back.found.motion(50).carry(back.coordinates[50:])
    np.testing.assert_allclose(points(app), expected, atol=1e-4)
    state = resolve_scene(app.session)
    assert any("carried 50 back" in line for line in state.caption)
    panel.controls.number.slider.setValue(20)
    wait_until_idle(app)
    assert len(points(app)) == len(expected) + 30


def test_playing_moves_them_in_the_scene(app, qtbot, wait_until_idle):
    panel = app.window.panels["lookback"]
    end, seen = points(app), []
    watching = panel.guideRequested.connect(lambda _: seen.append(points(app)))
    QTest.mouseClick(panel.controls.play, LEFT)
    qtbot.waitUntil(lambda: not panel.playback.is_playing, timeout=20_000)
    panel.disconnect(watching)
    wait_until_idle(app)
    np.testing.assert_allclose(points(app), end, atol=1e-4)
    moved = [np.abs(one - end).max() for one in seen]
    assert max(moved) > 0.5
    assert len({round(float(one), 4) for one in moved}) > 3


def test_another_tab_takes_them_away(app, wait_until_idle):
    app.window.focus_on("norms")
    wait_until_idle(app)
    assert not actor(app, "points").GetVisibility()
    app.window.focus_on("lookback")
    wait_until_idle(app)
    assert actor(app, "points").GetVisibility()


def test_a_dragged_range_hides_them_until_it_is_answered(app, wait_until_idle):
    app.session.dragging = True
    app.window.panels["positions"].rangeRequested.emit(20, 150)
    wait_until_idle(app)
    assert not actor(app, "points").GetVisibility()
    app.session.dragging = False
    wait_until_idle(app)
    assert actor(app, "points").GetVisibility()
    assert len(points(app)) == 131 - 50


def test_a_claim_leads_to_what_it_measures(app, wait_until_idle):
    from geometry.claims.claims import CLAIMS

    panel = app.window.panels["lookback"]
    for claim in (one for one in CLAIMS if one.panel == "lookback"):
        options = LookBackPanel.claims.get(claim.id, {})
        panel.configure(**options)
        wait_until_idle(app)
        assert panel.choices.space == options.get("space", "3")


def test_of_many_positions_some_are_carried(open_table):
    t = np.linspace(0, 1, 3 * MOST)
    model = open_table(np.column_stack([np.cos(20 * t), np.sin(20 * t), t]))
    found = resolve(LookBackOf((0, 3 * MOST - 1), "3", "even_odd"), QuestionContext(model))
    guide = Carried(found, 7, (1, 2, 3)).at(1.0)
    assert len(guide.points) == 4094
    assert len(guide.segments) <= LINES
    apart = np.linalg.norm(guide.segments[:, 0] - guide.segments[:, 1], axis=1)
    assert apart.max() < 1e-6
