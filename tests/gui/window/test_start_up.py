"""What the start shows and imports, in a process of its own, as far as the first painted curve."""

import subprocess
import sys
from pathlib import Path

import pytest

from gui.commands.qt_start import surface_format
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import Session
from gui.style.theme import LIGHT
from gui.window.settings.settings import Settings
from tests.stand_ins import write_stand_in

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
GPT2 = "openai-community/gpt2"
SLOW = {
    *("torch", "transformers", "tokenizers", "huggingface_hub", "httpx2", "dask", "distributed"),
    *("scipy.linalg", "scipy.fft", "matplotlib.pyplot", "pooch", "pyarrow"),
    *("geometry.claims.claims", "geometry.survey.run", "gui.services.lessons.text"),
}
"""What a start that has come to rest has not imported, with what is made after the first frame."""


@pytest.fixture
def printed_by(tmp_path, monkeypatch):
    """Run Python with arguments, without settings of a user, and return the lines it prints."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))

    def run(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.slow
def test_nothing_slow_is_imported_before_the_first_curve(printed_by, gpt2_folder):
    lines = printed_by(str(BENCHMARKS / "child_ours.py"), str(gpt2_folder))
    printed = dict(line.partition(" ")[::2] for line in lines)
    assert "first" in printed
    assert printed["imported"] == ""


WATCHED = """
import sys
from PySide6.QtCore import QEvent, QTimer
from gui.commands import run_window
from gui.window.main_window import MainWindow

seen = []
handle = MainWindow.event
WATCHED = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WinIdChange, QEvent.Type.Resize,
           QEvent.Type.Move, QEvent.Type.Close}

def event(window, event):
    if event.type() in WATCHED:
        seen.append(event.type().name)
    return handle(window, event)

MainWindow.event = event
show_empty = run_window._show_empty

def shown(window):
    show_empty(window)
    heavy = {"pyvista", "vtkmodules", "gui.services.controller"} & set(sys.modules)
    print(window.isVisible(), window.windowHandle().isExposed(), heavy)
    print(window.grab().toImage().pixelColor(5, 5).name(), window.close(), window.isVisible())
    seen.clear()
    size = window.size()
    QTimer.singleShot(0, lambda: rest(window, size))

def rest(window, size):
    if not (hasattr(window, "viewport") and window.grid.idle and window.panels
            and window.session.curve is not None and window.session.jobs == 0):
        QTimer.singleShot(20, lambda: rest(window, size))
        return
    print(seen, window.size() == size)
    window.may_close = lambda: True
    window.close()

run_window._show_empty = shown
print(run_window.run_window(sys.argv[1]))
"""


@pytest.mark.slow
def test_window_comes_before_vtk(printed_by, gpt2_folder):
    """Nor can it be closed before there is anything in it to be closed."""
    expected = ["True True set()", f"{LIGHT.panel} False True", "[] True", "0"]
    assert printed_by("-c", WATCHED, str(gpt2_folder)) == expected


def test_the_window_has_the_surface_that_pyvistaqt_asks_for():
    from pyvistaqt.rwi import _default_format

    assert surface_format() == _default_format()


@pytest.mark.slow
def test_pyvista_comes_without_pyplot_and_still_draws_charts(run_python):
    """What is left out at the start is there when it is asked for."""
    printed = run_python(
        "import sys\n"
        "import gui\n"
        "import pyvista.plotting\n"
        "print({'matplotlib.pyplot', 'matplotlib.backends.backend_agg'} & set(sys.modules))\n"
        "chart = pyvista.ChartMPL()\n"
        "import matplotlib.pyplot as plt\n"
        "from matplotlib.backends.backend_agg import FigureCanvasAgg\n"
        "print(type(chart._canvas) is FigureCanvasAgg, plt.rcParams is not None)\n"
        "print(len(pyvista.plotting.colors.get_matplotlib_theme_cycler()) > 0)\n"
    )
    assert printed.splitlines() == ["set()", "True True", "True"]


@pytest.mark.slow
def test_scipy_comes_before_the_threads_that_import_its_modules(tmp_path, run_python):
    """Two that begin with it at the same time fail."""
    printed = run_python(
        "import sys, threading\n"
        "from tests.gui.alone import settle, start\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'scipy':\n"
        "            print(threading.current_thread() is threading.main_thread())\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"application = start({str(tmp_path / 'settings.json')!r}, 'sample')\n"
        "application.window.focus_on('dimensions')\n"
        "settle(application)\n"
        "print('scipy.fft' in sys.modules)\n"
        "application.close()\n"
    )
    assert printed.splitlines() == ["True", "True"]


@pytest.mark.slow
def test_start_with_a_kept_model_is_offline(loopback_hub, tmp_path, run_python):
    """Not the lists of models that are made after the first frame either."""
    loopback_hub.add(GPT2, write_stand_in(tmp_path / "made", GPT2))
    session = Session()
    controller = Controller(session, InlineJobs())
    controller.open(GPT2)
    controller.close()
    settings = Settings(tmp_path / "settings.json")
    settings.save_session(session)
    settings.sync()
    loopback_hub.forget_requests()
    printed = run_python(
        "import sys\n"
        "from tests.gui.alone import start\n"
        f"application = start({str(tmp_path / 'settings.json')!r})\n"
        "session = application.session\n"
        "print(session.model.source.text, session.notice, len(session.models) > 0)\n"
        "application.close()\n"
        f"print({SLOW!r} & set(sys.modules))\n"
    )
    assert printed.splitlines() == [f"{GPT2} None True", "set()"]
    assert loopback_hub.requests == []
