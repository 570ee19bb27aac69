"""The viewport through real mouse and key events, judged by what it shows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.commands.application import Application
from gui.state.colors import lookup_table
from gui.style.theme import LIGHT
from gui.viewport.turn_ease import TurnEase
from gui.viewport.viewport import Viewport
from tests.gui.viewport_mouse import LEFT, drag

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def viewport(application: Application) -> Viewport:
    return application.window.viewport


def pickable(viewport: Viewport, *, near: int) -> int:
    """Return a position near the wanted one that no other point hides."""
    candidates = sorted(range(1, 199), key=lambda p: abs(p - near))
    return next(p for p in candidates if viewport.position_at(viewport.pixel_of(p)) == p)


def empty_pixel(viewport: Viewport) -> QPoint:
    """Return a pixel that is far from all points."""
    for y in range(20, viewport.height(), 20):
        for x in range(20, viewport.width(), 20):
            if viewport.position_at(QPoint(x, y)) is None:
                return QPoint(x, y)
    raise AssertionError("the curve covers the whole viewport")


def direction(viewport: Viewport) -> np.ndarray:
    camera = viewport.interactor.camera
    return np.subtract(camera.GetPosition(), camera.GetFocalPoint())


def hover(qtbot: QtBot, viewport: Viewport, position: int) -> None:
    """Move the mouse onto a point, from elsewhere: a mouse that is there already sends nothing."""
    qtbot.mouseMove(viewport.interactor, empty_pixel(viewport))
    qtbot.mouseMove(viewport.interactor, viewport.pixel_of(position))
    # The X server sends the moves in its own time.
    qtbot.waitUntil(lambda: viewport.session.hover == position)


def test_first_view_is_the_articles_and_shows_the_whole_curve(viewport: Viewport) -> None:
    x, y, z = direction(viewport) / np.linalg.norm(direction(viewport))
    assert np.degrees(np.arcsin(z)) == pytest.approx(20)
    assert np.degrees(np.arctan2(y, x)) == pytest.approx(45)
    area = viewport.interactor.rect()
    assert all(area.contains(viewport.pixel_of(p)) for p in range(1, 200))


def test_points_have_the_colour_of_their_position(viewport: Viewport, qtbot: QtBot) -> None:
    image = viewport.interactor.grabFramebuffer()
    table = lookup_table("jet")
    for near in (20, 100, 180):
        position = pickable(viewport, near=near)
        found = image.pixelColor(viewport.pixel_of(position))
        wanted = table[round(position / 199 * 255)]
        assert np.abs(np.array(found.getRgb()[:3]) - wanted[:3]).max() < 40, position
    assert image.pixelColor(3, 3) == QColor(LIGHT.viewport)


def test_click_selects_and_shift_click_toggles(viewport: Viewport, qtbot: QtBot) -> None:
    first, second = pickable(viewport, near=60), pickable(viewport, near=140)
    session = viewport.session
    qtbot.mouseClick(viewport.interactor, LEFT, pos=viewport.pixel_of(first))
    assert session.selection == (first,)
    assert session.details.position == first
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT, pos=viewport.pixel_of(second))
    assert session.selection == (first, second)
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT, pos=viewport.pixel_of(first))
    assert session.selection == (second,)
    qtbot.mouseClick(viewport.interactor, LEFT, SHIFT | CONTROL, pos=viewport.pixel_of(first))
    assert set(session.selection) == set(range(first, second + 1))
    assert session.current == first


def test_selected_point_gets_a_ring_in_the_accent(
    viewport: Viewport, qtbot: QtBot, wait_until_idle: Callable, application: Application
) -> None:
    position = pickable(viewport, near=100)
    before = viewport.interactor.grabFramebuffer()
    qtbot.mouseClick(viewport.interactor, LEFT, pos=viewport.pixel_of(position))
    wait_until_idle(application)
    image = viewport.interactor.grabFramebuffer()
    centre, accent = viewport.pixel_of(position), QColor(LIGHT.accent).getRgb()[:3]
    ring = [centre + QPoint(round(8 * np.cos(a)), round(8 * np.sin(a)))
            for a in np.linspace(0, 2 * np.pi, 24)]  # fmt: skip

    def near_accent(picture: object) -> int:
        colors = [picture.pixelColor(at).getRgb()[:3] for at in ring]
        return sum(np.abs(np.subtract(c, accent)).max() < 60 for c in colors)

    assert near_accent(before) == 0
    assert near_accent(image) >= 8


def test_click_beside_the_curve_selects_nothing(viewport: Viewport, qtbot: QtBot) -> None:
    viewport.session.selection = (7,)
    qtbot.mouseClick(viewport.interactor, LEFT, pos=empty_pixel(viewport))
    assert viewport.session.selection == (7,)


def test_drag_rotates_and_never_picks(viewport: Viewport, qtbot: QtBot) -> None:
    start = viewport.pixel_of(pickable(viewport, near=100))
    before = direction(viewport)
    drag(qtbot, viewport, start, start + QPoint(60, 25))
    after = direction(viewport)
    assert viewport.session.selection == ()
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before))
    assert np.degrees(np.arccos(before @ after / (before @ before))) > 5


def test_drag_back_to_where_it_began_is_no_click(viewport: Viewport, qtbot: QtBot) -> None:
    start = viewport.pixel_of(pickable(viewport, near=100))
    drag(qtbot, viewport, start, start + QPoint(30, 0), start)
    assert viewport.session.selection == ()


def test_trembling_click_still_selects(viewport: Viewport, qtbot: QtBot) -> None:
    position = pickable(viewport, near=100)
    at = viewport.pixel_of(position)
    drag(qtbot, viewport, at, at + QPoint(1, 1))
    assert len(viewport.session.selection) == 1


def test_each_frame_is_rendered_once(viewport: Viewport, qtbot: QtBot) -> None:
    frames, renders = [], []
    viewport.interactor.frameSwapped.connect(lambda: frames.append(1))
    observer = viewport.interactor.ren_win.AddObserver("StartEvent", lambda *_: renders.append(1))
    drag(qtbot, viewport, QPoint(100, 100), QPoint(160, 130))
    assert not renders  # moves only move the camera
    qtbot.waitUntil(lambda: len(frames) >= 1)
    viewport.interactor.ren_win.RemoveObserver(observer)
    assert 1 <= len(renders) <= len(frames) + 1


def test_shift_drag_moves_and_wheel_zooms(viewport: Viewport, qtbot: QtBot) -> None:
    camera = viewport.interactor.camera
    focal, distance = np.array(camera.GetFocalPoint()), camera.GetDistance()
    drag(qtbot, viewport, QPoint(100, 100), QPoint(180, 100), keys=SHIFT)
    assert np.linalg.norm(np.array(camera.GetFocalPoint()) - focal) > 0.01 * distance
    assert camera.GetDistance() == pytest.approx(distance)
    middle = viewport.interactor.rect().center()
    event = QWheelEvent(
        QPointF(middle), QPointF(viewport.interactor.mapToGlobal(middle)), QPoint(), QPoint(0, 120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase,
        False,
    )  # fmt: skip
    QApplication.sendEvent(viewport.interactor, event)
    assert camera.GetDistance() < 0.95 * distance


def test_hover_tells_position_and_norm(viewport: Viewport, qtbot: QtBot) -> None:
    position = pickable(viewport, near=100)
    hover(qtbot, viewport, position)
    with qtbot.waitSignal(viewport.interactor.frameSwapped):
        viewport.interactor.update()
    norm = float(viewport.session.norms.values[position])
    assert viewport.scene.state.labels[position] == f"position {position} · norm {norm:.3f}"
    qtbot.mouseMove(viewport.interactor, empty_pixel(viewport))
    qtbot.waitUntil(lambda: viewport.session.hover is None)


def test_leaving_the_viewport_ends_the_hover(viewport: Viewport, qtbot: QtBot) -> None:
    hover(qtbot, viewport, pickable(viewport, near=100))
    QApplication.sendEvent(viewport.interactor, QEvent(QEvent.Type.Leave))
    assert viewport.session.hover is None


def test_vtk_keys_are_dead(viewport: Viewport, qtbot: QtBot) -> None:
    actors = list(viewport.interactor.renderer.GetActors())
    styles = [a.GetProperty().GetRepresentation() for a in actors]
    camera = viewport.interactor.camera
    pose = (camera.GetPosition(), camera.GetFocalPoint(), camera.GetViewUp())
    viewport.interactor.setFocus()
    for key in "wserqtjua3vbml":
        qtbot.keyClick(viewport.interactor, key)
    assert viewport.isVisible()
    assert [a.GetProperty().GetRepresentation() for a in actors] == styles
    assert (camera.GetPosition(), camera.GetFocalPoint(), camera.GetViewUp()) == pose


def test_double_click_centres_a_point_or_frames_the_curve(
    viewport: Viewport, qtbot: QtBot, application: Application, wait_until_idle: Callable
) -> None:
    position = pickable(viewport, near=30)
    qtbot.mouseDClick(viewport.interactor, LEFT, pos=viewport.pixel_of(position))
    wait_until_idle(application)
    off = viewport.pixel_of(position) - viewport.interactor.rect().center()
    assert off.manhattanLength() <= 2
    viewport.camera.zoom(4)
    wait_until_idle(application)
    qtbot.mouseDClick(viewport.interactor, LEFT, pos=empty_pixel(viewport))
    wait_until_idle(application)
    area = viewport.interactor.rect()
    assert all(area.contains(viewport.pixel_of(p)) for p in range(1, 200))


@pytest.mark.parametrize(("key", "axis"), [(Qt.Key.Key_Z, 2), (Qt.Key.Key_Y, 1), (Qt.Key.Key_X, 0)])
def test_preset_views_look_along_a_component(
    viewport: Viewport, qtbot: QtBot, application: Application, wait_until_idle: Callable,
    key: Qt.Key, axis: int,
) -> None:  # fmt: skip
    viewport.interactor.setFocus()
    qtbot.keyClick(viewport.interactor, key)
    wait_until_idle(application)
    looking = np.abs(direction(viewport)) / np.linalg.norm(direction(viewport))
    assert looking[axis] == pytest.approx(1)


def test_spin_turns_until_escape(
    viewport: Viewport, application: Application, qtbot: QtBot, wait_until_idle: Callable
) -> None:
    viewport.interactor.setFocus()
    before = direction(viewport)
    qtbot.keyClick(viewport.interactor, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not np.allclose(direction(viewport), before))
    qtbot.keyClick(viewport.interactor, Qt.Key.Key_Escape)
    stopped = direction(viewport)
    wait_until_idle(application)  # what spins never comes to rest
    assert np.array_equal(direction(viewport), stopped)


def test_dragged_range_never_jumps(viewport: Viewport, qtbot: QtBot) -> None:
    session = viewport.session
    session.dragging = True
    shown = viewport.scene.displayed[100:180].copy()
    size = np.ptp(shown, axis=0).max()
    for first in range(1, 60, 3):
        session.positions = (first, 199)
        viewport.interactor.grabFramebuffer()
        viewport._draw()
        now = viewport.scene.displayed[100:180].copy()
        # The mean moves with the range; the shape may not turn over.
        step = (now - now.mean(axis=0)) - (shown - shown.mean(axis=0))
        assert np.abs(step).max() < 0.25 * size
        shown = now
    session.dragging = False


def test_release_eases_to_the_true_components(
    viewport: Viewport, application: Application, wait_until_idle: Callable
) -> None:
    session = viewport.session
    session.dragging = True
    for first in range(1, 90, 8):
        session.positions = (first, 199)
    session.dragging = False
    wait_until_idle(application)
    assert np.array_equal(session.turn, np.eye(3))
    assert session.curve.pca.exact
    np.testing.assert_allclose(viewport.scene.displayed, session.curve.coordinates, atol=1e-12)


def test_a_curve_that_opens_is_not_turned(
    application: Application, write_table, helix, wait_until_idle: Callable, monkeypatch
) -> None:
    eased: list[np.ndarray] = []
    monkeypatch.setattr(TurnEase, "begin", lambda self, turn: eased.append(turn))
    application.controller.open(str(write_table(helix(150, 12), "another")))
    wait_until_idle(application)
    assert application.session.curve.pca.exact
    assert eased == []


def test_what_changes_while_it_eases_does_not_throw_it_back(
    viewport: Viewport, application: Application, wait_until_idle: Callable
) -> None:
    session = viewport.session
    session.keep_turned = session.dragging = True
    for first in range(1, 90, 8):
        session.positions = (first, 199)
    session.dragging = False
    wait_until_idle(application)
    turned = viewport.scene.displayed.copy()
    session.keep_turned = False
    viewport._turn_ease._ease.setCurrentTime(150)
    half_way = viewport.scene.displayed.copy()
    assert np.abs(half_way - turned).max() > 1e-6
    session.hover = 100
    viewport._draw()
    np.testing.assert_allclose(viewport.scene.displayed, half_way, atol=1e-9)


def test_a_click_that_stops_the_camera_leaves_a_smooth_still(
    viewport: Viewport, application: Application, qtbot: QtBot, wait_until_idle: Callable
) -> None:
    at = empty_pixel(viewport)
    viewport.camera.zoom(1.25)
    qtbot.mouseClick(viewport.interactor, LEFT, pos=at)
    wait_until_idle(application)
    assert viewport.interactor.renderer.GetUseFXAA()


def test_stays_turned_when_the_user_prefers(
    viewport: Viewport, application: Application, wait_until_idle: Callable
) -> None:
    session = viewport.session
    session.keep_turned = True
    session.dragging = True
    for first in range(1, 90, 8):
        session.positions = (first, 199)
    session.dragging = False
    wait_until_idle(application)
    assert not np.array_equal(session.turn, np.eye(3))
    shown = session.curve.coordinates @ session.turn.T
    np.testing.assert_allclose(viewport.scene.displayed, shown, atol=1e-12)


def test_another_model_is_framed(
    viewport: Viewport, application: Application, wait_until_idle: Callable,
    write_table: Callable[..., Path], helix: Callable[..., np.ndarray],
) -> None:  # fmt: skip
    application.controller.open(str(write_table(100 * helix(), "large")))
    wait_until_idle(application)
    area = viewport.interactor.rect()
    assert all(area.contains(viewport.pixel_of(p)) for p in range(1, 200))
    assert viewport.session.model.name == "large"


def in_sight(viewport: Viewport) -> bool:
    first, last = viewport.session.positions
    area = viewport.interactor.rect()
    return all(area.contains(viewport.pixel_of(p)) for p in range(first, last + 1))


def extent(viewport: Viewport) -> int:
    """Return how many pixels the shown curve spans, in its longer direction."""
    first, last = viewport.session.positions
    pixels = [viewport.pixel_of(p) for p in range(first, last + 1)]
    return max(np.ptp([p.x() for p in pixels]), np.ptp([p.y() for p in pixels]))


def test_camera_follows_to_a_small_range_and_back(
    viewport: Viewport, application: Application, wait_until_idle: Callable
) -> None:
    for positions in ((150, 160), (1, 199)):
        application.controller.request_positions(*positions)
        wait_until_idle(application)
        assert in_sight(viewport)
        assert extent(viewport) > 0.3 * viewport.height()


def test_camera_stays_where_the_user_put_it(
    viewport: Viewport, application: Application, wait_until_idle: Callable
) -> None:
    viewport.camera.zoom(1.5)
    wait_until_idle(application)
    before = direction(viewport)
    application.controller.request_positions(150, 160)
    wait_until_idle(application)
    np.testing.assert_array_equal(direction(viewport), before)
    viewport.camera.frame()
    wait_until_idle(application)
    assert extent(viewport) > 0.3 * viewport.height()


def test_hundreds_of_changes_add_no_actors(viewport: Viewport) -> None:
    session = viewport.session
    count = viewport.interactor.renderer.GetViewProps().GetNumberOfItems()
    for i in range(200):
        session.positions = (i % 50, 199)
        session.selection = (i, i + 1) if i < 198 else (3,)
        session.outside = "faint" if i % 2 else "hidden"
        session.color_by = "norm" if i % 3 else "position"
        viewport._draw()
    assert viewport.interactor.renderer.GetViewProps().GetNumberOfItems() == count
