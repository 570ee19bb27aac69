"""The command `table`: several models in numbers, printed or in a file."""

import csv
import json

import numpy as np
import pytest

from geometry.claims.scalar_results import scalar_results
from geometry.models.sources.opening import open_model
from gui.panels.compare.words import ALL
from tests.command_line import run


@pytest.fixture
def tables(tmp_path):
    """Three tables in files: a helix of three turns, a line, noise."""
    i, random = np.arange(150)[:, None], np.random.default_rng(0)
    curves = {
        "helix": np.hstack([np.cos(i / 8), np.sin(i / 8), i / 60]) @ random.normal(size=(3, 12)),
        "line": i / 100 * random.normal(size=(1, 12)),
        "noise": random.normal(size=(90, 12)),
    }
    for name, curve in curves.items():
        np.save(tmp_path / f"{name}.npy", curve)
    return [tmp_path / f"{name}.npy" for name in curves]


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_it_prints_the_models_side_by_side(tables, capsys):
    assert run("table", *tables) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["helix", "line", "noise"]
    assert printed[1].split() == ["Range", "1–149", "1–149", "1–89"]
    (curve,) = [line.split() for line in printed if line.strip().startswith("Curve")]
    assert curve[1:3] == ["helix", "line"]
    assert len(printed) == len(ALL) + 1
    (apart,) = [line.split() for line in printed if line.strip().startswith("Shape distance (")]
    assert apart[3] == "–", "each but the first has its distance from that"
    assert 0 < float(apart[4]) < 90


def test_a_csv_file_has_a_line_for_each_model_and_is_sorted(tables, tmp_path):
    out = tmp_path / "out.csv"
    assert run("table", *tables, "--out", out, "--positions", "5-60", "--components", "2,1,3") == 0
    found = rows(out)
    assert [row["model"] for row in found] == ["helix", "line", "noise"]
    for row, path in zip(found, tables, strict=True):
        expected = scalar_results(open_model(path), (5, 60), (2, 1, 3))
        for one in expected:
            told = "" if one.value is None else str(one.value)
            assert row[one.quantity.key] == told, one.quantity.key
        assert (row["first_position"], row["last_position"]) == ("5", "60")
    assert run("table", *tables, "--out", out, "--sort", "turning_angle") == 0
    assert [row["model"] for row in rows(out)] == ["noise", "helix", "line"]


@pytest.mark.parametrize(
    ("ending", "start"), [("md", "|  | helix |"), ("tex", r"\begin{tabular}{lr}"), ("json", "{")]
)
def test_other_files(tables, tmp_path, ending, start):
    out = tmp_path / f"out.{ending}"
    assert run("table", tables[0], "--out", out) == 0
    text = out.read_text("utf-8")
    assert text.startswith(start)
    if ending == "json":
        (model,) = json.loads(text)["models"]
        assert model["turns"] == pytest.approx(148 / 8 / (2 * np.pi), rel=5e-3)


def test_what_is_wrong_is_said(tables, tmp_path, capsys):
    assert run("table", *tables, "--sort", "beauty") == 2
    assert "'beauty' is not one of n_positions, d_model" in capsys.readouterr().err.replace(
        "\n", " "
    )
    assert run("table", tables[0], "--out", tmp_path / "out.txt") == 2
    assert ".csv or .md or .tex or .json" in capsys.readouterr().err
    assert run("table") == 2
    capsys.readouterr()
    assert run("table", *tables, "--positions", "1-149") == 2
    assert capsys.readouterr().err.startswith("helixscope: noise: positions 1–149")
    assert run("table", tables[0], tmp_path / "absent.npy") == 1
    assert "absent.npy" in capsys.readouterr().err
    assert run("table", tables[0], "--out", tmp_path / "no" / "out.md") == 1
    assert "cannot be written" in capsys.readouterr().err
