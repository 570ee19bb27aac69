"""A whole run: what it writes, and that nothing is lost when it stops."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from numpy.testing import assert_equal
from safetensors import safe_open

from geometry.inside import forward, published
from geometry.inside.positions_run import measure_positions
from geometry.inside.published import KnownModel
from geometry.inside.settings import InsideError, PositionsSettings

USUAL = PositionsSettings("").counters


@pytest.fixture
def settings(guide):
    return PositionsSettings("sample", str(guide), length=64, texts_at_most=40, control=False)


def content(out):
    description = json.loads((out / "positions.json").read_text("utf-8"))
    with safe_open(out / "positions.safetensors", framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return description, tensors, file.metadata()


@pytest.mark.slow
def test_what_is_written(settings, tmp_path):
    settings = replace(settings, texts_at_most=100, control=True, counters=(*USUAL, "brackets"))
    result = measure_positions(settings, tmp_path / "out")
    description, tensors, metadata = content(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "positions.json", "positions.safetensors",
    ]  # fmt: skip
    n_layers = description["model"]["n_layers"] + 1
    assert tensors["half_a"].shape == (n_layers, 64, description["model"]["d_model"])
    assert tensors["half_a"].dtype == np.float32
    assert tensors["windows"].sum() == 100
    assert metadata["format"] == "helixscope-positions"
    assert len(description["layers"]) == len(description["random_weights"]) == n_layers
    assert description["layers"][0].keys() >= {
        "stable_rank", "rank", "relative_norm", "share", "share_noise", "share_context",
        "share_rest", "halves_cosine", "standard_error", "top3", "outliers", "texts_needed",
    }  # fmt: skip
    assert description["layers"][0]["share"] == result.layers[0].share
    assert len(description["texts"]) == 100
    assert description["texts"][0].keys() == {"file", "first_token"}
    assert description["special_tokens"] == []
    assert [len(layer) for layer in description["layernorm"]] == [10] * n_layers
    one = description["layernorm"][1][0]
    assert one["counters"] == ["position", "sentence"]
    assert one["mixed"] == result.mixing[1][0].mixed
    assert one.keys() == {"counters", "mixed", "random_turn", "scrambled_norms"}
    assert one["scrambled_norms"].keys() == {"p5", "median", "p95"}
    assert description["published"] == [], "nothing is published of the bundled model"
    line = description["counters"]["line"]
    assert len(line["share"]) == len(line["angles"]["word"]) == n_layers
    assert set(line["chance_of_smallest_angle"]) == set(line["angles"])
    assert description["counters"].keys() == {*settings.counters}
    assert len(description["counters"]["brackets"]["values"]) < 4, "deep ones are rare"


def test_published_numbers_stand_beside_ours(settings, tmp_path, monkeypatch):
    known = KnownModel("gpt2", 2, 128, {"relative norm": (0.5, 0.4)})
    monkeypatch.setattr(published, "KNOWN", {"sample": known})
    result = measure_positions(settings, tmp_path / "out")
    first, second = content(tmp_path / "out")[0]["published"]
    assert first["source"] == "Song and Zhong, arXiv:2310.04861"
    assert (first["quantity"], first["layer"], first["published"]) == ("relative norm", 0, 0.5)
    assert second["ours"] == result.layers[1].relative_norm
    assert second["as_there"] == result.published[1].as_there


@pytest.mark.slow
def test_layer_0_has_the_table(settings, tmp_path):
    """The mean over texts is P plus a mean token, of which little depends on the position."""
    from geometry.models.sources.opening import open_model

    measure_positions(replace(settings, texts_at_most=120), tmp_path / "out")
    _, tensors, _ = content(tmp_path / "out")
    weights = tensors["windows"] / tensors["windows"].sum()
    pos = weights[0] * tensors["half_a"][0] + weights[1] * tensors["half_b"][0]
    P = open_model("sample").W_pos[1:64]
    P, pos = P - P.mean(axis=0), pos[1:] - pos[1:].mean(axis=0)
    assert np.vdot(P, pos) / np.linalg.norm(P) / np.linalg.norm(pos) > 0.8


class Stopped(Exception):
    pass


@pytest.mark.slow
def test_a_stopped_run_goes_on_and_gives_the_same(settings, tmp_path, monkeypatch):
    whole = measure_positions(settings, tmp_path / "whole")
    for stop_at in (8, 24):
        passes = []
        add = forward._add
        monkeypatch.setattr(
            forward, "_add", lambda *args, of=add, made=passes: (made.append(1), of(*args))
        )

        def tell(_, done, total, at=stop_at):
            if done >= at:
                raise Stopped

        with pytest.raises(Stopped):
            measure_positions(settings, tmp_path / "parts", report=tell)
        assert len(passes) <= 3, "what was summed is not run again"
    monkeypatch.undo()
    parts = measure_positions(settings, tmp_path / "parts")
    assert_equal([*map(asdict, parts.layers)], [*map(asdict, whole.layers)])  # NaN is NaN
    one, other = (content(tmp_path / name)[1] for name in ("whole", "parts"))
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_controls_that_are_measured_are_not_run_again(settings, tmp_path):
    settings = replace(settings, texts_at_most=16, control=True, control_seeds=2)
    whole = measure_positions(settings, tmp_path / "whole")

    def stop(what, *_):
        if what == "Running sample with shuffled weights":
            raise Stopped

    with pytest.raises(Stopped):
        measure_positions(settings, tmp_path / "parts", report=stop)
    steps = []
    parts = measure_positions(
        settings, tmp_path / "parts", report=lambda what, *_: steps.append(what)
    )
    assert "Running sample with random weights" not in steps
    described = [content(tmp_path / name)[0]["controls"] for name in ("whole", "parts")]
    assert described[0] == described[1]
    kinds = [(control.kind, control.seed) for control in parts.controls]
    assert kinds == [("random", 0), ("random", 1), ("shuffled", 0), ("shuffled", 1)]
    assert_equal([*map(asdict, parts.random_weights)], [*map(asdict, whole.random_weights)])
    assert parts.controls[0].layers[1].probe_error != parts.controls[1].layers[1].probe_error


def test_other_settings_texts_or_models_do_not_mix(settings, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(4):
        (texts / f"{i}.txt").write_text(f"The {i}th text has words. " * 200, "utf-8")
    settings = replace(settings, texts=str(texts), texts_at_most=16)

    def tell(_, done, total):
        if done >= 8:
            raise Stopped

    with pytest.raises(Stopped):
        measure_positions(settings, tmp_path / "out", report=tell)
    with pytest.raises(InsideError, match="an unfinished run with other settings"):
        measure_positions(replace(settings, seed=1), tmp_path / "out")
    for i in range(4):
        (texts / f"{i}.txt").write_text(f"Another {i}th text has words. " * 200, "utf-8")
    with pytest.raises(InsideError, match="texts or the model of the run"):
        measure_positions(settings, tmp_path / "out")
    (tmp_path / "out" / "unfinished" / "trained.safetensors").write_bytes(b"damaged")
    with pytest.raises(InsideError, match="is damaged"):
        measure_positions(settings, tmp_path / "out")


def test_a_folder_of_something_else_stays_as_it_is(settings, tmp_path):
    (tmp_path / "thesis.txt").write_text("words", "utf-8")
    with pytest.raises(InsideError, match="is not empty and not a run"):
        measure_positions(settings, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_impossible_settings_are_a_sentence(settings, tmp_path):
    for changed, said in (
        ({"counters": ("position", "rhyme")}, "There is no counter 'rhyme'"),
        ({"texts_at_most": 0}, "At least one text"),
        ({"texts": str(tmp_path / "none")}, "does not exist"),
        ({"source": str(tmp_path / "none")}, "There is no"),
        ({"length": 8}, "too short"),
    ):
        with pytest.raises(InsideError, match=said):
            measure_positions(replace(settings, **changed), tmp_path / "out")


@pytest.mark.slow
def test_a_rotary_model_from_a_gguf_file(settings, smollm2, tmp_path):
    """SmolLM2 has no table of positions, but positions inside it."""
    settings = replace(settings, source=str(smollm2), length=48, texts_at_most=12)
    result = measure_positions(settings, tmp_path / "out")
    description, tensors, _ = content(tmp_path / "out")
    assert description["model"]["causal"]
    assert tensors["half_a"].shape == (31, 48, 576)
    assert len(result.layers) == 31
    # Before the first block a token does not know where it is.
    assert abs(result.layers[0].share) < 0.05
    norms = np.linalg.norm(tensors["half_a"], axis=2)
    assert norms[15, 0] > 20 * np.median(norms[15, 1:]), "an attention sink"
