"""The cache under threads and processes, on full disks, and when its writers are killed."""

import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from geometry.hub.tensor_cache import MAX_BYTES, TensorCache

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


@pytest.mark.slow
def test_threads_at_once_never_see_wrong_bytes(tmp_path, caplog):
    work = defined(WORK)["work"]
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(work, tmp_path, seed, 250) for seed in range(8)]
    assert sum(job.result() for job in jobs) > 100
    assert caplog.records == []
    assert_sound(tmp_path)


@pytest.mark.slow
def test_processes_at_once_never_see_wrong_bytes(tmp_path, run_python):
    def process(seed):
        code = f"""
import logging, pathlib, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
{WORK}
print(work(pathlib.Path({str(tmp_path)!r}), {seed}, 400))
"""
        return int(run_python(code))  # a warning would be no number

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(process, range(3))) > 100
    assert_sound(tmp_path)


def test_writers_that_make_room_at_once_remove_no_more_than_needed(tmp_path):
    for name in range(10, 50):
        TensorCache(tmp_path).put(f"old{name}", COMMIT, "wpe", bytes(1000), core=True)
    bound = TensorCache(tmp_path).usage()
    start = threading.Barrier(4)

    def write(number):
        start.wait()
        TensorCache(tmp_path, bound).put(f"new{number}", COMMIT, "wpe", bytes(1000), core=True)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    repos = {c.repo for c in TensorCache(tmp_path).commits()}
    assert repos == {f"new{n}" for n in range(4)} | {f"old{n}" for n in range(14, 50)}


def test_what_is_used_while_room_is_made_stays(tmp_path, monkeypatch):
    cache, rename, moved = TensorCache(tmp_path, 5000), os.rename, []
    for repo in "abcd":
        cache.put(repo, COMMIT, "wpe", bytes(1000), core=True)

    def moving(source, target):
        # When "a" has to go, someone else opens "b", which would be the next.
        moved.append(source)
        if len(moved) == 1:
            TensorCache(tmp_path).get("b", COMMIT, "wpe")
        rename(source, target)

    monkeypatch.setattr(os, "rename", moving)
    cache.put("e", COMMIT, "wpe", bytes(2800), core=True)
    assert [c.repo for c in cache.commits()] == ["b", "e"]
    assert len(moved) == 3


def test_a_full_disk_is_logged_and_leaves_nothing_half_written(tmp_path, run_python):
    output = run_python(f"""
import logging, pathlib, resource, sys
from geometry.hub.tensor_cache import TensorCache
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
cache = TensorCache(pathlib.Path({str(tmp_path)!r}))
cache.put("a", "c", "small", bytes(1000), core=True)
cache.put("a", "c", "large", bytes(1000))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
cache.put("a", "c", "huge", bytes(6000))
cache.put("a", "c", "large", bytes(6000))
assert cache.get("a", "c", "huge") is None and not cache.has("a", "c", "huge")
assert cache.get("a", "c", "large").tobytes() == bytes(1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 5000))
cache.remember("a", "main", "c")
cache.folder("b", "c")
assert cache.commit_of("a", "main") is None
assert cache.get("a", "c", "small").tobytes() == bytes(1000)
""")
    lines = output.splitlines()
    assert [line.split(":", 3)[0] for line in lines] == ["WARNING"] * 4
    assert all("File too large" in line for line in lines)
    assert list((tmp_path / "incoming").iterdir()) == []


def test_a_read_only_cache_can_be_read_and_is_left_as_it_is(tmp_path, run_python):
    root = tmp_path / "cache"
    cache = TensorCache(root)
    cache.put("a", COMMIT, "wpe", bytes(1000), core=True)
    cache.remember("a", "main", COMMIT)
    # The reader, who may be nobody, has to get there too.
    above = [p for p in tmp_path.parents if p.is_relative_to(tempfile.gettempdir())]
    places = [tmp_path, root, *(p for p in root.rglob("*") if p.is_dir())]
    modes = dict.fromkeys(above[:-1], 0o755) | dict.fromkeys(places, 0o555)
    before = {p: p.stat().st_mode for p in modes}
    try:
        for place, mode in modes.items():
            place.chmod(mode)
        output = run_python(f"""
import logging, os, pathlib, sys
from geometry.hub.tensor_cache import TensorCache
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
if os.geteuid() == 0:
    os.seteuid(65534)
cache = TensorCache(pathlib.Path({str(root)!r}))
assert cache.get("a", {COMMIT!r}, "wpe").tobytes() == bytes(1000)
assert cache.commit_of("a", "main") == {COMMIT!r}
assert [c.repo for c in cache.commits()] == ["a"]
cache.put("a", {COMMIT!r}, "wte", bytes(10))
cache.remember("a", "v1", {COMMIT!r})
cache.folder("b", {COMMIT!r})
assert cache.clear() == cache.remove("a", {COMMIT!r}) == 0
cache.max_bytes = 0
cache.trim()
assert cache.get("a", {COMMIT!r}, "wpe").tobytes() == bytes(1000)
""")
    finally:
        for place, mode in before.items():
            place.chmod(mode)
    assert output.count("Permission denied") == len(output.splitlines()) >= 5
    assert TensorCache(root).get("a", COMMIT, "wpe") is not None


def test_a_place_that_cannot_be_is_logged(tmp_path, caplog):
    (tmp_path / "file").write_text("", "utf-8")
    cache = TensorCache(tmp_path / "file" / "cache")
    cache.put("a", COMMIT, "wpe", b"x")
    cache.remember("a", "main", COMMIT)
    cache.folder("a", COMMIT)
    assert len(caplog.records) >= 3
    assert cache.get("a", COMMIT, "wpe") is None
    assert not cache.has("a", COMMIT, "wpe")
    assert (cache.commits(), cache.usage(), cache.clear()) == ((), 0, 0)


def test_default_folder_is_shared_by_processes(tmp_path, run_python, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = tmp_path / "helixscope" / "hub"
    TensorCache(root).put("a/b", COMMIT, "wpe", bytes(100), core=True)
    output = run_python(
        "import sys\n"
        "from geometry.hub.tensor_cache import default_cache\n"
        "cache = default_cache()\n"
        f"print(cache.root, cache.max_bytes, len(cache.get('a/b', {COMMIT!r}, 'wpe')))\n"
        "assert not {'huggingface_hub', 'torch', 'transformers', 'PySide6'} & set(sys.modules)"
    )
    assert output == f"{root} {MAX_BYTES} 100\n"


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

def killed_at_every_call(run, check, prepare=lambda: None):
    # How many calls of the file system there were before it was not killed.
    def with_death(moment):
        calls = 0
        def hook(event, arguments):
            nonlocal calls
            calls += event.startswith("os.") or event in ("open", "fcntl.flock")
            if calls == moment:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        run()

    moment, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        prepare()
        moment += 1
        code = fork(lambda: with_death(moment))
        check()
    assert code == 0, code
    return moment - 1

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


@pytest.mark.slow
def test_a_writer_killed_at_any_call_leaves_whole_entries(tmp_path, run_python):
    killed = run_python(f"""
import logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
ROOT = {str(tmp_path)!r}
{KILLING}
print(sum(killed_at_every_call(lambda: work(root, seed, 12), after) for seed in range(2)))
""")
    assert int(killed) > 150
    assert_sound(tmp_path)


@pytest.mark.slow
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

for seed in range(60):
    code = fork(lambda: run(seed))
    assert code == -signal.SIGALRM, code
    after()
print("60")
""")
    assert deaths == "60\n"
    assert_sound(tmp_path)


def test_a_commit_goes_as_a_whole_even_if_that_is_cut_short(tmp_path, run_python):
    killed = run_python(f"""
ROOT = {str(tmp_path)!r}
{KILLING}
NAMES = ("index", "config.json", "wpe")
WAYS = (
    lambda cache: cache.remove("a", COMMITS[0]),
    lambda cache: cache.clear("a"),
    lambda cache: cache.clear(),
    lambda cache: cache.put("b", COMMITS[0], "wte", bytes(9000), core=True),
)
def fill():
    cache = TensorCache(root)
    for name in NAMES:
        cache.put("a", COMMITS[0], name, bytes(500), core=True)
    cache.remember("a", "main", COMMITS[0])

def there():
    cache = TensorCache(root)
    found = [cache.has("a", COMMITS[0], name) for name in NAMES]
    assert all(found) or not any(found), found
    assert all(found) or cache.commit_of("a", "main") is None
    return all(found)

killed = 0
for way in WAYS:
    killed += killed_at_every_call(lambda: way(TensorCache(root, 10_000)), there, fill)
    assert not there()
print(killed)
""")
    assert int(killed) > 50
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
