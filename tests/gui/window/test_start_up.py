"""What the start imports: in a process of its own, as far as the first painted curve."""

import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import Session
from gui.window.settings.settings import Settings
from tests.stand_ins import write_stand_in

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
GPT2 = "openai-community/gpt2"
SLOW = {
    "torch", "transformers", "tokenizers", "huggingface_hub", "httpx2", "scipy",
    "matplotlib.pyplot", "geometry.claims.claims", "gui.services.lessons.text",
}  # fmt: skip
"""What a start that has come to rest has not imported, with what is made after the first frame."""


def test_nothing_slow_is_imported_before_the_first_curve(gpt2_folder, tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "child_ours.py"), str(gpt2_folder)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert "first" in printed
    assert printed["imported"] == ""


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


def test_a_start_with_a_kept_model_asks_nobody_and_imports_no_client(
    loopback_hub, tmp_path, run_python
):
    """Not the lists of models that are made after the first frame either."""
    loopback_hub.add(GPT2, write_stand_in(tmp_path / "made", GPT2))
    session = Session()
    controller = Controller(session, InlineJobs())
    controller.open(GPT2)
    controller.close()
    settings = Settings(tmp_path / "settings.ini")
    settings.save_session(session)
    settings.sync()
    loopback_hub.forget_requests()
    printed = run_python(
        "import sys\n"
        "from pathlib import Path\n"
        "from gui.commands.application import Application, prepare_qt\n"
        "from gui.window.settings.settings import Settings\n"
        "qt = prepare_qt()\n"
        f"application = Application(qt, Settings(Path({str(tmp_path / 'settings.ini')!r})))\n"
        "while application.session.model is None or not application.idle:\n"
        "    qt.processEvents()\n"
        "session = application.session\n"
        "print(session.model.source, session.notice, len(session.models) > 0)\n"
        "application.close()\n"
        f"print({SLOW!r} & set(sys.modules))\n"
    )
    assert printed.splitlines() == [f"{GPT2} None True", "set()"]
    assert loopback_hub.requests == []


def test_a_changed_byte_of_qt_s_in_the_settings_of_0_1_does_not_end_the_process(
    tmp_path, run_python
):
    """It ended every start: Qt reads its own bytes without a check."""
    old = Path(__file__).resolve().parents[2] / "fixtures" / "0.1" / "settings" / "light.ini"
    ini = tmp_path / "settings.ini"
    ini.write_bytes(old.read_bytes())
    store = QSettings(str(ini), QSettings.Format.IniFormat)
    state = bytearray(store.value("window/state").data())
    state[137] ^= 0xFF
    store.setValue("window/state", QByteArray(bytes(state)))
    store.sync()
    printed = run_python(
        "from pathlib import Path\n"
        "from gui.commands.application import Application, prepare_qt\n"
        "from gui.window.settings.settings import Settings\n"
        "qt = prepare_qt()\n"
        f"application = Application(qt, Settings(Path({str(ini)!r})), 'sample')\n"
        "while application.session.model is None or not application.idle:\n"
        "    qt.processEvents()\n"
        "print(application.settings.theme, application.session.notice)\n"
        "application.close()\n"
    )
    assert printed == "light None\n"
