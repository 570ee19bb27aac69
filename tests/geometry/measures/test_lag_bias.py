"""Slopes and buckets by lag, against the models' own functions in transformers."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from geometry.measures.lag_bias import alibi_slopes, bucket_of

LAGS = np.arange(-300, 301)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12, 16, 25, 71, 112])
def test_slopes_are_those_of_bloom_and_mpt(n_heads):
    mask = torch.ones(1, 2)
    bloom = build_alibi_tensor(mask, n_heads, torch.float32)[:, 0, 1].numpy()
    np.testing.assert_allclose(alibi_slopes(n_heads), bloom, rtol=1e-6)
    mpt = build_mpt_alibi_tensor(n_heads, 2)[:, 0, 0].numpy()
    np.testing.assert_allclose(alibi_slopes(n_heads, every_other=True), -mpt, rtol=1e-6)


@given(st.integers(1, 200))
def test_slopes_are_different_and_below_one(n_heads):
    slopes = alibi_slopes(n_heads)
    assert len(set(slopes.tolist())) == n_heads
    assert ((slopes > 0) & (slopes < 1)).all()


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (32, 20), (64, 256), (8, 128)])
def test_buckets_are_those_of_t5(both_ways, n_buckets, farthest):
    own = T5Attention._relative_position_bucket(
        torch.from_numpy(-LAGS), both_ways, n_buckets, farthest
    )
    found = bucket_of(LAGS, n_buckets, farthest, both_ways=both_ways)
    np.testing.assert_array_equal(found, own.numpy())


def test_mpnet_has_the_same_buckets():
    own = MPNetEncoder.relative_position_bucket(torch.from_numpy(-LAGS), num_buckets=32)
    np.testing.assert_array_equal(bucket_of(LAGS, 32, 128, both_ways=True), own.numpy())
