"""The best rotation and shift between points, what it is as a screw, and the way it goes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from geometry.measures.rigid_motion import Motion, fit_motion

SEEDS = st.integers(0, 10_000)


def rotation(k: int, seed: int) -> np.ndarray:
    found, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))
    found[:, 0] *= np.linalg.det(found)
    return found


def points(k: int, seed: int, m: int = 40) -> np.ndarray:
    return np.random.default_rng(seed + 1).standard_normal((m, k))


@settings(max_examples=60)
@given(st.integers(1, 7), SEEDS)
def test_a_motion_is_found_again(k, seed):
    true = Motion(rotation(k, seed), np.arange(k, dtype=float))
    source = points(k, seed)
    found = fit_motion(source, true.carry(source))
    np.testing.assert_allclose(found.rotation, true.rotation, atol=1e-9)
    np.testing.assert_allclose(found.shift, true.shift, atol=1e-9)


@settings(max_examples=60)
@given(st.integers(1, 6), SEEDS)
def test_it_is_never_a_reflection(k, seed):
    """Whatever the points: mirrored ones get the best rotation all the same."""
    source = points(k, seed)
    found = fit_motion(source, source * np.where(np.arange(k) == 0, -1.0, 1.0))
    assert np.linalg.det(found.rotation) == pytest.approx(1)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("dimensions", [0, 1, 2])
def test_what_nothing_decides_stays(dimensions):
    """Points on a line that are shifted along it are shifted, and not turned about it as well."""
    source = points(3, 5) * (np.arange(3) < dimensions)
    found = fit_motion(source, source + np.array([4.0, 0.0, 1.0]))
    np.testing.assert_allclose(found.rotation, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.shift, [4, 0, 1], atol=1e-9)


def test_a_line_that_turns_takes_the_shortest_way():
    along = np.linspace(-1, 1, 20)[:, None]
    found = fit_motion(along * [1.0, 0, 0], along * [0, 1.0, 0])
    expected = Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    np.testing.assert_allclose(found.rotation, expected, atol=1e-9)


@settings(max_examples=60)
@given(
    st.floats(0.01, np.pi), st.floats(-5, 5), SEEDS,
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
)  # fmt: skip
def test_a_screw_tells_its_axis(angle, step, seed, place):
    axis = rotation(3, seed)[:, 0]
    turn = Rotation.from_rotvec(angle * axis).as_matrix()
    centre = np.array(place) - (axis @ np.array(place)) * axis
    screw = Motion(turn, centre - turn @ centre + step * axis).screw
    assert screw.angle == pytest.approx(angle, abs=1e-7)
    same = np.sign(screw.axis @ axis)  # half a turn goes either way
    assert same > 0 or angle > np.pi - 1e-6
    np.testing.assert_allclose(screw.axis, same * axis, atol=1e-6)
    assert screw.step == pytest.approx(same * step, abs=1e-6)
    np.testing.assert_allclose(screw.centre, centre, atol=1e-4)


def test_a_shift_is_a_screw_that_does_not_turn():
    screw = Motion(np.eye(3), np.array([0.0, 3.0, -4.0])).screw
    assert (screw.angle, screw.step) == (0, 5)
    np.testing.assert_allclose(screw.axis, [0, 0.6, -0.8])
    nothing = Motion(np.eye(3), np.zeros(3)).screw
    assert (nothing.angle, nothing.step) == (0, 0)
    assert np.linalg.norm(nothing.axis) == 1
    with pytest.raises(ValueError, match="not in 4"):
        _ = Motion(np.eye(4), np.zeros(4)).screw


def test_several_planes_turn_by_their_own_angles():
    angles = np.array([2.0, 0.5, 1.2])
    turn = np.eye(7)
    for plane, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        turn[2 * plane : 2 * plane + 2, 2 * plane : 2 * plane + 2] = [[c, -s], [s, c]]
    basis = rotation(7, 3)
    found = Motion(basis @ turn @ basis.T, np.zeros(7)).angles
    np.testing.assert_allclose(found, [2.0, 1.2, 0.5], atol=1e-9)


@settings(max_examples=60)
@given(st.integers(1, 7), SEEDS, st.floats(0, 1))
def test_the_way_is_made_of_motions(k, seed, share):
    """A part of it and then the rest is the whole: it is one movement that goes on."""
    motion = Motion(rotation(k, seed), np.linspace(-2, 3, k))
    start = points(k, seed)
    at = motion.course(start)
    np.testing.assert_allclose(at(0), start, atol=1e-9)
    np.testing.assert_allclose(at(1), motion.carry(start), atol=1e-9)
    np.testing.assert_allclose(motion.course(at(share))(1 - share), at(1), atol=1e-8)
    apart = np.linalg.norm(start[1:] - start[0], axis=1)
    there = at(share)
    np.testing.assert_allclose(np.linalg.norm(there[1:] - there[0], axis=1), apart, atol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-5, 1.0, np.pi])
def test_half_the_way_of_a_screw_is_half_the_turn_and_half_the_slide(angle):
    axis, centre = np.array([2.0, -1, 2]) / 3, np.array([1.0, 2, 0])
    turn = Rotation.from_rotvec(angle * axis).as_matrix()
    half = Rotation.from_rotvec(angle / 2 * axis).as_matrix()
    start = points(3, 0)
    at = Motion(turn, centre - turn @ centre + 3 * axis).course(start)
    one = (start - centre) @ half.T + centre + 1.5 * axis
    other = (start - centre) @ half + centre + 1.5 * axis
    assert min(np.abs(at(0.5) - one).max(), np.abs(at(0.5) - other).max()) < 1e-6


def test_half_a_turn_of_two_planes_keeps_distances():
    start = points(4, 2)
    there = Motion(-np.eye(4), np.zeros(4)).course(start)(0.5)
    np.testing.assert_allclose(np.linalg.norm(there, axis=1), np.linalg.norm(start, axis=1))


@pytest.mark.parametrize("shapes", [((3, 2), (3, 3)), ((3,), (3,)), ((0, 3), (0, 3))])
def test_sets_of_points_that_do_not_match(shapes):
    with pytest.raises(ValueError, match="one shape"):
        fit_motion(np.zeros(shapes[0]), np.zeros(shapes[1]))
