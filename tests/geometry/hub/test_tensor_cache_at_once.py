"""The cache under threads and processes, and on disks that are full or read-only."""

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from geometry.hub.tensor_cache import MAX_BYTES, TensorCache
from tests.geometry.cache_work import COMMIT, WORK, assert_sound, defined

# ---- at once -------------------------------------------------------------------------------


def test_threads_at_once_never_see_wrong_bytes(tmp_path, caplog):
    work = defined(WORK)["work"]
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(work, tmp_path, seed, 250) for seed in range(8)]
    assert sum(job.result() for job in jobs) > 100
    assert caplog.records == []
    assert_sound(tmp_path)


def test_processes_at_once_never_see_wrong_bytes(tmp_path, run_python):
    def process(seed):
        code = f"""
import logging, pathlib, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
{WORK}
print(work(pathlib.Path({str(tmp_path)!r}), {seed}, 400))
"""
        return int(run_python(code))  # a warning would be no number

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(process, range(4))) > 100
    assert_sound(tmp_path)


def test_clearing_while_others_read(tmp_path):
    cache, wanted = TensorCache(tmp_path), bytes(range(256)) * 2000
    stop, seen = threading.Event(), []

    def read():
        while not stop.is_set():
            found = cache.get("a", COMMIT, "wpe")
            if found is not None:
                seen.append(found.tobytes() == wanted)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            while len(seen) < 200 and not wait(readers, 0).done:
                cache.put("a", COMMIT, "wpe", wanted)
                cache.clear()
        finally:
            stop.set()
    assert [reader.result() for reader in readers] == [None] * 3
    assert all(seen)


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


def test_what_is_used_while_room_is_made_stays(tmp_path, run_python):
    kept = run_python(f"""
import os, pathlib, sys
from geometry.hub.tensor_cache import TensorCache
cache = TensorCache(pathlib.Path({str(tmp_path)!r}), 5000)
for repo in "abcd":
    cache.put(repo, "c", "wpe", bytes(1000), core=True)
moved = []
def hook(event, arguments):
    # When "a" has to go, someone else opens "b", which would be the next.
    if event == "os.rename" and "incoming" in str(arguments[1]):
        moved.append(arguments)
        if len(moved) == 1:
            TensorCache(cache.root).get("b", "c", "wpe")
sys.addaudithook(hook)
cache.put("e", "c", "wpe", bytes(2800), core=True)
print(*(c.repo for c in cache.commits()))
""")
    assert kept.split() == ["b", "e"]


# ---- disks -----------------------------------------------------------------------------------


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


# ---- a new start -----------------------------------------------------------------------------


def test_the_default_place_is_the_systems_and_a_new_process_finds_it(tmp_path, run_python):
    code = f"""
import os, sys
os.environ["XDG_CACHE_HOME"] = {str(tmp_path)!r}
from geometry.hub.tensor_cache import default_cache
cache = default_cache()
"""
    run_python(code + f"cache.put('a/b', {COMMIT!r}, 'wpe', bytes(100), core=True)")
    output = run_python(
        code + f"print(cache.root, cache.max_bytes, len(cache.get('a/b', {COMMIT!r}, 'wpe')))\n"
        "assert not {'huggingface_hub', 'torch', 'transformers', 'PySide6'} & set(sys.modules)"
    )
    assert output == f"{tmp_path / 'helixscope' / 'hub'} {MAX_BYTES} 100\n"
