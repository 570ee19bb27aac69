"""Token embeddings of a list: which tokens, which rows, and what is left out."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from geometry.checkpoints.errors import FileChanged, SourceError, TensorUnavailable
from geometry.claims.report import report
from geometry.models.sources.locating import is_here, may_ask_hub
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from geometry.models.sources.token_rows import LISTS
from tests.small_models import gpt2_config, write_model

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@pytest.fixture
def gpt2_with_tokens(gpt2_folder, tmp_path):
    """A folder with GPT-2's own tokenizer, and embeddings that are their tokens' numbers."""
    tokens = np.arange(50257)[:, None] * np.ones(4)
    tensors = {"wpe.weight": np.eye(8, 4), "wte.weight": tokens}
    folder = write_model(tmp_path / "gpt2-like", gpt2_config(8, 4, vocab_size=50257), tensors)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(gpt2_folder / name, folder)
    return folder


def write_list(path, *entries):
    path.write_text("\n".join(entries), "utf-8")
    return path


def test_the_days_are_the_rows_of_their_tokens(minilm_folder):
    from transformers import AutoTokenizer

    model = open_model(f"tokens:weekdays,{minilm_folder}")
    ids = AutoTokenizer.from_pretrained(minilm_folder).convert_tokens_to_ids(
        [day.lower() for day in DAYS]
    )
    tensors = load_file(minilm_folder / "model.safetensors")
    (name,) = (name for name in tensors if name.endswith("word_embeddings.weight"))
    np.testing.assert_array_equal(model.W_pos, tensors[name][ids].astype(np.float64))
    assert model.rows.labels == DAYS == LISTS["weekdays"]
    assert model.columns == ()
    assert (model.of_text, model.usual_positions, model.computed) == (False, (0, 6), False)
    assert model.name == f"weekdays of {open_model(minilm_folder).name}"
    assert model.source.text == f"tokens:weekdays,{minilm_folder}"
    with pytest.raises(TensorUnavailable):
        model.tokenize("Monday")


@pytest.mark.slow
def test_tokens_after_a_space_where_these_are_as_many(gpt2_with_tokens):
    """GPT-2 has tokens for " Wednesday" and for "Wednesday"."""
    from transformers import AutoTokenizer

    model = open_model(f"tokens:weekdays,{gpt2_with_tokens}")
    own = AutoTokenizer.from_pretrained(gpt2_with_tokens)
    expected = [own.encode(f" {day}") for day in DAYS]
    assert [len(ids) for ids in expected] == [1] * 7
    assert model.W_pos[:, 0].tolist() == [ids[0] for ids in expected]
    assert "with a space before each word" in model.warnings[0]


def test_numbers_have_themselves_as_colours_and_split_ones_are_named(gpt2_with_tokens):
    from transformers import AutoTokenizer

    model = open_model(f"tokens:numbers,{gpt2_with_tokens}")
    own = AutoTokenizer.from_pretrained(gpt2_with_tokens)
    whole = [n for n in range(1000) if len(own.encode(f"{n}")) == 1]
    assert len(whole) > sum(len(own.encode(f" {n}")) == 1 for n in range(1000))
    assert model.rows.labels == tuple(map(str, whole))
    (column,) = model.columns
    assert (column.name, column.file, column.numeric) == ("Number", "", True)
    np.testing.assert_array_equal(column.numbers(len(whole)), whole)
    split = next(n for n in range(1000) if n not in whole)
    assert f"“{split}”" in model.warnings[0]
    assert f"and {1000 - len(whole) - 3} more" in model.warnings[0]
    assert "without a space before each word" in model.warnings[0]


def test_a_list_of_ones_own(gpt2_with_tokens, tmp_path):
    words = write_list(tmp_path / "my words.txt", "cat", "  dog ", "", "zzyzzx", "house")
    model = open_model(f"tokens:{words},{gpt2_with_tokens}")
    assert model.rows.labels == ("cat", "dog", "house")
    assert model.name == "my words of gpt2-like"
    assert "Left out, as they are not one token: “zzyzzx”." in model.warnings[0]


def test_what_the_vocabulary_does_not_know_is_left_out(minilm_folder, tmp_path):
    """BERT's tokenizer makes one token, [UNK], of what it does not know."""
    words = write_list(tmp_path / "words.txt", "cat", "dog", "\N{GRINNING FACE}")
    assert open_model(f"tokens:{words},{minilm_folder}").rows.labels == ("cat", "dog")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("tokens:weekdays", "should name a list and a model"),
        ("tokens:,gpt2", "should name a list and a model"),
        ("tokens:no such list,{folder}", "There is no list or file 'no such list'"),
        ("tokens:~nosuchuser/w.txt,{folder}", "is not a path"),
        ("tokens:a\0b/w.txt,{folder}", "is not a path|no list or file"),
        ("tokens:{empty},{folder}", "has 0 entries"),
        ("tokens:{binary},{folder}", "is not text in UTF-8"),
        ("tokens:{split},{folder}", "0 of the 2 entries of split.txt are single tokens of"),
        ("tokens:weekdays,tokens:weekdays,{folder}", "should name a list and a model"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(gpt2_with_tokens, tmp_path, source, sentence):
    paths = {
        "folder": gpt2_with_tokens,
        "empty": write_list(tmp_path / "empty.txt"),
        "split": write_list(tmp_path / "split.txt", "qqxz", "zqxj"),
        "binary": tmp_path / "binary.txt",
    }
    paths["binary"].write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match=sentence) as error:
        open_model(source.format(**paths))
    assert len(str(error.value)) < 300
    assert error.value.advice


def test_without_embeddings_or_a_tokenizer_it_is_refused(gpt2_folder, written):
    with pytest.raises(SourceError, match="has no token embeddings"):
        open_model(f"tokens:weekdays,{gpt2_folder}")
    tensors = {"wpe.weight": np.eye(8, 4, dtype="f4"), "wte.weight": np.eye(9, 4, dtype="f4")}
    folder = written(tensors, {"model_type": "gpt2"})
    with pytest.raises(TensorUnavailable, match="no tokenizer in its folder"):
        open_model(f"tokens:weekdays,{folder}")


def test_a_tokenizer_with_more_tokens_than_rows_is_refused(gpt2_with_tokens, write_safetensors):
    tensors = {"wpe.weight": np.eye(8, 4, dtype="f4"), "wte.weight": np.eye(9, 4, dtype="f4")}
    write_safetensors(gpt2_with_tokens / "model.safetensors", tensors)
    with pytest.raises(SourceError, match=r"has token \d+ \(.+\); .+ rows for tokens 0 to 8"):
        open_model(f"tokens:weekdays,{gpt2_with_tokens}")


def test_a_list_or_a_model_that_changed_is_said(gpt2_with_tokens, tmp_path):
    words = write_list(tmp_path / "words.txt", "cat", "dog")
    model = open_model(f"tokens:{words},{gpt2_with_tokens}")
    model.check_files()
    write_list(words, "cat", "dog", "house")
    with pytest.raises(FileChanged):
        model.check_files()
    model = open_model(f"tokens:weekdays,{gpt2_with_tokens}")
    with (gpt2_with_tokens / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(FileChanged):
        model.check_files()


def test_a_source_is_no_path_and_no_id(minilm_folder):
    found = Source.parse("tokens: weekdays , a/b,c ")
    assert (found.kind, found.what, found.of.text) == ("tokens", "weekdays", "a/b,c")
    assert found.text == "tokens:weekdays,a/b,c"
    assert Source.parse("gpt2").of is None
    for text in (f"tokens:weekdays,{minilm_folder}", "tokens:weekdays,sample"):
        assert is_here(Source.parse(text))
        assert not may_ask_hub(Source.parse(text))
    assert not is_here(Source.parse("tokens:weekdays"))
    unknown = Source.parse("tokens:weekdays,no-such/model")
    assert not is_here(unknown)
    assert may_ask_hub(unknown)


def test_a_report_tells_of_them_and_asks_no_claims(minilm_folder):
    found = report(open_model(f"tokens:letters,{minilm_folder}"), nulls=False)
    assert found["scheme"] == {"kind": "rows", "labels": [*"abcdefghijklmnopqrstuvwxyz"]}
    assert {claim["value"] for claim in found["claims"]} == {None}


def test_of_a_model_that_turns_queries_and_keys(gpt2_folder, tmp_path, written):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(gpt2_folder / name, tmp_path)
    tokens = np.arange(50257, dtype=np.float32)[:, None] * np.ones(8, dtype=np.float32)
    config = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
              "max_position_embeddings": 16, "vocab_size": 50257}  # fmt: skip
    folder = written({"model.embed_tokens.weight": tokens}, config)
    model = open_model(f"tokens:weekdays,{folder}")
    assert model.rows.labels == DAYS
    assert model.W_pos.shape == (7, 8)
