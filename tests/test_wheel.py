"""The wheel, installed into an environment of its own, has all that the app needs."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = (
    "helixscope.py", "main.py", "pyproject.toml", "README.md", "LICENSE", "geometry", "gui",
    "resources",
)  # fmt: skip
TIMEOUT = 200
"""Seconds."""


def copied(folder: Path) -> Path:
    """Copy what is installed: what is left of building would be in the way of other tests."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def install(place: Path, *what: object) -> Path:
    """Install into a new environment that sees this one's libraries, but not the project."""
    make = [sys.executable, "-m", "venv", "--without-pip", str(place)]
    subprocess.run(make, check=True, timeout=TIMEOUT)
    variables = {"base": str(place), "platbase": str(place)}
    packages = Path(sysconfig.get_path("purelib", vars=variables))
    # A line in a .pth adds a folder whose own .pth files are not read: the editable project's.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install",
         "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", *map(str, what)],
        capture_output=True, text=True, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build it from a copy."""
    folder = copied(tmp_path_factory.mktemp("source"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (folder / "dist").iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The wheel in an environment of its own."""
    return install(tmp_path_factory.mktemp("environment") / "helixscope", wheel)


@pytest.fixture
def run(installed, tmp_path):
    """Run a program of the environment from an empty folder, as a user without settings."""

    def call(program: str, *arguments: object) -> str:
        home = {"HOME": str(tmp_path), **{f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in
                ("CONFIG", "CACHE", "DATA", "STATE")}}  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | home
        done = subprocess.run(
            [installed / "bin" / program, *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.slow
def test_it_holds_the_code_and_the_resources_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.startswith("helixscope-")} == {
        "helixscope.py", "main.py", "geometry", "gui", "resources",
    }  # fmt: skip
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("geometry", "gui", "resources")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    elsewhere = set(chain(*project["tool"]["setuptools"]["data-files"].values()))
    assert wanted - names <= elsewhere


@pytest.mark.slow
def test_the_installed_code_reports_on_the_bundled_model(run, installed, tmp_path):
    printed = run("python", "-c", "import geometry, gui, main; print(geometry.__file__)")
    assert Path(printed.strip()).is_relative_to(installed)
    run("helixscope", "report", "sample", "--out", tmp_path / "found", "--no-figures", "--offline")
    found = json.loads((tmp_path / "found" / "report.json").read_text("utf-8"))
    assert found["model"]["n_positions"] >= 256
    assert found["missing"] == {}


@pytest.mark.slow
def test_the_window_starts_with_the_bundled_model(run, tmp_path):
    run("helixscope", "open", "--offline", "--picture", tmp_path / "window.png")
    assert (tmp_path / "window.png").stat().st_size > 20_000


@pytest.mark.slow
def test_linux_gets_a_desktop_entry_and_the_icon(installed):
    share = installed / "share"
    entry = (share / "applications" / "helixscope.desktop").read_text("utf-8")
    assert "Exec=helixscope" in entry
    assert "Icon=helixscope" in entry
    assert (share / "icons" / "hicolor" / "scalable" / "apps" / "helixscope.svg").is_file()
