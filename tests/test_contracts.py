"""Which way imports may point, and what an import may not drag in."""

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import geometry

ROOT = Path(__file__).resolve().parent.parent
TOOLKITS = {
    "PySide6", "qtpy", "superqt", "pyqtgraph", "qtawesome", "vtk", "vtkmodules", "pyvista",
    "pyvistaqt", "psygnal", "matplotlib", "gui",
}  # fmt: skip
SLOW = {"torch", "transformers"}
"""Seconds and hundreds of megabytes each: imported where a tensor needs them, not before."""


def test_imports_point_the_way_the_contracts_say():
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
