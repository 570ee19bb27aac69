"""Projection agrees with VTK's own; the point that is meant is the near one in front."""

import numpy as np
import pytest
import pyvista as pv
from hypothesis import given
from hypothesis import strategies as st
from vtkmodules.vtkRenderingCore import vtkCoordinate

from gui.scene.picking import PICK_RADIUS, nearest_point, points_inside
from gui.scene.scene import HelixScene
from gui.style.theme import LIGHT


@pytest.fixture(params=[(400, 300), (300, 500), (641, 233)])
def plotter(request):
    made = pv.Plotter(off_screen=True, window_size=request.param)
    yield made
    made.close()


def look_from(plotter, position, focal_point, up):
    plotter.camera.SetPosition(position)
    plotter.camera.SetFocalPoint(focal_point)
    plotter.camera.SetViewUp(up)
    plotter.renderer.ResetCameraClippingRange()
    return plotter.camera


@pytest.mark.parametrize("parallel", [False, True])
def test_projection_is_vtks_own(plotter, parallel):
    scene = HelixScene(plotter, LIGHT)
    points = np.random.default_rng(0).normal(size=(50, 3)) * [3, 1, 2]
    camera = look_from(plotter, (9, 6, 4), (0.5, 0, 0), (0, 0.3, 1))
    camera.SetParallelProjection(parallel)
    camera.SetParallelScale(4)
    plotter.show(auto_close=False)
    xy, depth = scene.projection().to_screen(points)
    coordinate = vtkCoordinate()
    coordinate.SetCoordinateSystemToWorld()
    for point, found in zip(points, xy, strict=True):
        coordinate.SetValue(*point)
        expected = coordinate.GetComputedDoubleDisplayValue(plotter.renderer)
        np.testing.assert_allclose(found, expected, atol=1.0)
    away = np.array(camera.GetPosition()) - camera.GetFocalPoint()
    assert (np.argsort(depth) == np.argsort(-points @ away)).all() or not parallel
    scene.release()


def test_points_behind_the_camera_are_never_meant(plotter):
    scene = HelixScene(plotter, LIGHT)
    look_from(plotter, (0, 0, 5), (0, 0, 0), (0, 1, 0))
    xy, depth = scene.projection().to_screen(np.array([[0, 0, 6], [0, 0, 5], [0, 0, 0]]))
    middle = np.array(plotter.window_size) / 2
    assert np.isinf(depth[:2]).all()
    np.testing.assert_allclose(xy[2], middle)
    assert nearest_point(xy, depth, tuple(middle)) == 2
    scene.release()


BEYOND = 10 + PICK_RADIUS


def test_nearest_point_in_front_is_picked():
    for across, depth, meant in (
        ((10, 10.5, 11.5, 15), (0.5, 0.4, 0.1, 0), 2),
        ((10, 10.5, 11.5, 15), (0.1, 0.4, 0.5, 0), 0),
        ((BEYOND - 0.5, BEYOND + 0.5), (0.9, 0.1), 0),
    ):
        xy = np.column_stack([across, np.full(len(across), 10.0)])
        assert nearest_point(xy, np.array(depth), (10, 10)) == meant
    xy, depth = np.array([[10.0, 10], [100, 100]]), np.zeros(2)
    assert nearest_point(xy, depth, (10, BEYOND + 0.1)) is None
    assert nearest_point(xy, depth, (10, BEYOND)) == 0
    assert nearest_point(xy, depth, (10, BEYOND + 0.1), radius=20) == 0
    assert nearest_point(np.zeros((0, 2)), np.zeros(0), (0, 0)) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=30
    ),
    st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_what_is_meant_is_near_and_in_front(points, mouse):
    xy, depth = np.array([p[:2] for p in points], float), np.array([p[2] for p in points])
    found = nearest_point(xy, depth, mouse)
    distance = np.hypot(*(xy - mouse).T)
    if found is None:
        assert distance.min() > PICK_RADIUS
        return
    assert distance[found] <= min(PICK_RADIUS, distance.min() + 2)
    assert depth[found] <= depth[np.argmin(distance)]


SQUARE = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4]])


def test_inside_a_square_and_a_crescent():
    points = np.array([[2.0, 2], [5, 2], [-1, 2], [2, 5], [0.1, 3.9], [-1e9, -1e9]])
    assert points_inside(points, SQUARE).tolist() == [True, False, False, False, True, False]
    crescent = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [3, 2]])
    assert points_inside(points, crescent).tolist() == [False] * 6
    assert points_inside(np.array([[3.5, 2.0]]), crescent).tolist() == [True]


@pytest.mark.parametrize("corners", [0, 1, 2])
def test_nothing_is_inside_what_has_no_extent_or_is_gone_around_twice(corners):
    assert not points_inside(np.zeros((3, 2)), SQUARE[:corners]).any()
    assert not points_inside(np.zeros((3, 2)), np.repeat(SQUARE[:1], 5, axis=0)).any()
    assert points_inside(np.zeros((0, 2)), SQUARE).shape == (0,)
    assert not points_inside(np.array([[2.0, 2.0]]), np.concatenate([SQUARE, SQUARE])).any()
