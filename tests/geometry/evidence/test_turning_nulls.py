"""Null distributions of the turning share: against tables drawn in full, and their caption."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from geometry.evidence.null import null_of
from geometry.evidence.turning_nulls import MEANINGS, rule_null, turning_nulls
from geometry.evidence.turning_share import turning_share
from geometry.models.sources.opening import open_model
from tests.geometry.evidence.rates import ROWS, process, walk


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 100])
def test_they_are_those_of_whole_tables(d):
    """Drawn from the kernel's few eigenvectors, they are as from every row and column."""
    nulls = turning_nulls(walk(np.random.default_rng(0), d), 400)
    tables = [walk(np.random.default_rng(number), d) for number in range(60)]
    found = [turning_share(table).b for table in tables]
    assert ks_2samp(found, nulls["walk"].values).pvalue > 0.05
    # Of the lengths, that which turns most is not known beforehand.
    draw = process("squared-exponential", 0.15 * ROWS)
    found = [turning_share(draw(np.random.default_rng(number), d)).b for number in range(60)]
    assert np.median(found) == pytest.approx(nulls["process"].band[1], abs=0.05)


@pytest.mark.slow
def test_the_published_bounds_hold_for_every_width():
    for d in (3, 30, 768):
        nulls = turning_nulls(np.random.default_rng(1).normal(size=(300, d)).cumsum(axis=0), 400)
        assert list(nulls) == list(MEANINGS)
        assert max(nulls[name].band[2] for name in ("process", "matern", "walk")) < 0.5
        assert 0.5 < nulls["band"].band[2] < 0.62
        # B′ of steep curves counts as well, and does not reach its bound more often.
        rule = rule_null(d, 400)
        assert nulls["process"].band[2] / 0.5 <= rule.band[2] < 1.0
        assert rule.p_value(1.0) <= 0.05


@pytest.mark.slow
def test_the_rule_is_drawn_as_it_is_asked_of_whole_tables():
    draw = process("squared-exponential", 0.15 * ROWS)
    found = [turning_share(draw(np.random.default_rng(number), 3)) for number in range(60)]
    asked = [max(one.b / 0.5, (one.b_prime or 0.0) / 0.8) for one in found]
    assert np.median(asked) == pytest.approx(rule_null(3).band[1], abs=0.1)


def test_phases_drawn_anew_make_gpt2_unremarkable(gpt2_folder):
    P = open_model(gpt2_folder).W_pos[1:1023]
    found = turning_nulls(P, 400)["phase"]
    assert found.share_from(turning_share(P).b) < 0.08


def test_they_are_seeded_and_can_be_stopped():
    rows = np.random.default_rng(0).normal(size=(60, 20)).cumsum(axis=0)
    one, again, other = (turning_nulls(rows, 20, seed) for seed in (3, 3, 4))
    for name, null in one.items():
        np.testing.assert_array_equal(null.values, again[name].values)
        assert (null.values != other[name].values).any()
        assert not null.values.flags.writeable

    class Stop(Exception): ...

    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise Stop

    with pytest.raises(Stop):
        turning_nulls(rows, 20, check=check)


@pytest.mark.parametrize("shape", [(8, 1), (9, 2), (40, 3), (5000, 4)])
def test_small_and_long_tables_have_them_too(shape):
    nulls = turning_nulls(np.random.default_rng(0).normal(size=shape).cumsum(axis=0), 20)
    for null in nulls.values():
        assert np.isfinite(null.values).all()
        assert ((null.values >= 0) & (null.values <= 1 + 1e-9)).all()


def test_where_a_value_lies():
    null = null_of("walk", "walks", np.arange(100.0)[::-1])
    assert null.draws == 100
    assert null.band == pytest.approx((4.95, 49.5, 94.05))
    assert (null.share_from(95), null.share_from(-1), null.share_from(100)) == (0.05, 1.0, 0.0)
    # R: binom.test(5, 100), (100, 100), (0, 100)
    assert null.interval_from(95) == pytest.approx((0.01643, 0.11284), abs=1e-5)
    assert null.interval_from(-1) == pytest.approx((0.96378, 1.0), abs=1e-5)
    assert null.interval_from(100) == pytest.approx((0.0, 0.03622), abs=1e-5)
