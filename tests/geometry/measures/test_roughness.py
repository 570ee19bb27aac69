"""How shaky a curve is, against closed forms, invariances and the real GPT-2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from geometry.measures.roughness import roughness
from geometry.pca.pca import fit_pca


def helix(n: int, turns: float, climb: float = 3.0, noise: float = 0.0) -> np.ndarray:
    along = np.arange(n) / (n - 1)
    angle = 2 * np.pi * turns * along
    clean = np.column_stack([np.cos(angle), np.sin(angle), climb * along])
    return clean + noise * np.random.default_rng(0).standard_normal((n, 3))


def test_curves_whose_turning_is_known():
    line = roughness(np.outer(np.arange(50), [1.0, 2.0, -1.0]) + 7)
    np.testing.assert_allclose(line.turning_angles, 0, atol=1e-5)
    assert line.turning_angle == pytest.approx(0, abs=1e-5)
    assert line.high_frequency_energy < 1e-4
    assert line.loops == 0
    angle = np.radians(7) * np.arange(120)
    circle = roughness(np.column_stack([np.cos(angle), np.sin(angle)]))
    np.testing.assert_allclose(circle.turning_angles, 7, atol=1e-9)
    zigzag = roughness(np.resize([1.0, -1.0], 40)[:, None])
    np.testing.assert_allclose(zigzag.turning_angles, 180)
    assert zigzag.high_frequency_energy > 0.9
    point = roughness(np.ones((10, 3)))
    assert (point.turning_angle, point.high_frequency_energy, point.loops) == (0, 0, 0)


@pytest.mark.parametrize("turns", [1.84, 3.3, 7.0, 16.2, 60.0])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_a_helix_goes_round_as_often_as_it_turns(turns, noise):
    assert roughness(helix(800, turns, noise=noise)).loops == pytest.approx(turns, abs=0.25)


def test_noise_makes_it_rougher():
    found = [roughness(helix(800, 3.0, noise=noise)) for noise in (0.0, 0.03, 0.1, 0.3)]
    for quantity in ("turning_angle", "high_frequency_energy"):
        values = [getattr(one, quantity) for one in found]
        assert values == sorted(values)
        assert values[0] < values[-1] / 10


def test_white_noise():
    found = roughness(np.random.default_rng(1).standard_normal((4000, 40)))
    assert found.high_frequency_energy == pytest.approx(0.75, abs=0.01)
    # In many dimensions steps that share a point have the cosine −1/2.
    assert found.turning_angle == pytest.approx(120, abs=1)


def test_a_step_of_no_length_has_no_direction():
    points = helix(40, 2.0)
    points[20] = points[19]
    found = roughness(points)
    assert list(np.flatnonzero(np.isnan(found.turning_angles))) == [18, 19]
    assert np.isfinite(found.turning_angle)


@given(seed=st.integers(0, 99), scale=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))
def test_where_it_lies_how_large_it_is_and_its_direction_do_not_matter(seed, scale, shift):
    points = helix(90, 4.3, noise=0.1)
    moved = scale * (points @ Rotation.random(rng=seed).as_matrix() + shift)
    plain = roughness(points)
    for found in (roughness(moved), roughness(moved[::-1])):
        assert found.turning_angle == pytest.approx(plain.turning_angle, rel=1e-6)
        assert found.high_frequency_energy == pytest.approx(plain.high_frequency_energy, rel=1e-6)
        assert found.loops == pytest.approx(plain.loops, rel=1e-6)


@pytest.mark.parametrize("points", [np.ones((7, 3)), np.ones(20), np.ones((20, 0))])
def test_what_is_no_curve_is_refused(points):
    with pytest.raises(ValueError, match="at least 8 points"):
        roughness(points)


@pytest.mark.parametrize(("positions", "turns"), [((1, 1022), 1.84), ((100, 1022), 1.62)])
def test_gpt2_goes_round_as_its_fitted_helix_does(gpt2_table, positions, turns):
    first, last = positions
    found = roughness(fit_pca(gpt2_table, positions, 3).project(gpt2_table[first : last + 1]))
    assert found.loops == pytest.approx(turns, abs=0.05)
    assert found.high_frequency_energy < 1e-4
