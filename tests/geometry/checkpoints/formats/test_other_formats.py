"""Files that are not opened: each is described by what it is, whatever its name."""

import pickle
import sys
import types
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store
from geometry.models.sources.opening import open_model

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("ggml-tiny.bin", b"lmgg" + bytes(900), "GGML"),
        ("llama.bin", b"tjgg\3\0\0\0" + bytes(900), "GGML"),
        ("a.tflite", b"\x1c\0\0\0TFL3" + bytes(900), "TensorFlow Lite"),
        ("a.engine", b"ftrt" + bytes(900), "TensorRT"),
        ("a.plan", bytes(900), "TensorRT"),
        ("model.bin", b"\6\0\0\0\x10\0TransformerSpec\0\7\0\0\0", "CTranslate2"),
        ("cc.en.300.bin", b"\xba\x16\x4f\x2f\x0c\0\0\0" + bytes(900), "fastText"),
        ("vectors.bin", b"3 2\nthe \1\2\3\4", "word2vec"),
        ("a.llamafile", b"MZqFpD='\n" + bytes(900), "GGUF"),
        ("a.mlmodel", b"\x08\4\x12\x20" + bytes(900), "Core ML"),
        ("saved_model.pb", b"\x08\1\x12\x20" + bytes(900), "TensorFlow"),
        ("model.ckpt.meta", b"\x0a\x9f\5" + bytes(900), "TensorFlow"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(900), "7z x a.7z"),
        ("a.pt.gz", b"\x1f\x8b\x08" + bytes(900), "gunzip a.pt.gz"),
        ("a.tgz", b"\x1f\x8b\x08" + bytes(900), "tar xf a.tgz"),
        ("a.pkl", b"\x1f\x8b\x08" + bytes(900), "gzip"),
        ("a.onnx", LFS, "git lfs pull"),
        ("a.ckpt.index", LFS, "git lfs pull"),
        ("a.msgpack", LFS, "git lfs pull"),
        ("a.bin", b"\r\n  <!DOCTYPE html>" + bytes(900), "web page"),
        ("a.safetensors", b"Entry not found", "Entry not found"),
        ("a.bin", b'{"error": "Repository not found"}', "Repository not found"),
        ("checkpoint", b'model_checkpoint_path: "model.ckpt"\n', "model.ckpt"),
        ("a.pt", b"\x89PNG\r\n\x1a\n" + bytes(900), "picture"),
    ],
)  # fmt: skip
def test_what_a_file_is(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as raised:
        open_store(tmp_path / name)
    assert words in f"{raised.value} {raised.value.advice}"
    assert raised.value.advice


def test_a_program_of_torch_export(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt2", "w") as archive:
        archive.writestr("a/archive_format", b"pt2")
        archive.writestr("a/data/sample_inputs/model.pt", b"")
    with pytest.raises(SourceError, match=r"torch\.export"):
        open_store(tmp_path / "a.pt2")


def test_a_file_without_tensors(tmp_path):
    save_file({}, tmp_path / "a.safetensors", metadata={"format": "pt"})
    with pytest.raises(SourceError, match="no tensors"):
        open_model(tmp_path / "a.safetensors")


def test_names_of_rust_have_dots(tmp_path):
    """As of tch's VarStore: a module of TorchScript whose parameters have "|" in their names."""
    module = torch._C.ScriptModule("M", torch._C.CompilationUnit(), True)
    for name in ("wpe|weight", "h|0|ln_1|weight"):
        module._register_attribute(name, torch._C.TensorType.get(), torch.ones(20, 8))
    module.save(str(tmp_path / "rust_model.ot"))
    assert list(open_store(tmp_path / "rust_model.ot").tensors) == ["wpe.weight", "h.0.ln_1.weight"]


def test_vectors_of_fasttext_as_text(tmp_path):
    rows = np.arange(12.0).reshape(3, 4)
    lines = [f"w{n} {' '.join(map(str, row))}\n" for n, row in enumerate(rows)]
    (tmp_path / "a.vec").write_text("".join(["3 4\n", *lines]))
    np.testing.assert_array_equal(open_model(tmp_path / "a.vec").W_pos, rows)


def test_attributes_of_a_pickled_object(tmp_path):
    """As of gensim's KeyedVectors: the state of an object, whose class is not needed."""
    rows = np.arange(12.0).reshape(3, 4)
    module = types.ModuleType("gensim.models.keyedvectors")
    module.KeyedVectors = type("KeyedVectors", (), {"__module__": module.__name__})
    vectors = module.KeyedVectors()
    vectors.vectors, vectors.index_to_key = rows, ["a", "b", "c"]
    parents = {name: types.ModuleType(name) for name in ("gensim", "gensim.models")}
    with pytest.MonkeyPatch.context() as patch:
        for name, made in (parents | {module.__name__: module}).items():
            patch.setitem(sys.modules, name, made)
        (tmp_path / "a.kv").write_bytes(pickle.dumps(vectors))
        model = module.KeyedVectors()
        model.wv, model.syn1neg = vectors, rows + 1
        (tmp_path / "a.model").write_bytes(pickle.dumps(model))
    np.testing.assert_array_equal(open_model(tmp_path / "a.kv").W_pos, rows)
    with pytest.raises(SourceError, match="gensim"):  # and not other matrices of its
        open_model(tmp_path / "a.model")


def test_a_long_table_names_the_way_to_a_shorter_one(tmp_path, monkeypatch):
    monkeypatch.setattr("geometry.checkpoints.column_files.MAX_FILE", 20)
    (tmp_path / "glove.txt").write_text("the 1 2 3\n" * 9)
    with pytest.raises(SourceError) as raised:
        open_model(tmp_path / "glove.txt")
    assert "head -n" in raised.value.advice


@pytest.mark.parametrize(
    "names",
    [
        ["emb.weight", "blocks.0.att.time_decay", "blocks.0.att.key.weight"],
        ["blocks.0.att.time_maa_k"],
        ["backbone.embedding.weight", "backbone.layers.0.mixer.A_log"],
    ],
)
def test_recurrent_networks_are_named(tmp_path, names):
    torch.save({name: torch.ones(8, 4) for name in names}, tmp_path / "a.pth")
    with pytest.raises(SourceError, match="recurrent"):
        open_model(tmp_path / "a.pth")
