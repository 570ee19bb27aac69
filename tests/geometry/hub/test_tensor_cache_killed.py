"""The cache when those who write it are killed, at any moment."""

import sys

import pytest

from geometry.hub.tensor_cache import TensorCache
from tests.geometry.cache_work import BOUND, COMMIT, WORK, assert_sound

# A process that forks writers and kills each of them: at every single call of the file system in
# turn, told of by Python's audit events, then at random moments, also in the middle of a write.
KILLING = f"""
import os, pathlib, signal, sys
{WORK}
root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(ROOT)

def fork(run):
    child = os.fork()
    if child == 0:
        try:
            run()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def after():
    # As a fresh start: what can be read is right, and what the dead left does not pile up.
    cache = TensorCache(root, {BOUND})
    left = list((root / "incoming").iterdir()) if (root / "incoming").is_dir() else []
    assert len(left) <= 1, left
    for repo in "abc":
        for commit in COMMITS:
            for name in "uvwxyz":
                had = cache.has(repo, commit, name)
                found = cache.get(repo, commit, name)
                assert (found is not None) == had, "a damaged entry"
                assert found is None or found.tobytes() == right(repo, commit, name)
"""


def test_a_writer_killed_at_any_call_leaves_whole_entries(tmp_path, run_python):
    killed = run_python(f"""
import logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
ROOT = {str(tmp_path)!r}
{KILLING}
def run(seed, moment):
    calls = 0
    def hook(event, arguments):
        nonlocal calls
        if event.startswith("os.") or event in ("open", "fcntl.flock"):
            calls += 1
            if calls == moment:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    work(root, seed, 12)

deaths = 0
for seed in range(2):
    moment, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        moment += 1
        code = fork(lambda: run(seed, moment))
        after()
        deaths += code == -signal.SIGKILL
    assert code == 0, code
print(deaths)
""")
    assert int(killed) > 150
    assert_sound(tmp_path)


def test_a_writer_killed_at_random_moments_leaves_whole_entries(tmp_path, run_python):
    deaths = run_python(f"""
import logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
ROOT = {str(tmp_path)!r}
{KILLING}
def run(seed):
    # The alarm's default action ends the process as abruptly as SIGKILL.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, random.Random(seed).uniform(0.0001, 0.02))
    work(root, seed, 100_000)

for seed in range(120):
    code = fork(lambda: run(seed))
    assert code == -signal.SIGALRM, code
    after()
print("120")
""")
    assert deaths == "120\n"
    assert_sound(tmp_path)


def test_a_commit_goes_as_a_whole_even_if_that_is_cut_short(tmp_path, run_python):
    deaths = run_python(f"""
ROOT = {str(tmp_path)!r}
{KILLING}
NAMES = ("index", "config.json", "wpe")
WAYS = (
    lambda cache: cache.remove("a", COMMITS[0]),
    lambda cache: cache.clear("a"),
    lambda cache: cache.clear(),
    lambda cache: cache.put("b", COMMITS[0], "wte", bytes(9000), core=True),
)
def run(way, moment):
    calls = 0
    def hook(event, arguments):
        nonlocal calls
        calls += event.startswith("os.") or event == "open"
        if calls == moment:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    way(TensorCache(root, 10_000))

deaths = 0
for way in WAYS:
    moment, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        cache = TensorCache(root)
        for name in NAMES:
            cache.put("a", COMMITS[0], name, bytes(500), core=True)
        cache.remember("a", "main", COMMITS[0])
        moment += 1
        code = fork(lambda: run(way, moment))
        there = [cache.has("a", COMMITS[0], name) for name in NAMES]
        assert all(there) or not any(there), there
        assert all(there) or cache.commit_of("a", "main") is None
        deaths += code == -signal.SIGKILL
    assert code == 0, code
    assert not any(there)
print(deaths)
""")
    assert int(deaths) > 50
    assert len(list((tmp_path / "incoming").iterdir())) <= 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps an open file by itself")
def test_only_what_nobody_writes_any_more_is_swept(tmp_path):
    import fcntl

    cache, incoming = TensorCache(tmp_path), tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "of a dead process").write_bytes(b"ab")
    with (incoming / "of a living one").open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        cache.put("a", COMMIT, "wpe", b"x")
        assert [p.name for p in incoming.iterdir()] == ["of a living one"]
    cache.put("a", COMMIT, "wte", b"x")
    assert list(incoming.iterdir()) == []
