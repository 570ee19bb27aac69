"""Attention by position alone: against plain loops, closed forms, modules, and GPT-2's heads."""

import tracemalloc
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers

from geometry.checkpoints.errors import RangeError
from geometry.measures.heads import HeadProjections
from geometry.measures.kernels import attention_map, average_blocks, head_kernels
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import BERT, GPT

RANDOM = np.random.default_rng(3)


def heads_of(
    queries: np.ndarray, keys: np.ndarray, *, causal: bool = True, window: object = None
) -> HeadProjections:
    return HeadProjections(0, queries, keys, 0.5, causal, window)


def random_heads(**options: object) -> HeadProjections:
    """Two heads over 300 positions, so that there are several blocks of queries."""
    return heads_of(*RANDOM.normal(size=(2, 2, 300, 4)), **options)


def plain(heads: HeadProjections, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores, not a number where they are not allowed, and their softmax."""
    scores = heads.scale * heads.queries[head] @ heads.keys[head].T
    i, j = np.indices(scores.shape)
    back, ahead = heads.window or (len(scores), len(scores))
    allowed = (i - j <= back) & (j - i <= (0 if heads.causal else ahead))
    weights = np.where(allowed, np.exp(scores), 0.0)
    return np.where(allowed, scores, np.nan), weights / weights.sum(axis=1, keepdims=True)


CASES = [
    ({"causal": True}, (0, 299)),
    ({"causal": True}, (17, 200)),
    ({"causal": False}, (5, 290)),
    ({"causal": True, "window": (6, 0)}, (1, 299)),
    ({"causal": False, "window": (3, 3)}, (0, 299)),
    ({"causal": False, "window": (20, 9)}, (150, 150)),
]


@pytest.mark.parametrize(("options", "positions"), CASES)
def test_as_plain_loops_say(options, positions):
    heads = random_heads(**options)
    found = head_kernels(heads, positions)
    first, last = positions
    for head in range(2):
        scores, weights = plain(heads, head)
        distance = 0.0
        near = 0.0
        for index, lag in enumerate(found.lags):
            rows = [i for i in range(first, last + 1) if 0 <= i - lag < 300]
            pairs = (rows, [i - lag for i in rows])
            assert found.scores[head, index] == pytest.approx(scores[pairs].mean())
            assert found.attention[head, index] == pytest.approx(weights[pairs].mean())
            share = weights[pairs].sum() / (last - first + 1)
            distance += abs(lag) * share
            near += share * (0 <= lag <= 10)
        assert found.mean_lag[head] == pytest.approx(distance)
        among = scores[first : last + 1]
        i, j = np.nonzero(np.isfinite(among))
        values, lag = among[i, j], i + first - j
        means = {one: values[lag == one].mean() for one in np.unique(lag)}
        explained = np.array([means[one] for one in lag])
        share = explained.var() / values.var()
        assert found.by_lag_alone[head] == pytest.approx(share, rel=1e-5)
        assert found.mass_lag_0_10[head] == pytest.approx(near)
        inside = slice(first, last + 1)
        drawn = attention_map(heads, head, positions)
        np.testing.assert_allclose(drawn, weights[inside, inside], atol=1e-15)
        rows = np.arange(first, last + 1)
        assert found.own[head] == pytest.approx(weights[rows, rows].mean())
        rows = rows[rows > 0]
        assert found.previous_token[head] == pytest.approx(weights[rows, rows - 1].mean())
        step = -(-len(drawn) // 64)
        cell = drawn[:step, :step].mean()
        assert found.maps[head, 0, 0] == pytest.approx(cell, rel=1e-5)
        assert found.maps[head, -1, -1] == pytest.approx(
            drawn[(len(drawn) - 1) // step * step :, (len(drawn) - 1) // step * step :].mean(),
            rel=1e-5,
        )


def test_a_head_of_no_weights_attends_evenly():
    heads = heads_of(*np.zeros((2, 1, 300, 4)))
    found = head_kernels(heads, (1, 299))
    expected = np.mean(1 / (np.arange(1, 300) + 1))
    assert found.previous_token[0] == pytest.approx(expected)
    assert found.own[0] == pytest.approx(expected)
    assert found.mean_lag[0] == pytest.approx(np.arange(1, 300).mean() / 2)
    assert not found.scores.any()


def test_what_turns_with_position_has_one_kernel_for_all():
    """q_i·k_j of two rotations is a cosine of the lag: κ is it, whatever the range."""
    angle = 0.07 * np.arange(300)
    turning = 3 * np.stack((np.cos(angle), np.sin(angle)), axis=1)[None]
    for positions in ((0, 299), (40, 90)):
        found = head_kernels(heads_of(turning, turning), positions)
        np.testing.assert_allclose(found.scores[0], 4.5 * np.cos(0.07 * found.lags), atol=1e-12)


@pytest.mark.parametrize("constant", [-300.0, 7.5, 1000.0])
def test_a_constant_in_all_scores_changes_no_attention(constant):
    heads = random_heads()
    one = np.ones((2, 300, 1))
    moved = heads_of(
        np.concatenate((heads.queries, one), axis=2),
        np.concatenate((heads.keys, one * constant / heads.scale), axis=2),
    )
    before, after = (head_kernels(given, (1, 299)) for given in (heads, moved))
    np.testing.assert_allclose(after.attention, before.attention, rtol=1e-10)
    np.testing.assert_allclose(after.scores, before.scores + constant, rtol=1e-12)


def test_scores_of_any_size_are_softened():
    rows = RANDOM.normal(size=(1, 300, 4))
    rows = (1e4 * rows / np.linalg.norm(rows, axis=2, keepdims=True)).astype(np.float32)
    found = head_kernels(heads_of(rows, rows, causal=False), (0, 299))
    assert np.isfinite(found.attention).all()
    assert found.own[0] == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["GPT2", "Bert", "GPTNeo"])
def test_maps_are_the_modules(kind, tmp_path):
    """Attention of the module's own first layer where its tokens are nothing."""
    neo = {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "vocab_size": 40, "window_size": 4,
           "max_position_embeddings": 12, "attention_types": [[["local"], 2]]}  # fmt: skip
    settings = {"GPT2": GPT, "Bert": BERT, "GPTNeo": {**neo, "bos_token_id": 0}}[kind]
    config = getattr(transformers, f"{kind}Config")(**settings, attn_implementation="eager")
    torch.manual_seed(0)
    module = getattr(transformers, f"{kind}Model")(config).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.normal_(std=0.5)
            if "token_type" in name or "wte" in name or "word_embeddings" in name:
                parameter.zero_()
        ids = torch.arange(12).reshape(1, -1)
        expected = module(input_ids=ids, output_attentions=True).attentions[0][0].numpy()
    module.save_pretrained(tmp_path)
    heads = project_heads(open_model(tmp_path))
    for head in range(2):
        np.testing.assert_allclose(attention_map(heads, head, (0, 11)), expected[head], atol=1e-5)


def test_gpt2_has_three_sharply_local_heads_which_averaged_positions_blunt(gpt2_folder):
    model = open_model(gpt2_folder)
    found = head_kernels(project_heads(model), (1, 1023))
    assert np.flatnonzero(found.mass_lag_0_10 > 0.9).tolist() == [3, 4, 7]
    assert (found.mass_lag_0_10[[3, 4, 7]] > 0.99).all()
    assert np.delete(found.mass_lag_0_10, [3, 4, 7]).max() < 0.5
    assert (np.argsort(found.mean_lag)[:3] == [3, 7, 4]).all()
    single = head_kernels(project_heads(model, dtype=np.float32), (1, 1023))
    for name in ("previous_token", "own", "mass_lag_0_10"):
        np.testing.assert_allclose(getattr(single, name), getattr(found, name), atol=2e-6)

    averaged = project_heads(model, rows=average_blocks(model.W_pos), dtype=np.float32)
    blunt = head_kernels(averaged, (1, 1023))
    for head in (3, 4, 7):
        assert blunt.previous_token[head] < 0.85 * found.previous_token[head]
        assert blunt.own[head] < 0.8 * found.own[head]
        # Within a block all are alike: nothing tells a position from the one before it.
        assert np.ptp(attention_map(averaged, head, (500, 509))[9]) < 1e-6


def test_blocks_are_averaged_from_position_0():
    rows = np.arange(14.0).reshape(7, 2)
    averaged = average_blocks(rows, 3)
    np.testing.assert_allclose(averaged[:3], [rows[:3].mean(axis=0)] * 3)
    np.testing.assert_allclose(averaged[3:6], [rows[3:6].mean(axis=0)] * 3)
    np.testing.assert_allclose(averaged[6], rows[6])
    np.testing.assert_array_equal(average_blocks(rows, 1), rows)
    with pytest.raises(ValueError, match="at least one position, got 0"):
        average_blocks(rows, 0)


def test_a_range_outside_the_table_is_refused():
    for function in (head_kernels, lambda heads, range_: attention_map(heads, 0, range_)):
        with pytest.raises(RangeError):
            function(random_heads(), (0, 300))


def test_it_tells_of_each_head_and_can_be_stopped():
    told: list[float] = []
    head_kernels(random_heads(), (0, 299), on_head=told.append)
    assert told == [0.5, 1.0]
    with pytest.raises(InterruptedError):
        head_kernels(random_heads(), (0, 299), on_head=Mock(side_effect=InterruptedError))


def test_many_positions_take_little_memory():
    """A map of one of these heads would take 16 MB, and all of them 256 MB."""
    rows = RANDOM.normal(size=(16, 2048, 8)).astype(np.float32)
    heads = heads_of(rows, rows)
    tracemalloc.start()
    head_kernels(heads, (0, 2047))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16_000_000


def test_scores_by_lag_alone_have_all_variance_by_lag():
    angle = 0.3 * np.arange(300)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])[None]
    found = head_kernels(heads_of(circle, circle), (20, 299))
    assert found.by_lag_alone[0] == pytest.approx(1.0)
    # A key's content at its own place has none but by accident.
    content = np.random.default_rng(0).normal(size=(1, 300, 1))
    other = head_kernels(heads_of(np.ones((1, 300, 1)), content), (20, 299))
    assert other.by_lag_alone[0] < 0.3
    even = head_kernels(heads_of(*np.ones((2, 1, 300, 2))), (0, 299))
    assert even.by_lag_alone[0] == 0.0
