"""What ends the application from outside: signals, a terminal or a display that is gone."""

import json
import os
import signal
import time
from contextlib import ExitStack, contextmanager

import pytest

from geometry.models.sources.source import Source
from gui.services.work_files.work_file import read_work, write_work
from gui.state.work import Work
from tests.environments.conftest import PATIENCE
from tests.environments.screens import wayland, x_screen
from tests.geometry.history_stage import growing, write_checkpoint, write_record

NUMBERS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
#: A window in which somebody has worked, and done something more.
WORK = """
import sys
from PySide6.QtCore import QPoint, QTimer
from gui.commands import application
class Working(application.Application):
    def __init__(self, *arguments, **how):
        super().__init__(*arguments, **how)
        self.ready.connect(self.work)
    def work(self):
        self.session.selection = (5,)
        self.session.colormap = "cividis"
        QTimer.singleShot(0, lambda: print("working", flush=True))
        {more}
application.Application = Working
import main
main.main()
"""


@pytest.fixture
def place(app):
    """A folder for temporary files of its own, in the environment."""
    folder = app.home / "tmp"
    folder.mkdir()
    return {"TMPDIR": str(folder)}


@pytest.fixture
def talk(app):
    """A project."""
    path = app.home / "talk.helix"
    write_work(Work(Source.parse("sample"), (30, 90), {}), path)
    return path


def kept(app):
    """What the next start finds: the work, and the settings."""
    folder = app.home / ".config" / "helixscope"
    settings = json.loads((folder / "settings.json").read_text("utf-8"))
    (work,) = (folder / "unsaved").glob("*.helix")
    return read_work(work), settings


def is_kept(app):
    """Whether work and settings have been kept, each at its own time, while the window is open."""
    folder = app.home / ".config" / "helixscope"
    works = [read_work(file) for file in (folder / "unsaved").glob("*.helix")]
    return (folder / "settings.json").exists() and any(w.fields["selection"] for w in works)


def assert_work_is_kept(app, talk):
    work, settings = kept(app)
    assert (work.fields["selection"], work.file, work.changed) == ((5,), str(talk), True)
    assert settings["view/colormap"] == "cividis"
    assert settings["docks"]
    assert settings["model/last"] == str(talk)


def assert_nothing_is_left(app, group):
    """No process, temporary folder, half-written file or mark of a start."""
    deadline = time.monotonic() + PATIENCE
    while is_running(group):
        assert time.monotonic() < deadline
    assert [*(app.home / "tmp").iterdir()] == []
    assert [*app.home.rglob("*.part")] == []
    assert not (app.home / ".config" / "helixscope" / "starting").exists()


def is_running(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def read_until(terminal, words):
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 1000)


# ---- the window ------------------------------------------------------------------------------


@pytest.fixture
def working(app, place, talk):
    """Open the project in a window in which somebody works; its process, once it is at work."""

    @contextmanager
    def work(screen, more="", before="", **how):
        script = ("-c", before + WORK.format(more=more))
        environment = screen | place
        with app.started(talk, environment=environment, program=script, **how) as process:
            if process.stdout is not None:
                assert process.stdout.readline() == "working\n"
            yield process
        assert_work_is_kept(app, talk)
        assert_nothing_is_left(app, process.pid)

    return work


#: What may be open in the window: the code that opens it.
OPEN = {
    "nothing": "",
    "question": "self.window.close()",
    "file dialog": "self.window.work.save_as()",
    "message": "self.window.workspaces.save_as('')",
    "menu": "self.window.show_menu(QPoint(300, 300))",
    "lesson": "self.window.lesson_player.open()",
}
CLOSED = [("nothing", number) for number in NUMBERS] + [(one, NUMBERS[0]) for one in [*OPEN][1:]]


@pytest.mark.parametrize(
    ("opened", "number"),
    [CLOSED[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CLOSED[1:])],
)
def test_a_signal_closes_the_window_and_loses_nothing(working, opened, number):
    with x_screen() as screen, working(screen, OPEN[opened]) as process:
        process.send_signal(number)
        if opened != "nothing":
            process.send_signal(number)  # again, as timeout(1) does
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 128 + number


#: Sends the process a signal just before something is imported.
BEFORE_IMPORT = """
import os, signal, sys
class Signal:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Signal())
import {module_of_main} as started
started.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["gui.commands.run_window", "pyvista", "gui.window.parts"])
def test_a_start_that_a_signal_ends_has_not_failed(app, place, module):
    script = BEFORE_IMPORT.format(module=module, number="SIGTERM", module_of_main="main")
    with x_screen() as screen:
        with app.started("sample", environment=screen | place, program=("-c", script)) as process:
            assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 128 + signal.SIGTERM
        assert_nothing_is_left(app, process.pid)


def test_ctrl_c_ends_even_the_first_imports_without_a_traceback(app):
    script = BEFORE_IMPORT.format(module="typer", number="SIGINT", module_of_main="helixscope")
    done = app.run("--version", environment={}, program=("-c", script))
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_so(working):
    """As under nohup, and Ctrl+C for what a shell has started in the background."""
    before = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    with x_screen() as screen, working(screen, before=before) as process:
        process.send_signal(signal.SIGHUP)
        process.terminate()
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.slow
def test_the_end_of_the_x_server_loses_nothing(working):
    with ExitStack() as display, working(display.enter_context(x_screen())) as process:
        display.close()  # before anything is kept, which takes some seconds
        assert process.wait(PATIENCE) == 1
        assert "Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_the_end_of_a_wayland_compositor_loses_no_more_than_some_seconds(app, working):
    with ExitStack() as display, working(display.enter_context(wayland())) as process:
        while not is_kept(app):
            assert process.poll() is None
            time.sleep(0.01)  # it needs the cores
        display.close()
        assert process.wait(PATIENCE) > 0


@pytest.mark.slow
def test_the_end_of_the_terminal_closes_the_window(working):
    ours, theirs = os.openpty()
    with x_screen() as screen, working(screen, terminal=theirs) as process:
        os.close(theirs)
        read_until(ours, b"working\r\n")
        os.close(ours)
        assert process.wait(PATIENCE) == 128 + signal.SIGHUP


@pytest.mark.slow
def test_output_that_nobody_reads_does_not_disturb_the_window(app, place, talk):
    more = "print('x' * 100_000, file=sys.stderr); sys.stderr.flush()"
    program = ("-c", WORK.format(more=more))
    with (
        x_screen() as screen,
        app.started(talk, environment=screen | place, program=program) as process,
    ):
        process.stderr.close()
        assert process.stdout.readline() == "working\n"
        process.stdout.close()
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert_work_is_kept(app, talk)
    assert_nothing_is_left(app, process.pid)


# ---- commands --------------------------------------------------------------------------------

#: While an object is made, whose destructor needs it whole.
MAKES = """
import os, signal
from gui.commands.ends import orderly_end
class Whole:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        self.content = []
    def __del__(self):
        self.content.clear()
with orderly_end():
    Whole()
"""


#: While a destructor runs, from which exceptions go no further.
DESTROYS = """
import os, signal, time
from gui.commands.ends import orderly_end
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        self.content = []
with orderly_end():
    Last()
    while True:
        time.sleep(1)
"""


@pytest.mark.parametrize("program", [MAKES, DESTROYS], ids=["half made", "half destroyed"])
def test_a_signal_amid_an_object_ends_the_process_silently(app, place, program):
    with app.started(environment=place, program=("-c", program)) as process:
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 128 + signal.SIGTERM


#: Just before the first file is complete.
WRITES = """
import os, signal, sys
sync = os.fsync
def end(file):
    os.fsync = sync
    os.kill(os.getpid(), signal.SIGTERM)
    sync(file)
os.fsync = end
import main
main.main()
"""
WRITERS = {
    "export": ("export", "sample", "--out", "out.csv"),
    "film": ("timelapse", "trained", "--out", "out.gif", "--size", "160x120"),
    "picture": ("render", "sample", "--out", "out.png", "--size", "160x120"),
    "report": ("report", "trained", "--out", "out", "--no-figures"),
    "table": ("table", "sample", "--out", "out.csv"),
    "vectors": ("render", "sample", "--out", "out.svg", "--size", "160x120"),
}


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_a_signal_while_a_command_writes_leaves_no_file(app, place, writer):
    write_trained(app.home)
    with app.started(*WRITERS[writer], environment=place, program=("-c", WRITES)) as process:
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 128 + signal.SIGTERM
    assert [path for path in app.home.glob("out*") if path.is_file()] == []
    assert [*app.home.glob("out/*")] == []
    assert_nothing_is_left(app, process.pid)


def write_trained(folder, steps=3):
    """A model with its history."""
    trained = write_checkpoint(folder / "trained", growing(range(steps))[-1])
    write_record(trained / "history.safetensors", list(range(steps)))


def write_many(folder):
    """A list of computed tables, which take minutes together."""
    lines = "".join(f"sinusoidal:{n}x32\n" for n in range(100, 1000))
    (folder / "many.txt").write_text(lines, "utf-8")


#: Commands that have children, or go on for long, each with what there is once it is at work.
LONG = {
    "survey that starts": (
        ("survey", "many.txt", "--out", "out.parquet", "--workers", 2), "tmp/helixscope-survey-*"
    ),
    "survey": (("survey", "many.txt", "--out", "out.parquet", "--workers", 2), "*.parts/*.parquet"),
    "film": (
        ("timelapse", "trained", "--out", "out.gif"), "tmp/*/palette.png"
    ),
    "training": (
        ("train", "--corpus", "texts", "--out", "out", "--positions", 16, "--layers", 1,
         "--heads", 1, "--width", 16, "--vocabulary", 257, "--batch", 2, "--steps", 100_000),
        "out/unfinished/*",
    ),
    "positions": (
        ("positions", "sample", "--texts", "texts", "--out", "out", "--length", 200),
        "out/unfinished/*",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "to"),
    [(signal.SIGTERM, os.kill), (signal.SIGTERM, os.killpg), (signal.SIGHUP, os.killpg)],
    ids=["kill", "service", "terminal"],
)
@pytest.mark.parametrize("long", LONG)
def test_a_signal_ends_a_command_at_work_with_all_its_children(app, place, long, number, to):
    write_trained(app.home, steps=300)
    write_many(app.home)
    (app.home / "texts").mkdir()
    (app.home / "texts" / "a.txt").write_text("This is a sentence. " * 20_000, "utf-8")
    arguments, sign = LONG[long]
    with app.started(*arguments, environment=place) as process:
        while not [*app.home.glob(sign)]:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)  # it needs the cores
        to(process.pid, number)
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 128 + number
    assert_nothing_is_left(app, process.pid)


@pytest.mark.slow
def test_the_end_of_the_terminal_ends_a_survey(app, place):
    write_many(app.home)
    ours, theirs = os.openpty()
    with app.started(
        "survey", "many.txt", "--out", "out.parquet", "--workers", 2, environment=place,
        terminal=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        read_until(ours, b"Measuring on 2 workers")
        os.close(ours)
        assert process.wait(PATIENCE) == 128 + signal.SIGHUP
    assert_nothing_is_left(app, process.pid)


@pytest.mark.slow
def test_a_command_whose_output_nobody_reads_still_writes_its_file(app, place):
    with app.started("table", "sample", "--out", "out.csv", environment=place) as process:
        process.stdout.close()
        process.stderr.close()
        assert process.wait(PATIENCE) == 0
    assert (app.home / "out.csv").exists()
