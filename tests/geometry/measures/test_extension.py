"""Tables continued from their first rows: exact curves, noise, outliers, and what is refused."""

from unittest.mock import Mock

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.extension import (
    METHODS,
    continue_rows,
    extend_table,
    extension,
    resample_rows,
)


def helix(n, turns, climb=3.0, d=16, seed=0):
    """Make a helix about a random axis, away from the origin, of so many turns in n positions."""
    random = np.random.default_rng(seed)
    frame = np.linalg.qr(random.normal(size=(d, 3)))[0].T
    t = np.arange(n) / n
    angle = 2 * np.pi * turns * t + 0.3
    points = np.column_stack([np.cos(angle), np.sin(angle), climb * t])
    return 2 * random.normal(size=d) + points @ frame


@pytest.mark.parametrize("method", ["helix", "fourier"])
@pytest.mark.parametrize(
    ("n", "turns", "climb"), [(200, 2.3, 3.0), (64, 5.0, 1.0), (256, 1.5, 8.0), (300, 17.0, 0.5)]
)
def test_a_helix_goes_on_as_it_was(method, n, turns, climb):
    P, kept = helix(n, turns, climb), 3 * n // 4
    found = extension(P, kept)
    assert found.errors[method].max() < 1e-8
    assert found.totals[method] < 1e-8
    # Both baselines and the stretched rows are far from it.
    assert min(found.totals["last"], found.totals["interpolate"]) > 0.3
    np.testing.assert_allclose(extend_table(P[:kept], n, method), P, atol=1e-8)


def test_a_circle_goes_on_beyond_all_there_is():
    P = helix(200, 2.0, climb=0.0)
    for method in ("helix", "fourier"):
        np.testing.assert_allclose(extend_table(P, 300, method)[200:], P[:100], atol=1e-8)


def test_waves_of_several_frequencies_go_on_and_a_helix_does_not():
    # Two circles: a table that passes its mean has rows there whose norms stand out.
    random = np.random.default_rng(1)
    angles = 2 * np.pi * np.outer(np.arange(240) / 240, (2.2, 7.7))
    frame = np.linalg.qr(random.normal(size=(8, 4)))[0].T
    P = np.hstack([np.cos(angles), 0.5 * np.sin(angles)]) @ frame + 3 * random.normal(size=8)
    found = extension(P, 180)
    assert found.totals["fourier"] < 1e-8
    assert found.totals["helix"] > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_not_predicted_better_than_by_its_mean(seed):
    P = np.random.default_rng(seed).normal(size=(256, 24))
    totals = extension(P, 192).totals
    assert all(totals[method] > 0.99 for method in METHODS), totals
    # Of two independent rows the distance is √2 times that from the mean.
    assert totals["last"] == pytest.approx(2**0.5, rel=0.2)
    assert totals["interpolate"] > 1.2


def test_errors_are_distances_over_those_from_the_mean():
    P = helix(100, 2.0) + np.random.default_rng(2).normal(scale=0.05, size=(100, 16))
    found = extension(P, 70)
    mean = P[:70].mean(axis=0)
    away = np.linalg.norm(P - mean, axis=1)
    stretched = np.linalg.norm(resample_rows(P[:70], 100) - P, axis=1)
    np.testing.assert_allclose(found.errors["interpolate"], stretched / away)
    last = np.linalg.norm(P[69] - P[70:], axis=1)
    np.testing.assert_allclose(found.last, last / away[70:])
    total = np.linalg.norm(last) / np.linalg.norm(away[70:])
    assert found.totals["last"] == pytest.approx(total)
    fit = found.continued["helix"]
    np.testing.assert_allclose(fit.mean, mean)
    assert fit.scores.shape == (100, 3)
    np.testing.assert_allclose(found.errors["helix"], np.linalg.norm(fit.rows() - P, axis=1) / away)
    np.testing.assert_allclose(fit.rows(70), fit.rows()[70:])


def test_outliers_at_the_ends_of_the_kept_rows_count_in_no_fit():
    P = helix(200, 2.3)
    changed = P.copy()
    changed[[0, 149]] *= 5.0
    found = extension(changed, 150)
    for method in ("helix", "fourier"):
        assert found.errors[method][1:149].max() < 1e-8
        assert found.errors[method][150:].max() < 1e-8
    mean = P[1:149].mean(axis=0)
    np.testing.assert_allclose(found.continued["helix"].mean, mean)
    # The last row that is repeated is the last usual one.
    away = np.linalg.norm(P[150:] - mean, axis=1)
    np.testing.assert_allclose(found.last, np.linalg.norm(P[148] - P[150:], axis=1) / away)


def test_an_outlier_between_others_is_replaced_by_what_is_between_them():
    changed = helix(400, 2.3)
    changed[57] *= 5.0
    found = extension(changed, 300)
    assert found.totals["helix"] < 1e-3
    assert found.errors["helix"][57] > 0.5


def test_what_is_extended_begins_with_the_rows_themselves():
    P = np.random.default_rng(0).normal(size=(40, 6))
    for method in ("helix", "fourier"):
        made = extend_table(P, 60, method)
        np.testing.assert_array_equal(made[:40], P)
        np.testing.assert_array_equal(made[40:], continue_rows(P, 60, method).rows(40))
    np.testing.assert_array_equal(extend_table(P, 80, "interpolate")[::2], P)


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (6, 12), (12, 3), (30, 1)])
def test_small_tables_have_finite_errors(shape):
    P = np.random.default_rng(3).normal(size=shape)
    for kept in {4, shape[0] - 1}:
        found = extension(P, kept)
        assert all(np.isfinite(values).all() for values in (*found.errors.values(), found.last))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_rows_that_are_all_alike_are_continued_as_they_are(value):
    assert max(extension(np.full((20, 3), value), 15).totals.values()) < 1e-2


def test_what_cannot_be_kept_or_made_is_refused():
    P = np.random.default_rng(0).normal(size=(20, 3))
    for kept in (3, 20, 21):
        with pytest.raises(RangeError, match=f"{kept} of 20 positions"):
            extension(P, kept)
    for rows, length in ((P, 20), (P[:3], 9)):
        with pytest.raises(RangeError, match=f"{len(rows)} positions .* to {length}"):
            extend_table(rows, length, "helix")


def test_it_stops_when_it_is_told_to():
    with pytest.raises(InterruptedError):
        extension(helix(64, 2.0), 48, check=Mock(side_effect=InterruptedError))
