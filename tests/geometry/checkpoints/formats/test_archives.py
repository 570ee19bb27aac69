"""Checkpoints in archives, which are read where they are."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.formats.archives import MAX_MEMBERS
from geometry.models.sources.opening import open_model

D = 16
RANDOM = np.random.default_rng(3)
CONFIG = {"model_type": "gpt2", "n_head": 4, "n_embd": D, "n_layer": 1}


def random(*shape):
    return torch.from_numpy(RANDOM.standard_normal(shape).astype(np.float32))


WEIGHTS = {
    "wte.weight": random(30, D), "wpe.weight": random(20, D), "ln_f.weight": random(D),
    "h.0.ln_1.weight": random(D), "h.0.attn.c_attn.weight": random(D, 3 * D),
}  # fmt: skip
MEGATRON = {
    f"model.language_model.{name}": tensor
    for name, tensor in {
        "embedding.word_embeddings.weight": random(30, D),
        "embedding.position_embeddings.weight": random(20, D),
        "encoder.layers.0.input_layernorm.weight": random(D),
        "encoder.layers.0.self_attention.query_key_value.weight": random(3 * D, D),
    }.items()
}


def saved(folder, kind):
    folder.mkdir(parents=True)
    if kind == "NeMo":
        torch.save(MEGATRON, folder / "model_weights.ckpt")
        (folder / "model_config.yaml").write_text("num_layers: 1\nnum_attention_heads: 4\n")
        return
    (folder / "config.json").write_text(json.dumps(CONFIG))
    if kind == "torch":
        torch.save(WEIGHTS, folder / "pytorch_model.bin")
    elif kind == "legacy":
        path = folder / "pytorch_model.bin"
        torch.save(WEIGHTS, path, _use_new_zipfile_serialization=False)
    elif kind == "shards":
        for name, tensor in WEIGHTS.items():
            save_file({name: tensor}, folder / f"{name}.safetensors")
        places = {name: f"{name}.safetensors" for name in WEIGHTS}
        index = folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": places}))
    else:
        save_file(WEIGHTS, folder / "model.safetensors")


def archived(folder, path, under):
    files = sorted(folder.iterdir())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/._model.safetensors", b"attributes")
            for file in files:
                archive.write(file, under + file.name)
    else:
        form = tarfile.PAX_FORMAT if "pax" in path.name else tarfile.GNU_FORMAT
        with tarfile.open(path, "w", format=form) as archive:
            archive.add(folder, under, recursive=False)
            for file in files:
                archive.add(file, under + file.name)


@pytest.mark.parametrize("name", ["a.tar", "pax.tar", "a.zip", "a.nemo"])
@pytest.mark.parametrize("under", ["./", "run/", f"{'x' * 90}/{'y' * 90}/"], ids=len)
@pytest.mark.parametrize("kind", ["torch", "legacy", "safetensors", "shards", "NeMo"])
def test_a_checkpoint_in_an_archive_is_that_in_its_folder(tmp_path, name, under, kind):
    saved(tmp_path / "files", kind)
    archived(
        tmp_path / "files", tmp_path / name, under.removeprefix("./") if "z" in name else under
    )
    folder, inside = open_model(tmp_path / "files"), open_model(tmp_path / name)
    assert (inside.family, inside.n_heads) == (folder.family, 4)
    np.testing.assert_array_equal(inside.W_pos, folder.W_pos)
    np.testing.assert_array_equal(inside.W_E, folder.W_E)
    np.testing.assert_array_equal(inside.weight("W_K"), folder.weight("W_K"))


def in_tar(path, *members, records=None):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.pax_headers = len(content), records or {}
            archive.addfile(entry, io.BytesIO(content))


def of_state_dict():
    stream = io.BytesIO()
    torch.save(WEIGHTS, stream)
    return stream.getvalue()


def test_a_size_in_a_pax_header_comes_first(tmp_path):
    """So are those of 8 GB and more written, for which the header's digits do not suffice."""
    content = of_state_dict()
    in_tar(tmp_path / "a.tar", ("model.pt", content), records={"size": str(len(content))})
    written = bytearray((tmp_path / "a.tar").read_bytes())
    place = written.rindex(b"ustar") - 257
    assert written[place : place + 8] == b"model.pt"
    written[place + 124 : place + 135] = b"0" * 11
    (tmp_path / "a.tar").write_bytes(written)
    store = open_store(tmp_path / "a.tar")
    np.testing.assert_array_equal(store.read("wpe.weight"), WEIGHTS["wpe.weight"])


def zipped(path, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("model.pt", of_state_dict())
    return bytearray(path.read_bytes())


def broken(path, kind):
    if kind == "compressed":
        zipped(path, zipfile.ZIP_DEFLATED)
    elif kind == "encrypted":
        content = zipped(path)
        content[6] |= 1
        content[content.rindex(b"PK\1\2") + 8] |= 1
        path.write_bytes(content)
    elif kind == "truncated":
        in_tar(path, ("model.pt", of_state_dict()))
        path.write_bytes(path.read_bytes()[:5000])
    elif kind == "two folders":
        in_tar(path, ("rank_0/model.pt", of_state_dict()), ("rank_1/model.pt", of_state_dict()))
    elif kind == "no weights":
        in_tar(path, ("notes.md", b"x"))
    elif kind == "without end":
        in_tar(path, *(("x", b"") for _ in range(MAX_MEMBERS)))
    elif kind == "other kind":
        in_tar(path, ("model.onnx", b"x"))
    else:
        in_tar(path, ("model.pt", of_state_dict()))
        content = bytearray(path.read_bytes())
        content[124:136] = {"digits": b"9" * 12, "negative": b"\xff" * 12}[kind]
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("compressed", "compressed archive"),
        ("encrypted", "encrypted"),
        ("truncated", "truncated"),
        ("two folders", "rank_0, rank_1"),
        ("no weights", "notes.md"),
        ("without end", "more than"),
        ("other kind", "model.onnx"),
        ("digits", "damaged"),
        ("negative", "damaged"),
    ],
)
def test_an_archive_that_cannot_be_read_says_why(tmp_path, kind, words):
    path = tmp_path / ("a.zip" if kind in ("compressed", "encrypted") else "a.tar")
    broken(path, kind)
    with pytest.raises(SourceError, match=words) as raised:
        open_store(path)
    assert raised.value.advice
