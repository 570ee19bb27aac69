"""The command `intervene`."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from geometry.claims.effect_claims import NEEDED
from geometry.inside.windows import corpus_of, find_texts
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT, run

GUIDE = ROOT / "resources" / "guide"


def test_it_prints_and_writes_the_effects(tmp_path, capsys):
    out = tmp_path / "effects.json"
    assert run("intervene", "sample", "--texts", GUIDE, "--length", "64", "--texts-at-most", "8",
               "--changes", "identity, top 0,shift 400", "--out", out) == 0  # fmt: skip
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert " ".join(lines[0].split()) == "change effect from to control remains from to"
    assert lines[1].split() == ["identity", "0.0000", "0.0000", "0.0000"]
    assert lines[3].split() == ["shift", "400", "–"]
    assert "nats per token, over 8 windows of text" in printed.err
    assert "shift 400: A shift by 400 needs 464 positions; there are 256." in printed.err
    content = json.loads(out.read_text("utf-8"))
    assert content.keys() == {
        "fingerprint", "baseline", "windows", "seed", "corpus", "files", "intervals", "changes",
    }  # fmt: skip
    assert content["corpus"] == asdict(corpus_of(find_texts(GUIDE)))
    assert content["intervals"] == ("files" if len(set(content["files"])) >= 8 else "windows")
    assert content["fingerprint"] == open_model("sample").fingerprint
    same, none, shift = content["changes"]
    unchanged = {"delta": 0, "low": 0, "high": 0, "displacement": 0, "draws": 1}
    assert same == {"name": "identity", **unchanged, "by_window": [0] * 8}
    (control,), remains = none["controls"], none["difference"]
    assert control["name"] == none["control"]["name"] == "random directions"
    assert none["control"]["seeds"] == control["seeds"] >= 4
    between = np.subtract(none["by_window"], control["by_window"])
    assert remains["value"] == pytest.approx(between.mean())
    assert remains["low"] < remains["value"] < remains["high"]
    assert control["displacement"] == pytest.approx(none["displacement"])
    assert np.mean(none["by_window"]) == pytest.approx(none["delta"])
    assert none["low"] < none["delta"] < none["high"]
    assert shift["delta"] is shift["low"] is None
    assert "by_window" not in shift
    assert shift["why_null"].startswith("A shift by 400")


def test_it_measures_the_attention_of_heads(tmp_path, capsys):
    out = tmp_path / "effects.json"
    assert run("intervene", "sample", "--length", "48", "--windows", "4",
               "--changes", "identity,top 0,shift 400", "--attention",
               "--out", out) == 0  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-4:] == ["attention", "most", "in", "heads"]
    same, none, shift = json.loads(out.read_text("utf-8"))["changes"]
    assert np.shape(none["attention"]) == (2, 4)
    assert not np.any(same["attention"])
    assert 0.01 < np.max(none["attention"]) < 1
    assert "attention" not in shift
    at = np.unravel_index(np.argmax(none["attention"]), (2, 4))
    assert f" {at[0]}.{at[1]} {np.max(none['attention']):.2f}, " in lines[2]


def test_it_changes_pos_in_a_layer(tmp_path, capsys):
    texts = ("--texts", GUIDE, "--length", "64", "--texts-at-most", "8")
    assert run("positions", "sample", "--out", tmp_path / "inside", "--no-control", *texts) == 0
    out = tmp_path / "effects.json"
    assert run("intervene", "sample", *texts, "--layer", tmp_path / "inside" / "layer 1",
               "--changes", "identity,top 0,shift 1", "--out", out) == 0  # fmt: skip
    printed = capsys.readouterr()
    assert "Changed is pos in layer 1." in printed.err
    assert "shift 1: in windows of 63 tokens." in printed.err
    content = json.loads(out.read_text("utf-8"))
    assert content["layer"] == 1
    same, none, shift = content["changes"]
    assert same["delta"] == 0
    assert shift["length"] == 63
    assert none["delta"] > 0.01
    layer = open_model(tmp_path / "inside" / "layer 1")
    assert content["fingerprint"] == layer.fingerprint


@pytest.mark.slow
def test_a_report_judges_claims_about_what_positions_do(tmp_path, capsys):
    effects, out = tmp_path / "effects.json", tmp_path / "report"
    assert run("intervene", "sample", "--texts", GUIDE, "--length", "64", "--texts-at-most", "16",
               "--changes", ",".join(NEEDED), "--out", effects) == 0  # fmt: skip
    assert run("report", "sample", "--effects", effects, "--out", out, "--no-figures") == 0
    claims = json.loads((out / "report.json").read_text("utf-8"))["claims"]
    found = {one["id"]: one for one in claims}
    changes = json.loads(effects.read_text("utf-8"))["changes"]
    costs = {one["name"]: np.array(one["by_window"]) for one in changes}
    helix = found["effects.helix"]
    assert helix["value"] == pytest.approx(costs["fitted helix"].sum() / costs["top 0"].sum())
    assert helix["interval"][0] < helix["value"] < helix["interval"][1]
    norms = next(one for one in changes if one["name"] == "scrambled norms")
    kept = max(np.mean(one["by_window"]) for one in norms["controls"])
    expected = (norms["delta"] - kept) / costs["top 0"].mean()
    assert found["effects.norms"]["value"] == pytest.approx(expected)
    assert found["pca.three"]["interval"] is None
    capsys.readouterr()
    refused = tmp_path / "refused"
    assert run("report", "sinusoidal", "--effects", effects, "--out", refused) == 1
    printed = " ".join(capsys.readouterr().err.split())
    assert "effects.json has the effects of another model than sinusoidal" in printed
    assert not refused.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--layer", "resources/layer 1"], 1, "is no finished run of `helixscope positions`"),
        (["--changes", "bottom 3"], 1, "There is no change 'bottom 3'"),
        (["--out", "effects.csv"], 2, "must end in .json"),
    ],
)
def test_what_cannot_be_is_a_sentence(arguments, status, said, capsys):
    assert run("intervene", "sample", "--texts", GUIDE, *arguments) == status
    assert said in " ".join(capsys.readouterr().err.split())
