"""Files that change while they are open: nothing is read from a version that was not opened."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.files import open_store
from geometry.checkpoints.stores import LocalFile
from geometry.models.sources.opening import open_model
from tests.stand_ins import write_stand_in

CONFIG = {"model_type": "gpt2", "n_positions": 8, "n_embd": 4, "vocab_size": 6, "n_layer": 0}
ADVICE = "Open it again."


def tensors_of(version: float) -> dict[str, np.ndarray]:
    shapes = {"wpe.weight": (8, 4), "wte.weight": (6, 4)}
    return {
        name: np.full(shape, version, np.float32)
        + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for name, shape in shapes.items()
    }


def write_safetensors_file(folder: Path, version: float, note: str = "") -> Path:
    path = folder / "model.safetensors"
    save_file(tensors_of(version), path, metadata={"format": "pt", "note": note})
    return path


def write_torch_file(folder: Path, version: float, note: str = "") -> Path:
    path = folder / "pytorch_model.bin"
    values = {name: torch.from_numpy(value) for name, value in tensors_of(version).items()}
    torch.save(values | ({note: torch.ones(1)} if note else {}), path)
    return path


def write_npz(folder: Path, version: float, note: str = "", save: Any = np.savez) -> Path:
    path = folder / "tables.npz"
    save(path, **tensors_of(version), **({note: np.ones(1)} if note else {}))
    return path


write_compressed_npz = partial(write_npz, save=np.savez_compressed)


def write_npy(folder: Path, version: float, note: str = "") -> Path:
    path = folder / "wte.weight.npy"
    values = tensors_of(version)["wte.weight"]
    np.save(path, np.vstack([values, values]) if note else values)
    return path


def write_shards(folder: Path, version: float, note: str = "") -> Path:
    places = {}
    for number, (name, value) in enumerate(tensors_of(version).items()):
        places[name] = f"model-{number}.safetensors"
        save_file({name: value}, folder / places[name], metadata={"format": "pt", "note": note})
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": places, "note": note}))
    return path


def write_torch_shards(folder: Path, version: float, note: str = "") -> Path:
    places = {}
    for number, (name, value) in enumerate(tensors_of(version).items()):
        places[name] = f"pytorch_model-{number}.bin"
        extra = {note: torch.ones(1)} if note else {}
        torch.save({name: torch.from_numpy(value)} | extra, folder / places[name])
    path = folder / "pytorch_model.bin.index.json"
    path.write_text(json.dumps({"weight_map": places, "note": note}))
    return path


WRITERS = [
    write_safetensors_file, write_torch_file, write_npy, write_npz, write_compressed_npz,
    write_shards, write_torch_shards,
]  # fmt: skip


def rewrite(path: Path, content: bytes) -> None:
    """Rewrite a file in place, at a later time even where the clock is coarse."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def replace(path: Path, content: bytes) -> None:
    """Replace a file by another one, as programs do that write whole files."""
    part = path.with_name("new.part")
    part.write_bytes(content)
    part.replace(path)


def replace_with_its_time(path: Path, content: bytes) -> None:
    """Replace a file as rsync does: size and time are those of the file before."""
    before = path.stat()
    replace(path, content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path, content: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def copies(folder: Path, write: Callable[..., Path], version: float, note: str) -> list[bytes]:
    """Write another version elsewhere; the content of its files, in the order of their names."""
    folder.mkdir(exist_ok=True)
    write(folder, version, note)
    return [path.read_bytes() for path in sorted(folder.iterdir())]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


@pytest.fixture
def disturb(monkeypatch) -> Callable[..., None]:
    """Do something before or after each call of a function that reads."""

    def patch(owner, name, act, when="before"):
        real = getattr(owner, name)

        def disturbed(*args, **options):
            if when == "before":
                act(*args)
            found = real(*args, **options)
            if when == "after":
                act(*args)
            return found

        monkeypatch.setattr(owner, name, disturbed)

    return patch


@pytest.mark.parametrize("note", ["", "longer" * 20], ids=["same header", "grown header"])
@pytest.mark.parametrize("change", [rewrite, replace, replace_with_its_time, truncate])
@pytest.mark.parametrize("write", WRITERS)
def test_nothing_is_read_from_another_version(write, change, note, folder, tmp_path):
    path = write(folder, 0)
    store = open_store(path)
    np.testing.assert_array_equal(store.read("wte.weight"), tensors_of(0)["wte.weight"])
    new = copies(tmp_path / "other", write, 1, note)
    for file, content in zip(sorted(folder.iterdir()), new, strict=True):
        change(file, content)
    read = store.bytes_read
    for name in store.tensors:
        with pytest.raises(FileChanged) as caught:
            store.read(name)
        assert str(caught.value).endswith(" has changed since it was opened.")
        assert caught.value.advice == ADVICE
    assert store.bytes_read == read
    with pytest.raises(FileChanged):
        store.check_files()


@pytest.mark.parametrize("write", [write_shards, write_torch_shards])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_file_of_several_that_changes_stops_all(write, which, folder, tmp_path):
    store = open_store(write(folder, 0))
    new = copies(tmp_path / "other", write, 1, "")
    file = sorted(folder.iterdir())[which]
    rewrite(file, new[which])
    for name in store.tensors:
        with pytest.raises(FileChanged, match=f"^{file.name} has changed"):
            store.read(name)


@pytest.mark.parametrize("write", [w for w in WRITERS if w is not write_npy])
def test_a_model_does_not_mix_positions_and_tokens_of_two_versions(write, folder, tmp_path):
    (folder / "config.json").write_text(json.dumps(CONFIG))
    path = write(folder, 0)
    model = open_model(path, table="wpe.weight" if path.suffix == ".npz" else None)
    new = copies(tmp_path / "other", write, 1, "")
    for file, content in zip(sorted(set(folder.iterdir()) - {folder / "config.json"}), new,
                             strict=True):  # fmt: skip
        replace(file, content)
    np.testing.assert_array_equal(model.W_pos, tensors_of(0)["wpe.weight"])
    if path.suffix != ".npz":  # a bare table has no tokens
        with pytest.raises(FileChanged):
            _ = model.W_E
    with pytest.raises(FileChanged):
        model.store.read("wte.weight")
    with pytest.raises(FileChanged):
        model.check_files()


def test_what_was_put_back_is_what_was_opened(folder):
    path = write_safetensors_file(folder, 0)
    store = open_store(path)
    path.rename(folder / "aside")
    write_safetensors_file(folder, 1)
    with pytest.raises(FileChanged):
        store.read("wte.weight")
    (folder / "aside").replace(path)
    store.check_files()
    np.testing.assert_array_equal(store.read("wte.weight"), tensors_of(0)["wte.weight"])


def test_a_link_to_another_file_is_another_file(folder):
    """The Hub's cache holds links to files that are named by their content."""
    (folder / "blobs").mkdir()
    for version in (0, 1):
        path = write_safetensors_file(folder, version)
        path.rename(folder / "blobs" / str(version))
    path.symlink_to(folder / "blobs" / "0")
    store = open_store(path)
    assert store.read("wte.weight")[0, 0] == 0
    path.unlink()
    path.symlink_to(folder / "blobs" / "1")
    with pytest.raises(FileChanged):
        store.read("wte.weight")


@pytest.mark.parametrize(
    ("write", "reader"),
    [
        (write_safetensors_file, "fromfile"),
        (write_torch_file, "fromfile"),
        (write_npy, "fromfile"),
        (write_npz, "frombuffer"),
        (write_compressed_npz, "frombuffer"),
        (write_shards, "fromfile"),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_file_rewritten_during_a_read(write, reader, when, folder, tmp_path, disturb):
    store = open_store(write(folder, 0))
    new = copies(tmp_path / "other", write, 1, "")

    def rewrite_all(*_):
        for file, content in zip(sorted(folder.iterdir()), new, strict=True):
            rewrite(file, content)

    disturb(np, reader, rewrite_all, when)
    with pytest.raises(FileChanged):
        store.read("wte.weight")


def test_a_file_replaced_during_a_read_is_read_as_it_was(folder, disturb):
    path = write_safetensors_file(folder, 0)
    store = open_store(path)
    disturb(np, "fromfile", lambda *_: replace(path, b""))
    np.testing.assert_array_equal(store.read("wte.weight"), tensors_of(0)["wte.weight"])
    with pytest.raises(FileChanged):
        store.read("wte.weight")


@pytest.mark.parametrize("write", [write_safetensors_file, write_torch_file, write_shards])
def test_model_replaced_while_opened_is_read_again(write, folder, tmp_path, disturb):
    (folder / "config.json").write_text(json.dumps(CONFIG))
    write(folder, 0)
    new, left = copies(tmp_path / "other", write, 1, ""), [True]

    def replace_once(*_):
        if left and left.pop():
            files = sorted(set(folder.iterdir()) - {folder / "config.json"})
            for each, content in zip(files, new, strict=True):
                replace(each, content)

    disturb(LocalFile, "read_at", replace_once, "after")
    model = open_model(folder)
    np.testing.assert_array_equal(model.W_pos, tensors_of(1)["wpe.weight"])
    np.testing.assert_array_equal(model.W_E, tensors_of(1)["wte.weight"])


def test_a_model_that_changes_all_the_time_is_refused(folder, disturb):
    path = write_safetensors_file(folder, 0)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    content = path.read_bytes()
    disturb(LocalFile, "read_at", lambda *_: replace(path, content))
    with pytest.raises(FileChanged, match=r"model\.safetensors has changed"):
        open_model(folder)


def test_configuration_belongs_to_its_weights(folder, disturb):
    path = write_safetensors_file(folder, 0)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    left = [True]

    def replace_once(file, *_):
        if file.path == path and left and left.pop():
            replace(folder / "config.json", json.dumps(CONFIG | {"vocab_size": 7}).encode())

    disturb(LocalFile, "read_at", replace_once)
    model = open_model(folder)
    model.check_files()


def test_json_read_while_it_is_written_is_refused(tmp_path, disturb):
    path = tmp_path / "config.json"
    path.write_text('{"a": 1}')
    disturb(np, "fromfile", lambda *_: rewrite(path, b'{"a": 2}'))
    with pytest.raises(FileChanged, match=r"^config\.json has changed"):
        read_json(path)


@pytest.fixture
def with_tokenizer(tmp_path) -> Path:
    return write_stand_in(tmp_path / "files", "openai-community/gpt2")["config.json"].parent


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json"])
def test_a_tokenizer_of_another_version_is_not_used(name, with_tokenizer):
    model = open_model(with_tokenizer)
    path = with_tokenizer / name
    replace(path, path.read_bytes())
    with pytest.raises(FileChanged, match=f"^{name} has changed"):
        model.tokenize("Hello")
    with pytest.raises(FileChanged):
        model.check_files()


def test_a_tokenizer_that_was_removed_is_not_replaced_by_another(with_tokenizer):
    model = open_model(with_tokenizer)
    (with_tokenizer / "tokenizer.json").unlink()
    (with_tokenizer / "vocab.txt").write_text("Hello\n")
    with pytest.raises(FileChanged, match=r"^tokenizer\.json has changed"):
        model.tokenize("Hello")


def test_a_tokenizer_that_was_read_is_used_on(with_tokenizer):
    model = open_model(with_tokenizer)
    before = model.tokenize("Hello my name").ids
    (with_tokenizer / "tokenizer_config.json").write_text('{"bos_token": "my"}')
    path = with_tokenizer / "tokenizer.json"
    replace(path, path.read_bytes())
    assert model.tokenize("Hello my name").ids == before


def test_a_tokenizer_that_was_missing_may_be_added(with_tokenizer, tmp_path):
    path = with_tokenizer / "tokenizer.json"
    shutil.move(path, tmp_path / "aside")
    model = open_model(with_tokenizer)
    shutil.move(tmp_path / "aside", path)
    assert model.tokenize("Hello").ids


def test_a_file_that_is_gone_is_missing_and_not_another(folder):
    path = write_safetensors_file(folder, 0)
    store, file = open_store(path), LocalFile(path)
    path.unlink()
    file.check()
    with pytest.raises(SourceError, match="does not exist") as caught:
        store.read("wte.weight")
    assert not isinstance(caught.value, FileChanged)


def test_a_read_asks_about_the_file_only_a_few_times(folder, monkeypatch):
    """The check costs microseconds, whatever is read."""
    store = open_store(write_safetensors_file(folder, 0))
    real, asked = os.stat, []

    def counted(*args, **options):
        asked.append(args)
        return real(*args, **options)

    monkeypatch.setattr(os, "stat", counted)
    store.read("wte.weight")
    assert len(asked) <= 3
