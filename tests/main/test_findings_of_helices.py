"""The first table of the findings, of tables that are helices or not, made again by its command."""

import json

import pytest

from tests.command_line import run
from tests.findings import agrees, numbers, tables

(PRINTED,) = tables("Which tables are helices")
KINDS = {"phase": "random phases", "band": "flat bands"}
"""Words for the kinds of random curves that decide."""


@pytest.fixture
def sources(request):
    fixtures = {"GPT-2 small": "gpt2_folder", "all-MiniLM-L6-v2": "minilm_folder"}

    def source(name):
        return request.getfixturevalue(fixtures[name]) if name in fixtures else "sample"

    return source


@pytest.mark.slow
@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row['table']} {row['positions']}")
def test_a_row_is_what_the_command_writes(row, sources, tmp_path):
    positions = row["positions"].replace("–", "-")
    assert run("report", sources(row["table"]), "--positions", positions, "--out", tmp_path,
               "--no-figures") == 0  # fmt: skip
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    (claim,) = (claim for claim in report["claims"] if claim["id"] == "shape.helix")
    draws, p = claim["null"]["draws"], claim["p"]
    assert row["decides"] == KINDS[claim["null"]["name"]]
    assert row["reached"] == f"{round(p * (draws + 1)) - 1} of {draws}"
    assert int(row["claims"]) == sum(one["p_adjusted"] is not None for one in report["claims"])
    by_construction = ", by construction" if claim["by_construction"] else ""
    assert row["outcome"] == claim["outcome"] + by_construction
    shape, expected = report["shape"], [claim["value"], p, claim["p_adjusted"]]
    if claim["holds"]:
        expected += [shape["helix"]["turns"], *shape["interval"]["turns"]]
        expected += [shape["evidence"]["B"], *shape["interval"]["B"]]
    else:
        assert row["turns"] == "–"
        expected.append(shape["evidence"]["B"])
    titles = ("strength", "p, corrected", "turns", "B")
    printed = [number for title in titles for number in numbers(row[title])]
    for text, value in zip(printed, expected, strict=True):
        assert agrees(text, value), (text, value)
