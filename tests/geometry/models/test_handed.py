"""Models in memory, handed to another process: the same numbers, labels and settings there."""

import numpy as np
import pytest

import helixscope as hx
from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.models.sources import handed
from geometry.models.sources.handed import folder_for, hand_over, take_over
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source

ROWS = np.random.default_rng(0).normal(size=(40, 6))


def gpt2(dtype):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=2, n_embd=32, n_head=4, n_positions=64, vocab_size=50, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).to(getattr(torch, dtype))


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, index=[f"row {at}" for at in range(len(ROWS))])


THINGS = {
    "module": lambda: gpt2("float32"),
    "bfloat16": lambda: gpt2("bfloat16"),
    "state dict": lambda: gpt2("float16").state_dict(),
    "frame": frame,
    "float32": lambda: ROWS.astype(np.float32),
    "list": ROWS.tolist,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(handed, "SHARED_MEMORY", tmp_path)
    made = folder_for(())
    assert made.parent == tmp_path
    assert made.stat().st_mode & 0o777 == 0o700
    return made


@pytest.mark.parametrize("kind", THINGS)
def test_it_is_the_same_there(kind, folder):
    model = hx.open(THINGS[kind](), name="run 7").model
    hand_over(model, folder)
    source = take_over(folder)
    assert not folder.exists()
    again = open_model(source)
    assert (again.name, again.source, again.source.kind) == ("run 7", source, "memory")
    assert again.fingerprint == model.fingerprint
    assert again.stored_W_pos.dtype == model.stored_W_pos.dtype
    np.testing.assert_array_equal(again.stored_W_pos, model.stored_W_pos)
    assert (again.family, again.warnings, again.scheme) == (
        model.family, model.warnings, model.scheme,
    )  # fmt: skip
    assert again.rows == model.rows
    if model.family is not None:
        assert again.n_heads == model.n_heads
        np.testing.assert_array_equal(again.weight("W_Q", 1), model.weight("W_Q", 1))
        np.testing.assert_array_equal(again.W_E, model.W_E)


def test_of_weights_that_changed_the_table_is_left(folder):
    live = gpt2("float32")
    model = hx.open(live, name="run 7").model
    live.transformer.h[0].attn.c_attn.weight.data += 1.0
    hand_over(model, folder)
    again = open_model(take_over(folder))
    np.testing.assert_array_equal(again.W_pos, model.W_pos)
    (warning,) = again.warnings
    assert warning.startswith("Only the table of run 7 is in this window, without weights: ")
    assert "has changed" in warning


def test_weights_beyond_the_bound_are_left_out(folder, monkeypatch):
    monkeypatch.setattr(handed, "MAX_COPIED", 1000)
    hand_over(hx.open(gpt2("float32")).model, folder)
    assert "they take 0.0 GB" in " ".join(open_model(take_over(folder)).warnings)


def test_damaged_and_missing_files_are_refused(folder):
    with pytest.raises(SourceError, match="does not exist"):
        take_over(folder)
    hand_over(hx.open(ROWS).model, folder)
    (folder / handed.SNAPSHOT).write_text('{"name": 5}')
    with pytest.raises(SourceError, match="damaged"):
        take_over(folder)
    (folder / handed.SNAPSHOT).unlink()
    hand_over(hx.open(ROWS).model, folder)
    (folder / handed.WEIGHTS).write_bytes(b"")
    with pytest.raises(SourceError, match="damaged"):
        take_over(folder)


def test_its_source_opens_where_it_is_held_alone():
    source = Source.parse("memory:0123456789abcdef:run: 7")
    assert (source.kind, source.name) == ("memory", "run: 7")
    assert Source.parse(source.id) == source
    assert Source.parse("memory:run 7").name == "run 7"
    with pytest.raises(HelixscopeError, match="memory of a process"):
        open_model(source)
