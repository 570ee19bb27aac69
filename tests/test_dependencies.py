"""What pyproject.toml asks for is what the code imports, and constraints.txt pins all of it."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = {"main", "geometry", "gui", "resources"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def canonical(requirement: str) -> str:
    """The name of a distribution as package indexes compare it, without versions and markers."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def imported_distributions() -> set[str]:
    """Distributions of all the modules that the app's own code imports, wherever in a file."""
    modules = set()
    for path in [ROOT / "main.py", *ROOT.glob("geometry/**/*.py"), *ROOT.glob("gui/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module.partition(".")[0])
    known = packages_distributions()
    foreign = modules - OURS - set(sys.stdlib_module_names)
    # shiboken6 and PySide6 are two distributions of one binding, installed together.
    return {canonical(known[module][0]) for module in foreign} - {"shiboken6"}


def test_declared_dependencies_are_the_imported_ones():
    declared = {canonical(requirement) for requirement in PROJECT["dependencies"]}
    assert imported_distributions() == declared


def test_every_declared_dependency_is_pinned():
    pins = {
        canonical(line)
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    }
    extras = PROJECT["optional-dependencies"]["test"]
    asked = {canonical(requirement) for requirement in PROJECT["dependencies"] + extras}
    assert asked <= pins
