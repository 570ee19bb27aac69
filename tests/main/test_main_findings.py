"""The tables of positions inside the bundled model in the findings, made again by their command."""

import json
import re

import pytest

from tests.command_line import ROOT, run

FINDINGS = ROOT / "docs" / "findings.md"
SECTION = "## Where positions go in the bundled model"
COLUMNS = {
    "share": "share", "noise": "share_noise", "cosine": "halves_cosine", "energy": "energy",
    "token variance": "token_variance", "probe’s error": "probe_error",
    "stable rank": "stable_rank", "rank": "rank",
}  # fmt: skip


def tables():
    """Tables of the section, as rows of cells by title."""
    section = FINDINGS.read_text("utf-8").partition(SECTION)[2].partition("\n## ")[0]
    for block in re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE):
        titles, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        )
        yield [dict(zip(titles, row, strict=True)) for row in rows]


def agrees(printed, value):
    """Whether a printed number is a value but for one unit in its last digit."""
    if value is None or printed == "–":
        return (value is None) == (printed == "–")
    number = printed.removesuffix(" %")
    unit = 10.0 ** -len(number.partition(".")[2])
    return abs(float(number) - value * (100 if printed.endswith("%") else 1)) <= 1.01 * unit


def spanned(printed, values):
    low, _, high = printed.removesuffix(" %").partition("–")
    unit = " %" if printed.endswith("%") else ""
    return agrees(low + unit, min(values)) and agrees((high or low) + unit, max(values))


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "inside"
    assert run("positions", "sample", "--texts", "sample", "--length", 256, "--out", out) == 0
    return json.loads((out / "positions.json").read_text("utf-8"))


@pytest.mark.slow
def test_the_layers_of_the_bundled_model(described):
    layers, _ = tables()
    assert len(layers) == len(described["layers"])
    for row, layer in zip(layers, described["layers"], strict=True):
        for title, name in COLUMNS.items():
            assert agrees(row[title], layer[name]), (row["layer"], title)


@pytest.mark.slow
def test_the_controls_of_the_bundled_model(described):
    _, controls = tables()
    for number, row in enumerate(controls):
        for title in list(row)[1:]:
            kind, _, name = title.partition(": ")
            values = [
                control["layers"][number][COLUMNS[name]]
                for control in described["controls"]
                if control["kind"] == kind
            ]
            assert len(values) == 3
            assert spanned(row[title], values), (row["layer"], title)


@pytest.mark.slow
def test_the_bundled_run_is_what_the_command_writes(described):
    shipped = json.loads((ROOT / "resources/sample/inside/positions.json").read_text("utf-8"))
    assert shipped["corpus"] == described["corpus"]
    assert shipped["texts"] == described["texts"]
    for one, other in zip(shipped["layers"], described["layers"], strict=True):
        for name in COLUMNS.values():
            expected = other[name]
            assert one[name] == (None if expected is None else pytest.approx(expected, rel=1e-3))
