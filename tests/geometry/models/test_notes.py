"""Notes on a model's making: of the trainer, of a folder, of the catalogue."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.claims.report import report
from geometry.models.notes import Making, Note, parse_making, sentences
from geometry.models.sources.opening import open_model
from geometry.training.making import making_of
from geometry.training.position_rows import continued
from geometry.training.settings import TrainingSettings

GROWING = TrainingSettings(positions=64, first_positions=16, window=24, components=3, steps=100)


@pytest.mark.parametrize(
    ("changed", "claims"),
    [
        ({}, {"pca.three", "shape.helix"}),
        ({"components": 0}, set()),
        ({"first_positions": 0}, {"pca.three"}),
        ({"window": 0}, {"pca.three"}),  # limited at the end, when all rows are in use
        ({"components": 8}, set()),
    ],
)
def test_the_trainer_notes_what_it_imposes(changed, claims):
    making = making_of(replace(GROWING, **changed))
    assert making.untrained == 1
    named = {claim for note in making.notes for claim in note.claims}
    assert named & {"pca.three", "shape.helix"} == claims
    assert bool(making.notes) == (replace(GROWING, **changed).components > 0)


def test_a_note_holds_from_the_step_that_imposes_it():
    first, second = making_of(GROWING).notes
    assert 0 < first.since < second.since <= GROWING.steps
    making = making_of(GROWING)
    assert making.at(first.since - 1).notes == ()
    assert making.at(first.since).notes == (first,)
    assert making.at(GROWING.steps) == making


def test_a_rigid_motion_continues_any_curve_in_space_as_a_helix():
    """Chasles: each further point is turned about one axis, and moved along it."""
    rng = np.random.default_rng(5)
    curve = np.cumsum(np.cumsum(rng.standard_normal((40, 3)), axis=0), axis=0)
    steps = np.diff(continued(curve, 60), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    turns = np.einsum("ij,ij->i", steps[1:], steps[:-1])
    assert np.ptp(lengths) <= 1e-9 * lengths[0]
    assert np.ptp(turns) <= 1e-9 * lengths[0] ** 2
    bends = np.linalg.det(np.stack([steps[:-2], steps[1:-1], steps[2:]], axis=1))
    assert np.ptp(bends) <= 1e-9 * lengths[0] ** 3


@pytest.fixture
def folder(tmp_path):
    rows = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    save_file({"wpe.weight": rows}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_head": 2}))
    return tmp_path


def test_notes_of_a_folder(folder):
    assert open_model(folder).notes == ()
    assert open_model(folder).usual_positions == (1, 15)
    making = Making((Note("Made so.", ("pca.three",)),), untrained=2)
    (folder / "training.json").write_text(json.dumps({"settings": {}, **making.to_json()}))
    model = open_model(folder)
    assert model.notes == making.notes
    assert model.usual_positions == (1, 13)
    assert open_model(f"resampled:32,{folder}").notes == making.notes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"notes": "none"}',
        '{"notes": [{"claims": []}]}',
        '{"notes": [{"sentence": 5}]}',
        '{"untrained": -1}',
        '{"untrained": 1e400}',
        json.dumps({"notes": [{"sentence": "x" * 2000}]}),
        json.dumps({"notes": [{"sentence": "x"}] * 1000}),
    ],
)
def test_unreadable_notes_are_passed_over(folder, text):
    (folder / "training.json").write_text(text)
    model = open_model(folder)
    assert (model.notes, model.usual_positions) == ((), (1, 15))
    assert any("training.json" in warning for warning in model.warnings)


def test_a_training_json_of_another_program(folder):
    (folder / "training.json").write_text('{"epochs": 3}')
    model = open_model(folder)
    assert model.notes == ()
    assert not any("training.json" in warning for warning in model.warnings)


def test_more_untrained_rows_than_there_are(folder):
    (folder / "training.json").write_text('{"untrained": 1000}')
    assert open_model(folder).usual_positions == (0, 0)


def test_sentences_are_plain_text():
    note = parse_making({"notes": [{"sentence": "a\n\x1bb", "claims": ["c\x00"]}]}).notes[0]
    assert note.sentence.isprintable()
    assert note.claims[0].isprintable()


def test_the_bundled_model():
    """Its helix is noted as imposed, from the step on at which it was."""
    model = open_model("sample")
    settings = json.loads((model.home / "training.json").read_text("utf-8"))["settings"]
    assert model.making == making_of(TrainingSettings(**settings))
    found = report(model, nulls=False)
    assert [note["sentence"] for note in found["model"]["notes"]] == [
        note.sentence for note in model.notes
    ]
    assert found["pca"]["positions"] == [1, 254]
    assert len(sentences(model.notes, "shape.")) == 1
    assert open_model("sample/step 535").notes == ()
    assert len(open_model("sample/step 1535").notes) == 1


def test_notes_of_the_catalogue():
    assert sentences(open_model("sinusoidal:64x16").notes, "entries.waves")
