"""The files at the root: one version, short pages."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def version() -> str:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def test_the_version_to_cite_is_that_of_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == version()
    assert cited["license"] == "MIT"


def test_each_version_has_a_section_that_can_be_read():
    sections = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
    assert [section for section in sections if len(section.splitlines()) > 40] == []
    titles = [section.splitlines()[0] for section in sections]
    assert titles[0] == "[Unreleased]" or titles[0].startswith(f"[{version()}] - ")


def test_the_licences_are_those_of_the_pinned_packages():
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| ([\w.-]+) \| (\d\S*) \|", page, flags=re.MULTILINE))
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if "==" in line)
    assert {name: pins.get(name.lower()) for name in listed} == listed
    assert listed.keys() >= {"vtk", "torch", "PySide6_Essentials", "pyarrow", "dask"}


def test_the_first_page_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120
