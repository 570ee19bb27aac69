"""The bundled model: a whole checkpoint, English, a helix, and the history of how it came to be."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

from geometry.evidence.turning_share import turning_share
from geometry.history.record import read_history
from geometry.inside.positions_run import measure_positions
from geometry.inside.settings import PositionsSettings
from geometry.measures.norms import norm_profile
from geometry.measures.shape import fit_shapes
from geometry.models.model import PositionalModel
from geometry.models.sources.catalogue import SAMPLE, SAMPLE_INSIDE
from geometry.models.sources.local_models import locate
from geometry.models.sources.opening import open_model
from geometry.pca.pca import fit_pca
from geometry.training.settings import TrainingSettings

#: Written for this test, and nowhere in what the model was trained on.
ENGLISH = (
    "Before you start, make sure that the package is installed and that you have the right to read "
    "the file. If the server does not answer, look at the log: it tells which part of the request "
    "was refused, and why. A process that waits for another one can be stopped by the user at any "
    "time. The default value is used when the option is not given on the command line, and a "
    "warning is printed if the name of the file is not known. In this case the second argument is "
    "ignored. Most of the functions in this section return a pointer to the new object, or zero if "
    "there is not enough memory. You can change the settings later by editing the configuration "
    "file and starting the service again."
)

#: A beginning, what goes on with it, and what does not.
GOES_ON = [
    ("The file does not", " exist", " purple"),
    ("You can use the following", " command", " sleeping"),
    ("If you do not want to use this", " option", " yesterday"),
    ("the size of the", " file", " quickly"),
    ("It is possible", " to", " and"),
    ("This is useful when you want", " to", " at"),
    ("in the same", " way", " sky"),
    ("can be used", " to", " that"),
    ("as well", " as", " of"),
    ("such", " as", " of"),
    ("a list", " of", " at"),
    ("at the end of", " the", " to"),
    ("If the value is not set, the default", " is used", " are used"),
    ("must be", " set", " sets"),
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return locate(SAMPLE)


@pytest.fixture(scope="module")
def model() -> PositionalModel:
    return open_model(SAMPLE)


@pytest.fixture(scope="module")
def network(folder) -> GPT2LMHeadModel:
    made, report = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    return made.float().eval()


@pytest.fixture(scope="module")
def tokenizer(folder) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def log_chances(network: GPT2LMHeadModel, tokens: list[int]) -> torch.Tensor:
    """Of each token after the first, in nats: (n - 1,)."""
    row = torch.tensor([tokens])
    with torch.no_grad():
        chances = network(row).logits.log_softmax(-1)
    return chances[0, :-1].gather(1, row[0, 1:, None])[:, 0]


def test_it_is_small_enough_to_ship_and_complete(folder, model):
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) <= 12_000_000
    assert not model.missing


def test_its_size(network, tokenizer):
    config = network.config
    assert config.n_positions >= 256
    assert config.n_layer >= 2
    assert tokenizer.get_vocab_size() == config.vocab_size
    assert tokenizer.decode(tokenizer.encode(ENGLISH).ids) == ENGLISH


def test_it_predicts_english(network, tokenizer):
    """In nats a letter, which do not depend on the tokens: 8 random bits are 5.5.

    To know how often each token comes in this very text would be 1.1.
    """
    tokens = tokenizer.encode(ENGLISH).ids
    loss = -log_chances(network, [network.config.bos_token_id, *tokens]).sum().item()
    assert loss / len(ENGLISH) < 1.0


def test_it_knows_how_sentences_go_on(network, tokenizer):
    def chance(beginning: str, end: str) -> float:
        first, then = tokenizer.encode(beginning).ids, tokenizer.encode(end).ids
        tokens = [network.config.bos_token_id, *first, *then]
        return float(log_chances(network, tokens)[len(first) :].sum())

    right = [chance(start, good) > chance(start, bad) for start, good, bad in GOES_ON]
    assert sum(right) >= 0.9 * len(right)


def test_most_of_its_positions_is_in_three_components(model):
    found = fit_pca(model.W_pos, (1, model.n_positions - 1), 6)
    assert found.explained_variance_ratio[:3].sum() >= 0.6


def test_its_positions_are_a_helix(model):
    """By the rule of the Shape panel, of more turns than any band-limited random curve has."""
    rows = model.W_pos[1:-1]
    evidence = turning_share(rows)
    assert (evidence.tier, evidence.kind) == (1, "helix")
    assert 2 <= evidence.turns <= 12
    pca = fit_pca(model.W_pos, (1, model.n_positions - 2), 3)
    shapes = fit_shapes(pca.project(rows), evidence)
    assert "helix" in shapes.best
    assert shapes.described.r2 > 0.9
    assert shapes.described.turns == pytest.approx(evidence.turns, abs=0.3)


def test_the_last_position_went_without_a_gradient(model):
    """Windows of exactly as many tokens as positions: nothing is predicted from the last one."""
    profile = norm_profile(model.W_pos)
    assert model.n_positions - 1 in profile.outliers
    assert profile.values[-1] < 0.1 * np.median(profile.values)


def test_its_history(folder, model):
    history = read_history(folder / "history.safetensors", shape=model.W_pos.shape)
    with safe_open(folder / "history.safetensors", "numpy") as file:
        recorded = json.loads(file.metadata()["settings"])
    about = json.loads((folder / "training.json").read_text("utf-8"))
    assert about["settings"] == recorded
    assert about["finished"]
    settings = TrainingSettings(**recorded)
    assert 40 <= history.n_snapshots <= 56
    assert (history.steps[0], history.steps[-1]) == (0, settings.steps)
    assert (history.steps[10:] / history.steps[9:-1]).max() < 1.4  # log-spaced
    assert history.losses[0] == pytest.approx(math.log(settings.vocabulary), rel=0.02)
    assert history.losses[-1] < 3.2
    assert np.isfinite(history.losses).all()
    last = np.asarray(model.W_pos, np.float32).astype(np.float16)
    assert np.array_equal(history.last(), last.astype(np.float32))
    # It begins as noise, none of whose directions stands out.
    first = fit_pca(history.table(0), (1, model.n_positions - 1), 3)
    assert first.explained_variance_ratio[:3].sum() < 0.1


MAX_BYTES = 12_000_000
"""Of the whole folder."""


@pytest.fixture(scope="module")
def measured_again(tmp_path_factory):
    """Fewer windows, drawn from the guide by another seed: as one layer after the other."""
    settings = PositionsSettings(
        SAMPLE, length=256, texts_at_most=24, seed=1, counters=("position",), control=False
    )
    out = tmp_path_factory.mktemp("again") / "inside"
    measure_positions(settings, out)
    return out


def ordinary(table):
    """Rows about their mean, without position 0 and the last one."""
    return table[1:-1] - table[1:-1].mean(axis=0)


def cosine(a, b):
    return float(np.vdot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_the_run_inside_is_one_of_this_model(folder, model):
    inside = open_model(SAMPLE_INSIDE)
    assert (inside.source.text, inside.name) == (SAMPLE_INSIDE, "sample · layer 0")
    tables = inside.store.tables
    about = json.loads((folder / "config.json").read_text("utf-8"))
    assert tables.shape == (about["n_layer"] + 1, *model.W_pos.shape)
    assert (tables.name, tables.source) == (SAMPLE, SAMPLE)
    described = json.loads((folder / "inside" / "positions.json").read_text("utf-8"))
    assert described["windows"] == tables.windows.tolist()
    assert [layer["share"] for layer in described["layers"]] == tables.share.tolist()
    assert len(tables.random_share) == len(tables.share)
    # In the embedding it is P itself, but for the noise of the tokens.
    assert cosine(ordinary(inside.W_pos), ordinary(model.W_pos)) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "least"), [(0, 0.8), (1, 0.6)])
def test_other_texts_have_the_same_positions_inside(measured_again, layer, least):
    shipped, again = (
        ordinary(open_model(f"{source}/layer {layer}").W_pos)
        for source in (SAMPLE_INSIDE, measured_again)
    )
    assert cosine(shipped, again) > least


def test_the_folder_is_small(folder):
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < MAX_BYTES
