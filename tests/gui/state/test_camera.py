"""Camera poses: the curve is in sight from everywhere, and moves have no jump."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from vtkmodules.vtkRenderingCore import vtkCamera

from gui.scene.picking import Projection
from gui.state.camera import (
    AXES,
    CLOSEST,
    EVEN_MARGINS,
    MARGIN,
    RING_TILT,
    ROUND_SLACK,
    ROUND_STEP,
    TILT,
    VIEW_ANGLE,
    VIEWS,
    CameraPose,
    Outlook,
    away,
    farther_around,
    fitted,
    framed,
    resized,
    side_on,
    view_pose,
)

SEEDS = st.integers(0, 2**32 - 1)
ASPECTS = (0.3, 0.75, 1.0, 16 / 9, 4.0)


def cloud(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 4, 3)
    return rng.normal(size=(rng.integers(1, 60), 3)) * scale + rng.normal(size=3) * scale.max()


def camera_at(pose, *, parallel=False):
    camera = vtkCamera()
    camera.SetViewAngle(VIEW_ANGLE)
    camera.SetParallelProjection(parallel)
    pose.apply(camera)
    distance = np.linalg.norm(pose.position - pose.focal_point)
    camera.SetClippingRange(1e-3 * distance, 1e3 * distance)
    return camera


def on_screen(points, pose, aspect, *, parallel):
    """Project to a view of height 2 and the aspect's width, in units of half the view: −1…1."""
    m = camera_at(pose, parallel=parallel).GetCompositeProjectionTransformMatrix(aspect, -1, 1)
    matrix = np.array([[m.GetElement(i, j) for j in range(4)] for i in range(4)])
    return Projection(matrix, (2, 2)).to_screen(points)[0] - 1


@pytest.mark.parametrize("view", VIEWS)
@given(aspect=st.sampled_from(ASPECTS), parallel=st.booleans(), seed=SEEDS)
def test_every_view_has_all_points_in_sight(view, aspect, parallel, seed):
    points, turn = cloud(seed), ortho_group.rvs(3, random_state=seed)
    pose = view_pose(view, points, turn, aspect)
    seen = on_screen(points, pose, aspect, parallel=parallel)
    assert np.abs(seen).max() < 1.0
    # It is as near as possible: at the margin on both sides, or at the first of the points.
    look = pose.position - pose.focal_point
    if not parallel and len(points) > 1:
        ends = np.array([seen.min(axis=0), seen.max(axis=0)])
        filled = np.isclose(ends, [[-1 / MARGIN], [1 / MARGIN]], atol=1e-4).all(axis=0)
        away = (pose.position - points) @ look / np.linalg.norm(look)
        assert filled.any() or away.min() == pytest.approx(CLOSEST * np.ptp(away), rel=1e-2)
    if view in AXES:  # its axes are those that are shown
        np.testing.assert_allclose(turn.T @ look / np.linalg.norm(look), AXES[view][0], atol=1e-6)
        np.testing.assert_allclose(turn.T @ pose.up, AXES[view][1], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True])
@given(aspect=st.sampled_from(ASPECTS), seed=SEEDS)
def test_a_turn_once_around_keeps_all_in_sight(parallel, aspect, seed):
    points, turn = cloud(seed), ortho_group.rvs(3, random_state=seed)
    start = fitted(points, turn[0], turn[1], aspect)
    farther = farther_around(points, start, aspect, EVEN_MARGINS, parallel=parallel)
    assert farther >= 0
    reach = []
    for degrees in range(0, 361, ROUND_STEP):
        camera, back = camera_at(start, parallel=parallel), 1 + farther * away(degrees)
        camera.Azimuth(degrees)
        camera.Dolly(1 / back)
        pose = replace(CameraPose.of(camera), parallel_scale=start.parallel_scale * back)
        reach.append(np.abs(on_screen(points, pose, aspect, parallel=parallel)).max())
    assert max(reach) * MARGIN < 1.001 * ROUND_SLACK
    # It goes no farther than it has to: somewhere the margin is used up.
    assert farther == 0 or max(reach) * MARGIN > 0.999 * ROUND_SLACK


def test_room_for_a_long_coil_and_none_for_a_ball():
    (long, _), ball = coil(6, 2.0, 1), np.random.default_rng(0).normal(size=(900, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    needed = []
    for points in (long, ball):
        start = fitted(points, *side_on(points), 1.5)
        needed.append(farther_around(points, start, 1.5, EVEN_MARGINS, parallel=False))
    assert needed[0] > 0.1
    assert needed[1] == 0


def test_a_turn_goes_away_at_first_and_comes_back():
    assert [away(degrees) for degrees in (0, 60, 180, 300, 360)] == [0, 1, 1, 1, 0]
    assert away(20) == pytest.approx(0.5)
    assert away(340) == pytest.approx(0.5)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_framed_ball_fills_the_view_but_for_the_margin(aspect):
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(4000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    pose = framed(ball, np.array([1.0, 2, 3]), np.array([0.0, 0, 1]), aspect)
    for parallel in (False, True):
        extent = np.abs(on_screen(ball, pose, aspect, parallel=parallel)).max()
        assert extent == pytest.approx(1 / MARGIN, abs=0.03)


def test_axes_of_named_views():
    x, y, z = AXES["article"][0]
    assert np.degrees(np.arcsin(z)) == pytest.approx(20)
    assert np.degrees(np.arctan2(y, x)) == pytest.approx(45)
    points = np.vstack([np.eye(3), -np.eye(3)])
    for view, right, up in (("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2)):
        pose = view_pose(view, points, np.eye(3), 1.0)
        seen = on_screen(points, pose, 1.0, parallel=True)
        assert seen[right] == pytest.approx([seen[right][0], 0], abs=1e-9)
        assert seen[right][0] > 0.5
        assert seen[up] == pytest.approx([0, seen[up][1]], abs=1e-9)
        assert seen[up][1] > 0.5


@pytest.mark.parametrize("points", [np.zeros((1, 3)), np.full((5, 3), 7e5), np.ones((2, 3)) * 1e-9])
def test_a_single_place_can_be_framed(points):
    pose = framed(points, np.array([0.0, 0, 1]), np.array([0.0, 1, 0]), 1.5)
    assert np.isfinite(pose.position).all()
    assert np.linalg.norm(pose.position - pose.focal_point) > 0
    assert pose.parallel_scale > 0
    seen = on_screen(points, pose, 1.5, parallel=False)
    np.testing.assert_allclose(seen, 0, atol=1e-6)
    with pytest.raises(KeyError):
        view_pose("from nowhere", points, np.eye(3), 1.0)


def pose(seed):
    rng = np.random.default_rng(seed)
    axes = ortho_group.rvs(3, random_state=seed)
    focal, distance = rng.normal(size=3), 10 ** rng.uniform(-1, 2)
    return CameraPose(focal + distance * axes[0], focal, axes[1], 10 ** rng.uniform(-1, 2))


def assert_same(a, b):
    np.testing.assert_allclose(a.position, b.position, atol=1e-6)
    np.testing.assert_allclose(a.focal_point, b.focal_point, atol=1e-9)
    np.testing.assert_allclose(a.up, b.up, atol=1e-6)
    assert a.parallel_scale == pytest.approx(b.parallel_scale)


@given(SEEDS, SEEDS)
def test_a_move_begins_and_ends_where_it_should(a, b):
    start, end = pose(a), pose(b)
    assert_same(start.towards(end, 0.0), start)
    assert_same(start.towards(end, 1.0), end)
    assert_same(start.towards(start, 0.4), start)
    assert_same(CameraPose.of(camera_at(start)), start)


@settings(max_examples=30)
@given(SEEDS, SEEDS)
def test_a_move_keeps_its_distance_and_is_smooth(a, b):
    start, end = pose(a), pose(b)
    way = [start.towards(end, f) for f in np.linspace(0, 1, 101)]
    distances = [np.linalg.norm(p.position - p.focal_point) for p in way]
    assert min(distances) >= min(distances[0], distances[-1]) * (1 - 1e-9)
    assert max(distances) <= max(distances[0], distances[-1]) * (1 + 1e-9)
    look = [(p.focal_point - p.position) / d for p, d in zip(way, distances, strict=True)]
    assert max(np.linalg.norm(q - p) for p, q in itertools.pairwise(look)) < np.pi / 100 * 1.01
    for p, direction in zip(way, look, strict=True):
        assert np.linalg.norm(p.up) == pytest.approx(1)
        assert abs(p.up @ direction) < 1e-6


def test_a_move_to_the_other_side_turns_around_what_is_up():
    up = np.array([0.0, 0, 1])
    front = CameraPose(np.array([5.0, 0, 0]), np.zeros(3), up, 1.0)
    back = CameraPose(np.array([-5.0, 0, 0]), np.zeros(3), up, 1.0)
    middle = front.towards(back, 0.5)
    np.testing.assert_allclose(np.abs(middle.position), [0, 5, 0], atol=1e-9)
    np.testing.assert_allclose(middle.up, up, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_look_at_one_curve_is_the_same_look_at_a_larger_one_elsewhere(seed):
    rng = np.random.default_rng(seed)
    points, aspect = rng.normal(size=(50, 3)), float(rng.uniform(0.4, 2.5))
    start = pose(seed)
    outlook = Outlook.of(start, points, aspect)
    back = outlook.at(points, aspect)
    for one, other in ((start, back), (outlook, Outlook.of(back, points, aspect))):
        for name in one.__slots__:
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9)
    # Seven times as large and somewhere else: everything is where it was on the screen.
    move = np.array([5.0, -3.0, 2.0])
    other = outlook.at(7 * points + move, aspect)
    np.testing.assert_allclose(other.position, 7 * start.position + move, atol=1e-9)
    np.testing.assert_allclose(other.focal_point, 7 * start.focal_point + move, atol=1e-9)
    np.testing.assert_allclose(other.parallel_scale, 7 * start.parallel_scale, atol=1e-9)


def test_framing_a_curve_is_to_look_at_it_from_where_all_of_it_is_seen():
    points = np.random.default_rng(1).normal(size=(50, 3))
    outlook = Outlook.of(framed(points, *AXES["article"], 1.5), points, 1.5)
    np.testing.assert_allclose((outlook.nearness, outlook.magnification), 1.0)
    np.testing.assert_allclose(outlook.shift, 0.0, atol=1e-12)


def coil(turns, climb, seed, n_points=700):
    """Return a coil of radius 1 that climbs from −climb to climb, and its axes, as rows."""
    t, axes = np.linspace(-1, 1, n_points), ortho_group.rvs(3, random_state=seed)
    points = np.column_stack([np.cos(np.pi * turns * t), np.sin(np.pi * turns * t), climb * t])
    return points @ axes + 3.0, axes


@pytest.mark.slow
@example(turns=6.5, climb=0.375, seed=0, mirrored=False)  # between two counts of turns
@given(
    turns=st.floats(1.5, 30), climb=st.floats(0.3, 2.5), seed=SEEDS, mirrored=st.booleans(),
)  # fmt: skip
def test_a_coil_is_seen_from_its_side_a_little_tilted(turns, climb, seed, mirrored):
    points, axes = coil(turns, climb, seed)
    points = points[::-1] if mirrored else points
    along = -axes[2] if mirrored else axes[2]
    direction, up = side_on(points)
    assert np.degrees(np.arccos(direction @ along)) == pytest.approx(90 - TILT, abs=2)
    assert up @ direction == pytest.approx(0, abs=1e-9)
    right = np.cross(up, direction)
    # One of few turns stands, one of many lies, and both begin where reading does.
    assert (up if turns < 3.9 else right) @ along > 0.9 or 3.9 <= turns <= 4.1


def radii(kind, t):
    """Return the radius of a coil at its heights from 0 to 1, and how it leaves its circle."""
    return {
        "cone": (0.1 + t, 0, 0),
        "ellipse": (1, 0, -0.5),
        "leaning": (1, 0.8 * t, 0),
        "two frequencies": (1 + 0.3 * np.cos(12 * np.pi * t), 0, 0),
    }[kind]


@pytest.mark.parametrize("kind", ["cone", "ellipse", "leaning", "two frequencies"])
@pytest.mark.parametrize("turns", [1.0, 1.4, 2.0, 3.3])
@pytest.mark.parametrize("seed", range(2))
def test_up_is_the_normal_of_the_plane_of_turning(kind, turns, seed):
    rng, t = np.random.default_rng(seed), np.linspace(0, 1, 700)
    radius, aside, flatter = radii(kind, t)
    angle, axes = 2 * np.pi * turns * t, ortho_group.rvs(3, random_state=seed)
    around = radius * np.array([np.cos(angle), (1 + flatter) * np.sin(angle)])
    points = np.vstack([around + [[1], [0]] * np.asarray(aside), 1.5 * t]).T @ axes
    direction, up = side_on(points + 0.01 * rng.standard_normal(points.shape))
    assert np.degrees(np.arccos(up @ axes[2])) == pytest.approx(TILT, abs=2)
    assert np.degrees(np.arcsin(direction @ axes[2])) == pytest.approx(TILT, abs=2)


@pytest.mark.parametrize("turns", [2, 7.5])
def test_a_ring_is_seen_from_above(turns):
    points, axes = coil(turns, 0.05, 3)
    direction, _ = side_on(points)
    assert np.degrees(np.arccos(abs(direction @ axes[2]))) == pytest.approx(RING_TILT, abs=1)


@pytest.mark.parametrize("seed", range(4))
def test_a_short_coil_is_seen_from_where_it_is_open(seed):
    """Of GPT-2's, which widens as it climbs aside, as little as possible is seen end-on."""
    t, axes = np.linspace(0, 1, 700), ortho_group.rvs(3, random_state=seed)
    angle, radius = 2 * np.pi * 1.8 * t, 0.5 + t
    around = np.array([radius * np.cos(angle), radius * np.sin(angle)])
    points = np.vstack([around + 0.8 * t, 3 * t]).T @ axes
    direction, _ = side_on(points)
    # It climbs aside, but turns around the normal of its plane.
    assert np.degrees(np.arccos(direction @ axes[2])) == pytest.approx(90 - TILT, abs=2)
    steps = np.diff(points, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)

    def end_on(seen_from):
        return np.percentile(np.abs(steps @ seen_from), 95)

    around = np.radians(np.arange(360))
    tilt = np.radians(TILT)
    level = np.outer(np.cos(around), axes[0]) + np.outer(np.sin(around), axes[1])
    least = min(map(end_on, np.cos(tilt) * level + np.sin(tilt) * axes[2]))
    assert end_on(direction) <= least + 0.01


@pytest.mark.parametrize(
    "points",
    [np.zeros((1, 3)), np.ones((2, 3)), np.zeros((40, 3)), np.outer(np.arange(50), [1.0, 2, 3]),
     np.outer(np.arange(3), [0.0, 1, 0])],
)  # fmt: skip
def test_what_has_no_side_is_seen_from_somewhere(points):
    direction, up = side_on(points)
    assert np.linalg.norm(direction) == pytest.approx(1)
    assert np.linalg.norm(up) == pytest.approx(1)
    assert direction @ up == pytest.approx(0, abs=1e-9)
    seen = on_screen(points, fitted(points, direction, up, 1.5), 1.5, parallel=False)
    assert np.abs(seen).max() < 1.0


@pytest.mark.parametrize("aspects", [(1.6, 0.7), (0.5, 2.0), (1.5, 1.5)])
def test_a_curve_fills_a_resized_view_as_it_did_before(aspects):
    before, after = aspects
    points, _ = coil(8, 3.0, 2)
    for nearer in (1.0, 1.7):  # as framed, and as zoomed by the user
        old = fitted(points, *side_on(points), before)
        way = (old.position - old.focal_point) / nearer
        old = CameraPose(
            old.focal_point + way, old.focal_point, old.up, old.parallel_scale / nearer
        )
        new = resized(old, points, before, after)
        for parallel in (True,) if nearer > 1 else (False, True):
            seen = on_screen(points, new, after, parallel=parallel)
            assert np.abs(seen).max() == pytest.approx(nearer / MARGIN, rel=0.15)
        back = resized(new, points, after, before)
        np.testing.assert_allclose(back.position, old.position, atol=1e-6)
