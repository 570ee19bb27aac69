"""What somebody else put into the cache, or damaged, is removed and fetched again, never fatal."""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from geometry.hub import entries
from geometry.hub.keeping import wait_until_kept
from geometry.hub.kept_index import VERSION
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.opening import open_model
from tests.geometry.hub_kinds import NAME, write_model
from tests.geometry.hub_opening import network_of, serve


def _place(cache: TensorCache) -> Path:
    """The file of one entry that has just been written."""
    cache.put("a/b", "c" * 40, "tensor/x", b"1234")
    return next(cache.root.rglob("*.part"))


def _sparse(path: Path) -> None:
    """A terabyte of nothing, which ends like an entry."""
    end = path.read_bytes()[4:]
    key = len(end) - entries._TRAILER.size
    digest, key_length, _, magic = entries._TRAILER.unpack(end[key:])
    with path.open("r+b") as file:
        file.seek(10**12)
        file.write(end[:key] + entries._TRAILER.pack(digest, key_length, 10**12, magic))


ODD = {
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "folder": lambda path: (path.unlink(), path.mkdir(), (path / "x").write_bytes(b"x")),
    "device": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "loop": lambda path: (path.unlink(), path.symlink_to(path)),
    "sparse": _sparse,
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("odd", ODD)
def test_something_else_in_place_of_an_entry_is_removed(tmp_path, odd):
    cache = TensorCache(tmp_path / "cache")
    path = _place(cache)
    ODD[odd](path)
    cache.commits()
    assert cache.get("a/b", "c" * 40, "tensor/x") is None
    assert not os.path.lexists(path)
    cache.put("a/b", "c" * 40, "tensor/x", b"5678")
    assert cache.get("a/b", "c" * 40, "tensor/x").tobytes() == b"5678"


@pytest.mark.parametrize(
    "key", [b"3", b"{}", b'["a"]', b'["a", "b", 3]', b"[" * 100_000, b'"abc"', b"[1,2,3]"]
)
def test_a_key_that_is_no_list_of_three(tmp_path, key):
    cache = TensorCache(tmp_path / "cache")
    path = _place(cache)
    digest = hashlib.sha256(b"1234" + key).digest()
    path.write_bytes(b"1234" + key + entries._TRAILER.pack(digest, len(key), 4, entries._MAGIC))
    assert entries.read_key(path) is None
    assert cache.commits() == ()
    assert cache.get("a/b", "c" * 40, "tensor/x") is None
    assert not path.exists()


def test_a_remembered_commit_that_is_no_text(tmp_path):
    cache = TensorCache(tmp_path / "cache")
    cache.remember("a/b", "main", "c" * 40)
    path = next(cache.root.rglob("main-*"))
    entries.write_entry(path, entries.Key("a/b", "", "main"), b"\xff\xfe", tmp_path / "incoming")
    assert cache.commit_of("a/b", "main") is None


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"size": -1, "etag": "", "tensors": {}}', b'{"size": 1e999, "etag": 3}',
     b'{"size": 9, "etag": "", "tensors": {"a": []}}', b"[" * 100_000,
     b'{"size": 9, "etag": "", "tensors": {}}',
     b'{"size": 9, "etag": "", "tensors": {"a": ["F32", ["x"], 4, 0, null, false, null]}}',
     b'{"size": 9, "etag": "", "tensors": {"a": ["F32", [1], 4, 1e99, null, false, null]}}'],
)  # fmt: skip
def test_a_kept_index_that_is_none_is_fetched_again(loopback_hub, tmp_path, content):
    write_model(tmp_path / "files", "safetensors")
    commit = serve(loopback_hub, tmp_path / "files", NAME)
    table = open_model(NAME, network=network_of(loopback_hub, tmp_path / "cache")).W_pos
    wait_until_kept(tmp_path / "cache")
    cache = TensorCache(tmp_path / "cache")
    cache.put(NAME, commit, f"index {VERSION}/model.safetensors", content, core=True)
    again = open_model(NAME, network=network_of(loopback_hub, tmp_path / "cache"))
    np.testing.assert_array_equal(again.W_pos, table)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes")
@pytest.mark.parametrize("odd", [name for name in ODD if name not in ("sparse", "loop")])
def test_something_else_in_place_of_a_tokenizer_is_fetched_again(stand_in, opened, cache, odd):
    stand_in("openai-community/gpt2")
    model = opened("openai-community/gpt2")
    ids = model.token_ids("a prompt")
    wait_until_kept(cache)
    ODD[odd](next(cache.rglob("files/tokenizer.json")))
    assert opened("openai-community/gpt2").token_ids("a prompt") == ids


def test_a_list_of_a_tokenizers_files_that_is_none(stand_in, opened, cache):
    commit, _ = stand_in("openai-community/gpt2")
    ids = opened("openai-community/gpt2").token_ids("a prompt")
    wait_until_kept(cache)
    for content in (b"[]", b"{", b"[" * 100_000, b'{"../../x": "y"}', b'{"tokenizer.json": 3}'):
        TensorCache(cache).put("openai-community/gpt2", commit, "tokenizer", content)
        assert opened("openai-community/gpt2").token_ids("a prompt") == ids
        wait_until_kept(cache)
