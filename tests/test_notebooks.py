"""The notebooks of docs/notebooks run on the bundled model, and each cell shows something."""

import ast
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
NEEDS = {"transformer_lens": "transformer_lens"}


def cells(name):
    content = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def run(code, names):
    """Run a cell, and return the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in cells(name):
        value = run("".join(cell["source"]), names)
        for show in ("_repr_mimebundle_", "_repr_png_", "_repr_html_"):
            if value is not None and hasattr(value, show):
                assert getattr(value, show)()
        assert len(repr(value)) < 20_000


def test_they_have_no_outputs_and_name_the_model_once():
    names = [path.stem for path in FOLDER.glob("*.ipynb")]
    assert len(names) >= 4
    for name in names:
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells(name))
        code = "\n".join("".join(cell["source"]) for cell in cells(name))
        assert code.count("SOURCE = ") == 1
