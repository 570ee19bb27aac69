"""Pickles are read as data: none of them runs anything, or takes much time or memory."""

import contextlib
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.torch_store import open_torch
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT
from tests.hostile_pickles import (
    COSTLY,
    HOSTILE,
    REFUSED,
    RUN_SOMETHING,
    beside_a_tensor,
    torch_file,
)

# Opens each file of the current folder, and prints what Python reports meanwhile (import, exec,
# compile, open, os.system, subprocess.Popen, socket.connect, …) but opening that file and listing
# its folder.
WATCHED = """
import os, sys
sys.path[:0] = [sys.argv[1]]
from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.opening import open_model
names = sorted(os.listdir())
open_model("a good one.pt")  # imports what it needs
now = None
def heard(event, arguments):
    usual = event == "open" and (arguments[0] == now or isinstance(arguments[0], int))
    if now and not usual and event != "os.listdir":
        os.write(1, f"{now}: {event} {arguments}\\n".encode())
sys.addaudithook(heard)
for name in names:
    now = name
    try:
        open_model(name)
    except HelixscopeError:
        pass
    finally:
        now = None
os.write(1, f"{len(names)} files\\n".encode())
"""


def test_nothing_is_run_imported_or_opened(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, value in {"a good one": b"N", **HOSTILE}.items():
        (folder / f"{name.replace('/', ' ')}.pt").write_bytes(torch_file(beside_a_tensor(value)))
        (folder / f"{name.replace('/', ' ')}, alone.pt").write_bytes(
            torch_file(b"\x80\x02" + value + b".")
        )
    before = {path.name for path in folder.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, ROOT], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == (f"{2 * len(HOSTILE) + 2} files\n", 0), done.stderr
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", RUN_SOMETHING)
def test_a_table_beside_what_would_run_something_opens(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(RUN_SOMETHING[name])))
    store = open_torch(path)
    np.testing.assert_array_equal(store.read("wpe.weight"), np.zeros((4, 4)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_refers_to_something_outside_is_refused(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(REFUSED[name])))
    with pytest.raises(SourceError, match=r"a\.pt is damaged"):
        open_model(path)


@pytest.mark.parametrize("name", COSTLY)
def test_time_and_memory_are_bounded(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(COSTLY[name])))
    tracemalloc.start()
    begun = time.process_time()
    with contextlib.suppress(SourceError):
        assert open_torch(path).tensors["wpe.weight"].shape == (4, 4)
    took, peak = time.process_time() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 5  # counting allocations triples it
    assert peak < 200_000_000
