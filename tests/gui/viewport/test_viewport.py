"""The viewport through real mouse and key events, judged by what it shows."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from gui.state.camera import ALONG, AXES, side_on
from gui.state.colors import lookup_table
from gui.state.guides import Guide
from gui.style.theme import LIGHT
from gui.viewport import camera_moves
from gui.viewport.camera_moves import TurnEase
from tests.gui.viewport_mouse import LEFT, drag, pickable, pose, wheel

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def empty_pixel(viewport):
    """Return a pixel that is far from all points."""
    for y in range(20, viewport.height(), 20):
        for x in range(20, viewport.width(), 20):
            if viewport.position_at(QPoint(x, y)) is None:
                return QPoint(x, y)
    raise AssertionError("the curve covers the whole viewport")


def direction(viewport):
    camera = viewport.interactor.camera
    return np.subtract(camera.GetPosition(), camera.GetFocalPoint())


def looking(viewport):
    return direction(viewport) / np.linalg.norm(direction(viewport))


def shown_pixels(viewport):
    first, last = viewport.session.positions
    return [viewport.pixel_of(p) for p in range(first, last + 1)]


def in_sight(viewport):
    return all(map(viewport.interactor.rect().contains, shown_pixels(viewport)))


def extent(viewport):
    """Return how many pixels the shown curve spans, in its longer direction."""
    pixels = shown_pixels(viewport)
    return max(np.ptp([p.x() for p in pixels]), np.ptp([p.y() for p in pixels]))


def drag_range(session, settle, until=90):
    """Drag the beginning of the range, and release it."""
    session.dragging = True
    for first in range(1, until, 8):
        session.positions = (first, 199)
    session.dragging = False
    settle()


def hover(qtbot, viewport, position):
    """Move the mouse onto a point, from elsewhere: a mouse that is there already sends nothing."""
    qtbot.mouseMove(viewport.interactor, empty_pixel(viewport))
    qtbot.mouseMove(viewport.interactor, viewport.pixel_of(position))
    # The X server sends the moves in its own time.
    qtbot.waitUntil(lambda: viewport.session.hover == position)


def test_first_view_shows_the_whole_curve(viewport):
    towards, _ = side_on(viewport.scene.displayed_range)
    np.testing.assert_allclose(looking(viewport), towards, atol=1e-5)
    assert in_sight(viewport)
    assert extent(viewport) > 0.8 * viewport.height()
    image = viewport.interactor.grabFramebuffer()
    table = lookup_table("jet")
    for near in (20, 100, 180):
        position = pickable(viewport, near=near)
        found = image.pixelColor(viewport.pixel_of(position))
        wanted = table[round(position / 199 * 255)]
        assert np.abs(np.array(found.getRgb()[:3]) - wanted[:3]).max() < 40, position
    assert image.pixelColor(3, 3) == QColor(LIGHT.viewport)


def test_click_selects_and_shift_click_toggles(viewport, qtbot):
    first, second = pickable(viewport, near=60), pickable(viewport, near=140)
    session = viewport.session
    qtbot.mouseClick(viewport.interactor, LEFT, pos=viewport.pixel_of(first))
    assert session.selection == (first,)
    assert session.details.position == first
    qtbot.mouseClick(viewport.interactor, LEFT, pos=empty_pixel(viewport))
    assert session.selection == (first,)
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT, pos=viewport.pixel_of(second))
    assert session.selection == (first, second)
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT, pos=viewport.pixel_of(first))
    assert session.selection == (second,)
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT | CONTROL, pos=viewport.pixel_of(first))
    assert set(session.selection) == set(range(first, second + 1))
    assert session.current == first


def test_drag_rotates_and_never_picks_but_a_trembling_click_does(viewport, qtbot):
    start = viewport.pixel_of(pickable(viewport, near=100))
    before = direction(viewport)
    drag(qtbot, viewport, start, start + QPoint(60, 25))
    after = direction(viewport)
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before))
    assert np.degrees(np.arccos(before @ after / (before @ before))) > 5
    # Nor does one that comes back to where it began.
    start = viewport.pixel_of(pickable(viewport, near=100))
    drag(qtbot, viewport, start, start + QPoint(30, 0), start)
    assert viewport.session.selection == ()
    at = viewport.pixel_of(pickable(viewport, near=100))
    drag(qtbot, viewport, at, at + QPoint(1, 1))
    assert len(viewport.session.selection) == 1


def test_shift_drag_moves_and_wheel_zooms_and_each_frame_is_rendered_once(viewport, qtbot):
    frames, renders = [], []
    viewport.interactor.frameSwapped.connect(lambda: frames.append(1))
    observer = viewport.interactor.ren_win.AddObserver("StartEvent", lambda *_: renders.append(1))
    camera = viewport.interactor.camera
    focal, distance = np.array(camera.GetFocalPoint()), camera.GetDistance()
    drag(qtbot, viewport, QPoint(100, 100), QPoint(180, 100), keys=SHIFT)
    assert not renders  # moves only move the camera
    qtbot.waitUntil(lambda: len(frames) >= 1)
    viewport.interactor.ren_win.RemoveObserver(observer)
    assert 1 <= len(renders) <= len(frames) + 1
    assert np.linalg.norm(np.array(camera.GetFocalPoint()) - focal) > 0.01 * distance
    assert camera.GetDistance() == pytest.approx(distance)
    wheel(viewport)
    assert camera.GetDistance() < 0.95 * distance


def test_hover_tells_position_and_norm_until_the_mouse_is_elsewhere(viewport, qtbot):
    position = pickable(viewport, near=100)
    hover(qtbot, viewport, position)
    with qtbot.waitSignal(viewport.interactor.frameSwapped):
        viewport.interactor.update()
    norm = float(viewport.session.norms.values[position])
    assert viewport.scene.state.labels[position] == f"position {position} · norm {norm:.3f}"
    qtbot.mouseMove(viewport.interactor, empty_pixel(viewport))
    qtbot.waitUntil(lambda: viewport.session.hover is None)
    hover(qtbot, viewport, position)
    QApplication.sendEvent(viewport.interactor, QEvent(QEvent.Type.Leave))
    assert viewport.session.hover is None


def test_vtk_keys_are_dead(viewport, qtbot):
    actors = list(viewport.interactor.renderer.GetActors())
    styles = [a.GetProperty().GetRepresentation() for a in actors]
    before = pose(viewport)
    for key in "wserqtjua3vbml":
        qtbot.keyClick(viewport.interactor, key)
    assert viewport.isVisible()
    assert [a.GetProperty().GetRepresentation() for a in actors] == styles
    np.testing.assert_array_equal(pose(viewport), before)


def test_double_click_centres_or_frames(viewport, qtbot, settle):
    position = pickable(viewport, near=30)
    qtbot.mouseDClick(viewport.interactor, LEFT, pos=viewport.pixel_of(position))
    settle()
    off = viewport.pixel_of(position) - viewport.interactor.rect().center()
    assert off.manhattanLength() <= 2
    viewport.camera.zoom(4)
    settle()
    qtbot.mouseDClick(viewport.interactor, LEFT, pos=empty_pixel(viewport))
    settle()
    assert in_sight(viewport)


@pytest.mark.usefixtures("smooth_stills")
def test_a_still_is_smooth_also_after_a_click(
    start_application, write_gpt2, wait_until_idle, qtbot
):
    application = start_application(write_gpt2())
    shown = application.window.viewport
    shown.camera.zoom(1.25)
    wait_until_idle(application)
    assert shown.interactor.renderer.GetUseFXAA()
    qtbot.mouseClick(shown.interactor, LEFT, pos=empty_pixel(shown))
    wait_until_idle(application)
    assert shown.interactor.renderer.GetUseFXAA()


def test_preset_views_look_along_a_component_and_spin_turns_until_escape(viewport, qtbot, settle):
    for key, axis in (("z", 2), ("y", 1), ("x", 0)):
        qtbot.keyClick(viewport.interactor, key)
        settle()
        assert np.abs(looking(viewport))[axis] == pytest.approx(1)
    before = direction(viewport)
    qtbot.keyClick(viewport.interactor, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not np.allclose(direction(viewport), before))
    qtbot.keyClick(viewport.interactor, Qt.Key.Key_Escape)
    stopped = direction(viewport)
    settle()  # what spins never comes to rest
    assert np.array_equal(direction(viewport), stopped)


def test_axis_arrow_turns_the_view_and_back(viewport, qtbot, settle):
    arrows, shown = viewport.scene.arrows, viewport.interactor
    settle()
    tips = []
    for axis in range(3):
        qtbot.mouseMove(shown, empty_pixel(viewport))
        qtbot.waitUntil(lambda: arrows.hovered is None)
        left, bottom, right, top = arrows.labels[axis].box(shown.render_window.GetDPI())
        at = QPoint(round((left + right) / 2), round(shown.height() - (bottom + top) / 2))
        qtbot.mouseMove(shown, at)
        qtbot.waitUntil(lambda axis=axis: arrows.hovered == axis)
        assert viewport.session.hover is None
        assert shown.cursor().shape() == Qt.CursorShape.PointingHandCursor
        QApplication.sendEvent(shown, QHelpEvent(QEvent.Type.ToolTip, at, shown.mapToGlobal(at)))
        tips.append(QToolTip.text())
        seen = []
        for _ in range(2):  # the mouse stays where it is
            qtbot.mouseClick(shown, LEFT, pos=at)
            settle()
            seen.append(looking(viewport))
            assert in_sight(viewport)
        np.testing.assert_allclose(seen[0], AXES[ALONG[axis]][0], atol=1e-6)
        np.testing.assert_allclose(seen[1], np.negative(seen[0]), atol=1e-6)
    assert [tip.partition(",")[0] for tip in tips] == [f"PC\xa0{k}" for k in (1, 2, 3)]
    assert "of the variance" in tips[0]
    assert viewport.session.selection == ()


def test_a_drag_from_the_axes_turns_the_curve_like_any_other(viewport, qtbot, settle):
    before, (left, bottom, *_) = direction(viewport), viewport.scene.arrows.labels[0].box(72)
    start = QPoint(round(left) + 4, round(viewport.interactor.height() - bottom) - 4)
    drag(qtbot, viewport, start, start - QPoint(120, 40))
    settle()
    assert not np.allclose(direction(viewport), before)
    assert np.abs(looking(viewport)).max() < 0.9999


@pytest.mark.parametrize("positions", [(0, 199), (40, 110)])
def test_undragged_range_is_framed(application, settle, assert_framed, positions):
    application.controller.request_positions(*positions)
    settle()
    application.controller.request_positions(1, 150)
    settle()
    assert_framed()


def test_drag_that_ends_where_it_began_is_framed(viewport, application, settle, assert_framed):
    session = viewport.session
    session.dragging = True
    for last in (150, 199):
        session.positions = (1, last)
        viewport._draw()
    session.dragging = False
    settle()
    application.controller.request_positions(1, 150)
    settle()
    assert_framed()


def test_another_model_is_framed(viewport, application, settle, write_table, helix, monkeypatch):
    eased = []
    monkeypatch.setattr(TurnEase, "begin", lambda self, turn: eased.append(turn))
    application.controller.open(str(write_table(100 * helix(), "large")))
    settle()
    assert in_sight(viewport)
    assert viewport.session.model.name == "large"
    application.controller.open(str(write_table(helix(150, 12), "another")))
    settle()
    assert viewport.session.curve.pca.exact
    assert eased == []


def test_other_model_keeps_users_side(viewport, application, settle, write_table, helix):
    tables = {"other": helix(seed=9), "third": helix(150, 12, seed=3)}
    application.controller.open(str(write_table(tables["other"][:, ::-1] ** 3, "other")))
    settle()
    towards, _ = side_on(viewport.scene.displayed_range)
    np.testing.assert_allclose(looking(viewport), towards, atol=1e-5)
    viewport.camera.turn(2, 1)
    settle()
    turned = looking(viewport)
    application.controller.open(str(write_table(tables["third"], "third")))
    settle()
    np.testing.assert_allclose(looking(viewport), turned, atol=1e-5)
    assert in_sight(viewport)


def test_release_eases_to_true_components(viewport, settle):
    session = viewport.session
    drag_range(session, settle)
    assert np.array_equal(session.turn, np.eye(3))
    assert session.curve.pca.exact
    np.testing.assert_allclose(viewport.scene.displayed, session.curve.coordinates, atol=1e-12)
    session.keep_turned = True
    drag_range(session, settle, until=60)
    assert not np.array_equal(session.turn, np.eye(3))
    turned = viewport.scene.displayed.copy()
    shown = session.curve.coordinates @ session.turn.T
    np.testing.assert_allclose(turned, shown, atol=1e-12)
    session.keep_turned = False
    viewport._turn_ease._ease.setCurrentTime(150)
    half_way = viewport.scene.displayed.copy()
    assert np.abs(half_way - turned).max() > 1e-6
    session.hover = 100  # whatever changes meanwhile
    viewport._draw()
    np.testing.assert_allclose(viewport.scene.displayed, half_way, atol=1e-9)


def test_camera_follows_ranges_or_stays(viewport, application, settle):
    for positions in ((150, 160), (1, 199)):
        application.controller.request_positions(*positions)
        settle()
        assert in_sight(viewport)
        assert extent(viewport) > 0.3 * viewport.height()
    viewport.camera.zoom(1.5)
    settle()
    before = direction(viewport)
    application.controller.request_positions(150, 160)
    settle()
    np.testing.assert_array_equal(direction(viewport), before)
    viewport.camera.frame()
    settle()
    assert extent(viewport) > 0.3 * viewport.height()


def test_resize_during_a_movement_is_framed(viewport, window, settle, assert_framed):
    viewport.camera.view("yz")
    viewport.camera._moves._ease.setCurrentTime(camera_moves.EASE_MS // 2)
    before = viewport.interactor.height()
    window.resizeDocks([window.docks["norms"]], [420], Qt.Orientation.Vertical)
    window.layout().activate()
    assert viewport.interactor.height() < 0.9 * before
    assert viewport.camera.easing
    settle()
    assert_framed()


def mirror_half_way(viewport, settle):
    """Let the curve turn to its components' true directions, of which one is mirrored, half-way."""
    session, ease = viewport.session, viewport._turn_ease._ease
    session.keep_turned = True
    session.turn = np.diag([1.0, -1.0, 1.0])
    settle()
    session.keep_turned = False
    session.turn = np.eye(3)
    ease.setCurrentTime(ease.duration() // 2)


def test_view_chosen_while_the_curve_is_mirrored_is_framed(viewport, settle, assert_framed):
    """Half-way it is flat, so its points at rest cannot be found from those that are shown."""
    mirror_half_way(viewport, settle)
    assert np.linalg.matrix_rank(viewport.scene.displayed, tol=1e-6) == 2
    viewport.camera.view("xy")
    settle()
    assert viewport.camera.well_framed()
    assert_framed()


def test_a_point_focused_while_the_curve_turns_comes_to_the_middle(viewport, settle):
    mirror_half_way(viewport, settle)
    viewport.camera.focus_on(100)
    settle()
    scene = viewport.scene
    (at,), _ = scene.projection().to_screen(scene.displayed[100:101])
    np.testing.assert_allclose(at, np.array(scene.projection().size) / 2, atol=1)


def test_framing_while_the_camera_moves_to_a_view_does_not_end_that(viewport, settle):
    viewport.camera.view("xy")
    ease = viewport.camera._moves._ease
    ease.setCurrentTime(ease.duration() // 2)
    viewport.camera.frame()
    settle()
    np.testing.assert_allclose(looking(viewport), AXES["xy"][0], atol=1e-6)


def test_other_model_framed_in_movement(
    viewport, application, settle, write_table, helix, assert_framed
):
    ease = viewport.camera._moves._ease
    before = ease.duration()
    ease.setDuration(5_000)
    viewport.camera.view("xy")
    ease.setDuration(before)
    application.controller.open(str(write_table(100 * helix(), "large")))
    settle()
    assert in_sight(viewport)
    assert_framed(1e-4)


def test_a_longer_caption_does_not_cover_what_was_framed(viewport, settle):
    session = viewport.session
    viewport.camera.view("xz")
    settle()
    before = pose(viewport)
    caption = viewport.scene._caption

    def clear():
        at = viewport.scene.projection().to_screen(viewport.scene.displayed_range)[0]
        return at[:, 1].min() - caption.box(viewport.interactor.render_window.GetDPI())[3]

    assert clear() > 0
    curve = session.curve
    more = {f"test {n}": Guide(curve.pca, curve.components, caption=f"line {n}") for n in range(3)}
    session.guides = more
    settle()
    assert clear() > 0
    assert not np.allclose(pose(viewport), before, atol=1e-4)
    session.guides = {}
    settle()
    np.testing.assert_allclose(pose(viewport), before, atol=1e-4)
    viewport.camera.turn(0, 6)
    settle()
    way = np.subtract(*pose(viewport)[:2])
    session.guides = more
    settle()
    assert clear() > 0
    turned = np.subtract(*pose(viewport)[:2])
    assert turned @ way == pytest.approx(np.linalg.norm(turned) * np.linalg.norm(way))
    session.guides = {}
    settle()
    wheel(viewport)
    settle()
    there = pose(viewport)
    session.guides = more
    settle()
    np.testing.assert_allclose(pose(viewport), there, atol=1e-6)  # it is the user's own


@pytest.mark.slow
def test_a_slow_turn_comes_back_and_any_gesture_ends_it(viewport, qtbot, settle, monkeypatch):
    before, turn = pose(viewport), viewport.camera._moves._round
    viewport.camera.go_round()
    for share in range(1, 16):
        turn.setCurrentTime(turn.duration() * share // 16)
        assert in_sight(viewport)
        if share == 8:
            way, start = np.subtract(*pose(viewport)[:2]), np.subtract(*before[:2])
            assert way @ start == pytest.approx(-np.linalg.norm(way) * np.linalg.norm(start))
            assert np.linalg.norm(way) >= np.linalg.norm(start)
    turn.setCurrentTime(turn.duration())
    np.testing.assert_allclose(pose(viewport), before, atol=1e-6)
    for gesture in (
        lambda: qtbot.mouseClick(viewport.interactor, LEFT, pos=empty_pixel(viewport)),
        lambda: wheel(viewport),
        lambda: viewport.camera.turn(1, 0),
        viewport.camera.frame,
    ):
        viewport.camera.go_round()
        assert turn.state() == turn.State.Running
        gesture()
        assert turn.state() == turn.State.Stopped
        settle()
    monkeypatch.setattr("gui.viewport.view_camera.motion_reduced", lambda: True)
    viewport.camera.go_round()
    assert turn.state() == turn.State.Stopped


def test_the_first_click_ends_the_slow_turn_and_picks_what_was_aimed_at(viewport, qtbot):
    turn = viewport.camera._moves._round
    for position in range(20, 180, 20):
        viewport.camera.go_round()
        turn.pause()
        turn.setCurrentTime(6_000)
        at = viewport.pixel_of(position)
        turn.setCurrentTime(6_250)  # until the hand has clicked
        turn.resume()
        viewport.session.selection = ()
        qtbot.mouseClick(viewport.interactor, LEFT, pos=at)
        assert turn.state() == turn.State.Stopped
        assert len(viewport.session.selection) == 1, position
