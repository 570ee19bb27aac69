"""The tables of docs/findings.md on changes of positions, against the commands above them."""

import json
import re

import pytest

from tests.command_line import ROOT, run

FINDINGS = (ROOT / "docs" / "findings.md").read_text("utf-8")
NUMBER = re.compile(r"−?\d+\.\d+")
DIGITS = 0.0015
"""The last digit of a loss, which may be rounded otherwise on another machine."""


def sections(command):
    """The text from each command that begins so to the next heading."""
    return [part.partition("\n## ")[0] for part in FINDINGS.split(command)[1:]]


def printed(text):
    """The numbers of each row of the tables in a text, by the change's name."""
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", text, re.MULTILINE)
    return {name: [float(n.replace("−", "-")) for n in NUMBER.findall(rest)] for name, rest in rows}


def measured(change):
    """The numbers of a row: the effect with its interval, the control's, and what remains."""
    numbers = [change[key] for key in ("delta", "low", "high")]
    numbers.append(change["control"]["delta"])
    return numbers + [change["difference"][key] for key in ("value", "low", "high")]


def compare(text, changes, scale=1.0, digits=DIGITS):
    rows = printed(text)
    for change in changes:
        expected = [scale * number for number in measured(change)]
        assert rows[change["name"]] == pytest.approx(expected, abs=digits), change["name"]


@pytest.mark.slow
def test_of_the_bundled_model(tmp_path):
    """Some rows; which changes are measured together makes no difference to any of them."""
    (text,) = sections("helixscope intervene sample --texts sample --length 240\n")
    changes = "top 0,fitted helix,equal norms,scrambled norms,into E,shift 10"
    assert run("intervene", "sample", "--texts", "sample", "--length", "240", "--changes", changes,
               "--out", tmp_path / "out.json") == 0  # fmt: skip
    content = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert f"{content['baseline']:.2f} nats per token" in text
    assert content["corpus"]["digest"][:12] in FINDINGS
    compare(text, content["changes"])


@pytest.mark.slow
def test_of_a_layer(tmp_path):
    text = sections('--layer "sample/inside/layer 1" --attention')[0]
    assert run("intervene", "sample", "--length", "240", "--texts-at-most", "32", "--seed", "1",
               "--layer", "sample/inside/layer 1", "--changes", "top 0,shift 1",
               "--out", tmp_path / "out.json") == 0  # fmt: skip
    rows = printed(text)
    for change in json.loads((tmp_path / "out.json").read_text("utf-8"))["changes"]:
        # Each cell has the effect, and that of the control.
        expected = change["delta"], change["control"]["delta"]
        assert rows[change["name"]][2:4] == pytest.approx(expected, abs=DIGITS)


@pytest.mark.slow
def test_of_a_sentence_encoder(minilm_folder, tmp_path):
    (text,) = sections("helixscope intervene FOLDER --length 120")
    assert run("intervene", minilm_folder, "--length", "120", "--texts-at-most", "32",
               "--changes", "top 0,scrambled norms,without position 0",
               "--out", tmp_path / "out.json") == 0  # fmt: skip
    compare(text, json.loads((tmp_path / "out.json").read_text("utf-8"))["changes"], 100, 0.15)
