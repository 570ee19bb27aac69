"""Intervals over resampled texts, against known means and variances."""

import numpy as np
import pytest

from geometry.inside import resampling as module
from geometry.inside.resampling import FEWEST_FILES, Resampling


@pytest.mark.parametrize("n_files", [FEWEST_FILES, 20])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_intervals_hold_the_true_mean_about_as_often_as_they_should(n_files, sigma, monkeypatch):
    """With windows that have their file in common; of a normal and of a skewed quantity."""
    monkeypatch.setattr(module, "DRAWS", 500)
    random, hits, trials = np.random.default_rng(1), 0, 300
    files = np.repeat(np.arange(n_files), 3)
    for trial in range(trials):
        of_file = (
            random.lognormal(sigma=sigma, size=n_files) if sigma else random.normal(size=n_files)
        )
        values = of_file[files] + 0.3 * random.normal(size=len(files))
        _, low, high = Resampling(files.tolist(), trial).estimate(values)
        hits += low <= (np.exp(sigma**2 / 2) if sigma else 0) <= high
    assert 0.89 < hits / trials < 0.985


def test_few_files_are_not_resampled_but_windows():
    names = ["a", "b"] * 12
    few, values = Resampling(names), np.random.default_rng(0).normal(size=24)
    assert (few.n_files, few.by_file) == (2, False)
    assert few.estimate(values) == Resampling(range(24)).estimate(values)
    assert few.means(values).std() == pytest.approx(values.std() / np.sqrt(24), rel=0.1)


def test_a_mean_weighs_files_by_their_windows():
    names = [*"aaaaa", *"bcdefghij"]
    values = np.array([1.0] * 5 + [0.0] * 9)
    assert Resampling(names).estimate(values)[0] == pytest.approx(5 / 14)
    drawn = Resampling(names).means(np.ones(14))
    np.testing.assert_allclose(drawn, 1)


def test_one_window_has_no_interval():
    low, high = Resampling(["a"]).estimate(np.ones(1))[1:]
    assert np.isnan([low, high]).all()
