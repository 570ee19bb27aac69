"""A command that is run in a checkpoint's folder reads nothing of it but what it is asked to.

Neither do the processes that it starts.
"""

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import main
from geometry.checkpoints.children import safe_environment
from geometry.inside.worker import run_in_subprocess
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT, assert_silent
from tests.geometry.training_text import write_text

COMMAND = Path(sysconfig.get_path("scripts"), "helixscope")

#: What Python, Matplotlib, transformers, Plotly, requests, Qt, fontconfig, Dask, torch and git
#: would look for.
FILES = """
matplotlibrc config.json .netrc .env .plotly pyproject.toml setup.cfg qt.conf fontconfig fonts.conf
.huggingface dask.yaml distributed.yaml pyvenv.cfg python311._pth here.pth _ops.py _classes.py
shibokensupport/signature/parser.py shibokensupport/feature.py
"""
#: Started by name: by Helixscope, Matplotlib and the modules `platform` and `ctypes`.
PROGRAMS = ("ffmpeg", "fc-list", "uname", "ldconfig", "gcc", "ld", "objdump", "python", "xdg-open")
#: Looked for, but not installed everywhere.
OTHERS = """
main gui geometry resources helixscope sitecustomize usercustomize bokeh cupy flash_attn jax numba
orjson pooch pynvml tensorflow triton uvloop signature_bootstrap shibokensupport src
"""

# Writes down what a Python process opens below a folder, and what it starts there.
WATCH = """
import os, sys
here, found = {here!r}, {found!r}
def heard(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        # Where nothing is of that name, it is within another folder, by its number.
        if path.startswith(os.path.join(here, "")) and os.path.lexists(path):
            with os.fdopen(os.open(found, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as file:
                print(os.getpid(), event, path, file=file)
sys.addaudithook(heard)
"""


def loaded_before() -> set[str]:
    """What Python and the installed command import before there is any code of Helixscope."""
    code = "import re, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    # The last two are looked for by what an editable installation imports as Python starts.
    return {*done.stdout.split(), "sitecustomize", "usercustomize", "helixscope", "nt", "_winapi"}


class Folder:
    """A folder full of what might be obeyed, in which commands are run.

    Parameters
    ----------
    entry
        Of PYTHONPATH: where modules are, from the folder. Python itself looks there before there is
        any code of Helixscope, so what it looks for is left out then.

    Attributes
    ----------
    variables
        An environment in which each Python process writes down what it opens there.
    """

    def __init__(self, root: Path, entry: str | None = None) -> None:
        self.path, self._found = root / "here", root / "found"
        place = self.path / (entry or "")
        place.mkdir(parents=True)
        names = {*sys.stdlib_module_names, *packages_distributions(), *OTHERS.split()}
        ran = f"open({str(self._found)!r}, 'a').write(f'ran {{__file__}}\\n')\n"
        for name in names - (set() if entry is None else loaded_before()):
            (place / name).mkdir()
            (place / name / "__init__.py").write_text(ran)
            (place / f"{name}.py").write_text(ran)
        for name in FILES.split():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_bytes(b"\xff nonsense \x00")
        for name in PROGRAMS:
            (self.path / name).write_text(f"#!/bin/sh\necho ran $0 >> {self._found}\n")
            (self.path / name).chmod(0o755)
        self._listed = sorted(self.path.rglob("*"))
        watch = root / "watch"
        watch.mkdir()
        code = WATCH.format(here=str(self.path), found=str(self._found))
        (watch / "sitecustomize.py").write_text(code)
        self.variables = {
            "PYTHONPATH": str(watch) if entry is None else os.pathsep.join((entry, str(watch))),
            "PATH": os.pathsep.join(("", os.environ["PATH"], ".")),
        }

    def run(self, *command: object, environment: dict[str, str]) -> None:
        """Run a command in the folder."""
        done = subprocess.run(
            [*map(str, command)], cwd=self.path, capture_output=True, text=True,
            env=os.environ | environment | self.variables, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr

    def assert_untouched(self) -> None:
        """Nothing was run, read, or added."""
        assert not self._found.exists(), self._found.read_text()
        assert sorted(self.path.rglob("*")) == self._listed


SMALL = ("--length", 48, "--texts-at-most", 4, "--texts", "../text")
#: Every command, at least once, with all that is drawn, fetched or measured in some way of its own.
COMMANDS = {
    "open": ("sample", "--picture", "../window.png"),
    "render": ("sample", "--out", "../a.png", "--size", "200x200"),
    "render vectors": ("sample", "--out", "../a.svg", "--size", "200x200"),
    "report": ("sample", "--out", "../report", "--positions", "1-60", "--no-figures"),
    "export": ("sample", "--out", "../a.npz"),
    "export scene": ("sample", "--out", "../a.html"),
    "export film": ("sample", "--out", "../a.gif", "--size", "160x120", "--seconds", 1,
                    "--fps", 5),
    "timelapse": ("sample", "--out", "../a.mp4", "--size", "160x120", "--steps", 3),
    "table": ("sample",),
    "models": ("--offline",),
    "train": ("--corpus", "../text", "--out", "../model", "--positions", 32, "--width", 16,
              "--heads", 2, "--vocabulary", 280, "--batch", 4, "--steps", 3),
    "positions": ("sample", "--out", "../inside", *SMALL),
    "intervene": ("sample", "--changes", "identity", *SMALL),
    "survey": ("sample", "--out", "../a.parquet", "--workers", 1),
}  # fmt: skip


def test_every_command_is_here():
    assert {name.partition(" ")[0] for name in COMMANDS} == set(main.COMMANDS)


QUICK = [("models", ""), ("models", "."), ("models", "below")]
SLOW = [("survey", None), *((name, "") for name in COMMANDS if name != "models")]


@pytest.mark.parametrize(
    ("name", "entry"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_commands_leave_the_current_folder_alone(name, entry, tmp_path, environment):
    """PYTHONPATH has an entry that is, or is in, the current folder."""
    write_text(tmp_path / "text")
    folder = Folder(tmp_path, entry)
    folder.run(COMMAND, name.partition(" ")[0], *COMMANDS[name], environment=environment)
    folder.assert_untouched()


def test_so_does_the_file_that_make_runs(tmp_path, environment):
    folder = Folder(tmp_path, "")
    folder.run(sys.executable, ROOT / "main.py", "models", "--offline", environment=environment)
    folder.assert_untouched()


@pytest.fixture
def inside(tmp_path, monkeypatch) -> Folder:
    """This process in such a folder, with all names in it, and an empty entry in PYTHONPATH."""
    write_text(tmp_path / "text")
    folder = Folder(tmp_path)
    monkeypatch.chdir(folder.path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", folder.variables["PYTHONPATH"], ".")))
    return folder


def test_processes_of_a_survey_leave_the_current_folder_alone(inside, command):
    assert_silent(command("survey", "sample", "--out", "../a.parquet", "--workers", 1))
    inside.assert_untouched()


@pytest.mark.slow
def test_the_process_of_a_window_leaves_the_current_folder_alone(inside):
    told = run_in_subprocess(
        "effects", source="sample", fingerprint=open_model("sample").fingerprint, length=48,
        texts="../text", texts_at_most=4, changes=["identity"],
    )  # fmt: skip
    for one in told:
        assert one.total
    inside.assert_untouched()


@pytest.mark.parametrize("given", [None, "/a", os.pathsep.join(("", "/a", "b", "."))])
def test_what_a_survey_changes_in_the_environment_is_restored(given, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONPATH", given)
    before = dict(os.environ)
    with safe_environment():
        assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ["PYTHONPATH"] == ("/a" if given else "")
    assert dict(os.environ) == before


def test_a_deleted_folder_is_no_obstacle(tmp_path, environment):
    place = tmp_path / "deleted"
    code = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, COMMAND, "--version"], cwd=place, text=True,
        capture_output=True, env=os.environ | environment | {"PYTHONPATH": ""}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["folder", "variable", "home"])
def test_nobodys_matplotlibrc_is_obeyed(place, tmp_path, monkeypatch):
    """Not that of the current folder, of MATPLOTLIBRC, or of the user's own settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    where = {"folder": "", "variable": "elsewhere", "home": "home"}[place]
    path = tmp_path / where / "matplotlibrc"
    path.parent.mkdir(exist_ok=True)
    path.write_text("lines.linewidth: 77\nnonsense")
    if place == "variable":
        monkeypatch.setenv("MATPLOTLIBRC", str(path))
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import gui, matplotlib as mpl; "
    code += "print(mpl.rcParams == mpl.rcParamsDefault)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
