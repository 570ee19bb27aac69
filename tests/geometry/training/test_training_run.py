"""A training run: what it writes, how it is interrupted, and where it may go on."""

import io
import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from geometry.checkpoints.errors import HelixscopeError
from geometry.history.last_position import last_position
from geometry.history.record import read_history
from geometry.models.sources.opening import open_model
from geometry.training.gradients import Gradients
from geometry.training.run import TrainingProgress, train
from geometry.training.settings import TrainingError, TrainingSettings
from tests.geometry.training_text import SMALL, write_text

GROWING = replace(SMALL, first_positions=6, growth=0.7, window=9, components=3, position_decay=1.0)

WRITTEN = [
    "config.json", "history.safetensors", "model.safetensors", "tokenizer.json",
    "tokenizer_config.json", "training.json",
]  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def told() -> list[TrainingProgress]:
    return []


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory, told) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    assert train(text, out, SMALL, on_progress=told.append)
    return out


def weights(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "model.safetensors")


def assert_same_model(folder: Path, other: Path) -> None:
    for name in ("model.safetensors", "history.safetensors"):
        mine, theirs = load_file(folder / name), load_file(other / name)
        assert mine.keys() == theirs.keys()
        for key, value in mine.items():
            assert np.array_equal(value, theirs[key]), key


def test_what_is_written(trained):
    assert sorted(path.name for path in trained.iterdir()) == WRITTEN
    with safe_open(trained / "history.safetensors", "numpy") as file:
        said = file.metadata()
    assert (said["format"], said["version"]) == ("helixscope-history", "1")
    assert TrainingSettings(**json.loads(said["settings"])) == SMALL


def test_transformers_opens_it(trained):
    import torch
    from transformers import AutoTokenizer, GPT2LMHeadModel

    network = GPT2LMHeadModel.from_pretrained(trained)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    tokens = tokenizer("the system reads", return_tensors="pt")["input_ids"]
    assert tokenizer.decode(tokens[0]) == "the system reads"
    assert tokenizer.eos_token_id == network.config.eos_token_id
    assert len(tokenizer) == network.config.vocab_size == SMALL.vocabulary
    with torch.no_grad():
        assert network(tokens).logits.shape == (1, tokens.shape[1], SMALL.vocabulary)
    stored = weights(trained)["transformer.wpe.weight"]
    assert np.array_equal(network.transformer.wpe.weight.detach().numpy(), stored)


def test_it_opens_as_any_model(trained):
    model = open_model(trained)
    tokens = model.tokenize("the system reads")
    assert "".join(tokens.texts[1:]) == "the system reads"
    assert tokens.texts[0] == "<|endoftext|>"
    assert (model.n_positions, model.d_model, model.n_layers, model.n_heads) == (32, 16, 2, 2)
    assert np.array_equal(model.W_pos, weights(trained)["transformer.wpe.weight"])


def test_its_history(trained):
    history = read_history(trained / "history.safetensors")
    assert history.steps.tolist() == [0, 1, 2, 5, 11, 24]
    assert history.tokens is not None
    assert history.losses is not None
    assert history.decays is not None
    assert np.array_equal(history.tokens, history.steps * 4 * 32)
    # Before it has learnt anything all tokens are alike to it.
    assert history.losses[0] == pytest.approx(math.log(SMALL.vocabulary), rel=0.01)
    assert history.losses[0] == history.losses[1]
    assert history.losses[-1] < history.losses[0] - 0.5
    assert history.decays[0] == 1
    assert (np.diff(history.decays) < 0).all()
    last = weights(trained)["transformer.wpe.weight"]
    assert np.array_equal(history.last(), last.astype(np.float16).astype(np.float32))
    assert history.table(0).std() == pytest.approx(SMALL.position_std, rel=0.2)


def test_it_tells_how_far_it_is(trained, told):
    steps = [one for one in told if one.what == "Training"]
    assert [one.done for one in steps] == list(range(1, 25))
    assert {one.total for one in steps} == {24}
    assert all(math.isfinite(one.loss) for one in steps)
    assert [one.what for one in told[:2]] == ["Learning tokens", "Reading the text"]
    assert (told[1].done, told[1].total) == (30, 30)


def test_what_is_trained_is_left_alone(trained, text):
    before = {path.name: path.stat().st_mtime_ns for path in trained.iterdir()}
    assert not train(text, trained, SMALL)
    assert {path.name: path.stat().st_mtime_ns for path in trained.iterdir()} == before


def test_half_the_bytes(trained, text, tmp_path):
    train(text, tmp_path / "half", SMALL, half=True)
    for name, weight in weights(tmp_path / "half").items():
        assert weight.dtype == np.float16
        assert np.array_equal(weight, weights(trained)[name].astype(np.float16))
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == "float16"


def test_the_seed_is_all_that_chance_has(trained, text, tmp_path):
    train(text, tmp_path / "again", SMALL)
    assert_same_model(tmp_path / "again", trained)
    train(text, tmp_path / "other", replace(SMALL, seed=1))
    P = "transformer.wpe.weight"
    assert not np.array_equal(weights(tmp_path / "other")[P], weights(trained)[P])


def interrupt(text: Path, out: Path, step: int, settings: TrainingSettings = SMALL) -> None:
    """Train, and press Ctrl+C when a step is done."""

    def on_progress(progress: TrainingProgress) -> None:
        if progress.what == "Training" and progress.done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(text, out, settings, on_progress=on_progress)


@pytest.fixture(scope="module")
def grown(text, tmp_path_factory) -> Path:
    """A model whose positions were few at first."""
    out = tmp_path_factory.mktemp("grown") / "model"
    assert train(text, out, GROWING)
    return out


def test_positions_grow_in_few_directions_and_the_last_is_never_trained(grown):
    P = weights(grown)["transformer.wpe.weight"]
    rows = P[1:-1] - P[1:-1].mean(axis=0)
    values = np.linalg.svd(rows, compute_uv=False)
    assert values[GROWING.components] < 1e-4 * values[0] < values[GROWING.components - 1]
    assert last_position(read_history(grown / "history.safetensors")).departure < 0.01


@pytest.mark.parametrize("step", [3, 9, 20])
def test_positions_go_on_growing_after_an_interruption(grown, text, tmp_path, step):
    out = tmp_path / "out"
    interrupt(text, out, step, GROWING)
    assert train(text, out, GROWING)
    assert_same_model(out, grown)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 7, 11, 23])
def test_it_goes_on_after_an_interruption(trained, text, tmp_path, step):
    out = tmp_path / "out"
    interrupt(text, out, step)
    steps: list[int] = []
    assert train(text, out, SMALL, on_progress=lambda progress: steps.append(progress.done))
    assert steps[0] <= step + 1
    assert_same_model(out, trained)
    assert sorted(path.name for path in out.iterdir()) == WRITTEN


@pytest.mark.parametrize("steps", [16, 40], ids=["fewer", "more"])
def test_an_unfinished_run_may_get_other_steps(text, unfinished, steps):
    rates: list[int] = []
    changed = replace(SMALL, steps=steps)
    assert train(text, unfinished, changed, on_progress=lambda now: rates.append(now.total))
    assert set(rates) == {steps}
    history = read_history(unfinished / "history.safetensors")
    assert history.steps[-1] == steps
    about = json.loads((unfinished / "training.json").read_text("utf-8"))
    assert about["schedules"] == [[0, 24], [5, steps]]
    assert about["settings"]["steps"] == steps
    assert refusal(text, unfinished, SMALL) == f"The run in {unfinished} has steps {steps}, not 24."


def test_an_unfinished_run_cannot_undo_steps(text, unfinished):
    said = refusal(text, unfinished, replace(SMALL, steps=5))
    assert said == f"The run in {unfinished} has already done 5 steps."
    assert train(text, unfinished, SMALL)


def test_what_there_is_so_far_opens(text, tmp_path):
    out = tmp_path / "out"
    interrupt(text, out, 12)
    history = read_history(out / "history.safetensors")
    assert history.steps.tolist() == [0, 1, 2, 5, 11]
    P = open_model(out).W_pos
    assert np.array_equal(P.astype(np.float16).astype(np.float32), history.last())


# A process that forks runs and kills each: the first at its first file, the next at its second...
KILLING = """
import os, signal, sys
from pathlib import Path
from geometry.training.run import train
from tests.geometry.training_text import SMALL
# What the runs need is imported once, and not in each of them.
import tokenizers, torch._dynamo, torch.optim, safetensors.torch, safetensors.numpy
from transformers import GPT2Config, GPT2LMHeadModel

text, out, deaths = Path(sys.argv[1]), Path(sys.argv[2]), 0
while True:
    child = os.fork()
    if child == 0:
        left = deaths + 1
        def hook(event, arguments):
            global left
            if event == "os.rename":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        try:
            train(text, out, SMALL)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != -signal.SIGKILL:
        print(deaths if status == 0 else f"failed with {status}")
        break
    deaths += 1
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_run_killed_at_any_file_makes_the_same_model(trained, text, tmp_path, run_python):
    out = tmp_path / "out"
    program = f"import sys; sys.argv[1:] = [{str(text)!r}, {str(out)!r}]\n{KILLING}"
    assert int(run_python(program)) > 5
    assert_same_model(out, trained)
    assert sorted(path.name for path in out.iterdir()) == WRITTEN


def test_two_runs_do_not_share_a_folder(text, tmp_path):
    def second(progress: TrainingProgress) -> None:
        if progress.done == 2 and progress.what == "Training":
            train(text, tmp_path / "out", SMALL)

    with pytest.raises(TrainingError, match=r"^Another run is working in"):
        train(text, tmp_path / "out", SMALL, on_progress=second)
    assert train(text, tmp_path / "out", SMALL)


def refusal(*arguments: object, **options: object) -> str:
    with pytest.raises(HelixscopeError) as refused:
        train(*arguments, **options)  # type: ignore[arg-type]
    return str(refused.value)


def test_other_settings_in_the_same_folder(trained, text):
    said = refusal(text, trained, replace(SMALL, layers=1))
    assert said == f"The run in {trained} has layers 2, not 1."


def test_another_text_in_the_same_folder(trained, tmp_path):
    other = write_text(tmp_path / "text", documents=31)
    assert refusal(other, trained, SMALL) == f"The run in {trained} has another text."


def test_a_run_that_was_refused_leaves_its_folder_free(text, tmp_path):
    out = tmp_path / "out"
    assert "too short" in refusal(text, out, replace(SMALL, vocabulary=60_000))
    assert train(text, out, SMALL)
    assert sorted(path.name for path in out.iterdir()) == WRITTEN
    about = json.loads((out / "training.json").read_text("utf-8"))
    assert about["schedules"] == [[0, 24]]


def test_a_folder_with_something_else_in_it(text, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "is not empty" in refusal(text, tmp_path, SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert "is not empty" in refusal(text, tmp_path / "thesis.tex", SMALL)


@pytest.fixture(scope="module")
def interrupted(text, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("interrupted") / "out"
    interrupt(text, out, 6)
    return out


@pytest.fixture
def unfinished(interrupted, tmp_path) -> Path:
    """A copy of an interrupted run."""
    return shutil.copytree(interrupted, tmp_path / "out")


def npy(tokens):
    file = io.BytesIO()
    np.save(file, tokens)
    return file.getvalue()


DAMAGED = {
    "unfinished/tokens.npy": [
        b"",
        b"\x93NUMPY",
        npy(np.zeros(500, np.uint16))[:-100],
        npy(np.full(500, SMALL.vocabulary, np.uint16)),
        npy(np.zeros(500)),
        npy(np.zeros((2, 500), np.uint16)),
        npy(np.zeros(500, np.uint16)).replace(b"(500,)", b"(2**9)"),
    ],
    "unfinished/state.safetensors": [0, 7, 1000],
    "tokenizer.json": [b"", b"{}", b'{"version": "1.0"'],
    "training.json": [
        b"",
        b"{}",
        b"[]",
        b'{"settings": 1, "corpus": "", "finished": 0, "schedules": 3}',
    ],
}
"""Files, and their contents; or the length at which they are cut."""


@pytest.mark.parametrize(
    ("name", "content"), [(name, one) for name, contents in DAMAGED.items() for one in contents]
)
def test_a_damaged_file(text, unfinished, name, content):
    file = unfinished / name
    file.write_bytes(file.read_bytes()[:content] if isinstance(content, int) else content)
    said = "tokenizer.json in out" if name == "tokenizer.json" else f"{file} is damaged"
    assert said in refusal(text, unfinished, SMALL)


def test_a_loss_that_is_no_number(text, tmp_path, monkeypatch):
    monkeypatch.setattr(Gradients, "compute", lambda *_: float("nan"))
    said = refusal(text, tmp_path / "out", SMALL)
    assert said == "The loss is not a number at step 0."


def test_a_folder_that_cannot_be_made(text, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in refusal(text, tmp_path / "file" / "out", SMALL)
