"""Work that tests let threads and processes do on one tensor cache."""

from geometry.hub.tensor_cache import TensorCache

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
BOUND = 60_000

# What every test here runs, in threads and in processes of its own: any of the cache's verbs on a
# few keys, in an order of its own. What is read must be what belongs to the key.
WORK = f"""
import random
import numpy as np
from geometry.hub.tensor_cache import TensorCache

COMMITS = ("{COMMIT}", "{"0" * 40}")

def right(repo, commit, name):
    seed = f"{{repo}}{{commit}}{{name}}"
    drawn = random.Random(seed)
    return drawn.randbytes(drawn.randrange(8000))

def work(root, seed, steps, bound={BOUND}):
    cache, drawn = TensorCache(root, bound), random.Random(seed)
    read = 0
    for _ in range(steps):
        repo, commit = drawn.choice("abc"), drawn.choice(COMMITS)
        name, verb = drawn.choice("uvwxyz"), drawn.random()
        if verb < 0.45:
            found = cache.get(repo, commit, name)
            read += found is not None
            assert found is None or found.tobytes() == right(repo, commit, name)
        elif verb < 0.80:
            cache.put(repo, commit, name, right(repo, commit, name), core=drawn.random() < 0.5)
        elif verb < 0.86:
            cache.remember(repo, drawn.choice(("main", "v1")), commit)
            assert cache.commit_of(repo, "main") in (None, *COMMITS)
        elif verb < 0.90:
            try:
                (cache.folder(repo, commit) / name).write_bytes(bytes(500))
            except FileNotFoundError:
                pass  # cleared meanwhile, as folder() warns
        elif verb < 0.96:
            for one in cache.commits():
                assert one.repo in "abc" and one.commit in COMMITS
            cache.has(repo, commit, name)
        elif verb < 0.98:
            cache.remove(repo, commit)
        elif verb < 0.99:
            cache.clear(repo)
        else:
            cache.clear()
    return read
"""


def defined(code):
    names = {}
    exec(code, names)
    return names


def assert_sound(root):
    """Assert that every entry is whole, and that the next one to write leaves all in order."""
    cache = TensorCache(root, BOUND)
    cache.put("a", COMMIT, "last", b"last", core=True)
    assert cache.get("a", COMMIT, "last").tobytes() == b"last"
    assert cache.usage() <= BOUND
    assert list((root / "incoming").iterdir()) == []
    right = defined(WORK)["right"]
    for commit in cache.commits():
        for name in "uvwxyz":
            had = cache.has(commit.repo, commit.commit, name)
            found = cache.get(commit.repo, commit.commit, name)
            assert (found is not None) == had
            assert found is None or found.tobytes() == right(commit.repo, commit.commit, name)
