"""What keys do to the camera: turning, moving, and bringing the selection into sight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from vtkmodules.vtkRenderingCore import vtkCamera

from gui.state.camera import VIEW_ANGLE, CameraPose, framed
from gui.viewport.camera_steps import (
    NEAREST_SHARE,
    STEP_DEGREES,
    STEP_SHARE,
    focused,
    moved,
    turned,
)

SEEDS = st.integers(0, 2**32 - 1)
KEYS = Qt.KeyboardModifier
SHIFT, CONTROL, ALT = KEYS.ShiftModifier, KEYS.ControlModifier, KEYS.AltModifier
ARROWS = (
    (Qt.Key.Key_Right, np.array([1, 0])),
    (Qt.Key.Key_Left, np.array([-1, 0])),
    (Qt.Key.Key_Up, np.array([0, -1])),
    (Qt.Key.Key_Down, np.array([0, 1])),
)


def some_pose(seed):
    rng = np.random.default_rng(seed)
    up = rng.normal(size=3)
    return CameraPose(
        rng.normal(size=3) * 5, rng.normal(size=3), up / np.linalg.norm(up), rng.uniform(0.1, 4)
    )


def camera_at(pose):
    camera = vtkCamera()
    pose.apply(camera)
    camera.OrthogonalizeViewUp()
    return camera


def same(pose, camera):
    np.testing.assert_allclose(pose.position, camera.GetPosition(), atol=1e-9)
    np.testing.assert_allclose(pose.focal_point, camera.GetFocalPoint(), atol=1e-9)
    np.testing.assert_allclose(pose.up, camera.GetViewUp(), atol=1e-9)


@given(SEEDS)
def test_steps_turn_as_vtks_camera_does(seed):
    pose = some_pose(seed)
    for steps, act in (
        ((3, 0, 0), lambda camera: camera.Azimuth(-3 * STEP_DEGREES)),
        ((0, 2, 0), lambda camera: camera.Elevation(-2 * STEP_DEGREES)),
        ((0, 0, 5), lambda camera: camera.Roll(-5 * STEP_DEGREES)),
    ):
        camera = camera_at(pose)
        act(camera)
        camera.OrthogonalizeViewUp()
        same(turned(pose, *steps), camera)


@pytest.mark.parametrize("parallel", [False, True])
@given(SEEDS)
def test_a_move_is_its_share_of_the_height(parallel, seed):
    pose = some_pose(seed)
    there = moved(pose, 2, -3, parallel=parallel)
    way = pose.focal_point - pose.position
    height = 2 * np.linalg.norm(way) * np.tan(np.radians(VIEW_ANGLE / 2))
    height = 2 * pose.parallel_scale if parallel else height
    shift = there.focal_point - pose.focal_point
    np.testing.assert_allclose(there.position - pose.position, shift, atol=1e-9)
    assert np.linalg.norm(shift) == pytest.approx(np.hypot(2, 3) * STEP_SHARE * height)
    assert shift @ way == pytest.approx(0, abs=1e-9)


def test_camera_centres_points_without_flying_in():
    whole, pose = np.random.default_rng(1).normal(size=(60, 3)), some_pose(3)
    way = pose.position - pose.focal_point
    one = focused(pose, whole[:1], whole, 1.5)
    np.testing.assert_allclose(one.position - whole[0], way)
    several = focused(pose, whole[:9], whole, 1.5)
    np.testing.assert_allclose(several.position, framed(whole[:9], way, pose.up, 1.5).position)
    far = framed(whole, way, pose.up, 1.5)
    least = NEAREST_SHARE * np.linalg.norm(far.position - far.focal_point)
    for apart in (0.0, 1e-9):
        near = focused(pose, whole[[7, 7]] + [[0.0] * 3, [apart] * 3], whole, 1.5)
        assert np.linalg.norm(near.position - near.focal_point) == pytest.approx(least)
        assert near.parallel_scale == pytest.approx(NEAREST_SHARE * far.parallel_scale)


def test_arrows_with_control_move_and_with_shift_turn(application, viewport):
    camera = viewport.interactor.camera

    def pixel(position):
        at = viewport.pixel_of(position)
        return np.array([at.x(), at.y()])

    for key, towards in ARROWS:
        before = pixel(100)
        QTest.keyClick(viewport.interactor, key, CONTROL)
        step = STEP_SHARE * viewport.interactor.height()
        np.testing.assert_allclose(pixel(100) - before, step * towards, atol=0.35 * step + 1)

        # What is in front of the middle goes where the arrow points.
        focal, eye = np.array(camera.GetFocalPoint()), np.array(camera.GetPosition())
        front = (focal + 0.1 * (eye - focal))[None]
        before = viewport.scene.projection().to_screen(front)[0][0]
        QTest.keyClick(viewport.interactor, key, SHIFT)
        x, y = viewport.scene.projection().to_screen(front)[0][0] - before
        assert np.array([x, -y]) @ towards > 1
        np.testing.assert_allclose(camera.GetFocalPoint(), focal)
    assert application.session.selection == ()


def test_arrows_with_alt_roll_and_undo_takes_them_back(window, viewport, settle):
    camera = viewport.interactor.camera
    before = camera.GetViewUp(), camera.GetPosition()
    above = np.add(camera.GetFocalPoint(), camera.GetViewUp())[None]
    at = viewport.scene.projection().to_screen(above)[0][0, 0]
    for _ in range(4):
        QTest.keyClick(viewport.interactor, Qt.Key.Key_Right, ALT)
    assert viewport.scene.projection().to_screen(above)[0][0, 0] > at + 5
    np.testing.assert_allclose(camera.GetPosition(), before[1])
    level = camera_at(CameraPose(*map(np.array, (before[1], camera.GetFocalPoint(), before[0])), 1))
    cosine = np.dot(camera.GetViewUp(), level.GetViewUp())
    assert cosine == pytest.approx(np.cos(np.radians(4 * STEP_DEGREES)))
    window.undo.undo()
    settle()
    np.testing.assert_allclose(camera.GetViewUp(), before[0], atol=1e-9)


def test_centring_on_several_brings_all_of_them_into_sight(window, viewport, settle):
    chosen = (20, 150, 60)
    window.controller.select(chosen)
    viewport.camera.zoom(4)
    settle()
    QTest.keyClick(viewport.interactor, Qt.Key.Key_C)
    settle()
    pixels = [viewport.pixel_of(p) for p in chosen]
    assert all(viewport.interactor.rect().contains(at) for at in pixels)
    spread = max(np.ptp([p.x() for p in pixels]), np.ptp([p.y() for p in pixels]))
    assert spread > 0.3 * viewport.interactor.height()
