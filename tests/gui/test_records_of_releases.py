"""Surveys, training histories and what was measured inside networks, of releases, for ever.

What is in each is said in ``expected.json``, as in ``test_files_of_releases.py``.
"""

import os
import shutil

import numpy as np
import pytest

from geometry.checkpoints.config import read_json
from geometry.history.record import read_history
from geometry.inside.effects_file import read_effects
from geometry.inside.record import read_description
from geometry.models.sources.layer_tables import read_layers
from geometry.models.sources.opening import open_model
from geometry.survey.curves import read_curves
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey
from geometry.survey.rows import RowSettings
from tests.command_line import run
from tests.gui.described_files import (
    SECOND,
    described_description,
    described_effects,
    described_history,
    described_layers,
    described_survey,
)

FOLDER, EXPECTED = SECOND.folder, SECOND.expected
SURVEYS, HISTORIES = FOLDER / "surveys", FOLDER / "histories"
HALF = "half.parquet"
TRAINED = ("--positions", 32, "--width", 16, "--heads", 2, "--vocabulary", 280, "--batch", 4)
"""What the trainings have in common; the other options differ."""


def each(kind):
    return pytest.mark.parametrize("name", sorted(EXPECTED[kind]))


def assert_close(found, expected):
    """The same, with numbers but for rounding of sums in other orders."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, one in expected.items():
            assert_close(found[name], one)
    elif isinstance(expected, list) and any(isinstance(one, dict | list) for one in expected):
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float) or (isinstance(expected, list) and None not in expected):
        numbers = [expected] if isinstance(expected, float) else expected
        if all(isinstance(one, int | float) for one in numbers):
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
        else:
            assert found == expected
    else:
        assert found == expected


@pytest.fixture
def kept(tmp_path):
    """A copy of the files, which may be changed."""
    folder = tmp_path / "kept"
    shutil.copytree(FOLDER, folder)
    return folder


@each("surveys")
def test_surveys(name):
    assert described_survey(read_survey(SURVEYS / name)) == EXPECTED["surveys"][name]["surveys"]


def test_curves_of_a_survey():
    survey = read_survey(SURVEYS / "finished.parquet")
    sources = survey.columns["source"].values
    curves = read_curves(survey, sources)
    assert curves.keys() == set(sources)
    for source, expected in EXPECTED["curves"].items():
        curve = curves[source]
        assert curve.shape == (30, 3)
        assert curve[[0, -1]].tolist() == expected
    assert not any(curve[:, 2].any() for curve in curves.values())  # two components were kept


def entries_of(name):
    lines = (SURVEYS / name).read_text("utf-8").splitlines()
    return [Entry(line, line) for line in lines if not line.startswith("#")]


def test_only_missing_rows_of_a_stopped_survey_are_to_be_measured(kept):
    entries = entries_of("half.txt")
    measured = read_survey(SURVEYS / HALF).columns["source"].values
    assert 1 < len(measured) < len(entries) - 1
    sources = {entry.source for entry in entries}
    assert sources >= set(measured)
    with SurveyFile(kept / "surveys" / HALF, RowSettings()) as file:
        missing = {entry.source for entry in file.missing(entries)}
        assert file.damage_notes == []
    assert missing == sources - set(measured)


def test_of_failed_rows_those_are_measured_again_that_may_succeed(kept):
    survey = read_survey(SURVEYS / "failed.parquet")
    sources, errors = (survey.columns[name].values for name in ("source", "error"))
    settings = RowSettings(table="right.table", server="")
    with SurveyFile(kept / "surveys" / "failed.parquet", settings) as file:
        missing = [one.source for one in file.missing(Entry(source, "") for source in sources)]
        assert {source: one.error for source, one in file.known.items()} == {
            source: error or None for source, error in zip(sources, errors, strict=True)
        }
    assert missing == EXPECTED["again"]


@pytest.mark.slow
def test_a_stopped_survey_goes_on(kept):
    """Two of its missing rows are measured, as each takes a second; the others are as they were."""
    before = described_survey(read_survey(SURVEYS / HALF))
    measured = before["columns"]["source"]["values"]
    missing = [one.source for one in entries_of("half.txt") if one.source not in measured][:2]
    listed, out = kept / "listed.txt", kept / "surveys" / HALF
    listed.write_text("\n".join([*measured, *missing]), "utf-8")
    assert run("survey", listed, "--out", out, "--workers", 1, "--offline") == 0
    assert not out.with_name(f"{HALF}.parts").exists()
    after = described_survey(read_survey(out))
    assert (after["rows"], after["failed"], after["total"]) == (len(measured) + 2, 0, None)
    at = [after["columns"]["source"]["values"].index(source) for source in measured]
    for name, column in before["columns"].items():
        assert [after["columns"][name]["values"][row] for row in at] == column["values"], name


@pytest.mark.slow
@each("surveys")
def test_a_window_shows_a_survey(name, start_application, kept, qtbot):
    application = start_application("sample")
    window, session = application.window, application.session
    application.controller.open(str(kept / "surveys" / name))
    qtbot.waitUntil(lambda: window.surveys.shown is not None)
    assert session.notice is None
    expected = EXPECTED["surveys"][name]["surveys"]
    assert described_survey(window.surveys.shown.survey) == expected
    assert (
        window.surveys.shown.table_numbers()["source"].tolist()
        == (expected["columns"]["source"]["values"])
    )
    window.surveys.shown.close()


@each("histories")
def test_histories(name):
    found = described_history(read_history(HISTORIES / name / "history.safetensors"))
    assert_close(found, EXPECTED["histories"][name])


def test_each_step_of_a_history_opens_like_a_model():
    expected = EXPECTED["histories"]["trained"]
    for step, table in zip(expected["steps"], expected["tables"], strict=True):
        opened = open_model(HISTORIES / "trained" / f"step {step}")
        assert opened.W_pos.shape == tuple(table["shape"])
        assert opened.W_pos[0, :3].tolist() == pytest.approx(table["first"])


def test_the_model_beside_a_history_is_its_last_step():
    model = open_model(HISTORIES / "trained")
    history = read_history(HISTORIES / "trained" / "history.safetensors")
    np.testing.assert_allclose(model.W_pos, history.last(), atol=1e-3)
    assert model.tokenize("the system").texts


def test_a_finished_training_is_finished(kept):
    folder = kept / "histories"
    same = (*TRAINED, "--steps", 800, "--snapshots", 12, "--seed", 3, "--learning-rate", 0.01,
            "--weight-decay", 0.1)  # fmt: skip
    assert run("train", "--corpus", folder / "text", "--out", folder / "trained", *same) == 0
    for file in (folder / "trained").iterdir():
        assert file.read_bytes() == (HISTORIES / "trained" / file.name).read_bytes()


@pytest.mark.slow
def test_a_stopped_training_goes_on(kept):
    folder = kept / "histories"
    before = EXPECTED["histories"]["stopped"]
    done = before["steps"][-1]
    more = (*TRAINED, "--steps", done + 3, "--snapshots", 8, "--seed", 5)
    out = folder / "stopped"
    assert run("train", "--corpus", folder / "text", "--out", out, *more) == 0
    after = described_history(read_history(out / "history.safetensors"))
    assert after["steps"][-1] == done + 3
    for name in ("steps", "tokens", "losses", "decays", "tables"):
        assert_close(after[name][: len(before[name])], before[name])
    told = read_json(out / "training.json")
    assert told["finished"] is True
    assert told["schedules"] == [[0, 3000], [done, done + 3]]
    assert not (out / "unfinished").exists()


@each("inside")
def test_layers(name):
    tables = read_layers(HISTORIES / name / "positions.safetensors")
    assert_close(described_layers(tables), EXPECTED["inside"][name]["layers"])


@each("inside")
def test_what_was_measured_of_layers(name):
    n_layers = EXPECTED["inside"][name]["layers"]["shape"][0]
    found = described_description(read_description(HISTORIES / name, n_layers))
    assert found == EXPECTED["inside"][name]["description"]


@each("inside")
def test_each_layer_opens_like_a_model(name):
    for layer, table in enumerate(EXPECTED["inside"][name]["layers"]["tables"]):
        opened = open_model(HISTORIES / name / f"layer {layer}")
        assert opened.W_pos[-1, -3:].tolist() == pytest.approx(table["last"], abs=1e-6)


OF = {"effects.json": "trained", "effects-layer.json": os.path.join("inside", "layer 1")}
"""What was changed."""


@each("effects")
def test_effects(name):
    model = open_model(HISTORIES / OF[name])
    assert described_effects(read_effects(HISTORIES / name, model)) == EXPECTED["effects"][name]


@pytest.mark.slow
def test_a_report_has_the_effects(kept):
    folder, out = kept / "histories", kept / "report"
    effects = folder / "effects.json"
    assert run("report", folder / "trained", "--effects", effects, "--out", out,
               "--no-figures") == 0  # fmt: skip
    claims = read_json(out / "report.json")["claims"]
    found = {one["id"]: one["value"] for one in claims}
    costs = {one["name"]: one["delta"] for one in EXPECTED["effects"]["effects.json"]["effects"]}
    assert found["effects.helix"] == pytest.approx(costs["fitted helix"] / costs["top 0"])
    assert found["effects.three"] == pytest.approx(costs["top 3"] / costs["top 0"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "kind", "name", "unit"),
    [
        ("trained", "histories", "trained", "step"),
        ("stopped", "histories", "stopped", "step"),
        (os.path.join("inside", "layer 1"), "inside", "inside", "layer"),
        (os.path.join("inside-sample", "layer 2"), "inside", "inside-sample", "layer"),
    ],
)
def test_a_window_shows_steps_and_layers(source, kind, name, unit, start_application, kept, qtbot):
    application = start_application(kept / "histories" / source)
    window, session = application.window, application.session
    window.bring("training")
    qtbot.waitUntil(lambda: session.timeline is not None)
    expected = EXPECTED[kind][name]
    steps = expected["steps"] if unit == "step" else list(range(expected["layers"]["shape"][0]))
    tables = expected["tables"] if unit == "step" else expected["layers"]["tables"]
    assert session.notice is None
    assert session.history.unit == unit
    assert session.history.steps.tolist() == steps
    for at, table in enumerate(tables):
        session.snapshot = at
        qtbot.waitUntil(lambda: application.idle)
        assert session.shown_timeline is not None
        lengths = np.linalg.norm(session.history.table(at))
        assert lengths == pytest.approx(table["length"], rel=1e-5)
