"""What was fetched is removed when it is told to, and when there is no room for it."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.hub.tensor_cache import TensorCache
from tests.geometry.cache_entries import COMMIT, OTHER, REPO, data_of, files, slow


@pytest.fixture
def cache(tmp_path) -> TensorCache:
    return TensorCache(tmp_path / "cache")


# ---- removing ----------------------------------------------------------------------------


def fill(cache, repo, commit=COMMIT, revision="main"):
    cache.put(repo, commit, "index", bytes(100), core=True)
    cache.put(repo, commit, "wte", bytes(1000))
    (cache.folder(repo, commit) / "sub").mkdir()
    (cache.folder(repo, commit) / "sub" / "tokenizer.json").write_bytes(bytes(500))
    cache.remember(repo, revision, commit)


def test_all_is_cleared(cache):
    for repo in ("a", "b"):
        fill(cache, repo)
    used = cache.usage()
    assert cache.clear() == used > 3000
    assert (cache.usage(), cache.commits(), files(cache)) == (0, (), [])
    assert [p.name for p in cache.root.iterdir()] == ["incoming"]


def test_a_model_is_cleared_with_all_its_commits(cache):
    fill(cache, "a")
    fill(cache, "a", OTHER, "old")
    before = cache.usage()
    fill(cache, "b")
    assert cache.clear("a") == before
    assert [c.repo for c in cache.commits()] == ["b"]
    assert cache.commit_of("a", "main") is None
    assert cache.commit_of("b", "main") == COMMIT
    assert cache.clear("a") == 0


def test_one_commit_is_removed_with_the_revisions_that_meant_it(cache):
    fill(cache, "a")
    fill(cache, "a", OTHER, "old")
    used = cache.usage()
    freed = cache.remove("a", COMMIT)
    assert freed == used - cache.usage() > 1600
    assert [c.commit for c in cache.commits()] == [OTHER]
    assert cache.commit_of("a", "main") is None
    assert cache.commit_of("a", "old") == OTHER
    cache.remove("a", OTHER)
    assert files(cache) == []
    assert cache.remove("a", OTHER) == 0


def test_files_on_disk_go_with_their_commit(cache):
    folder = cache.folder(REPO, COMMIT)
    assert folder == cache.folder(REPO, COMMIT)
    assert folder.is_dir()
    assert folder != cache.folder(REPO, OTHER)
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    (folder / "link.json").symlink_to(folder / "tokenizer.json")
    assert {(c.repo, c.commit) for c in cache.commits()} == {(REPO, COMMIT), (REPO, OTHER)}
    cache.clear()
    assert not folder.exists()


def test_a_link_out_of_the_cache_is_not_followed(cache, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work", "utf-8")
    (cache.folder(REPO, COMMIT) / "link").symlink_to(mine)
    (cache.folder(REPO, COMMIT) / "thesis").symlink_to(mine / "thesis.txt")
    cache.max_bytes = 0
    cache.trim()
    assert not cache.folder(REPO, COMMIT).joinpath("thesis").exists()
    assert (mine / "thesis.txt").is_file()


# ---- the bound -----------------------------------------------------------------------------


def test_the_longest_unused_goes_first(tmp_path):
    cache = TensorCache(tmp_path, 4000)
    for name in ("a", "b", "c"):
        cache.put(name, COMMIT, "wpe", bytes(1000), core=True)
    cache.get("a", COMMIT, "wpe")
    cache.put("d", COMMIT, "wpe", bytes(1000), core=True)
    assert [c.repo for c in cache.commits()] == ["d", "a", "c"]
    cache.put("e", COMMIT, "wpe", bytes(1000), core=True)
    assert [c.repo for c in cache.commits()] == ["e", "d", "a"]


def test_a_commit_goes_as_a_whole_and_is_forgotten(tmp_path):
    cache = TensorCache(tmp_path, 5000)
    for name in ("a", "b"):
        cache.put(name, COMMIT, "index", bytes(100), core=True)
        cache.put(name, COMMIT, "config.json", bytes(100), core=True)
        cache.put(name, COMMIT, "wpe", bytes(1000), core=True)
        (cache.folder(name, COMMIT) / "tokenizer.json").write_bytes(bytes(300))
        cache.remember(name, "main", COMMIT)
    cache.get("b", COMMIT, "index")  # one piece in use is the whole in use
    cache.get("a", COMMIT, "wpe")
    cache.put("c", COMMIT, "wpe", bytes(2000), core=True)
    assert [c.repo for c in cache.commits()] == ["c", "a"]
    assert cache.commit_of("b", "main") is None
    assert all(cache.has("a", COMMIT, name) for name in ("index", "config.json", "wpe"))
    assert len([p for p in tmp_path.iterdir() if p.name != "incoming"]) == 2


def test_single_tensors_go_before_whole_models(tmp_path):
    cache = TensorCache(tmp_path, 6600)
    for repo in ("a", "b"):
        cache.put(repo, COMMIT, "wpe", bytes(500), core=True)
    for name in ("wte", "w_q", "w_k"):
        cache.put("b", COMMIT, name, bytes(1000))
    cache.put("a", COMMIT, "wte", bytes(1000))
    cache.get("b", COMMIT, "wte")
    cache.put("b", COMMIT, "w_v", bytes(1500))
    kept = [name for name in ("wpe", "wte", "w_q", "w_k", "w_v") if cache.has("b", COMMIT, name)]
    assert kept == ["wpe", "wte", "w_k", "w_v"]
    assert cache.has("a", COMMIT, "wpe")
    cache.put("b", COMMIT, "w_o", bytes(4500))
    kept = [name for name in ("wpe", "wte", "w_k", "w_v", "w_o") if cache.has("b", COMMIT, name)]
    assert kept == ["wpe", "w_o"]
    assert [c.repo for c in cache.commits()] == ["b", "a"]


def test_what_was_just_put_stays_even_if_it_is_nearly_all(tmp_path):
    cache = TensorCache(tmp_path, 3000)
    cache.put("a", COMMIT, "wpe", bytes(1000), core=True)
    cache.put("a", COMMIT, "index", bytes(1000), core=True)
    (cache.folder("a", COMMIT) / "tokenizer.json").write_bytes(bytes(500))
    cache.put("a", COMMIT, "wte", bytes(2800), core=True)
    assert data_of(cache, "wte", "a") == bytes(2800)
    assert cache.usage() <= 3000
    assert not cache.has("a", COMMIT, "wpe")
    assert [c.repo for c in cache.commits()] == ["a"]


def test_what_is_larger_than_the_bound_is_not_kept_and_costs_nothing_else(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    cache = TensorCache(tmp_path, 3000)
    cache.put("a", COMMIT, "wpe", bytes(1000), core=True)
    for size in (2999, 3000, 3001, 10_000):
        cache.put("b", COMMIT, "wte", bytes(size))
        assert not cache.has("b", COMMIT, "wte")
    assert cache.has("a", COMMIT, "wpe")
    assert "not kept" in caplog.text


def test_a_single_tensor_does_not_cost_what_its_own_model_opens_with(tmp_path):
    cache = TensorCache(tmp_path, 5000)
    cache.put("a", COMMIT, "wpe", bytes(2000), core=True)
    cache.put("a", COMMIT, "w_q", bytes(1500))
    cache.put("a", COMMIT, "wte", bytes(2900))
    assert cache.has("a", COMMIT, "wpe")
    assert cache.has("a", COMMIT, "w_q")
    assert not cache.has("a", COMMIT, "wte")
    cache.put("a", COMMIT, "wte", bytes(2700))
    assert [cache.has("a", COMMIT, name) for name in ("wpe", "w_q", "wte")] == [True, False, True]


def test_a_lower_bound_holds_once_trimmed(tmp_path):
    cache = TensorCache(tmp_path)
    for repo in ("a", "b", "c"):
        fill(cache, repo)
    cache.max_bytes = 2500
    cache.trim()
    assert cache.usage() <= 2500
    # The single tensors have gone first, then whole models.
    assert [c.repo for c in cache.commits()] == ["c", "b"]
    assert not any(cache.has(repo, COMMIT, "wte") for repo in "abc")
    cache.max_bytes = 0
    cache.trim()
    assert (cache.usage(), cache.commits()) == (0, ())


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 2500), st.booleans()
        ),
        max_size=25,
    )
)
@slow
def test_the_bound_holds_and_what_is_needed_is_there_whatever_is_put(tmp_path, steps):
    cache = TensorCache(tmp_path, 5000)
    cache.clear()
    cores: set[tuple[str, str]] = set()
    for repo, name, size, core in steps:
        needed = {
            other for other in cores if other[0] == repo and cache.has(repo, COMMIT, other[1])
        }
        cache.put(repo, COMMIT, name, bytes(size), core=core)
        assert cache.usage() <= 5000
        if core:
            assert data_of(cache, name, repo) == bytes(size)
            cores.add((repo, name))
        elif data_of(cache, name, repo) == bytes(size):
            cores.discard((repo, name))
            needed.discard((repo, name))
        if not core:
            assert all(cache.has(repo, COMMIT, other) for _, other in needed)
        cache.get("a", COMMIT, "x")
