"""A command that is run in a checkpoint's folder reads nothing of it but what it is asked to."""

import os
import subprocess
import sys

import pytest

from tests.command_line import ROOT

# What Python, Matplotlib, transformers, Plotly, requests and git would look for.
POISON = (
    "matplotlibrc", "numpy.py", "torch.py", "typing.py", "sitecustomize.py", "usercustomize.py",
    "main.py", "gui.py", "config.json", ".netrc", ".env", ".plotly", "pyproject.toml",
    "qt.conf", "fontconfig", ".huggingface", "vtk.py", "site.cfg",
)  # fmt: skip

# Runs the command as `python main.py` does, and names what is opened below the current folder.
WATCHED = """
import os, runpy, sys
here = os.getcwd()
def heard(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if path.startswith(os.path.join(here, "")):
            os.write(2, f"opened {path}\\n".encode())
sys.addaudithook(heard)
sys.path[0] = os.path.dirname(sys.argv[1])
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def poisoned(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    for name in POISON:
        (folder / name).write_bytes(b"\xff raise SystemExit('obeyed') \x00")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "sample", "--out", "../out", "--positions", "1-60", "--no-figures"],
        ["render", "sample", "--out", "../out.png", "--size", "200x200"],
        ["models", "--offline"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_nothing_else_is_read(arguments, poisoned, tmp_path, environment):
    script = tmp_path / "watched.py"
    script.write_text(WATCHED)
    done = subprocess.run(
        [sys.executable, script, ROOT / "main.py", *arguments], cwd=poisoned,
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in poisoned.iterdir()} == set(POISON)


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
