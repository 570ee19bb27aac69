"""Whatever the bytes are, a source opens or is refused; nothing else is ever raised."""

import contextlib
import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.matrices import WEIGHTS
from geometry.models.sources.opening import open_model
from tests.hostile_pickles import HOSTILE, beside_a_tensor, torch_file
from tests.small_models import write_raw


def opens_or_refuses(path: Path) -> None:
    try:
        model = open_model(path)
    except HelixscopeError:
        return
    assert np.isfinite(model.W_pos).all()
    assert len(model.fingerprint) == 32
    assert set(model.missing) <= {"W_E", *WEIGHTS}
    assert all(isinstance(note, str) for note in model.warnings)
    assert model.d_vocab is None or model.d_vocab >= 0
    for layer in (0, 1):
        for name in WEIGHTS:
            with contextlib.suppress(HelixscopeError):
                assert model.weight(name, layer).ndim == 2
    with contextlib.suppress(HelixscopeError):
        assert model.W_E.ndim == 2


FUZZ = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "F16", "BF16", "I64", "F4", ""]) | JSON,
        "shape": st.lists(st.integers(-1, 9), max_size=3) | JSON,
        "data_offsets": st.lists(st.integers(-1, 140), min_size=2, max_size=2) | JSON,
    },
)


@FUZZ
@given(content=st.binary(max_size=200))
def test_any_bytes(content, tmp_path):
    for name in (
        "model.safetensors",
        "model.bin",
        "t.npy",
        "t.npz",
        "model.safetensors.index.json",
    ):
        (tmp_path / name).write_bytes(content)
        opens_or_refuses(tmp_path / name)


@FUZZ
@given(
    header=st.dictionaries(st.sampled_from(["wpe.weight", "a", "__metadata__"]), ENTRY | JSON),
    data=st.integers(0, 200),
)
def test_any_header(header, data, tmp_path):
    opens_or_refuses(write_raw(tmp_path / "model.safetensors", header, bytes(data)))


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> dict[str, bytes]:
    """One good file of every kind."""
    folder, table = tmp_path_factory.mktemp("good"), np.ones((8, 4), np.float32)
    torch.save({"wpe.weight": torch.from_numpy(table)}, folder / "a.bin")
    beside = {"args": Namespace(lr=0.1), "best": np.float64(0.5), "seen": {1}, "config": {"n": [1]}}
    torch.save({"model": {"wpe.weight": torch.from_numpy(table)}, **beside}, folder / "f.pt")
    save_file({"wpe.weight": table}, folder / "b.safetensors")
    np.save(folder / "c.npy", table)
    np.savez(folder / "d.npz", table=table)
    np.savez_compressed(folder / "e.npz", table=table)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@FUZZ
@given(
    config=st.dictionaries(
        st.sampled_from(
            ["model_type", "n_embd", "n_positions", "n_layer", "pad_token_id", "alibi", "d_model",
             "max_position_embeddings", "text_config", "attn_config", "decoder"]
        ),
        st.sampled_from(["gpt2", "roberta", "marian", "clip", "llama", "encoder-decoder"]) | JSON,
    )
)  # fmt: skip
def test_any_configuration(config, tmp_path):
    names = ("wpe.weight", "h.0.attn.c_attn.weight", "model.shared.weight",
             "model.decoder.layers.0.self_attn.q_proj.weight")  # fmt: skip
    tensors = {name: np.ones((8, 4), np.float32) for name in names}
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    opens_or_refuses(tmp_path)


@FUZZ
@given(
    values=st.lists(st.sampled_from(tuple(HOSTILE.values())), min_size=1, max_size=3),
    noise=st.binary(max_size=8),
    place=st.integers(0, 500),
)
def test_any_pickle(values, noise, place, tmp_path):
    pickled = beside_a_tensor(b"0".join(values))
    (tmp_path / "a.pt").write_bytes(torch_file(pickled[:place] + noise + pickled[place:]))
    opens_or_refuses(tmp_path / "a.pt")


@FUZZ
@given(place=st.integers(0, 2000), value=st.integers(0, 255))
def test_any_changed_byte(place, value, originals, tmp_path):
    for name, original in originals.items():
        content = bytearray(original)
        content[place % len(content)] = value
        (tmp_path / name).write_bytes(content)
        opens_or_refuses(tmp_path / name)
