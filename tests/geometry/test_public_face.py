"""The public face of geometry: what a researcher imports."""

import inspect
import json
import re
from pathlib import Path

import pytest

import geometry
from tests.scripts import check_imports

GUIDE = Path(__file__).resolve().parents[2] / "resources" / "guide" / "python.md"


def test_each_name_is_there_and_documented_and_hides_no_package():
    packages = {path.name for path in Path(geometry.__file__).parent.iterdir() if path.is_dir()}
    assert not packages & set(geometry.__all__)
    for name in geometry.__all__:
        found = getattr(geometry, name)
        assert name in dir(geometry)
        assert not callable(found) or inspect.getdoc(found), name
    with pytest.raises(AttributeError, match="helix"):
        _ = geometry.helix


def test_the_guide_lists_each_name_once_and_no_other():
    listed = re.findall(r"^\| `(\w+)` \| ", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(geometry.__all__)


def test_importing_it_takes_nothing_along(run_python):
    program = "import json, sys, geometry; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.partition(".")[0] for name in json.loads(run_python(program))}
    assert not loaded & {"numpy", "scipy", "torch", "transformers", "matplotlib", "PySide6"}


@pytest.mark.parametrize(
    "line",
    [
        "from gui.state.session import Session",
        "import geometry.pca",
        "from geometry import pca",
        "from geometry.pca.pca import fit_pca",
        "def late():\n    import torch",
        "from . import scripts",
    ],
)
def test_what_a_script_may_not_import(line):
    with pytest.raises(AssertionError):
        check_imports(line)
