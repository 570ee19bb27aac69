"""Vectors by lag inside attention: of BERT under relative keys, and of DeBERTa."""

import random

import numpy as np
import pytest
import torch
from transformers import DebertaConfig, DebertaV2Config
from transformers.models.deberta.modeling_deberta import DebertaEncoder, build_relative_position
from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Encoder
from transformers.models.deberta_v2.modeling_deberta_v2 import (
    build_relative_position as build_bucket_position,
)

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.claims.report import report
from geometry.models.recognition.candidates import UnknownArchitecture
from geometry.models.sources.opening import open_model
from tests.marks import slow_but

ABSOLUTE = "embeddings.position_embeddings.weight"
LAYER = "encoder.layer.{}.attention.self.distance_embedding.weight"
RNG = np.random.default_rng(0)


def bert(root="", positions=12, layers=2):
    """Return the tensors of BERT under relative keys, as transformers 4 stores them."""
    tensors = {f"{root}{ABSOLUTE}": RNG.standard_normal((positions, 8)).astype("f4"),
               f"{root}embeddings.word_embeddings.weight": np.ones((9, 8), "f4")}  # fmt: skip
    for layer in range(layers):
        vectors = RNG.standard_normal((2 * positions - 1, 4)).astype("f4")
        tensors[root + LAYER.format(layer)] = vectors
    return tensors


def config(kind="bert", **more):
    return {"model_type": kind, "position_embedding_type": "relative_key", "hidden_size": 8,
            "num_attention_heads": 2, "max_position_embeddings": 12, **more}  # fmt: skip


#: Where each family keeps its model.
ROOTS = {"bert": "", "roberta": "roberta.", "electra": "electra.", "esm": "esm.",
         "albert": "albert.", "layoutlm": "layoutlm.", "nystromformer": "x."}  # fmt: skip


@pytest.mark.parametrize("how", ["relative_key", "relative_key_query", None])
@pytest.mark.parametrize("kind", slow_but(["bert", "esm"], ROOTS))
def test_vectors_by_distance_are_shown(kind, how, written):
    root = ROOTS[kind]
    tensors = bert(root)
    model = open_model(written(tensors, config(kind, position_embedding_type=how)))
    vectors = tensors[root + LAYER.format(0)]
    # As in transformers 4: distance_embedding(query − key + max_position_embeddings − 1).
    for query, key in ((0, 0), (5, 2), (0, 11), (11, 0)):
        lag = query - key
        np.testing.assert_array_equal(model.W_pos[lag - model.lags.first], vectors[lag + 12 - 1])
    assert (model.scheme, model.n_positions, model.causal) == ("relative table", 23, False)
    assert any(f"{root}{ABSOLUTE} is stored, and not added" in note for note in model.warnings)
    scheme = report(model, nulls=False)["scheme"]
    assert scheme["lags"] == list(range(11, -12, -1))
    assert "inside attention" in str(model.missing["W_E"])


def test_vectors_of_another_layer_open_by_their_name(written):
    tensors = bert(layers=12)
    folder = written(tensors, config())
    assert any(LAYER.format(11) in note for note in open_model(folder).warnings)
    model = open_model(folder, table=LAYER.format(3))
    np.testing.assert_array_equal(model.W_pos, tensors[LAYER.format(3)])
    assert (model.scheme, model.lags.first) == ("relative table", -11)


@pytest.mark.parametrize("shape", [(7, 3), (23, 5), (23,), (1, 23, 4)])
def test_vectors_of_another_layer_have_the_same_shape(shape, written):
    folder = written({**bert(), LAYER.format(1): np.ones(shape, "f4")}, config())
    with pytest.raises(SourceError, match=r"shape .*\(23, 4\)"):
        open_model(folder, table=LAYER.format(1))


def test_a_chosen_table_that_is_not_added_says_so(written):
    model = open_model(written(bert(), config()), table=ABSOLUTE)
    assert model.n_positions == 12
    assert any("not added, since" in note and "relative_key" in note for note in model.warnings)


@pytest.mark.parametrize("root", ["", "bert."])
def test_without_a_configuration_vectors_by_distance_come_before_the_table(root, written):
    tensors = bert(root)
    folder = written(tensors, {})
    model = open_model(folder)
    assert (model.scheme, model.causal) == ("relative table", False)
    np.testing.assert_array_equal(model.W_pos, tensors[root + LAYER.format(0)])
    np.testing.assert_array_equal(open_model(folder, table=root + ABSOLUTE).W_pos,
                                  tensors[root + ABSOLUTE])  # fmt: skip


@pytest.mark.parametrize("root", ["", "deberta."])
def test_deberta_is_known_by_its_matrices(root, written):
    tensors, settings = encoder_of("deberta")
    own = {f"{root}{name}": values for name, values in tensors.items()}
    own[f"{root}embeddings.word_embeddings.weight"] = np.ones((9, 4), "f4")
    own[f"{root}encoder.layer.0.attention.self.in_proj.weight"] = np.ones((12, 4), "f4")
    here, known = open_model(written(own, {})), open_model(written(tensors, settings))
    assert (here.scheme, here.family, here.causal) == ("relative table", "deberta", False)
    np.testing.assert_array_equal(here.W_pos, known.W_pos)
    assert any(ABSOLUTE in note for note in here.warnings)
    assert not any("Usual settings" in note for note in here.warnings)


def test_vectors_by_distance_beside_a_table_that_is_added(written):
    model = open_model(written(bert(), config(position_embedding_type="absolute")))
    assert model.scheme == "learned"
    assert any("vectors by distance" in note for note in model.warnings)


def test_relative_keys_without_their_vectors_are_no_table(written):
    with pytest.raises(NoPositionalEmbeddings, match="vectors by relative distance"):
        open_model(written(bert(layers=0), config()))


@pytest.mark.parametrize("rows", [22, 25])
def test_vectors_of_another_number_are_refused(rows, written):
    tensors = {**bert(), LAYER.format(0): np.ones((rows, 4), "f4")}
    with pytest.raises(SourceError, match=rf"shape \(23, width\).*got \({rows}, 4\)"):
        open_model(written(tensors, config()))


@pytest.mark.parametrize("how", ["rel", 3, "relative_keys", ["absolute"]])
def test_a_kind_of_positions_that_is_not_known_is_asked(how, written):
    folder = written(bert(layers=0), config(position_embedding_type=how))
    with pytest.raises(UnknownArchitecture, match="position_embedding_type") as error:
        open_model(folder)
    assert ABSOLUTE in [one.name for one in error.value.candidates]
    chosen = open_model(folder, table=ABSOLUTE)
    assert (chosen.family, chosen.n_positions) == ("bert", 12)
    assert any("position_embedding_type" in note for note in chosen.warnings)


def drawn(seed):
    """Draw an encoder of DeBERTa, its configuration, and the function that gives it its lags."""
    draw = random.Random(seed)
    newer = seed % 2 == 1
    settings = {
        "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
        "vocab_size": 9, "relative_attention": True, "max_position_embeddings": draw.randint(4, 20),
        "max_relative_positions": draw.choice([-1, draw.randint(2, 30)]),
        "pos_att_type": draw.choice([["c2p"], ["p2c"], ["p2c", "c2p"]]),
        "layer_norm_eps": 10 ** draw.uniform(-8, -1),
    }  # fmt: skip
    if newer:
        settings |= {
            "position_buckets": draw.choice([-1, draw.randint(2, 9)]),
            "share_att_key": draw.choice([True, False]),
            "norm_rel_ebd": draw.choice(["none", "layer_norm", "None|Layer_Norm ", "layer_normal"]),
        }
    own_config = (DebertaV2Config if newer else DebertaConfig)(**settings)
    torch.manual_seed(seed)
    encoder = (DebertaV2Encoder if newer else DebertaEncoder)(own_config)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.normal_()
    return encoder, own_config


@pytest.mark.parametrize("seed", range(24))
def test_relative_embeddings_of_drawn_settings_are_those_of_the_module(seed, written):
    encoder, own = drawn(seed)
    tensors = {f"deberta.encoder.{name}": value.numpy()
               for name, value in encoder.state_dict().items()}  # fmt: skip
    model = open_model(written(tensors, own.to_dict()))
    with torch.no_grad():
        used = encoder.get_rel_embedding().numpy()
    np.testing.assert_allclose(model.W_pos, used, rtol=1e-5, atol=1e-5)
    normed = "layer_norm" in getattr(encoder, "norm_rel_ebd", [])
    assert any("LayerNorm" in note for note in model.warnings) == normed
    # The row of each pair of query and key, as attention finds it.
    n, span = 40, len(used) // 2
    tokens = torch.zeros(1, n, 8)
    if isinstance(encoder, DebertaV2Encoder):
        own_lags = build_bucket_position(
            tokens, tokens, encoder.position_buckets, encoder.max_relative_positions
        )
        buckets = encoder.position_buckets > 0
    else:
        own_lags, buckets = build_relative_position(tokens, tokens), False
    rows = torch.clamp(own_lags[0] + span, 0, 2 * span - 1).numpy()
    lags = np.clip(own_lags[0].numpy(), model.lags.first, model.lags.first + 2 * span - 1)
    np.testing.assert_array_equal(rows, lags - model.lags.first)
    assert model.lags.buckets == buckets
    assert model.place_of(int(rows[7, 7])) == ("bucket 0" if buckets else "lag 0")
    assert (model.scheme, model.no_table) == ("relative table", "")


def encoder_of(kind, rows=8):
    return {"encoder.rel_embeddings.weight": np.ones((rows, 4), "f4") * np.arange(rows)[:, None],
            ABSOLUTE: np.eye(6, 4, dtype="f4")}, {
            "model_type": kind, "hidden_size": 4, "max_position_embeddings": 6,
            "max_relative_positions": 4, "relative_attention": True}  # fmt: skip


@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_a_table_that_is_added_as_well_is_named_and_opens(kind, written):
    tensors, settings = encoder_of(kind)
    folder = written(tensors, {**settings, "position_biased_input": True})
    assert any(ABSOLUTE in note for note in open_model(folder).warnings)
    table = open_model(folder, table=ABSOLUTE)
    assert (table.scheme, table.family) == ("learned", kind)
    assert any("vectors by distance" in note for note in table.warnings)
    without = open_model(written(tensors, {**settings, "position_biased_input": False}))
    assert not any(ABSOLUTE in note for note in without.warnings)


@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_without_relative_attention_there_is_the_table_or_nothing(kind, written):
    tensors, settings = encoder_of(kind)
    settings["relative_attention"] = False
    assert open_model(written(tensors, settings)).table == ABSOLUTE
    with pytest.raises(NoPositionalEmbeddings, match="position_biased_input is not true"):
        open_model(written(tensors, {**settings, "position_biased_input": False}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_relative_positions": 5}, r"shape \(10, width\).*got \(8, 4\)"),
        ({"position_buckets": 3}, r"shape \(6, width\)"),
        ({"norm_rel_ebd": "layer_norm"}, "pass a LayerNorm, and encoder.LayerNorm.weight"),
        ({"relative_attention": "yes"}, "as relative_attention"),
        ({"position_biased_input": "no"}, "as position_biased_input"),
    ],
)
def test_settings_that_contradict_the_vectors_are_named(change, words, written):
    tensors, settings = encoder_of("deberta-v2")
    with pytest.raises(SourceError, match=words):
        open_model(written(tensors, {**settings, **change}))
