"""The findings' tables on changes of positions, made again by the commands above them."""

import json

import pytest

from tests.command_line import run
from tests.findings import FINDINGS, agrees, numbers, tables

PER_CENT = 100


def name_of(row):
    return row["change"].strip("`")


@pytest.fixture
def changes_of(tmp_path):
    """Only the changes of a table are measured: others make no difference to any of them."""

    def measure(rows, *arguments):
        out = tmp_path / "effects.json"
        names = ",".join(map(name_of, rows))
        assert run("intervene", *arguments, "--changes", names, "--out", out) == 0
        effects = json.loads(out.read_text("utf-8"))
        return effects, {change["name"]: change for change in effects["changes"]}

    return measure


def assert_printed(row, change, scale=1):
    """The effect with its interval, the control, and what remains beyond it with its interval."""
    control, difference = change["control"], change["difference"]
    assert row["control"].startswith(f"{control['name']}: "), row
    values = [change[key] for key in ("delta", "low", "high")]
    values += [control["delta"], *(difference[key] for key in ("value", "low", "high"))]
    # The name of a control may have a number too.
    printed = [
        *numbers(next(cell for title, cell in row.items() if " by" in title)),
        *numbers(row["control"].rpartition(": ")[2]),
        *numbers(row["remains"]),
    ]
    for text, value in zip(printed, values, strict=True):
        assert agrees(text, value, scale), (name_of(row), text, value)


@pytest.mark.slow
def test_of_the_bundled_model(changes_of):
    (rows,) = tables("What the bundled model uses its positions for")
    texts = "sample", "--texts", "sample", "--length", 240
    effects, changes = changes_of(rows, *texts)
    assert f"{effects['baseline']:.2f} nats per token" in FINDINGS
    assert effects["corpus"]["digest"][:12] in FINDINGS
    for row in rows:
        assert_printed(row, changes[name_of(row)])


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 1])
def test_of_a_layer(layer, changes_of):
    (rows,) = tables("What is left of positions moves the attention")
    _, changes = changes_of(
        rows, "sample", "--length", 240, "--texts-at-most", 32, "--seed", 1,
        "--layer", f"sample/inside/layer {layer}",
    )  # fmt: skip
    for row in rows:
        change = changes[name_of(row)]
        values = [change["delta"], change["control"]["delta"]]
        values += [change["difference"][key] for key in ("low", "high")]
        cells = (row[f"layer {layer}: {what}"] for what in ("loss", "control", "remains"))
        printed = [number for cell in cells for number in numbers(cell)]
        for text, value in zip(printed, values, strict=True):
            assert agrees(text, value), (name_of(row), text, value)


@pytest.mark.slow
def test_of_a_sentence_encoder(changes_of, minilm_folder):
    rows = tables("A sentence encoder uses waves")[0]
    _, changes = changes_of(rows, minilm_folder, "--length", 120, "--texts-at-most", 24)
    for row in rows:
        assert_printed(row, changes[name_of(row)], PER_CENT)
