"""What the settings page says of what is kept, and what it makes of the cache."""

from datetime import datetime

import pytest

from geometry.hub.tensor_cache import TensorCache
from gui.services.kept_models import (
    list_kept,
    remove_all,
    remove_commits,
    when,
)

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"


def fill(cache, *repos, nbytes=1_000_000):
    for repo in repos:
        cache.put(repo, COMMIT, "wpe", bytes(nbytes), core=True)


class Stubborn(TensorCache):
    """A cache of which nothing can be removed, as where its folder may not be changed."""

    def remove(self, repo, commit):
        return 0

    def clear(self, repo=None):
        return 0


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
