"""Windows that scripts show: real ones, each in a process of its own."""

import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image

import helixscope as hx
from geometry.checkpoints.children import start_own
from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.models.sources import handed
from gui.channel import COMMAND
from gui.channel.messages import Begin, Changed, FromWindow, ModelToShow, Ready, decoder
from gui.channel.pipes import Gone, Pipes
from gui.notebook import show
from tests.command_line import ROOT

SOON = 100
"""Seconds after which what does not come has failed to come."""
HELIX = np.stack([f(np.linspace(0, 12, 120)) for f in (np.cos, np.sin, np.array)], axis=1)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch, qapp):
    """Settings, logs and caches of the test alone, and a display."""
    for kind in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of temporary files, which is empty at the end."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(handed, "SHARED_MEMORY", folder)
    yield folder
    assert [*folder.iterdir()] == []


@pytest.fixture
def shown(place):
    """Show a window, which is closed after the test."""
    windows = []

    def begin(*models, **options):
        windows.append(hx.show(*models, block=False, **options))
        return windows[-1]

    yield begin
    for window in windows:
        window.close()


@pytest.mark.slow
def test_a_window_is_shown_changed_read_closed_and_shown_again(shown, place, tmp_path):
    m, n = hx.open("sample"), hx.open(HELIX, name="a helix")
    v, selections, closings = shown(m, n), queue.SimpleQueue(), queue.SimpleQueue()
    (folder,) = place.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [*folder.iterdir()] == []  # the window has what was handed over in its own memory
    assert v.models == ("sample", "a helix")
    assert (v.positions, v.components, v.selection) == ((1, 254), (1, 2, 3), ())

    end = v.on_select(selections.put)
    v.on_close(lambda: closings.put("closed"))
    v.positions = 1, 99
    v.selection = np.array([3, 7])
    v.components = 1, 3, 2
    assert selections.get(timeout=SOON) == (3, 7)
    assert (v.positions, v.components, v.selection) == ((1, 99), (1, 3, 2), (3, 7))
    end()
    v.panel("kernels")
    assert "kernels" in v.panels
    v.camera = "xy"
    pose = v.camera
    v.camera = "article"
    assert v.camera != pose
    v.camera = pose
    assert v.camera == pose

    with pytest.raises(RangeError, match="0–255"):
        v.positions = 5, 1000
    with pytest.raises(RangeError, match="negative"):
        v.selection = -1
    with pytest.raises(RangeError, match="different"):
        v.components = 1, 1, 2
    with pytest.raises(ValueError, match="length 2"):
        v.positions = 1, 2, 3
    with pytest.raises(HelixscopeError, match="no panel"):
        v.panel("nothing")
    with pytest.raises(HelixscopeError, match="no view"):
        v.camera = "from above"
    with pytest.raises(HelixscopeError, match="does not exist"):
        v.add(tmp_path / "nothing.npy")
    assert v.models == ("sample", "a helix")

    v.add(HELIX[:50])
    assert v.models == ("sample", "a helix", "ndarray")
    v.remove("a helix")
    assert v.models == ("sample", "ndarray")
    with Image.open(v.screenshot(tmp_path / "window.png")) as picture:
        assert picture.width > 900
    assert selections.empty()

    v.close()
    assert v.closed
    assert closings.get(timeout=SOON) == "closed"
    assert (v.positions, v.selection) == ((1, 99), (3, 7))
    with pytest.raises(HelixscopeError, match="closed"):
        v.positions = 1, 50
    assert "closed window of sample, ndarray" in repr(v)
    assert v.show() is v
    assert (v.models, v.positions, v.selection) == (("sample", "ndarray"), (1, 99), (3, 7))
    v.close()


@pytest.mark.slow
def test_a_live_module_has_its_weights_there(shown, place, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=2, n_embd=32, n_head=4, n_positions=64, vocab_size=50, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    live = transformers.GPT2LMHeadModel(config).to(torch.bfloat16)
    m = hx.open(live, name="run 7", positions=(2, 40))
    v = shown(m)
    assert (v.models, v.positions, v.notice) == (("run 7",), (2, 40), "")
    live.transformer.wte.weight.data += 1.0  # by hand: what was not read is lost
    v.open(m)
    assert "without weights" in v.notice
    assert "wte" in v.notice


@pytest.mark.slow
def test_what_cannot_be_opened_is_an_error_here(place, tmp_path, monkeypatch):
    with pytest.raises(HelixscopeError, match="does not exist"):
        hx.show(tmp_path / "nothing", block=False)
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    with pytest.raises(HelixscopeError, match="display"):
        hx.show(HELIX, block=False)
    with pytest.raises(HelixscopeError, match="1 to 9"):
        hx.show(block=False)


@contextmanager
def window_of(tmp_path, *models):
    """A window's process and the pipes to it, without what a script has around them."""
    process = start_own(
        COMMAND, variables={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    pipes = Pipes(process.stdout, process.stdin, decoder(FromWindow))
    try:
        pipes.send(Begin(str(tmp_path), models))
        yield process, pipes
    finally:
        process.terminate()
        process.wait(SOON)
        pipes.close()


def until_ready(pipes):
    while not isinstance(message := pipes.receive(), Ready):
        pass
    assert not message.failed


def notice_of(pipes):
    """The next notice."""
    while not (isinstance(message := pipes.receive(), Changed) and isinstance(message.notice, str)):
        pass
    return message.notice


@pytest.mark.slow
def test_a_window_stays_when_python_ends(tmp_path):
    with window_of(tmp_path / "none", ModelToShow("sinusoidal:64x16")) as (process, pipes):
        until_ready(pipes)
        process.stdin.close()
        assert notice_of(pipes) == "The Python process that showed this window has ended."
        assert process.poll() is None


@pytest.mark.slow
def test_a_window_that_hears_nonsense_listens_no_more(tmp_path):
    with window_of(tmp_path / "none", ModelToShow("sinusoidal:64x16")) as (process, pipes):
        until_ready(pipes)
        process.stdin.write(b"\0\0\0\x02{}")
        with suppress(Gone):
            while True:
                pipes.receive()
        assert process.poll() is None


SCRIPT = """
import os, sys
import helixscope as hx
v = hx.show("sinusoidal:64x16", block={block})
print(v._run._process.pid, flush=True)
{then}
"""


@contextmanager
def script(**parts):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(**parts)], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        yield process


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_window_outlives_the_group_of_its_kernel():
    with script(block=False, then="input()") as kernel:
        window = int(kernel.stdout.readline())
        os.killpg(kernel.pid, signal.SIGKILL)
        kernel.wait(SOON)
        os.kill(window, 0)
        os.kill(window, signal.SIGTERM)


CELLS = (
    "import helixscope as hx\nm = hx.open([[i, i * i, 1.0] for i in range(30)], name='mine')\n"
    "v = hx.show(m)",  # which waits for nothing here
    "v.positions = 2, 9\nv.selection = 4, 6\nprint(v.positions, v.selection)",
    "v.close()\nprint(v.closed)",
    "v.show()\nprint(v)\nv.close()",
)


@pytest.mark.slow
def test_a_notebook_shows_changes_reads_closes_and_shows_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for variable in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(notebook, timeout=2 * SOON).execute()
    said = ["".join(o.get("text", "") for o in cell.outputs) for cell in notebook.cells]
    assert said == ["", "(2, 9) (4, 6)\n", "True\n", "<window of mine: positions 2–9>\n"]


def test_arguments_environment_and_folders_tell_nobody_how_to_drive_it(monkeypatch, tmp_path):
    started = []

    class Stopped(Exception):
        pass

    def start(*arguments, variables, **options):
        started.append((arguments, variables, options))
        raise OSError("not here")

    monkeypatch.setattr(show, "start_own", start)
    with pytest.raises(HelixscopeError, match="not here"):
        hx.show("sample", block=False)
    ((arguments, variables, options),) = started
    assert arguments == (COMMAND,)
    assert variables == {}
    assert options["stdin"] == options["stdout"] == subprocess.PIPE


def test_listeners_get_the_latest_and_never_stop_it(caplog):
    calls, got, held = show._Calls(), queue.SimpleQueue(), threading.Event()

    def fail():
        held.wait(SOON)
        raise ZeroDivisionError

    calls.put("selection", [fail])
    for value in range(1000):
        calls.put("positions", [lambda value=value: got.put(value)])
    held.set()
    calls.put("closed", [lambda: got.put("closed")])
    calls.end()
    calls._thread.join(SOON)
    values = [got.get_nowait() for _ in range(got.qsize())]
    assert values == [999, "closed"]
    assert "ZeroDivisionError" in caplog.text


def test_scripts_wait_and_notebooks_do_not(monkeypatch):
    waited = []

    class Window:
        def __init__(self, *_):
            pass

        def wait(self):
            waited.append(True)

    monkeypatch.setattr(show, "ShownWindow", Window)
    monkeypatch.delattr(sys, "ps1", raising=False)
    hx.show("sample")
    hx.show("sample", block=False)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    hx.show("sample")
    assert len(waited) == 1
    hx.show("sample", block=True)
    assert len(waited) == 2
