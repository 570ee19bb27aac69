"""The second bundled model: whole, English, trained in the plain way, and no helix."""

import json
import math
import re

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

from geometry import fit_pca, fit_shapes, norm_profile, open_model, pca_artefact, turning_share
from geometry.history.record import read_history
from geometry.models.sources.catalogue import SAMPLE, SAMPLE_PLAIN
from geometry.models.sources.local_models import locate
from geometry.models.sources.locating import is_here, may_ask_hub
from geometry.models.sources.source import Source
from geometry.training.settings import TrainingSettings

TEXT = (
    "Before you start, make sure that the package is installed and that you have the right to read "
    "the file. The default value is used when the option is not given on the command line, and a "
    "warning is printed if the name of the file is not known."
)
"""Written for this test."""


@pytest.fixture(scope="module")
def folder():
    return locate(SAMPLE_PLAIN)


@pytest.fixture(scope="module")
def model():
    return open_model(SAMPLE_PLAIN)


def test_both_bundled_models_are_small_enough_to_ship(folder):
    folders = (folder, locate(SAMPLE))
    files = [path for each in folders for path in each.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 12_000_000


def test_it_opens_by_its_name_and_so_do_its_steps(model):
    source = Source.parse(SAMPLE_PLAIN)
    assert (source.kind, model.name) == ("bundled", SAMPLE_PLAIN)
    assert not model.missing
    assert not model.notes
    assert is_here(source)
    assert not may_ask_hub(source)
    first = open_model(f"{SAMPLE_PLAIN}/step 0")
    assert first.W_pos.shape == model.W_pos.shape
    assert Source.parse(f"{SAMPLE_PLAIN}/inside").kind != "bundled"


def test_it_predicts_english(folder):
    network, report = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids
    row = torch.tensor([[network.config.bos_token_id, *tokens]])[:, : network.config.n_positions]
    with torch.no_grad():
        loss = network.float()(row, labels=row).loss.item()
    counts = np.unique(tokens, return_counts=True)[1] / len(tokens)
    assert loss < -(counts * np.log(counts)).sum()  # to know how often each token comes


def test_its_training_imposed_nothing_on_its_positions(folder, model):
    record = json.loads((folder / "training.json").read_text("utf-8"))
    settings = TrainingSettings(**record["settings"])
    assert record["finished"]
    assert record["schedules"] == [[0, settings.steps]]
    assert (settings.components, settings.first_positions, settings.window) == (0, 0, 0)
    assert settings.position_decay is None
    history = read_history(folder / "history.safetensors", shape=model.W_pos.shape)
    assert (history.steps[0], history.steps[-1]) == (0, settings.steps)
    assert history.losses[0] == pytest.approx(math.log(settings.vocabulary), rel=0.02)
    np.testing.assert_array_equal(history.last(), np.asarray(model.W_pos, np.float32))


def test_its_page_has_the_measured_numbers(folder, model):
    page = (folder / "README.md").read_text("utf-8")
    table = dict(
        re.findall(r"^\| (.+?) \| (.+) \|$", page.partition("## Results")[2], re.MULTILINE)
    )
    n, history = model.n_positions, read_history(folder / "history.safetensors")
    rows, pca = model.W_pos[1 : n - 1], fit_pca(model.W_pos, (1, n - 2), 3)
    turning, result = turning_share(rows), pca_artefact(rows)
    fits = fit_shapes(pca.project(rows), turning).fits
    helix = max(fits["helix"].r2, fits["drifting_helix"].r2)
    norms = norm_profile(model.W_pos)
    numbers = {
        "loss at the last step": [history.losses[-1], history.losses[0]],
        f"variance of positions 1–{n - 2} in the first three components": [
            *(100 * pca.explained_variance_ratio),
            100 * pca.explained_variance_ratio.sum(),
        ],
        f"balanced turning share of positions 1–{n - 2}": [turning.b],
        "R² of a line, and of the better helix": [fits["line"].r2, helix],
        "sinusoids of its components, R²": result.own.waves.r2.tolist(),
        "outlying norms, and the median": [
            *(norms.values[position] for position in norms.outliers),
            np.median(norms.values),
        ],
    }
    for line, values in numbers.items():
        printed = [float(word) for word in re.findall(r"\d+\.\d+", table[line])]
        for value, shown in zip(values, printed, strict=True):
            digits = len(str(shown).partition(".")[2])
            assert round(float(value), digits) == shown, line
    assert turning.kind is None
    assert table["could its waves be an artefact of PCA?"].startswith(result.answer)
