"""What `make bundle` has made works without Python and in an empty environment."""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tests.command_line import ROOT
from tests.environments.screens import x_screen

pytestmark = pytest.mark.slow

#: Where bundles are.
BUILT = Path(os.environ.get("HELIXSCOPE_BUNDLES", ROOT / "build"))
FOLDER, IMAGE = "helixscope/helixscope", "*.AppImage"
TIMEOUT = 280
"""Seconds."""


@dataclass(frozen=True)
class Bundle:
    """A bundle in an empty home."""

    program: Path
    home: Path
    screen: dict[str, str]

    def start(self, *arguments: object, **options) -> subprocess.CompletedProcess:
        """Run a command to its end."""
        environment = {"HOME": str(self.home), "PATH": "/nowhere", "HF_HUB_OFFLINE": "1"}
        if not os.access("/dev/fuse", os.W_OK):  # by which AppImages are mounted
            environment["APPIMAGE_EXTRACT_AND_RUN"] = "1"
        return subprocess.run(
            [self.program, *map(str, arguments)], env=environment | self.screen, cwd=self.home,
            capture_output=True, text=True, timeout=TIMEOUT, check=False, **options,
        )  # fmt: skip

    def run(self, *arguments: object, **options) -> str:
        """Run a command that succeeds, and return what it prints."""
        done = self.start(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def screen():
    with x_screen() as environment:
        yield environment


def built(kind: str, form: str) -> Path:
    """Return the program of a bundle; skip where it was not made."""
    found = next((BUILT / kind).glob(form), None)
    if found is None:
        pytest.skip(f"`make bundle` has made no {kind}/{form}")
    return found


@pytest.fixture(
    params=[(kind, form) for kind in ("bundle", "bundle-torch") for form in (FOLDER, IMAGE)],
    ids=["folder", "AppImage", "folder with torch", "AppImage with torch"],
)
def bundle(request, tmp_path, screen) -> Bundle:
    """Each of the bundles."""
    return Bundle(built(*request.param), tmp_path, screen)


@pytest.fixture(params=[FOLDER, IMAGE], ids=["folder", "AppImage"])
def without_torch(request, tmp_path, screen) -> Bundle:
    return Bundle(built("bundle", request.param), tmp_path, screen)


@pytest.fixture(params=[FOLDER, IMAGE], ids=["folder", "AppImage"])
def with_torch(request, tmp_path, screen) -> Bundle:
    return Bundle(built("bundle-torch", request.param), tmp_path, screen)


def test_it_has_the_version_of_the_project(bundle):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert bundle.run("--version").split()[-1] == project["version"]


def test_the_window_shows_gpt2(bundle, gpt2_folder):
    picture = bundle.home / "window.png"
    bundle.run("open", gpt2_folder, "--picture", picture)
    with Image.open(picture) as image:
        saturation = np.asarray(image.convert("HSV"))[..., 1]
    assert (saturation > 200).sum() > 2000  # the curve is the only colourful thing


def test_gpt2_is_rendered_as_vectors_and_pixels(bundle, gpt2_folder):
    for name in ("helix.svg", "helix.pdf", "helix.png"):
        bundle.run("render", gpt2_folder, "--out", bundle.home / name)
    svg = ElementTree.parse(bundle.home / "helix.svg")
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}use"))) > 1000
    assert (bundle.home / "helix.pdf").read_bytes().startswith(b"%PDF-")
    with Image.open(bundle.home / "helix.png") as image:
        assert len(image.convert("RGB").getcolors(1 << 24)) > 100


def test_a_report_has_all_numbers_and_figures(bundle):
    bundle.run("report", "sample", "--out", bundle.home / "report")
    report = json.loads((bundle.home / "report" / "report.json").read_text("utf-8"))
    assert (report["missing"], report["figures"]["skipped"]) == ({}, {})


def test_films_and_pages_are_written(bundle):
    bundle.run("timelapse", "sample", "--out", bundle.home / "film.mp4")
    assert (bundle.home / "film.mp4").read_bytes()[4:8] == b"ftyp"
    bundle.run("export", "sample", "--out", bundle.home / "page.html")
    assert "</html>" in (bundle.home / "page.html").read_text("utf-8")


def test_a_survey_runs_on_several_processes(bundle):
    out = bundle.home / "rows.parquet"
    bundle.run("survey", "sample", "sample-plain", "--out", out, "--workers", 2)
    assert out.stat().st_size > 1000


def test_without_torch_it_is_at_most_a_gigabyte():
    folder = built("bundle", FOLDER).parent
    assert sum(file.lstat().st_size for file in folder.rglob("*")) <= 1000e6


@pytest.mark.parametrize("command", ["positions", "train"])
def test_without_torch_one_sentence_says_what_is_missing(without_torch, command):
    (without_torch.home / "texts").mkdir()
    (without_torch.home / "texts" / "text.txt").write_text("A text. " * 2000)
    of = {"positions": ["sample"], "train": ["--corpus", "texts", "--vocabulary", 257]}[command]
    done = without_torch.start(command, *of, "--out", "out")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.search(r"\btorch\b.* not in this bundle", line)


def test_with_torch_positions_inside_the_bundled_model_are_measured(with_torch):
    with_torch.run("positions", "sample", "--out", with_torch.home / "inside")
    assert list((with_torch.home / "inside").rglob("*.safetensors"))


def test_with_torch_the_window_s_process_measures(with_torch):
    """It is the bundle's own program."""
    done = with_torch.start("network-worker", input='{"measure": "none"}\n')
    assert "KeyError: 'none'" in done.stderr


def test_with_torch_a_model_is_trained_and_opens(with_torch):
    (with_torch.home / "texts").mkdir()
    text = (ROOT / "README.md").read_text("utf-8") * 20
    (with_torch.home / "texts" / "text.txt").write_text(text, "utf-8")
    small = ("--positions", 32, "--layers", 1, "--heads", 2, "--width", 16, "--vocabulary", 257)
    with_torch.run("train", "--corpus", "texts", "--out", "model", "--steps", 20, *small)
    assert "32" in with_torch.run("table", "model")
