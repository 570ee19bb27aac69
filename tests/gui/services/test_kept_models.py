"""What the settings page says of what is kept, and what it makes of the cache."""

from datetime import datetime

import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.hub.tensor_cache import TensorCache
from gui.services.kept_models import (
    Kept,
    change_limit,
    list_kept,
    remove_all,
    remove_commits,
    short_name,
    when,
)

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"


@pytest.fixture
def cache(tmp_path):
    return TensorCache(tmp_path / "hub")


def fill(cache, *repos, nbytes=1_000_000):
    for repo in repos:
        cache.put(repo, COMMIT, "wpe", bytes(nbytes), core=True)


class Stubborn(TensorCache):
    """A cache of which nothing can be removed, as where its folder may not be changed."""

    def remove(self, repo, commit):
        return 0

    def clear(self, repo=None):
        return 0


def test_what_is_kept_is_listed_and_nothing_before_anything_was_fetched(cache):
    assert list_kept(cache) == Kept((), 0, folder_exists=False, writable=True)
    assert not cache.root.exists()
    fill(cache, "a/b", "gpt2")
    kept = list_kept(cache)
    assert [short_name(one) for one in kept.commits] == ["gpt2@607a30d", "a/b@607a30d"]
    assert kept.usage == cache.usage() > 2_000_000
    assert kept.folder_exists
    assert kept.writable


def test_a_folder_that_is_none_is_said(tmp_path):
    (tmp_path / "hub").write_text("", "utf-8")
    with pytest.raises(HelixscopeError, match=r"hub cannot be read: Not a directory\.$"):
        list_kept(TensorCache(tmp_path / "hub"))


def test_some_or_all_are_removed_or_what_is_beyond_a_lower_limit(cache):
    fill(cache, "a", "b", "c")
    chosen = [one for one in list_kept(cache).commits if one.repo in "ab"]
    removed = remove_commits(cache, chosen)
    assert [one.repo for one in removed.kept.commits] == ["c"]
    assert removed.message == "Removed 2.0\N{NO-BREAK SPACE}MB."
    fill(cache, "a", "b", "c")
    removed = remove_all(cache)
    assert (removed.kept.commits, removed.kept.usage) == ((), 0)
    assert 3_000_000 < removed.freed < 3_001_000
    assert removed.message == "Removed 3.0\N{NO-BREAK SPACE}MB."
    fill(cache, "a", "b", "c")
    assert change_limit(cache, 5_000_000).message == ""
    changed = change_limit(cache, 2_500_000)
    assert cache.max_bytes == 2_500_000
    assert [one.repo for one in changed.kept.commits] == ["c", "b"]
    assert changed.message == "Removed 1.0\N{NO-BREAK SPACE}MB."


def test_what_could_not_be_removed_is_said(tmp_path):
    cache = Stubborn(tmp_path)
    fill(cache, "a", "b")
    kept = list_kept(cache)
    removed = remove_commits(cache, kept.commits[:1])
    assert removed.freed == 0
    assert removed.kept == kept
    assert removed.message == "b@607a30d could not be removed; see the log for details."
    assert remove_all(cache).message == "2 models could not be removed; see the log for details."


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ((2026, 3, 1, 9, 5), "today, 09:05"),
        ((2026, 3, 1, 0, 0), "today, 00:00"),
        ((2026, 2, 28, 23, 59), "yesterday, 23:59"),
        ((2026, 2, 27, 23, 59), "27 February"),
        ((2026, 1, 1, 0, 0), "1 January"),
        ((2025, 12, 31, 12, 0), "31 December 2025"),
        ((2026, 3, 2, 0, 1), "2 March"),
    ],
)
def test_when_something_was(moment, text):
    now = datetime(2026, 3, 1, 14, 30).timestamp()
    assert when(datetime(*moment).timestamp(), now) == text
