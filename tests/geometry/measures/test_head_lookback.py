"""Looking back in the queries and keys of heads whose motions and lags are known."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.claims.claim_lookback import different_lags, in_heads
from geometry.claims.claim_measures import CannotTell
from geometry.claims.measurements import Measurements, Scope
from geometry.measures.head_lookback import look_back_heads, preferred_lags
from geometry.measures.heads import HeadProjections
from geometry.measures.lookback import follow_turning
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model


def rotary(lags: tuple[int, ...], omega: float = 0.07, n: int = 300) -> HeadProjections:
    """Heads whose keys are their queries of so many tokens later, on a circle that climbs."""
    basis, i = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0][:3], np.arange(n)

    def at(position):
        circle = [np.cos(omega * position), np.sin(omega * position), 0.001 * position]
        return np.column_stack(circle) @ basis

    queries = np.stack([at(i) for _ in lags])
    keys = np.stack([at(i + lag) for lag in lags])
    return HeadProjections(0, queries, keys, 0.5, True)


def test_each_head_moves_by_a_screw_and_prefers_its_own_lag():
    heads = rotary((0, 3, 21))
    found = look_back_heads(heads, (10, 250), scoring="halves")
    assert list(found.preferred) == [0, 3, 21]
    assert (found.n_heads, found.positions, found.layer) == (3, (10, 250), 0)
    for one in (*found.queries, *found.keys):
        np.testing.assert_allclose(one.r2["screw"], 1, atol=1e-7)
        turning = follow_turning(one)
        assert turning.slope == pytest.approx(0.07)
    assert found.query_share == pytest.approx(np.ones(3))
    assert found.key_share == pytest.approx(np.ones(3))


def test_the_preferred_lag_is_that_of_all_pairs():
    """Against the definition, pair by pair; keys are of all positions."""
    rng = np.random.default_rng(1)
    queries, keys = rng.standard_normal((2, 4, 60, 5)).cumsum(axis=2)
    heads = HeadProjections(0, queries, keys, 0.3, True)
    found = preferred_lags(heads, (12, 49))
    for head in range(4):
        scores = queries[head] @ keys[head].T
        kernel = [np.mean([scores[i, i - d] for i in range(max(12, d), 50)]) for d in range(29)]
        assert found[head] == int(np.argmax(kernel))


def test_a_window_ends_what_a_head_may_prefer():
    heads = rotary((21,))
    near = HeadProjections(0, heads.queries, heads.keys, 0.5, True, (5, 0))
    assert list(preferred_lags(near, (10, 250))) == [5]


def test_only_three_components_count_and_their_share_is_told():
    heads = rotary((0,))
    noise = 0.1 * np.random.default_rng(0).standard_normal(heads.queries.shape)
    noisy = HeadProjections(0, heads.queries + noise, heads.keys, 0.5, True)
    found = look_back_heads(noisy, (0, 299), (1, 5))
    assert found.queries[0].rotations.shape == (2, 3, 3)
    assert 0.8 < found.query_share[0] < found.key_share[0]


def test_short_ranges_and_flat_heads():
    heads = rotary((0, 1))
    with pytest.raises(RangeError, match="at least 9 positions"):
        look_back_heads(heads, (0, 7))
    with pytest.raises(RangeError, match="0–299"):
        look_back_heads(heads, (0, 300))
    flat = HeadProjections(0, heads.queries[:, :, :2], heads.keys[:, :, :2], 1.0, True)
    assert look_back_heads(flat, (0, 99), (1,)).keys[1].rotations.shape == (1, 2, 2)


def test_gpt2(gpt2_folder):
    """Most of the first layer's heads look back by a rotation and a shift, within a few tokens."""
    model = open_model(gpt2_folder)
    found = look_back_heads(project_heads(model), (1, 1023), (10, 50), scoring="halves")
    assert found.n_heads == 12
    for one in (*found.queries, *found.keys):
        assert one.r2["screw"][0] > 0.95
    assert in_heads(Measurements(model)) > 0.97
    assert different_lags(Measurements(model)) == 1  # only one lag is clearly preferred


def test_claims_need_queries_and_keys(open_array):
    measured = Measurements(open_array(np.random.default_rng(0).standard_normal((64, 8))))
    for claim in (in_heads, different_lags):
        with pytest.raises(TensorUnavailable):
            claim(measured)
    with pytest.raises(CannotTell, match="too few"):
        in_heads(Measurements(measured.model, Scope((0, 9))))
