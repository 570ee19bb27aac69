"""Which way imports may point, what they may not drag in, and that all of it is declared."""

import ast
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import geometry

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOOLKITS = {
    "PySide6", "qtpy", "superqt", "pyqtgraph", "qtawesome", "vtk", "vtkmodules", "pyvista",
    "pyvistaqt", "psygnal", "matplotlib", "gui",
}  # fmt: skip
SLOW = {"torch", "transformers", "dask", "distributed", "pyarrow"}
"""Seconds, or hundreds of megabytes: imported where they are needed, not before."""


@pytest.mark.slow
def test_imports_point_the_way_the_contracts_say():
    """`make test` checks this before the tests."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_geometry_is_numbers_only_when_it_runs(run_python):
    names = [module.name for module in pkgutil.walk_packages(geometry.__path__, "geometry.")]
    assert "geometry.pca.pca" in names
    listed = "import json, sys; print(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    output = run_python("\n".join([*(f"import {name}" for name in names), listed]))
    assert not set(json.loads(output)) & (TOOLKITS | SLOW)


@cache
def imports(path: Path) -> set[str]:
    """All that a file imports: at the top, in functions, and for types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach each other."""
    reach = {}
    for start in graph:
        seen, ahead = set(), list(graph[start])
        while ahead:
            module = ahead.pop()
            if module not in seen:
                seen.add(module)
                ahead += graph[module]
        reach[start] = seen
    in_cycles = {module for module in graph if module in reach[module]}
    groups = {frozenset(m for m in reach[one] if one in reach[m]) for one in in_cycles}
    return sorted(map(set, groups), key=sorted)


@pytest.mark.parametrize("package", ["geometry", "gui"])
def test_no_modules_import_each_other_in_a_circle(package):
    """Neither at import, nor in functions, nor under TYPE_CHECKING."""
    files = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    modules = set(files)
    graph = {name: imports(path) & modules - {name} for name, path in files.items()}
    assert len(graph) > 50
    assert cycles(graph) == []


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}
    assert cycles(graph) == [{"b", "c"}]


def test_the_files_that_the_architecture_page_names_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)`", text))
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("g*/**/*.py")}
    for folder in ("tests", "tools"):
        files |= {str(path.relative_to(ROOT)) for path in ROOT.glob(f"{folder}/**/*.py")}
    missing = {name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in files)}
    assert len(named) > 20
    assert not missing


def canonical(requirement: str) -> str:
    """The name of a distribution as package indexes compare it, without versions and markers."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def test_declared_dependencies_are_the_imported_ones():
    files = [ROOT / "main.py", *ROOT.glob("geometry/**/*.py"), *ROOT.glob("gui/**/*.py")]
    modules = {name.partition(".")[0] for path in files for name in imports(path)}
    known = packages_distributions()
    foreign = (
        modules
        - {"helixscope", "main", "geometry", "gui", "resources"}
        - set(sys.stdlib_module_names)
    )
    declared = {canonical(requirement) for requirement in PROJECT["dependencies"]}
    extras = PROJECT["optional-dependencies"]
    optional = {
        canonical(one)
        for extra in ("files", "gguf", "notebook", "survey", "testing")
        for one in extras[extra]
    }
    # shiboken6 and PySide6 are two distributions of one binding, installed together.
    assert {canonical(known[module][0]) for module in foreign} - {
        "shiboken6"
    } - optional == declared


def test_every_declared_dependency_is_pinned():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = {canonical(line) for line in lines if line and not line.startswith("#")}
    asked = {
        canonical(requirement)
        for listed in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
        for requirement in listed
    }
    assert asked - {"helixscope"} <= pins
