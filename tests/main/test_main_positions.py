"""The command `positions`."""

import json
import signal
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from geometry.inside import published
from geometry.inside.mixing import Mixing
from geometry.inside.positions_run import PositionsResult
from geometry.inside.published import KnownModel
from geometry.inside.windows import corpus_of, find_texts
from gui.commands.positions_command import remarks
from tests.command_line import ROOT, run

GUIDE = ROOT / "resources" / "guide"


def test_it_prints_a_line_for_each_layer_and_writes_the_files(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("positions", "sample", "--texts", GUIDE, "--out", out, "--length", "48",
               "--texts-at-most", "24", "--counters", "position,line") == 0  # fmt: skip
    printed = capsys.readouterr()
    description = json.loads((out / "positions.json").read_text("utf-8"))
    lines = printed.out.splitlines()
    assert lines[0].split()[:4] == ["layer", "pos", "noise", "context"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "1", "2", "layer", "0", "1", "2"]
    assert len(description["controls"]) == 6
    assert len(description["layers"]) == len(description["random_weights"]) == 3
    assert description["counters"].keys() == {"position", "line"}
    assert "Not yet resolved in" in printed.err
    assert "With random weights, pos is" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sample", "--texts", "nowhere"], "'nowhere' does not exist"),
        (["nobody/nothing", "--texts", GUIDE], "not complete on this machine, and Helixscope is"),
        (["sample", "--texts", GUIDE, "--counters", "rhyme"], "no counter 'rhyme'"),
    ],
)
def test_what_cannot_be_is_one_sentence(arguments, said, tmp_path, capsys):
    assert run("positions", *arguments, "--out", tmp_path / "out") == 1
    error = capsys.readouterr().err
    assert error.startswith("helixscope: ")
    assert said in error
    assert error.count("\n") == 1


def layer(cosine, needed, outliers=()):
    return SimpleNamespace(
        resolved=cosine >= 0.9, texts_needed=needed, outliers=outliers, share=cosine / 10
    )


def control(*layers, seed=0):
    return SimpleNamespace(kind="random", seed=seed, layers=layers)


def test_what_a_reader_must_know_is_said():
    good, weak, none = layer(0.95, 40), layer(0.5, 2400, (1, 2)), layer(0.0, None)

    def said(*layers, controls=()):
        return list(remarks(PositionsResult(layers, (), controls, (5, 5))))

    assert said(good) == []
    assert said(good, weak) == [
        "Not yet resolved in 1 of 2 layers with 10 texts: about 2\N{THIN SPACE}400 texts would "
        "resolve all of them.",
        "Left out as outliers in some layers: positions 1, 2.",
    ]
    assert said(none) == [
        "Not yet resolved in 1 of 1 layers with 10 texts: the halves have nothing in common."
    ]
    controls = control(good, weak), control(layer(0.8, 60), layer(0.2, 60), seed=1)
    assert "pos is 2.0" in said(good, controls=controls)[-1]


def test_published_numbers_are_printed_beside_ours(tmp_path, capsys, monkeypatch):
    known = KnownModel("gpt2", 2, 128, {"stable rank": (2.05, 1.92)})
    monkeypatch.setattr(published, "KNOWN", {"sample": known})
    assert run("positions", "sample", "--out", tmp_path / "out", "--length", "48",
               "--texts-at-most", "16", "--no-control") == 0  # fmt: skip
    printed = capsys.readouterr()
    one, _ = json.loads((tmp_path / "out" / "positions.json").read_text())["published"]
    described = json.loads((tmp_path / "out" / "positions.json").read_text())
    sample = find_texts("sample")
    assert {text["file"] for text in described["texts"]} <= {text.name for text in sample}
    assert described["corpus"] == asdict(corpus_of(sample))
    title, *rows = printed.out.splitlines()[4:]
    assert title.split()[:4] == ["layer", "quantity", "published", "ours"]
    assert [row.split()[:4] for row in rows] == [
        ["0", "stable", "rank", "2.050"], ["1", "stable", "rank", "1.920"],
    ]  # fmt: skip
    assert one["ours"] is None, "so few texts resolve nothing"
    assert rows[0].split()[4:] == ["–", f"{one['as_there']:.3f}"]
    assert "Published by Song and Zhong, arXiv:2310.04861" in printed.err


def test_what_layernorm_mixes_is_one_sentence():
    def pair(mixed):
        nulls = ({"median": mixed / 2}, {"median": 3 * mixed})
        return Mixing(("word", "line"), mixed, *nulls)

    def said(cosine, *mixing):
        counters = [[SimpleNamespace(name=n, halves_cosine=cosine) for n in ("word", "line")]]
        counters *= len(mixing)
        result = PositionsResult((), counters, (), (5, 5), (), tuple([one] for one in mixing))
        return list(remarks(result))

    assert said(0.95, pair(0.01), pair(0.02), pair(0.06)) == [
        "LayerNorm mixes 2.00\N{NO-BREAK SPACE}% of the effects of two counters (median over 3 "
        "resolved pairs in all layers); 1.00\N{NO-BREAK SPACE}% if they had random directions, "
        "6.00\N{NO-BREAK SPACE}% if their norms varied by a third."
    ]
    assert said(0.5, pair(0.01)) == [
        "How LayerNorm mixes counters is not yet resolved: no pair has halves that agree."
    ]


@pytest.mark.slow
def test_on_a_terminal_it_is_interrupted_and_continued(on_terminal, tmp_path):
    out = tmp_path / "out"
    arguments = ("positions", "sample", "--texts", GUIDE, "--out", out, "--length", "200",
                 "--no-control")  # fmt: skip
    terminal = on_terminal(*arguments)
    terminal.until("Running sample")
    terminal.process.send_signal(signal.SIGINT)
    status, shown = terminal.end()
    assert status == 130
    assert "Traceback" not in shown
    assert not (out / "positions.json").exists()
    assert (out / "unfinished").is_dir()
    status, shown = on_terminal(*arguments).end()
    assert status == 0
    assert f"Wrote the positions of 3 layers to {out}." in shown
    assert sorted(path.name for path in out.iterdir()) == [
        "positions.json", "positions.safetensors",
    ]  # fmt: skip
