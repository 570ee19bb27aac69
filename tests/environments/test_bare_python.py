"""``import helixscope`` where packages are missing: what needs one says so, the rest works."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.command_line import ROOT
from tests.environments.screens import clean

#: What the window, the 3D view and networks need, but numbers, tables and figures do not.
LARGE = (
    "PySide6", "plotly", "pyqtgraph", "pyvista", "pyvistaqt", "qtpy", "superqt", "torch",
    "transformers", "trimesh", "vtk", "vtkmodules",
)  # fmt: skip

#: Prints by name what each line of code made, or the error with its advice.
PROGRAM = """
import json, sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = (
    lambda name, *more: None if name.partition(".")[0] in {names!r} else find(name, *more)
)
import numpy as np
import helixscope as hx
rows = np.random.default_rng(0).standard_normal((60, 8)).astype("f4")
found = {{}}
m = hx.open("sample")
for line in {lines!r}:
    try:
        found[line] = str(eval(line))
    except hx.HelixscopeError as error:
        found[line] = ["HelixscopeError", str(error), *error.__notes__]
print(json.dumps(found))
"""


@pytest.fixture
def without(tmp_path):
    """Evaluate lines of code in a process in which some packages cannot be imported."""

    def evaluate(names, *lines):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(names=names, lines=lines)], cwd=tmp_path,
            env=clean() | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
            capture_output=True, text=True, timeout=280,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return evaluate


def missing(package):
    return [
        "HelixscopeError",
        f"This needs the package {package}, which is not installed.",
        f"Install it: pip install {package}.",
    ]


@pytest.mark.slow
def test_neither_qt_vtk_nor_torch_are_needed(without, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"wpe.weight": torch.ones(60, 8)}, tmp_path / "saved.pt")
    works = {
        "m.n_positions": "256", "hx.open(rows).W_pos.shape": "(60, 8)",
        "hx.open({'wpe.weight': rows, 'wte.weight': rows}).W_E.shape": "(60, 8)",
        "hx.open('saved.pt').W_pos.sum()": "480.0",
        "m.numbers['verdict']": "helix", "len(m.claims().columns) > 5": "True",
        "list(m.table(hx.open(rows, name='rows')).index)[1]": "rows",
        "hx.survey([m, rows])['error'].isna().all()": "True",
        "sorted(m._repr_mimebundle_())": "['image/png', 'text/html', 'text/plain']",
        **{f"m.save('curve.{kind}').name": f"curve.{kind}"
           for kind in ("png", "svg", "pdf", "npy", "csv", "tsv")},
        "m.save('small.html', small=True).name": "small.html",
        "m.figure('norms', beside=[m]).save('norms.pdf', 'column').name": "norms.pdf",
    }  # fmt: skip
    says = {"m.save('whole.html')": missing("pyvista")}
    assert without(LARGE, *works, *says) == works | says


@pytest.mark.slow
def test_a_report_leaves_out_the_3d_view_and_says_so(without, tmp_path):
    small = "hx.open('synthetic:helix,n=40,d=6,turns=3')"
    line = f"{small}.report('out')['figures']['skipped']['helix.png']"
    assert without(LARGE, line) == {line: missing("pyvista")[1].rstrip(".")}
    assert (tmp_path / "out" / "helix.svg").is_file()
    assert {path.stem for path in (tmp_path / "out").glob("*.png")} > {"norms", "spectrum"}


PANDAS, FIGURES, PICTURES = (
    ("m.claims()", "m.table()", "hx.survey([rows])"), ("m.figure('norms')", "m.save('a.pdf')"),
    ("m.save('a.html', small=True)",),
)  # fmt: skip


@pytest.mark.parametrize(
    ("names", "package", "lines"),
    [
        (["pandas"], "pandas", PANDAS),
        pytest.param(["matplotlib"], "matplotlib", FIGURES, marks=pytest.mark.slow),
        pytest.param(["cmap"], "cmap", PICTURES, marks=pytest.mark.slow),
    ],
)
def test_a_missing_package_is_one_sentence_with_the_line_to_install_it(
    without, names, package, lines
):
    works = ("m.n_positions", "m.save('a.npy').name")
    found = without(names, *lines, *works)
    assert found == {**dict.fromkeys(lines, missing(package)), works[0]: "256", works[1]: "a.npy"}


@pytest.mark.slow
def test_a_survey_of_what_is_in_memory_needs_no_dask(without):
    works, says = "hx.survey([m])['n_positions'][0]", "hx.survey(['sample'])"
    found = without(["dask", "distributed"], works, says)
    assert found[works] == "256"
    assert "distributed" in found[says][1]


def test_what_python_prints_of_an_error_ends_with_the_advice(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(20))
    code = f"import helixscope as hx; hx.open({str(tmp_path / 'rows.npy')!r}).save('a.xyz')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=clean() | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    error, advice = done.stderr.strip().split("\n")[-2:]
    assert "cannot be saved as a.xyz" in error
    assert advice.startswith("Use one of .html")
