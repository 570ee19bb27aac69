"""``import helixscope`` in folders of which a module or folder has the name of one of ours.

It works, or says in a sentence which file is in the way, however Helixscope is installed.
"""

import os
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.command_line import ROOT
from tests.environments.screens import clean
from tests.test_wheel import copied, install, installed, wheel  # noqa: F401 – fixtures

CODE = "import helixscope as hx; print(hx.open('sinusoidal:64x16').n_positions)"
#: What a user may have, and whether it is found before ours.
NAMES = {
    "main.py": False, "gui/window.py": False, "resources/icon.png": False, "geometry/a.csv": False,
    "geometry.py": True, "gui/__init__.py": True, "resources/__init__.py": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def python(request, tmp_path_factory):
    """The interpreter of an installation, and its variables."""
    if request.param == "clone":
        return sys.executable, {"PYTHONPATH": str(ROOT)}
    if request.param == "wheel":
        place = request.getfixturevalue("installed")
    else:
        folder = copied(tmp_path_factory.mktemp("source"))
        place = tmp_path_factory.mktemp("environment") / "editable"
        # What builds it is here, and there is no network to get it from.
        install(place, "--no-build-isolation", "--editable", folder)
    return str(place / "bin" / "python"), {}


@pytest.mark.slow
@pytest.mark.parametrize("python", ["clone", "wheel", "editable"], indirect=True)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_user_is_not_in_the_way_or_is_named(python, name, tmp_path):
    program, variables = python
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("", "utf-8")
    environment = {k: v for k, v in clean().items() if k != "PYTHONPATH"} | variables
    done = subprocess.run(
        [program, "-c", CODE], cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if not NAMES[name]:
        assert (done.stdout, done.stderr) == ("64\n", "")
        return
    last = done.stderr.strip().split("\n")[-1]
    assert last.startswith(f"ImportError: {file} has the name of a package of Helixscope")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["main.py", "geometry.py"])
def test_so_in_a_notebook_beside_it(name, tmp_path, monkeypatch):
    """The folder of a notebook is where its kernel looks before the installed packages."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(here), str(ROOT))))
    for variable in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (here / name).write_text("", "utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    client = NotebookClient(notebook, resources={"metadata": {"path": str(here)}})
    if NAMES[name]:
        with pytest.raises(CellExecutionError) as raised:
            client.execute()
        assert raised.value.evalue.startswith(f"{here / name} has the name of a package")
    else:
        client.execute()
        assert notebook.cells[0].outputs[0].text == "64\n"
