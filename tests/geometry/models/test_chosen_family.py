"""A family, first rows and a table that were chosen, whatever names and a configuration say."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.errors import SourceError
from geometry.models.recognition.candidates import NoSuchTable, UnknownArchitecture, UnknownRows
from geometry.models.recognition.choice import ALIASES, Choice, family_named, family_names
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.bare_models import NAME, write_bare

D, HEADS = 8, 2
WIDE = (16, D)
LAYER = {
    "attention.self.query.weight": (D, D),
    "attention.self.key.weight": (D, D),
    "attention.self.value.weight": (D, D),
    "attention.output.dense.weight": (D, D),
    "intermediate.dense.weight": (16, D),
}
ENCODER = {
    "embeddings.word_embeddings.weight": (11, D),
    **{f"encoder.layer.0.{name}": shape for name, shape in LAYER.items()},
}


def tensors(shapes):
    random = np.random.default_rng(0)
    return {name: random.normal(size=shape).astype("f4") for name, shape in shapes.items()}


def encoder(table, rows=12):
    return tensors({table: (rows, D), **ENCODER})


def pictures(table, rows):
    block = {"attn.qkv.weight": (3 * D, D), "attn.proj.weight": (D, D), "mlp.fc1.weight": (16, D)}
    return tensors(
        {
            "cls_token": (1, 1, D),
            table: (1, rows, D),
            "patch_embed.proj.weight": (D, 3, 2, 2),
            **{f"blocks.0.{name}": shape for name, shape in block.items()},
        }
    )


@pytest.mark.parametrize("text", ["a.b", "a[2:]", "family=gpt2", "a;first-rows=0", "encoder",
                                  "a;family=minGPT;first-rows=2", "first-rows=1"])  # fmt: skip
def test_the_text_of_a_choice_is_that_choice(text):
    assert str(Choice.parse(text)) == text


@pytest.mark.parametrize("text", ["a;first-rows=x", "first-rows=-1", "first-rows="])
def test_first_rows_are_a_number(text):
    with pytest.raises(SourceError):
        open_model("sample", table=text)


def test_each_family_has_its_name_in_any_spelling():
    for name in family_names():
        assert family_named(name) == name
    for words in ("GPT-2", "nanoGPT", "gpt2"):
        assert family_named(words) == "gpt2"
    assert {family_named(name) for name in ALIASES} <= set(family_names())
    with pytest.raises(SourceError) as raised:
        family_named("robrta")
    assert "roberta" in raised.value.advice


@pytest.mark.parametrize(("family", "first"), [("bert", 0), ("roberta", 2), ("XLM-RoBERTa", 2)])
def test_a_family_tells_its_first_rows(family, first, written):
    all_tensors = encoder(NAME)
    folder = written(all_tensors, {})
    with pytest.raises(UnknownRows):
        open_model(folder)
    model = open_model(folder, family=family)
    np.testing.assert_array_equal(model.W_pos, all_tensors[NAME][first:])
    np.testing.assert_array_equal(model.W_E, all_tensors["embeddings.word_embeddings.weight"])
    assert model.weight("W_in").shape == WIDE
    again = open_model(folder, table=model.table_choice)
    assert (again.fingerprint, again.family) == (model.fingerprint, model.family)


def test_a_table_of_another_name_is_read_as_any_family(written):
    folder = written(encoder("own.table"), {})
    read = 0
    for family in family_names():
        try:
            model = open_model(folder, table="own.table", family=family, first_rows=1)
        except SourceError:  # of families without a table
            continue
        read += 1
        assert (model.table, len(model.W_pos)) == ("own.table", 11)
    assert read > 100


@pytest.mark.parametrize("first", [0, 1, 2, 5])
def test_first_rows_that_are_no_positions(first, written):
    all_tensors = encoder(NAME)
    folder = written(all_tensors, {})
    for choice in ({}, {"table": NAME}, {"family": "bert"}):
        model = open_model(folder, first_rows=first, **choice)
        np.testing.assert_array_equal(model.W_pos, all_tensors[NAME][first:])
        assert model.weight("W_in").shape == WIDE
        again = open_model(folder, table=model.table_choice)
        assert again.fingerprint == model.fingerprint


def test_first_rows_that_leave_none(written):
    folder = written(encoder(NAME), {})
    with pytest.raises(SourceError):
        open_model(folder, first_rows=12)
    with pytest.raises(SourceError):  # chosen in two ways
        open_model(folder, table=f"{NAME}[2:]", first_rows=1)


@pytest.mark.parametrize(("family", "first"), [("bert", 0), ("roberta", 2)])
def test_a_table_of_another_name_is_read_as_the_family(family, first, written):
    all_tensors = encoder("my.place_table")
    folder = written(all_tensors, {})
    model = open_model(folder, table="my.place_table", family=family)
    np.testing.assert_array_equal(model.W_pos, all_tensors["my.place_table"][first:])
    np.testing.assert_array_equal(model.W_E, all_tensors["embeddings.word_embeddings.weight"])
    assert model.weight("W_in").shape == WIDE


def test_the_only_table_named_like_positions_is_read_as_the_family():
    model, other = open_model("sample"), open_model("sample", family="roberta")
    np.testing.assert_array_equal(other.W_pos, model.W_pos[2:])
    assert other.n_heads == model.n_heads
    notes = " ".join(other.warnings)
    assert all(word in notes for word in ("roberta", "gpt2", model.table))


@pytest.mark.parametrize(("rows", "first", "grid"), [(17, 1, (4, 4)), (16, 0, (4, 4))])
@pytest.mark.parametrize("table", ["pos_embed", "where"])
def test_patches_of_a_chosen_family_have_their_grid(table, rows, first, grid, written):
    all_tensors = pictures(table, rows)
    if not first:
        del all_tensors["cls_token"]
    model = open_model(written(all_tensors, {}), table=table, family="timm")
    assert (model.prefix_rows, model.grid) == (first, grid)
    np.testing.assert_array_equal(model.W_pos, all_tensors[table][0, first:])
    assert model.n_layers in (1, None)
    assert model.weight("W_in").shape == WIDE


def test_rows_of_registers_leave_the_grid(written):
    folder = written(pictures("pos_embed", 4 * 4 + 5), {})
    assert open_model(folder, family="timm", first_rows=5).grid == (4, 4)
    assert open_model(folder, table="pos_embed", first_rows=5).grid == (4, 4)


def test_an_explicit_choice_overrides_a_configuration_with_a_note(written):
    config = {"model_type": "bert", "hidden_size": D, "num_attention_heads": HEADS,
              "num_hidden_layers": 1, "max_position_embeddings": 12}  # fmt: skip
    all_tensors = encoder(NAME)
    folder = written(all_tensors, config)
    assert open_model(folder, family="bert").family == "bert"
    model = open_model(folder, family="roberta")
    assert (model.family, model.n_heads) == ("roberta", HEADS)
    np.testing.assert_array_equal(model.W_pos, all_tensors[NAME][2:])
    assert any("roberta" in note and "bert" in note for note in model.warnings)


def test_the_padding_of_another_family_is_asked(written):
    folder = written(encoder(NAME), {"model_type": "bert", "pad_token_id": 0})
    with pytest.raises(UnknownRows) as raised:
        open_model(folder, family="roberta")
    assert raised.value.first_rows == (1, 2)
    assert open_model(folder, family="roberta", first_rows=2).prefix_rows == 2
    own = written(encoder(NAME), {"model_type": "roberta", "pad_token_id": 0})
    assert open_model(own, family="roberta").prefix_rows == 1


def test_a_configuration_against_a_chosen_table_is_noted(written):
    config = {"model_type": "llama", "hidden_size": D, "num_attention_heads": HEADS}
    folder = written(tensors({"where": (20, D), "model.embed_tokens.weight": (9, D)}), config)
    model = open_model(folder, table="where")
    assert model.W_pos.shape == (20, D)
    assert any("where" in note and "llama" in note for note in model.warnings)


@pytest.mark.parametrize(("rows", "asked"), [(64, ()), (65, (0, 1)), (66, (0, 2)), (70, ())])
def test_a_table_of_an_unknown_model_is_asked_by_its_number_of_rows(rows, asked, written):
    names = {f"block.{i}.w": (D, D) for i in range(5)}
    folder = written(tensors({"pos.here": (rows, D), **names}), {"model_type": "mine"})
    if not asked:
        assert open_model(folder, table="pos.here").W_pos.shape == (rows, D)
        return
    with pytest.raises(UnknownRows) as raised:
        open_model(folder, table="pos.here")
    assert raised.value.first_rows == asked
    for first in asked:
        model = open_model(folder, table="pos.here", first_rows=first)
        assert model.W_pos.shape == (rows - first, D)


def test_what_a_family_lacks_can_be_chosen(written):
    folder = written(encoder("embeddings.where.table"), {})
    with pytest.raises(NoSuchTable) as raised:
        open_model(folder, family="gpt2")
    assert raised.value.candidates
    with pytest.raises(NoSuchTable):
        open_model("sinusoidal:20x8", family="gpt2")
    with pytest.raises(SourceError):  # a table without the family's settings, too
        open_model(folder, table="embeddings.where.table", family="nothing")
    with pytest.raises(UnknownArchitecture):
        open_model(folder)


def test_the_choice_of_a_source_is_part_of_its_text(tmp_path):
    path = write_bare(tmp_path / "a,b.safetensors")
    source = Source.parse(f"table:family=roberta,{path}")
    assert (source.kind, source.model.text) == ("table", path)
    assert Source.parse(source.id) == source
    model = open_model(source)
    assert (model.source.text, model.table_choice, model.prefix_rows) == (path, "family=roberta", 2)
    listed = tmp_path / "a.txt"
    listed.write_text("a b c d e".replace(" ", "\n"))
    rows = open_model(f"tokens:{listed},table:family=gpt2,sample")
    assert rows.n_positions == 5


def test_other_code_by_its_own_name(tmp_path):
    """minGPT's first version, whose names are also those of others."""
    shapes = {"pos_emb": (1, 16, D), "tok_emb.weight": (9, D)}
    layer = dict.fromkeys(("query", "key", "value", "proj"), (D, D))
    shapes |= {f"blocks.0.attn.{name}.weight": shape for name, shape in layer.items()}
    save_file(tensors(shapes), tmp_path / "m.safetensors")
    model = open_model(tmp_path / "m.safetensors", family="mingpt")
    assert (model.family, model.W_pos.shape) == ("minGPT", (16, D))
    assert json.dumps(model.table_choice)
