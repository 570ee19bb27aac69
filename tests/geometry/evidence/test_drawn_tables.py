"""Tables that have nothing but what their name says: against whole ones, and what they keep."""

import numpy as np
import pytest

from geometry.evidence.drawn_tables import (
    CURVES,
    drawn_tables,
    noise_and_half_lag,
    randomly_rotated,
    thinned,
)
from geometry.evidence.null import band_of, null_of
from geometry.evidence.random_curves import SLOW_MEANINGS, slow_modes
from geometry.evidence.random_frames import random_frame, shared_energy


def centred(table):
    return table - table.mean(axis=0)


def smooth(n, d, length, seed=0, noise=0.0):
    """A Gaussian process with a mean row, drawn from all rows and columns."""
    rng = np.random.default_rng(seed)
    apart = np.arange(n)[:, None] - np.arange(n)
    root = np.linalg.cholesky(np.exp(-0.5 * (apart / length) ** 2) + 1e-9 * np.eye(n))
    table = root @ rng.standard_normal((n, d)) + noise * rng.standard_normal((n, d))
    return table + 3.0


def top3(table):
    values = np.linalg.svd(centred(table), compute_uv=False) ** 2
    return values[:3].sum() / values.sum()


def cosine(table):
    """Of two rows a tenth apart, which the mean row matters to."""
    one, other = table[100], table[130]
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_in_few_columns_they_are_as_in_all(noise):
    given = smooth(300, 80, 40, noise=noise)
    drawn = list(drawn_tables(given, "process", 60))
    whole = [smooth(300, 80, 40, seed, noise) for seed in range(1, 61)]
    if not noise:
        assert drawn[0].shape[1] < 30
    for quantity in (top3, cosine):
        found, known = ([quantity(table) for table in tables] for tables in (drawn, whole))
        assert np.median(found) == pytest.approx(np.median(known), abs=0.04)


def test_a_process_keeps_variance_smoothness_and_the_mean_row():
    given = smooth(500, 60, 30)
    _, half = noise_and_half_lag(centred(given))
    for table in drawn_tables(given, "process", 5):
        assert np.square(centred(table)).sum() == pytest.approx(
            np.square(centred(given)).sum(), rel=0.2
        )
        assert noise_and_half_lag(centred(table))[1] == pytest.approx(half, rel=0.15)
        mean = np.linalg.norm(given.mean(axis=0))
        assert np.linalg.norm(table.mean(axis=0)) == pytest.approx(mean, rel=0.15)


@pytest.mark.slow
def test_walks_have_the_spectrum_of_brownian_motion():
    rng = np.random.default_rng(0)
    given = np.cumsum(rng.standard_normal((400, 300)), axis=0)
    drawn = [top3(table) for table in drawn_tables(given, "walk", 40)]
    known = [top3(np.cumsum(rng.standard_normal((400, 300)), axis=0)) for _ in range(40)]
    assert np.median(drawn) == pytest.approx(np.median(known), abs=0.015)
    # The same steps, one after another: twice as long ones, four times the variance.
    sizes = [
        np.mean([np.square(centred(table)).sum() for table in drawn_tables(rows, "walk", 20)])
        for rows in (given, 2 * given)
    ]
    assert sizes[1] == pytest.approx(4 * sizes[0])


@pytest.mark.parametrize("d", [40, 300])
def test_a_walk_has_the_table_s_steps_and_begins_in_its_first_row(d):
    rng = np.random.default_rng(1)
    sizes = np.where(np.arange(400) < 200, 1.0, 3.0)[:, None]
    given = 5.0 + np.cumsum(sizes * rng.standard_normal((400, d)), axis=0)
    tables = list(drawn_tables(given, "walk", 60))
    for table in tables:
        assert np.linalg.norm(table[0]) == pytest.approx(np.linalg.norm(given[0]))
    for lag in (1, 2, 7, 12, 40):  # within the stretches of which it is put together, and across
        for half, variance in ((slice(200), 1), (slice(200, None), 9)):
            apart = [one[half][lag:] - one[half][:-lag] for one in tables]
            found = np.mean([np.square(one).sum(axis=1).mean() for one in apart])
            assert found == pytest.approx(variance * lag * d, rel=0.05), lag


def test_noise_and_smoothness_are_told_apart():
    rng = np.random.default_rng(0)
    share, half = noise_and_half_lag(centred(smooth(600, 200, 40, noise=0.5)))
    assert share == pytest.approx(0.2, abs=0.03)
    assert half == pytest.approx(40 * np.sqrt(2 * np.log(2)), rel=0.15)
    share, _ = noise_and_half_lag(centred(rng.standard_normal((600, 200))))
    assert share > 0.95
    assert noise_and_half_lag(np.zeros((9, 2))) == (1.0, 0.0)


def test_rows_that_have_nothing_in_common_give_such_rows():
    given = np.random.default_rng(0).standard_normal((300, 400)) + 2.0
    table = next(drawn_tables(given, "process", 1))
    assert table.shape == (300, 161)
    assert noise_and_half_lag(centred(table))[0] > 0.95
    assert np.square(centred(table)).sum() == pytest.approx(
        np.square(centred(given)).sum(), rel=0.05
    )
    assert next(drawn_tables(given, "process", 1, columns=12)).shape == (300, 12)


def test_shuffled_and_turned_keep_all_but_one_thing():
    given = smooth(120, 30, 15)
    (table,) = drawn_tables(given, "shuffled", 1)
    assert sorted(map(tuple, table)) == sorted(map(tuple, given))
    (table,) = drawn_tables(given, "turned", 1)
    assert table @ table.T == pytest.approx(given @ given.T)
    # A single entry is spread over all.
    spread = np.square(randomly_rotated(np.eye(768)[:50], np.random.default_rng(0)))
    random = np.square(random_frame(50, 768, np.random.default_rng(0)))
    assert np.sort(spread, axis=1)[:, -40:].sum(axis=1).mean() == pytest.approx(
        np.sort(random, axis=1)[:, -40:].sum(axis=1).mean(), rel=0.1
    )


@pytest.mark.parametrize("kind", SLOW_MEANINGS)
def test_curves_of_slow_waves_have_the_tables_variance_noise_and_mean(kind):
    given = smooth(300, 200, 40) + 0.3 * np.random.default_rng(1).standard_normal((300, 200)) + 1.0
    share = noise_and_half_lag(centred(given))[0]
    few, all_columns = (list(drawn_tables(given, kind, 40, columns=c)) for c in (None, 200))
    assert few[0].shape[1] < 150
    for tables in (few, all_columns):
        sizes = [np.square(centred(table)).sum() for table in tables]
        assert np.mean(sizes) == pytest.approx(np.square(centred(given)).sum(), rel=0.1)
        noises = [noise_and_half_lag(centred(table))[0] for table in tables]
        assert np.mean(noises) == pytest.approx(share, abs=0.03)
    assert (
        len(
            {
                np.linalg.matrix_rank(slow_modes(kind, 90, np.random.default_rng(i)))
                for i in range(9)
            }
        )
        > 1
    )


def test_cosine_series_are_the_modes_of_a_discrete_cosine_transform():
    """Terms j = 1 … J at the rows' places, orthogonal up to the ends, and nothing else."""
    modes = slow_modes("cosines", 400, np.random.default_rng(0))
    gram = modes.T @ modes / 400
    np.testing.assert_allclose(gram, np.eye(len(gram)) / len(gram), atol=0.01)
    np.testing.assert_allclose(np.square(modes).sum(), 400)


def test_long_tables_are_thinned_and_draws_are_the_same_again():
    assert len(thinned(np.zeros((4096, 1)))) == 4096
    assert len(thinned(np.zeros((4097, 1)))) == 2049
    long = np.cumsum(np.random.default_rng(0).standard_normal((9000, 5)), axis=0)
    for kind in ("process", "walk", "shuffled", *SLOW_MEANINGS):
        one, again = (next(drawn_tables(long, kind, 1, seed=4)) for _ in range(2))
        assert len(one) == 3000
        assert (one == again).all()
    assert len(next(drawn_tables(long, "walk", 1, length=77))) == 77


@pytest.mark.parametrize(
    ("p", "q", "d"),
    [(3, 3, 100), (1, 30, 100), (38, 30, 100), (50, 40, 64), (64, 5, 64), (4, 4, 4)],
)
def test_shared_energy_is_that_of_random_frames(p, q, d):
    rng = np.random.default_rng(0)
    found = shared_energy(p, q, d)
    known = [np.square(random_frame(p, d, rng)[:, :q]).sum() for _ in range(300)]
    assert found.values.mean() == pytest.approx(p * q / d, rel=0.05)
    assert np.percentile(known, (5, 50, 95)) == pytest.approx(found.band, rel=0.08, abs=0.01)
    with pytest.raises(ValueError, match="directions"):
        shared_energy(d + 1, 1, d)


def test_a_number_is_as_rare_as_the_draws_that_reach_it():
    null = null_of("walk", "walks", np.arange(100.0)[::-1])
    assert null.draws == 100
    assert null.band == pytest.approx((4.95, 49.5, 94.05))
    assert (null.share_from(95), null.share_from(-1), null.share_from(100)) == (0.05, 1.0, 0.0)
    assert null.share_from(4.0, "below") == 0.05
    # R: binom.test(5, 100), (100, 100), (0, 100)
    assert null.interval_from(95) == pytest.approx((0.01643, 0.11284), abs=1e-5)
    assert null.interval_from(-1) == pytest.approx((0.96378, 1.0), abs=1e-5)
    assert null.interval_from(100) == pytest.approx((0.0, 0.03622), abs=1e-5)
    # Rounding does not make a number rarer than its equal.
    assert null_of("walk", "walks", np.full(9, 0.1 + 0.2)).share_from(0.3) == 1.0
    band = band_of("walk", "walks", [[0, 1], [10, 3], [20, 5]])
    assert (band.draws, list(band.middle)) == (3, [10, 3])


@pytest.mark.parametrize("kind", ["matern", "band"])
def test_processes_of_every_kernel_are_as_smooth_and_large_as_the_table(kind):
    given = smooth(500, 60, 30)
    _, half = noise_and_half_lag(centred(given))
    for table in drawn_tables(given, kind, 5):
        sizes = [np.square(centred(one)).sum() for one in (table, given)]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.3)
        assert noise_and_half_lag(centred(table))[1] == pytest.approx(half, rel=0.2)


def test_other_phases_keep_the_components_and_lose_their_quadrature():
    t = np.linspace(0, 6 * np.pi, 300)
    rng = np.random.default_rng(0)
    frame = random_frame(2, 40, rng)
    given = np.stack([np.cos(t), np.sin(t)], axis=1) @ frame + 0.01 * rng.standard_normal((300, 40))
    total, even = np.square(centred(given)).sum(), []
    for table in drawn_tables(given, "phase", 20):
        assert np.square(centred(table)).sum() == pytest.approx(total, rel=1e-3)
        even.append(np.subtract(*np.linalg.svd(centred(table), compute_uv=False)[:2] ** 2) / total)
    assert np.subtract(*np.linalg.svd(centred(given), compute_uv=False)[:2] ** 2) / total < 0.02
    assert np.median(even) > 0.2


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("shape", [(3, 1), (12, 4), (5, 9)])
def test_curves_beside_the_smallest_tables_are_finite(kind, shape):
    given = np.random.default_rng(0).standard_normal(shape)
    for columns in (None, 2):
        for table in drawn_tables(given, kind, 2, columns=columns, length=2 * shape[0]):
            assert np.isfinite(table).all()
            assert len(table) == 2 * shape[0]
