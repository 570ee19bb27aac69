"""Mean and spread of values from a position on."""

import numpy as np
import pytest

from geometry.measures.norms import norm_profile
from geometry.measures.stretches import AFTER, measure_stretch


@pytest.mark.parametrize("after", [1, 7, 38])
def test_a_stretch_ends_with_the_last_but_one(after):
    values = np.random.default_rng(after).lognormal(size=40)
    found = measure_stretch(values, after)
    part = values[after:39]
    assert (found.first, found.last, found.whole) == (after, 38, False)
    assert found.mean == pytest.approx(part.mean())
    assert found.std == pytest.approx(np.sqrt(np.mean((part - part.mean()) ** 2)))
    assert found.cv == pytest.approx(found.std / found.mean)
    assert found.early == pytest.approx(values[:after].mean())


def test_from_the_start_there_is_nothing_before():
    found = measure_stretch(np.array([2.0, 4.0, 9.0]), 0)
    assert (found.mean, found.std, found.early) == (3.0, 1.0, None)


@pytest.mark.parametrize("after", [39, 40, 1000])
def test_too_few_values_are_measured_whole(after):
    values = np.random.default_rng(0).lognormal(size=40)
    found = measure_stretch(values, after)
    assert (found.first, found.last, found.whole, found.early) == (0, 39, True, None)
    assert found.mean == pytest.approx(values.mean())


def test_zeros_vary_by_nothing():
    assert measure_stretch(np.zeros(5), 1).cv == 0.0


def test_what_cannot_be_measured_is_said():
    with pytest.raises(ValueError, match="at least 0"):
        measure_stretch(np.ones(5), -1)
    with pytest.raises(ValueError, match=r"\(n,\)"):
        measure_stretch(np.ones(0))
    with pytest.raises(ValueError, match=r"\(n,\)"):
        measure_stretch(np.ones((2, 2)))


def test_a_profile_measured_from_elsewhere_is_the_profile_of_that(gpt2_folder):
    from geometry.models.sources import open_source

    W_pos = open_source(gpt2_folder).W_pos
    first = norm_profile(W_pos)
    assert first.after == AFTER
    for after in (0, 3, 500, 1022, 1023, 4000):
        moved, fresh = first.measured_from(after), norm_profile(W_pos, after=after)
        assert moved.values is first.values
        assert moved.outliers == fresh.outliers
        assert (moved.after, moved.mean, moved.std, moved.cv) == (
            fresh.after, fresh.mean, fresh.std, fresh.cv,
        )  # fmt: skip
    assert first.measured_from(0).cv > 2 * first.measured_from(500).cv
