"""Packages that are installed in a folder, with entry points as plugins have them."""

import shutil
import tomllib
from pathlib import Path


def install(
    folder: Path,
    name: str,
    code: str,
    *,
    kind: str = "panels",
    what: str = "made",
    interface: str = "1.0",
    version: str = "0.3",
) -> str:
    """Install a package with one module and one plugin of that name; the module's name."""
    module = f"hx_{name}"
    (folder / f"{module}.py").write_text(code, "utf-8")
    metadata = folder / f"{module}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: hx-{name}\nVersion: {version}\n"
    )
    points = f"[helixscope.{kind}]\n{name} = {module}:{what}\n"
    if interface:
        points += f"[helixscope.interface]\n{interface} = {module}\n"
    (metadata / "entry_points.txt").write_text(points)
    return module


def install_project(folder: Path, project: Path) -> None:
    """Install a project of one module and one plugin in a folder, as pip would, in no time."""
    described = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    name, version = described["project"]["name"], described["project"]["version"]
    for module in described["tool"]["setuptools"]["py-modules"]:
        shutil.copy(project / f"{module}.py", folder)
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in described["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
