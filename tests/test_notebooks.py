"""The notebooks of docs/notebooks run on models that are here, and each cell shows something."""

from importlib.util import find_spec

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
NEEDS = {"transformer_lens": "transformer_lens"}
MAX_OUTPUT = 400_000
TIMEOUT = 280
"""Seconds for a cell."""


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Execute a notebook in an empty folder; what its cells display."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for variable in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "here").mkdir()

    def execute(notebook):
        where = {"metadata": {"path": str(tmp_path / "here")}}
        NotebookClient(notebook, timeout=TIMEOUT, resources=where).execute()
        outputs = [output for cell in code_of(notebook) for output in cell.outputs]
        assert all(sum(map(len, map(str, one.values()))) < MAX_OUTPUT for one in outputs)
        # What showed progress is empty at the end.
        return [one.data for one in outputs if any(one.get("data", {}).values())]

    return execute


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_cell_shows_a_table_or_a_picture(name, executed):
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    shown = executed(read(name))
    assert len(shown) >= 2
    assert all({"text/html", "image/png"} & set(data) for data in shown)


@pytest.mark.slow
def test_figures_for_which_a_file_lacks_weights_say_so(executed, gpt2_folder):
    notebook = read("articles")
    first = code_of(notebook)[0]
    first.source = first.source.replace('SOURCE = "sample"', f"SOURCE = {str(gpt2_folder)!r}")
    shown = executed(notebook)
    lacking = [data for data in shown if not {"text/html", "image/png"} & set(data)]
    assert 0 < len(lacking) < len(shown) / 2
    assert all("no token embeddings" in data["text/markdown"] for data in lacking)


def test_they_have_no_outputs_and_name_the_model_once():
    assert len(NAMES) >= 4
    for name in NAMES:
        cells = code_of(read(name))
        assert all(not cell.outputs and cell.execution_count is None for cell in cells)
        assert "\n".join(cell.source for cell in cells).count("SOURCE = ") == 1
