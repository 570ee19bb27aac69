"""Looking back in principal components, what a report says of it, and its claims."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.claims.claim import CannotTell, NotApplicable
from geometry.claims.claim_lookback import beyond_a_shift, everywhere, steady_turning
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import report
from geometry.measures.lookback import all_lags, follow_turning, look_back
from geometry.measures.lookback_range import (
    MAX_LAGS,
    MOST,
    look_back_nulls,
    look_back_range,
    spread_lags,
)
from geometry.pca.pca import fit_pca


def waves(n: int = 300, frequencies: tuple[float, ...] = (0.03, 0.11, 0.29)) -> np.ndarray:
    """A circle in each of some pairs of dimensions, each smaller than the one before."""
    i = np.arange(n)
    pairs = [f(omega * i) / 2**j for j, omega in enumerate(frequencies) for f in (np.cos, np.sin)]
    return np.column_stack(pairs)


@pytest.fixture
def measure(open_array):
    return lambda table, positions=None: Measurements(open_array(table), Scope(positions))


def test_components_are_those_of_the_range():
    table = waves() @ np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0][:6]
    found = look_back_range(table, (20, 219), 3, (1, 40), scoring="halves")
    pca = fit_pca(table, (20, 219), 3)
    expected = look_back(pca.project(table[20:220]), (1, 40), scoring="halves", first=20)
    np.testing.assert_allclose(found.found.r2["screw"], expected.r2["screw"], atol=1e-9)
    assert found.positions == (20, 219)
    assert found.coordinates.shape == (200, 3)
    assert found.variance_share == pytest.approx(pca.explained_variance_ratio.sum())


def test_all_components_are_those_that_hold_the_variance():
    table = np.hstack([waves(), 1e-6 * np.random.default_rng(0).standard_normal((300, 90))])
    found = look_back_range(table, (0, 299), None)
    assert found.coordinates.shape == (300, 6)
    np.testing.assert_allclose(found.found.r2["screw"][:50], 1, atol=1e-6)
    three = look_back_range(table, (0, 299), 3)
    assert three.found.r2["screw"][9] < 0.99


def test_there_are_never_too_many():
    noise = np.random.default_rng(0).standard_normal((600, 200))
    found = look_back_range(noise, (0, 599), None, (1,))
    assert found.coordinates.shape[1] == MOST
    short = look_back_range(noise, (0, 29), None, (1,))
    assert short.coordinates.shape[1] == 13  # 30 − 2 · 14 ≥ 1


def test_with_many_components_lags_are_spread():
    lags = spread_lags(2048, 3)
    assert len(lags) <= MAX_LAGS + 1
    assert list(lags[:128]) == list(range(1, 129))
    assert lags[-1] == all_lags(2048, 3)[-1]
    assert (np.diff(np.diff(lags[128:])) >= -1).all()
    assert list(spread_lags(40, 3)) == list(all_lags(40, 3))


@pytest.mark.parametrize(("positions", "k"), [((0, 7), 3), ((3, 3), 3), ((0, 13), 6)])
def test_a_range_that_is_too_short(positions, k):
    with pytest.raises(RangeError, match="positions; the range is") as caught:
        look_back_range(waves(), positions, k)
    assert caught.value.advice == "Show a longer range."


def test_a_table_of_fewer_dimensions():
    found = look_back_range(waves()[:, :2], (0, 299), 3)
    assert found.coordinates.shape == (300, 2)
    np.testing.assert_allclose(found.found.r2["screw"], 1, atol=1e-9)
    assert found.found.angles.shape[1] == 1
    with pytest.raises(ValueError, match="three components"):
        follow_turning(found.found)


def test_gpt2(gpt2_table):
    found = look_back_range(gpt2_table, (100, 1022)).found
    at = [found.index(10), found.index(50)]
    assert found.r2["screw"][at] == pytest.approx([0.999, 0.983], abs=5e-4)
    assert found.r2["translation"][at] == pytest.approx([0.988, 0.726], abs=5e-4)
    halves = look_back_range(gpt2_table, (100, 1022), 3, [50, 100, 200], scoring="halves").found
    assert halves.r2["screw"] == pytest.approx([0.942, 0.845, 0.652], abs=5e-4)
    turning = follow_turning(found)
    # As many turns as the fitted helix makes, by another way.
    assert turning.slope * 922 / (2 * np.pi) == pytest.approx(1.62, abs=0.03)
    assert turning.r2 > 0.99
    whole = look_back_range(gpt2_table, (100, 1022), None, [10])
    assert whole.variance_share > 0.999
    assert whole.found.r2["screw"][0] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "lags"),
    [(9, [1]), (13, [1, 5]), (128, [1, 5, 10, 20, 50, 100]), (208, [1, 5, 10, 20, 50, 100, 200])],
)
def test_lags_are_reported_where_they_fit(measure, n, lags):
    section = report(measure(waves(n)).model, positions=(0, n - 1), nulls=False)["lookback"]
    assert [int(lag) for lag in section["fit_r2"]] == lags


@pytest.mark.slow
def test_no_lag_fits(measure):
    short, narrow = measure(waves(20)).model, measure(waves()[:, :2]).model
    assert report(short, positions=(0, 7), nulls=False)["lookback"] is None
    assert report(narrow, nulls=False)["lookback"] is None


def helix(climb: float, omega: float = 0.02) -> np.ndarray:
    i = np.arange(400.0)
    return np.column_stack([np.cos(omega * i), np.sin(omega * i), climb * i])


def test_claims_of_a_helix_a_line_and_noise(measure):
    found = measure(helix(0.003))
    assert everywhere(found) == pytest.approx(1)
    assert beyond_a_shift(found) > 0.3
    assert steady_turning(found) == pytest.approx(1)
    # Rounding has no rotation of its own, but a shift does it all.
    line = measure(np.outer(np.arange(400.0), [1, 2, 3]) + np.eye(3)[np.arange(400) % 3] * 1e-3)
    assert everywhere(line) == pytest.approx(1)
    assert beyond_a_shift(line) == pytest.approx(0, abs=1e-6)
    noise = measure(np.random.default_rng(0).standard_normal((400, 6)))
    assert everywhere(noise) < 0.2
    assert beyond_a_shift(noise) < 0.1
    with pytest.raises(NotApplicable, match="do not fit up to a lag of 50"):
        steady_turning(noise)


def test_claims_of_a_short_range(measure):
    short = measure(helix(0.003), (0, 50))
    for claim in (everywhere, beyond_a_shift):
        with pytest.raises(CannotTell, match="too few"):
            claim(short)
    with pytest.raises(NotApplicable, match="do not fit up to a lag of 50"):
        steady_turning(short)
    with pytest.raises(CannotTell, match="too few"):
        steady_turning(measure(helix(0.003), (0, 5)))


@pytest.mark.slow
def test_random_walks_look_back_as_those_drawn_column_by_column():
    rng = np.random.default_rng(0)
    table = np.cumsum(rng.standard_normal((100, 40)), axis=0)
    null = look_back_nulls(table, (0, 99), kind="walk", draws=200)
    size = np.sqrt(np.square(np.diff(table, axis=0)).mean())
    lags = look_back_range(table, (0, 99)).found.lags
    brute = np.array(
        [
            look_back_range(
                np.cumsum(size * rng.standard_normal((100, 40)), axis=0), (0, 99)
            ).found.r2["screw"]
            for _ in range(200)
        ]
    )
    assert null.curves.shape == (200, len(lags))
    for at in (0, 4, 9):
        wanted = np.percentile(brute[:, at], (5, 50, 95))
        np.testing.assert_allclose(null.at(at).band, wanted, atol=0.05)


def test_a_range_without_a_lag_is_refused_in_the_same_words():
    table = np.cumsum(np.random.default_rng(3).standard_normal((60, 5)), axis=0)
    for look in (look_back_range, look_back_nulls):
        with pytest.raises(RangeError, match=r"looking back needs at least 9 positions.*3–6"):
            look(table, (3, 6))


def test_a_null_has_every_lag_of_the_range_and_of_the_shown_motion():
    table = np.cumsum(np.random.default_rng(3).standard_normal((60, 5)), axis=0)
    nulls = {
        motion: look_back_nulls(table, (3, 52), motion=motion, draws=25)
        for motion in ("screw", "translation")
    }
    lags = look_back_range(table, (3, 52)).found.lags
    assert {one.curves.shape for one in nulls.values()} == {(25, len(lags))}
    assert (nulls["screw"].curves >= nulls["translation"].curves - 0.05).mean() > 0.9
    assert (look_back_nulls(table, (3, 52), draws=25).curves == nulls["screw"].curves).all()
