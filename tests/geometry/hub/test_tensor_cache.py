"""What was fetched is kept: under any name, whole or not at all, while there is room."""

import logging
import os
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from geometry.hub.entries import file_name
from geometry.hub.tensor_cache import TensorCache
from tests.geometry.hub_asking import on_one_fixture

REPO, COMMIT = "openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"
OTHER = "0" * 40


def data_of(cache, name, repo=REPO, commit=COMMIT):
    found = cache.get(repo, commit, name)
    return None if found is None else found.tobytes()


def files(cache):
    return sorted(p for p in cache.root.rglob("*") if p.is_file())


ANY_TEXT = st.text(st.characters(), max_size=40)
AWKWARD = (
    "wpe.weight", "", ".", "..", "/", "a/b", "/etc/passwd", "../../x", "a\\b", "C:\\x", "CON",
    "con", "nul.txt", "COM1", "aux.", "a.", "a ", " a", "A", "a", "Ä", "ä", "ﬁ", "fi", "ß", "SS",
    "é", "e\u0301", "\x00", "a\nb", "a:b", "*?\"<>|", "\ud800", "💡", "x" * 5000, "ж" * 3000,
)  # fmt: skip


@pytest.fixture
def cache(tmp_path) -> TensorCache:
    return TensorCache(tmp_path / "cache")


def entry(cache, name="wpe.weight", data=bytes(range(200))):
    """Put something; return its file."""
    before = set(files(cache))
    cache.put(REPO, COMMIT, name, data)
    (path,) = set(files(cache)) - before
    return path


@given(repo=ANY_TEXT, commit=ANY_TEXT, name=ANY_TEXT, data=st.binary(max_size=300))
@on_one_fixture
def test_any_key_and_any_bytes_come_back(cache, repo, commit, name, data):
    cache.clear()
    cache.put(repo, commit, name, data)
    other = TensorCache(cache.root)
    found = other.get(repo, commit, name)
    assert found.dtype == np.uint8
    assert found.tobytes() == data
    assert other.has(repo, commit, name)
    (only,) = other.commits()
    assert (only.repo, only.commit) == (repo, commit)


def test_awkward_names_are_kept_apart(cache):
    for i, name in enumerate(AWKWARD):
        cache.put(REPO, COMMIT, name, str(i).encode())
    assert [data_of(cache, name) for name in AWKWARD] == [
        str(i).encode() for i in range(len(AWKWARD))
    ]
    assert all(cache.root in path.resolve().parents for path in files(cache))


@given(st.lists(ANY_TEXT, unique=True, max_size=20))
@example(list(AWKWARD))
def test_a_name_is_a_file_name_on_every_system(names):
    made = [file_name(name) for name in names]
    assert all(re.fullmatch(r"[0-9A-Za-z_-]{0,48}-[0-9a-f]{16}", name) for name in made)
    # Where upper and lower case are one, these are different files still.
    assert len({name.lower() for name in made}) == len(names)


def test_repos_and_commits_are_kept_apart(cache):
    keys = [(r, c) for r in ("a/b", "A/b", "a_b", "a") for c in (COMMIT, OTHER, "main", "MAIN")]
    for i, (repo, commit) in enumerate(keys):
        cache.put(repo, commit, "wpe", bytes([i]))
    assert [data_of(cache, "wpe", *key) for key in keys] == [bytes([i]) for i in range(len(keys))]
    assert {(c.repo, c.commit) for c in cache.commits()} == set(keys)


def test_array_round_trip_is_aligned_and_writable(cache):
    array = np.arange(50, dtype=np.uint8)
    cache.put(REPO, COMMIT, "every second", array[::2])
    assert cache.get(REPO, COMMIT, "every second").tolist() == array[::2].tolist()
    values = np.linspace(0, 1, 100, dtype="<f8")
    cache.put(REPO, COMMIT, "wpe", values.view(np.uint8))
    first = cache.get(REPO, COMMIT, "wpe").view("<f8")
    assert first.flags.aligned
    first[:] = 7
    assert np.array_equal(cache.get(REPO, COMMIT, "wpe").view("<f8"), values)


def test_an_entry_is_replaced_as_a_whole(cache):
    for data, core in ((b"long" * 50, True), (b"x", False), (b"", True), (b"again", False)):
        cache.put(REPO, COMMIT, "wpe", data, core=core)
        assert data_of(cache, "wpe") == data
        assert len(files(cache)) == 1


def test_nothing_is_there_before_anything_was_put(cache):
    assert cache.get(REPO, COMMIT, "wpe") is None
    assert not cache.has(REPO, COMMIT, "wpe")
    assert cache.commit_of(REPO, "main") is None
    assert (cache.commits(), cache.usage(), cache.clear(), cache.clear(REPO)) == ((), 0, 0, 0)
    cache.trim()
    assert not cache.root.exists()


def assert_found_out(cache, path, caplog):
    caplog.clear()
    assert cache.get(REPO, COMMIT, "wpe.weight") is None
    assert not path.exists()
    assert not cache.has(REPO, COMMIT, "wpe.weight")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert path.name in record.getMessage()
    cache.put(REPO, COMMIT, "wpe.weight", b"sound")
    assert data_of(cache, "wpe.weight") == b"sound"


def flipped(draw, content):
    content = bytearray(content)
    content[draw(st.integers(0, len(content) - 1))] ^= 1 << draw(st.integers(0, 7))
    return content


DAMAGE = {
    "a flipped bit": flipped,
    "cut": lambda draw, content: content[: draw(st.integers(0, len(content) - 1))],
    "something else": lambda draw, content: draw(st.binary(max_size=400)),
    "more": lambda draw, content: content + draw(st.binary(min_size=1, max_size=400)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@given(data=st.data())
@on_one_fixture
def test_damage_is_found_out_wherever_it_is(cache, caplog, damage, data):
    cache.clear()
    path = entry(cache)
    path.write_bytes(damage(data.draw, path.read_bytes()))
    assert_found_out(cache, path, caplog)


def test_an_entry_under_the_name_of_another_is_found_out(cache, caplog):
    path = entry(cache)
    entry(cache, "wte.weight").replace(path)
    assert_found_out(cache, path, caplog)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("other", [COMMIT, "f" * 40])
def test_entry_changed_during_a_read_is_one_version(cache, in_place, other, monkeypatch):
    """By another process: only the whole content of the same commit is ever returned."""
    path = entry(cache)
    real, left = np.fromfile, [True]

    def disturbed(*args, **options):
        if left and left.pop():
            if in_place:
                with path.open("r+b") as file:
                    file.write(bytes(reversed(range(100))))
            else:
                cache.put(REPO, other, "wpe.weight", b"of another")
        return real(*args, **options)

    monkeypatch.setattr(np, "fromfile", disturbed)
    found = cache.get(REPO, COMMIT, "wpe.weight")
    if in_place:
        assert found is None
    else:
        assert found.tobytes() == bytes(range(200))


def test_a_damaged_revision_is_forgotten(cache, caplog):
    cache.remember(REPO, "main", COMMIT)
    (path,) = files(cache)
    os.truncate(path, 10)
    assert cache.commit_of(REPO, "main") is None
    assert not path.exists()
    cache.remember(REPO, "main", OTHER)
    assert cache.commit_of(REPO, "main") == OTHER


def test_strange_files_in_the_folder_stop_nothing(cache):
    entry(cache)
    (cache.root / "note.txt").write_text("mine", "utf-8")
    (cache.root / "empty").mkdir()
    (cache.root / "strange" / "commit").mkdir(parents=True)
    (cache.root / "strange" / "commit" / "huge.core").write_bytes(bytes(52))
    (cache.root / "strange" / "commit" / "link").symlink_to(cache.root)
    assert [c.repo for c in cache.commits()] == [REPO]
    cache.max_bytes = 10
    cache.trim()
    assert (cache.root / "note.txt").is_file()
    assert cache.commits() == ()


@given(st.dictionaries(ANY_TEXT, st.sampled_from((COMMIT, OTHER)), max_size=6))
@on_one_fixture
def test_any_revision_is_remembered(cache, revisions):
    cache.clear()
    for revision, commit in revisions.items():
        cache.remember(REPO, revision, OTHER if commit == COMMIT else COMMIT)
        cache.remember(REPO, revision, commit)
    assert {r: TensorCache(cache.root).commit_of(REPO, r) for r in revisions} == revisions
    assert cache.commit_of("another/one", "main") is None


def test_a_commit_is_described(cache):
    cache.put(REPO, COMMIT, "index", bytes(100), core=True)
    cache.put(REPO, COMMIT, "wte", bytes(1000))
    (cache.folder(REPO, COMMIT) / "tokenizer.json").write_bytes(bytes(500))
    for revision, commit in (("main", COMMIT), ("v1.0", COMMIT), ("refs/pr/3", OTHER)):
        cache.remember(REPO, revision, commit)
    (only,) = cache.commits()
    assert (only.repo, only.commit, only.revisions) == (REPO, COMMIT, ("main", "v1.0"))
    stats = [p.stat() for p in files(cache) if "revisions" not in p.parts]
    assert only.nbytes == sum(stat.st_size for stat in stats) > 1600
    assert only.last_used == pytest.approx(max(stat.st_mtime for stat in stats), abs=1e-6)
    assert cache.usage() == sum(p.stat().st_size for p in files(cache))


def test_the_commit_used_last_is_listed_first(cache):
    for name in ("a", "b", "c"):
        cache.put(name, COMMIT, "index", b"")
    assert [c.repo for c in cache.commits()] == ["c", "b", "a"]
    cache.get("b", COMMIT, "index")
    assert [c.repo for c in cache.commits()] == ["b", "c", "a"]
    cache.has("a", COMMIT, "index")
    assert [c.repo for c in cache.commits()] == ["b", "c", "a"]


def fill(cache, repo, commit=COMMIT, revision="main"):
    cache.put(repo, commit, "index", bytes(100), core=True)
    cache.put(repo, commit, "wte", bytes(1000))
    (cache.folder(repo, commit) / "sub").mkdir()
    (cache.folder(repo, commit) / "sub" / "tokenizer.json").write_bytes(bytes(500))
    cache.remember(repo, revision, commit)


def test_a_model_is_cleared_with_all_its_commits_and_then_all(cache):
    fill(cache, "a")
    fill(cache, "a", OTHER, "old")
    before = cache.usage()
    fill(cache, "b")
    assert cache.clear("a") == before
    assert [c.repo for c in cache.commits()] == ["b"]
    assert (cache.commit_of("a", "main"), cache.commit_of("b", "main")) == (None, COMMIT)
    assert cache.clear("a") == 0
    used = cache.usage()
    assert cache.clear() == used > 1500
    assert (cache.usage(), cache.commits(), files(cache)) == (0, (), [])
    assert [p.name for p in cache.root.iterdir()] == ["incoming"]


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


def test_files_on_disk_go_with_their_commit_and_links_are_not_followed(cache, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work", "utf-8")
    folder = cache.folder(REPO, COMMIT)
    assert folder == cache.folder(REPO, COMMIT)
    assert folder.is_dir()
    assert folder != cache.folder(REPO, OTHER)
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    (folder / "link.json").symlink_to(folder / "tokenizer.json")
    (folder / "link").symlink_to(mine)
    (folder / "thesis").symlink_to(mine / "thesis.txt")
    assert {(c.repo, c.commit) for c in cache.commits()} == {(REPO, COMMIT), (REPO, OTHER)}
    cache.max_bytes = 0
    cache.trim()
    assert not folder.exists()
    assert (mine / "thesis.txt").is_file()


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
    assert "not cached" in caplog.text


def test_a_single_tensor_does_not_cost_what_its_own_model_opens_with(tmp_path):
    cache = TensorCache(tmp_path, 5000)
    cache.put("a", COMMIT, "wpe", bytes(2000), core=True)
    cache.put("a", COMMIT, "w_q", bytes(1500))
    for size, there in ((2900, [True, True, False]), (2700, [True, False, True])):
        cache.put("a", COMMIT, "wte", bytes(size))
        assert [cache.has("a", COMMIT, name) for name in ("wpe", "w_q", "wte")] == there


def test_the_size_is_looked_at_as_seldom_as_asked_for(tmp_path, monkeypatch):
    """By what is written between two looks the bound may be exceeded, and by no more."""
    looks = []
    cache = TensorCache(tmp_path / "cache", 50_000, looks_after=20_000)
    make_room = cache._make_room
    monkeypatch.setattr(cache, "_make_room", lambda path: looks.append(path) or make_room(path))
    for number in range(60):
        cache.put(REPO, f"{number:040x}", "wpe.weight", bytes(5_000), core=True)
        assert cache.usage() <= 50_000 + 20_000 + 6_000
    assert 10 < len(looks) < 20
    assert cache.has(REPO, f"{59:040x}", "wpe.weight")
    cache.trim()
    assert cache.usage() <= 50_000


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
@on_one_fixture
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
