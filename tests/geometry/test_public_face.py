"""The public face of geometry: what a researcher imports."""

import contextlib
import inspect
import io
import json
import re
from pathlib import Path

import pytest

import geometry

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.S)


@pytest.mark.parametrize("name", geometry.__all__)
def test_each_name_is_there_documented_and_in_the_guide(name):
    found = getattr(geometry, name)
    assert name in dir(geometry)
    if callable(found):
        assert inspect.getdoc(found)
    assert f"| `{name}` | " in GUIDE.read_text("utf-8")


def test_no_name_hides_a_package():
    packages = {path.name for path in Path(geometry.__file__).parent.iterdir() if path.is_dir()}
    assert not packages & set(geometry.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'helix'"):
        _ = geometry.helix


def test_importing_it_takes_nothing_along(run_python):
    program = "import json, sys, geometry; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.partition(".")[0] for name in json.loads(run_python(program))}
    assert not loaded & {"numpy", "scipy", "torch", "transformers", "matplotlib", "PySide6"}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_guide_run(number):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(EXAMPLES[number], str(GUIDE), "exec"), {"__name__": "__main__"})
    assert printed.getvalue()
