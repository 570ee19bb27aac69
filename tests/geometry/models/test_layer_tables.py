"""Positions inside a model, opened layer by layer."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.errors import FileChanged, HelixscopeError, SourceError, TensorUnavailable
from geometry.history.here import history_here
from geometry.history.origins import find_history
from geometry.history.timelapse import make_timelapse
from geometry.models.sources.layer_tables import FILE_NAME
from geometry.models.sources.locating import may_ask_hub
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source

N_LAYERS, LENGTH, D_MODEL = 4, 50, 12
METADATA = {"format": "helixscope-positions", "version": "1", "name": "toy", "source": "toy"}


def tensors():
    random = np.random.default_rng(0)
    t = np.arange(LENGTH) / LENGTH
    curve = np.stack([np.cos(12 * t), np.sin(12 * t), 0.5 * t], axis=1)  # without outliers
    bases = np.linalg.qr(random.normal(size=(N_LAYERS, D_MODEL, 3)))[0]
    tables = curve @ bases.transpose(0, 2, 1) + 7
    noise = 0.01 * random.normal(size=(2, *tables.shape))
    tables[:, 0] += 900  # an attention sink
    half_a, half_b = (tables + noise).astype(np.float32)
    return {
        "half_a": half_a, "half_b": half_b, "windows": np.array([30, 10]),
        "special": np.array([LENGTH - 1]), "share": np.full(N_LAYERS, 0.2),
        "share_noise": np.full(N_LAYERS, 0.01), "halves_cosine": np.array([0.1, 0.8, 0.99, 0.5]),
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    save_file(tensors(), folder / FILE_NAME, metadata=METADATA)
    return folder


def test_a_folder_opens_in_the_layer_in_which_the_halves_agree_most(folder):
    model = open_model(folder)
    assert (model.name, model.table) == ("toy · layer 2", "layer 2")
    assert (model.n_positions, model.d_model) == (LENGTH, D_MODEL)
    assert open_model(folder / FILE_NAME).table == "layer 2"
    assert not may_ask_hub(Source.parse(str(folder)))
    assert model.home == folder
    with pytest.raises(TensorUnavailable, match="no tokenizer"):
        model.tokenize("words")
    assert "W_E" in model.missing


@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_each_layer_is_the_mean_over_all_texts_about_that_over_positions(folder, layer):
    model, own = open_model(f"{folder}/layer {layer}"), tensors()
    assert not may_ask_hub(model.source)
    mean = 0.75 * own["half_a"][layer] + 0.25 * own["half_b"][layer].astype(np.float64)
    expected = mean - mean[1:-1].mean(axis=0)
    np.testing.assert_allclose(model.W_pos, expected, atol=1e-4)
    assert np.abs(model.W_pos[1:-1].mean(axis=0)).max() < 1e-4


def test_layers_are_the_history_of_each_other(folder):
    model = open_model(f"{folder}/layer 1")
    assert find_history(model).kind == "layers"
    history = history_here(model)
    assert history.unit == "layer"
    assert history.steps.tolist() == list(range(N_LAYERS))
    assert history.shown == 1
    for layer in range(N_LAYERS):
        own = open_model(f"{folder}/layer {layer}").W_pos
        np.testing.assert_array_equal(history.table(layer), own.astype(np.float32))
    said = []
    lapse = make_timelapse(history, (1, LENGTH - 2), lambda _, words: said.append(words))
    assert said == ["Layer 1", "Layer 0", "Layer 2", "Layer 3"]
    own = lapse.pca.project(model.W_pos)
    np.testing.assert_allclose(lapse.frozen[1], own, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(lapse.aligned[1], lapse.frozen[1])
    assert history.only([0, 1, 3]).shown == 1
    assert history.only([2, 3]).shown == 0


def test_a_layer_that_is_not_there_and_a_folder_that_is_a_model(folder):
    with pytest.raises(SourceError, match="toy has the layers 0 to 3; there is no layer 4"):
        open_model(f"{folder}/layer 4")
    with pytest.raises(SourceError, match="does not exist"):
        open_model(f"{folder}/layer x")
    (folder / "config.json").write_text("{}", "utf-8")
    with pytest.raises(HelixscopeError):
        open_model(f"{folder}/layer 1")


def test_rewritten_file_is_not_mixed_with_the_old(folder):
    model = open_model(folder)
    history = history_here(model)
    changed = tensors()
    changed["half_a"] += 1
    (folder / FILE_NAME).unlink()
    save_file(changed, folder / FILE_NAME, metadata=METADATA)
    with pytest.raises(FileChanged):
        model.check_files()
    with pytest.raises(FileChanged):
        history.table(0)


def test_windows_needed_are_those_for_which_halves_would_agree(folder):
    """With N windows a half has noise 2 s/N, and the cosine is 0.9 where that is a ninth of pos."""
    own = tensors() | {"share": np.array([0.2, 0.0, -0.1, 0.01])}
    save_file(own, folder / FILE_NAME, metadata=METADATA)
    needed = open_model(folder).store.tables.windows_needed()
    s = 0.01 * 40  # the noise of one window
    np.testing.assert_allclose(2 * s / needed[[0, 3]], np.array([0.2, 0.01]) / 9)
    assert np.isinf(needed[[1, 2]]).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"half_b": None}, "lacks tensors"),
        ({"windows": np.array([0, 0])}, "counts that no run writes"),
        ({"windows": np.array([3.0, 4.0])}, None),
        ({"windows": np.array([1, 2, 3])}, "counts that no run writes"),
        ({"special": np.array([LENGTH])}, "counts that no run writes"),
        ({"special": np.arange(LENGTH)}, "counts that no run writes"),
        ({"half_b": np.zeros((2, 3, 4), np.float32)}, "shapes that do not fit"),
        ({"half_a": np.zeros((N_LAYERS, LENGTH, D_MODEL))}, "not float32"),
        ({"share": np.zeros(3)}, "lacks a number for each layer"),
        ({"half_a": np.full((N_LAYERS, LENGTH, D_MODEL), np.nan, np.float32)}, "not finite"),
    ],
)
def test_a_damaged_file_is_a_sentence(folder, changed, said):
    damaged = {name: value for name, value in (tensors() | changed).items() if value is not None}
    save_file(damaged, folder / FILE_NAME, metadata=METADATA)
    if said is None:
        assert open_model(folder).n_positions == LENGTH
        return
    with pytest.raises(SourceError, match=said) as caught:
        open_model(folder)
    assert len(str(caught.value)) <= 200


def test_a_file_of_something_else(folder):
    save_file(tensors(), folder / FILE_NAME, metadata={"format": "pt"})
    with pytest.raises(SourceError, match="does not hold positions of layers"):
        open_model(folder)
    whole = (folder / FILE_NAME).read_bytes()
    for damaged in (b"", whole[:100], whole[:-50], re.sub(rb"F32", b"X99", whole)):
        (folder / FILE_NAME).write_bytes(damaged)
        with pytest.raises(SourceError):
            open_model(folder)


@pytest.mark.slow
def test_the_run_itself_opens(guide, tmp_path):
    from geometry.inside.positions_run import measure_positions
    from geometry.inside.settings import PositionsSettings

    settings = PositionsSettings("sample", str(guide), length=64, texts_at_most=24)
    result = measure_positions(settings, tmp_path / "out")
    description = json.loads((tmp_path / "out" / "positions.json").read_text("utf-8"))
    model = open_model(tmp_path / "out")
    cosines = [layer.halves_cosine for layer in result.layers]
    assert model.table == f"layer {int(np.argmax(cosines))}"
    tables = model.store.tables
    np.testing.assert_array_equal(tables.halves_cosine, cosines)
    random = [layer["share"] for layer in description["random_weights"]]
    np.testing.assert_array_equal(tables.random_share, random)
    assert tables.name == "sample"
    needed = [layer.texts_needed for layer in result.layers]
    known = [at for at, n in enumerate(needed) if n is not None]
    assert known
    np.testing.assert_allclose(
        tables.windows_needed()[known], [needed[at] for at in known], rtol=0.1
    )
    assert np.isinf(np.delete(tables.windows_needed(), known)).all()
