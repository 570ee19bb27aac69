"""The helix of one rotary pair: against its formula."""

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.measures.shape import fit_shapes
from geometry.models.sources.opening import open_model
from geometry.models.sources.rotary_pair import pair_curve


@pytest.fixture
def rotary(written):
    """A small Llama with 64 positions and four pairs, whose rates are 1, 0.1, 0.01 and 0.001."""
    tensors = {"model.embed_tokens.weight": np.zeros((9, 16), np.float32)}
    config = {"model_type": "llama", "hidden_size": 16, "num_attention_heads": 2,
              "max_position_embeddings": 64, "rope_theta": 10000.0}  # fmt: skip
    return written(tensors, config)


def test_it_turns_by_the_rate_and_climbs_by_one(rotary):
    model = open_model(f"pair:1,{rotary}")
    position = np.arange(64)
    expected = np.column_stack([8 * np.cos(0.1 * position), 8 * np.sin(0.1 * position), position])
    np.testing.assert_allclose(model.W_pos, expected, atol=1e-9)
    assert model.name == f"pair 1 of {open_model(rotary).name}"
    assert model.source.text == f"pair:1,{rotary}"
    assert model.computed


def test_its_pitch_is_that_of_the_pair():
    rate = 0.3
    curve = pair_curve(rate, 200)
    angle = np.unwrap(np.arctan2(curve[:, 1], curve[:, 0]))
    climbed, turned = curve[-1, 2] - curve[0, 2], (angle[-1] - angle[0]) / (2 * np.pi)
    assert climbed / turned == pytest.approx(2 * np.pi / rate)
    assert fit_shapes(curve).fits["helix"].r2 == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("pair:4,{rotary}", "has the pairs 0 to 3, and none '4'"),
        ("pair:first,{rotary}", "has the pairs 0 to 3, and none 'first'"),
        ("pair:1,sinusoidal", "does not turn queries and keys"),
        ("pair:1", "should name a pair and a model"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(rotary, source, sentence):
    with pytest.raises(SourceError, match=sentence):
        open_model(source.format(rotary=rotary))
