"""The file of effects: as it was written, or refused in a sentence."""

import json
from dataclasses import replace

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError
from geometry.inside.effects_file import read_effects, write_effects
from geometry.inside.intervene import Effect, Effects
from geometry.models.sources.computed import model_of_table

EFFECTS = (
    Effect("top 0", 1.25, 1.0, 1.5, by_window=(1.0, 1.5)),
    Effect("into E", *[float("nan")] * 3, "This model has no token embeddings."),
    Effect("shift 1", 0.1, 0.0, 0.2, attention=((0.5, 0.25),)),
)


@pytest.fixture
def model():
    return model_of_table("rows", np.eye(9))


@pytest.fixture
def path(model, tmp_path):
    out = tmp_path / "effects.json"
    write_effects(out, Effects(4.0, EFFECTS, 2, 1, model.fingerprint))
    return out


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")


def test_what_is_read_is_what_was_written(path, model):
    found = read_effects(path, model)
    assert (found.baseline, found.windows, found.layer) == (4.0, 2, 1)
    first, impossible, last = found.effects
    assert first == EFFECTS[0]
    assert np.isnan([impossible.delta, impossible.low, impossible.high]).all()
    assert (impossible.name, impossible.why) == (EFFECTS[1].name, EFFECTS[1].why)
    assert last == replace(EFFECTS[2], attention=())
    write_effects(path, replace(found, baseline=None, layer=None))
    encoder = read_effects(path, model)
    assert encoder.baseline is encoder.layer is None


def test_effects_of_another_model_are_refused(path, tmp_path):
    other = model_of_table("rows", np.eye(9)[::-1].copy(), name="other")
    with pytest.raises(HelixscopeError, match=r"effects.json has the effects of another model"):
        read_effects(path, other)


def test_a_file_that_does_not_tell_the_model_is_refused(path, model):
    """As that of an earlier version."""
    content = json.loads(path.read_text("utf-8"))
    del content["fingerprint"]
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(HelixscopeError, match="does not tell which model") as found:
        read_effects(path, model)
    assert "helixscope intervene" in found.value.advice


@pytest.mark.parametrize(
    "changes",
    [
        {"windows": "2"}, {"windows": -1}, {"windows": True}, {"baseline": "4"},
        {"baseline": float("inf")}, {"layer": 1.5}, {"changes": 3}, {"changes": [1]},
        {"changes": [{"name": "top 0"}]}, {"fingerprint": 7},
        {"changes": [{"name": 1, "delta": 1, "low": 1, "high": 1}]},
        {"changes": [{"name": "a", "delta": None, "low": 1, "high": 1}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 1, "by_window": [1]}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 1, "by_window": [1, "x"]}]},
        {"changes": [{"name": "a", "delta": 1, "low": 1, "high": 10**400}]},
    ],
)  # fmt: skip
def test_what_has_another_form_is_a_sentence(path, model, changes):
    change(path, **changes)
    with pytest.raises(HelixscopeError, match=r"effects.json does not hold the effects of"):
        read_effects(path, model)


def test_what_is_no_json_or_no_file_is_a_sentence(path, model, tmp_path):
    path.write_text("[1, 2", "utf-8")
    with pytest.raises(HelixscopeError, match="not valid JSON"):
        read_effects(path, model)
    path.write_text("[1, 2]", "utf-8")
    with pytest.raises(HelixscopeError, match="should be a JSON object"):
        read_effects(path, model)
    for absent in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(HelixscopeError):
            read_effects(absent, model)
