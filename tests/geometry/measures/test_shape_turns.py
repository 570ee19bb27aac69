"""The phase has no false minimum: turns are right from 1 to 60, and no fit is worse than the truth.

A fit that had stopped in a false minimum would describe the points worse than the curve that they
were made from; the best one describes them a little better, as it follows the noise too.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.measures.shape import fit_shapes

MORE = 1 + 1e-9
LENGTHS = (200, 333, 512, 1023)
NOISES = (0.0, 0.1, 0.2, 0.3)
"""Of each coordinate, in radii."""


def made(m, turns, climb, drift, noise, seed):
    """Return points around a curve of radius 1 in a random pose, and the curve."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-0.5, 0.5, m)
    angle = 2 * np.pi * turns * t + rng.uniform(0, 2 * np.pi)
    reach = 1 + drift * t
    local = np.column_stack([reach * np.cos(angle), reach * np.sin(angle), climb * t])
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    truth = local @ turned + rng.uniform(-5, 5, 3)
    return truth + noise * rng.standard_normal((m, 3)), truth


def sse(points, curve):
    return float(np.square(points - curve).sum()) + 1e-18 * float(np.square(points).sum())


@pytest.mark.slow
@pytest.mark.parametrize("turns", range(1, 61))
def test_every_number_of_turns(turns):
    """Lengths, climbs and noises take their turns, so that each meets each."""
    m, noise = LENGTHS[turns % 4], NOISES[turns // 4 % 4]
    climb, drift = (0.5, 2.0, 8.0)[turns % 3], (0.0, 0.8)[turns // 2 % 2]
    points, truth = made(m, turns, climb, drift, noise, seed=turns)
    fits = fit_shapes(points).fits
    found = fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    assert found.turns == pytest.approx(turns, abs=0.04)
    assert abs(found.drift) * (m - 1) == pytest.approx(drift, abs=0.02 + 0.5 * noise)
    if not drift:
        assert sse(points, fits["helix"].values) <= MORE * sse(points, truth)
        assert fits["helix"].radius == pytest.approx(1, abs=0.02 + 0.2 * noise)
    assert fits["helix"].turns == pytest.approx(turns, abs=0.06)


@pytest.mark.parametrize("turns", [1, 2.5, 7, 19.3, 33.4, 60])
@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_a_circle_that_goes_round_as_often(turns, noise):
    points, truth = made(250, turns, 0.0, 0.0, noise, seed=round(10 * turns))
    shapes = fit_shapes(points)
    assert sse(points, shapes.fits["circle"].values) <= MORE * sse(points, truth)
    assert shapes.fits["circle"].turns == pytest.approx(turns, abs=0.04)
    assert shapes.best == ("circle" if turns > 1 else "none")


@pytest.mark.slow
@settings(max_examples=15)
@given(
    m=st.integers(200, 1100),
    turns=st.floats(1, 60),
    climb=st.floats(0, 30),
    drift=st.floats(-1.9, 1.9),
    noise=st.floats(0, 0.3),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_fit_is_worse_than_the_truth(m, turns, climb, drift, noise, seed):
    points, truth = made(m, turns, climb, drift, noise, seed)
    found = fit_shapes(points).fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    # Around one turn a slow wave and a tilt of the axis are nearly alike.
    assert found.turns == pytest.approx(turns, abs=0.06 if turns > 1.5 else 0.25)


def test_a_radius_that_passes_through_nothing():
    """It shrinks to a point on the way and grows again on the other side: still one curve."""
    points, truth = made(400, 12, 3.0, 2.6, 0.1, seed=5)
    found = fit_shapes(points).fits["drifting_helix"]
    assert sse(points, found.values) <= MORE * sse(points, truth)
    assert found.turns == pytest.approx(12, abs=0.05)
