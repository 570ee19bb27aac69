"""The findings' tables on positions inside networks, made again by the commands above them."""

import json

import pytest

from tests.command_line import ROOT, run
from tests.findings import FINDINGS, numbers, spans, tables

COLUMNS = {
    "share": "share", "noise": "share_noise", "cosine": "halves_cosine", "energy": "energy",
    "token variance": "token_variance", "probe’s error": "probe_error",
    "stable rank": "stable_rank", "rank": "rank",
}  # fmt: skip
RESOLVED = 0.9
"""Cosine of the halves from which on a counter is resolved."""
MANUALS = ("cmake-doc", "exim4-doc-html", "maxima-doc", "r-doc-html", "shorewall-doc", "zsh-doc")


def measured(description, title, layers):
    """A column's values in some layers, of the trained network or of all controls of a kind."""
    kind, _, name = title.rpartition(": ")
    if not kind:
        networks = [description["layers"]]
    else:
        networks = [one["layers"] for one in description["controls"] if one["kind"] == kind]
        assert networks, title
    return [network[layer][COLUMNS[name]] for network in networks for layer in layers]


def assert_printed(rows, description):
    """Each row is of one layer or several, each number a value, or the lowest and the highest."""
    covered = []
    for row in rows:
        first, *last = map(int, numbers(row["layer"]))
        layers = range(first, (last or [first])[0] + 1)
        covered += layers
        for title, cell in row.items():
            if title.rpartition(": ")[2] in COLUMNS:
                values = measured(description, title, layers)
                if cell == "–":
                    assert None in values, (row["layer"], title)
                else:
                    scale = 100 if cell.endswith("%") else 1
                    assert spans(cell, values, scale), (row["layer"], title, values)
    assert covered == list(range(len(description["layers"])))


@pytest.fixture(scope="module")
def describe(tmp_path_factory):
    """What the command writes about a source."""

    def describe(source, *options, out=None):
        out = out or tmp_path_factory.mktemp("run") / "inside"
        if not (out / "positions.json").exists():
            assert run("positions", source, *options, "--out", out) == 0
        return json.loads((out / "positions.json").read_text("utf-8"))

    return describe


# ---- of few windows --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundled(describe):
    return describe("sample", "--texts", "sample", "--length", 256)


@pytest.mark.slow
def test_of_the_bundled_model(bundled):
    layers, controls = tables("Where positions go in the bundled model")
    assert_printed(layers, bundled)
    assert_printed(controls, bundled)


@pytest.mark.slow
def test_the_bundled_run_is_what_the_command_writes(bundled):
    shipped = json.loads((ROOT / "resources/sample/inside/positions.json").read_text("utf-8"))
    assert shipped["corpus"] == bundled["corpus"]
    assert shipped["texts"] == bundled["texts"]
    for one, other in zip(shipped["layers"], bundled["layers"], strict=True):
        for name in COLUMNS.values():
            expected = other[name]
            assert one[name] == (None if expected is None else pytest.approx(expected, rel=1e-3))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_of_a_sentence_encoder(describe, minilm_folder):
    _, layers, controls = tables("A sentence encoder uses waves")
    description = describe(
        minilm_folder, "--texts", "sample", "--length", 256, "--texts-at-most", 128,
        "--counters", "position",
    )  # fmt: skip
    assert_printed(layers, description)
    assert_printed(controls, description)


# ---- of many windows, or of a large network: `make findings` ---------------------------------


@pytest.mark.timeout(0)
def test_of_a_rotary_model(describe, smollm2, findings):
    (rows,) = tables("In a rotary model")
    description = describe(
        smollm2, "--texts", "sample", "--length", 256, "--texts-at-most", 83,
        "--counters", "position", out=findings / "smollm2",
    )  # fmt: skip
    assert_printed(rows, description)
    chances = [layer["probe_chance"] for layer in description["layers"]]
    (sentence,) = [line for line in FINDINGS.splitlines() if line.startswith("The best constant")]
    assert spans(sentence, chances)


WINDOWS = {"bundled": 16384, "MiniLM": 8192, "SmolLM2": 3072}


@pytest.fixture(scope="module", params=WINDOWS)
def of_manuals(request, describe, debian_texts, findings):
    """A model's name in the tables, and what the command writes about it."""
    fixtures = {"MiniLM": "minilm_folder", "SmolLM2": "smollm2"}
    name = request.param
    manuals = debian_texts("manuals", *MANUALS)
    source = request.getfixturevalue(fixtures[name]) if name in fixtures else "sample"
    return name, describe(
        source, "--texts", manuals, "--length", 256, "--texts-at-most", WINDOWS[name],
        "--control-seeds", 1, out=findings / f"{name}-manuals",
    )  # fmt: skip


@pytest.mark.timeout(0)
def test_of_thousands_of_windows(of_manuals):
    name, description = of_manuals
    (rows,) = tables("The same with thousands of windows")
    own = [row for row in rows if row["model"] == name]
    assert {row["windows"].replace(",", "") for row in own} == {str(sum(description["windows"]))}
    assert_printed(own, description)
    assert description["corpus"]["digest"][:16] in FINDINGS


def resolved_pairs(description):
    """Of each layer, the pairs of counters that are both resolved, with their angles."""
    counters = description["counters"]
    for layer, pairs in enumerate(description["layernorm"]):
        for pair in pairs:
            one, other = pair["counters"]
            cosines = [counters[name]["halves_cosine"][layer] for name in (one, other)]
            if pair["mixed"] is not None and min(cosines) >= RESOLVED:
                angle = counters[one]["angles"][other][layer][0]
                chance = counters[one]["chance_of_smallest_angle"][other]
                yield pair | {"angle": angle, "chance": chance}


@pytest.mark.timeout(0)
def test_of_what_layernorm_mixes(of_manuals):
    name, description = of_manuals
    (rows,) = tables("LayerNorm mixes counters")
    pairs = list(resolved_pairs(description))
    kinds = {
        "position": [pair for pair in pairs if "position" in pair["counters"]],
        "two others": [pair for pair in pairs if "position" not in pair["counters"]],
    }
    own = {row["of"]: row for row in rows if row["model"] == name}
    assert own.keys() == {kind for kind, of in kinds.items() if of}
    for kind, row in own.items():
        of = kinds[kind]
        mixed, chance = ([pair["mixed"] for pair in of], [pair["random_turn"] for pair in of])
        assert int(row["pairs"]) == len(of)
        assert spans(row["mixed"], mixed, 100)
        assert spans(row["in random directions"], [one["median"] for one in chance], 100)
        above = sum(value > one["p95"] for value, one in zip(mixed, chance, strict=True))
        assert int(row["above 95 % of these"]) == above
        assert spans(row["smallest angle"], [pair["angle"] for pair in of])
        above = sum(pair["angle"] > pair["chance"]["p5"] for pair in of)
        assert int(row["above 5 % of random angles"]) == above
