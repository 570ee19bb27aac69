"""The command `train`: what it says, how it ends, and that it goes on."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import redirect_stderr, suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from geometry.training.run import TrainingProgress
from gui.commands.training_command import Pace
from tests.command_line import ROOT, assert_ended, assert_refused, assert_silent, run
from tests.geometry.training_text import write_text

SMALL = ("--positions", 32, "--width", 16, "--heads", 2, "--vocabulary", 280, "--batch", 4,
         "--snapshots", 5)  # fmt: skip


@pytest.fixture
def text(tmp_path) -> Path:
    return write_text(tmp_path / "text")


def test_it_trains_in_silence_and_what_it_makes_can_be_measured(command, text, tmp_path):
    out = tmp_path / "model"
    assert_silent(command("train", "--corpus", text, "--out", out, *SMALL, "--steps", 8))
    assert_silent(command("export", out, "--out", tmp_path / "table.npz", "--positions", "0-31"))
    with np.load(tmp_path / "table.npz") as arrays:
        assert arrays["positions"].tolist() == list(range(32))


def test_options_reach_the_run(text, tmp_path, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(
        "geometry.training.run.train",
        lambda *arguments, **options: told.append((arguments, options)) or True,
    )
    assert run("train", "--corpus", text, "--out", tmp_path, *SMALL, "--tokens", 1000, "--half",
               "--float32", "--learning-rate", "0.001", "--weight-decay", "0.1", "--seed", 5,
               "--layers", 3, "--warm-up", 7, "--position-std", "0.01") == 0  # fmt: skip
    ((corpus, out, settings), options) = told[0]
    assert (corpus, out) == (text, tmp_path)
    assert settings.steps == 8  # 1,000 tokens at 128 a step
    assert (settings.positions, settings.width, settings.heads, settings.layers) == (32, 16, 2, 3)
    assert (settings.vocabulary, settings.batch, settings.snapshots) == (280, 4, 5)
    assert (settings.learning_rate, settings.weight_decay) == (0.001, 0.1)
    assert (settings.seed, settings.warm_up, settings.position_std) == (5, 7, 0.01)
    assert callable(options.pop("on_progress"))
    assert options == {"half": True, "bfloat16": False}
    assert capsys.readouterr() == ("", "")


def test_steps_or_tokens(text, tmp_path, capsys):
    both = ("--steps", 3, "--tokens", 1000)
    assert run("train", "--corpus", text, "--out", tmp_path / "out", *both) == 2
    assert "give --steps or --tokens" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--heads", 3), "A width of 128 does not divide into 3 heads; choose a width that is"),
        (("--vocabulary", 100), "A vocabulary of 100 tokens is not possible; use 257"),
        (("--vocabulary", 60_000), "The text is too short for a vocabulary of 60,000 tokens"),
        (("--positions", 100_000, "--vocabulary", 257), "do not fill 2 windows of 100,000"),
    ],
)
def test_refusals(text, tmp_path, capsys, options, said):
    assert run("train", "--corpus", text, "--out", tmp_path / "out", *options) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("helixscope: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err


def test_no_text(command, tmp_path):
    done = command("train", "--corpus", tmp_path / "none", "--out", tmp_path / "out")
    assert_refused(done, "does not exist", "check --corpus")


def test_other_settings_in_the_same_folder(text, tmp_path, capsys):
    train = ("train", "--corpus", text, "--out", tmp_path / "out", *SMALL)
    assert run(*train, "--steps", 2) == 0
    assert run(*train, "--steps", 3) == 1
    assert "has steps 2, not 3; continue with its settings" in capsys.readouterr().err
    assert run(*train, "--steps", 2) == 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> tuple[tuple[object, ...], Path]:
    """A command without its folder, and the folder of the model it makes undisturbed."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    train = ("train", "--corpus", write_text(folder / "text"), *SMALL, "--steps", 200, "--out")
    assert run(*train, folder / "whole") == 0
    return train, folder / "whole"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl+C", "killed"])
def test_interrupted_run_continues(uninterrupted, interrupted, environment, tmp_path, capfd, stop):
    """Stopped once the second of four snapshots is there, it makes the model all the same."""
    train, undisturbed = uninterrupted
    out = tmp_path / "out"
    state = out / "unfinished" / "state.safetensors"
    if stop == signal.SIGINT:
        assert_ended(interrupted(state.exists, *train, out))
    else:
        with subprocess.Popen(
            [sys.executable, "main.py", *map(str, (*train, out))], cwd=ROOT,
            env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            while not state.exists():
                assert process.poll() is None
                time.sleep(0.01)  # it needs the cores
            process.kill()
            assert process.communicate(timeout=60) == (b"", b"")
    assert state.exists()
    assert run(*train, out) == 0
    assert capfd.readouterr() == ("", "")
    for name in ("model.safetensors", "history.safetensors"):
        mine, whole = load_file(out / name), load_file(undisturbed / name)
        assert mine.keys() == whole.keys()
        for key, value in mine.items():
            assert np.array_equal(value, whole[key]), key


def test_the_pace():
    pace = Pace(tokens_per_step=1000)
    assert pace.text(TrainingProgress("Reading the text", 256, 3000), 0.0) == "256 of 3,000"
    first = TrainingProgress("Training", 1, 1201, 5.5)
    assert pace.text(first, 10.0) == "1 of 1,201, loss 5.50"
    later = TrainingProgress("Training", 3, 1201, 5.25)
    assert pace.text(later, 11.0) == "3 of 1,201, loss 5.25, 2,000 tokens/s, 10 min left"


def test_the_pace_is_that_of_the_last_steps():
    pace = Pace(tokens_per_step=1)
    for step in range(1, 200):
        said = pace.text(TrainingProgress("Training", step, 1000, 1.0), step * 1.0)
    for step in range(200, 300):
        said = pace.text(TrainingProgress("Training", step, 1000, 1.0), 199 + (step - 199) / 100)
    assert "100 tokens/s" in said


def test_progress_and_success_on_a_terminal(text, tmp_path, monkeypatch):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    shown = []

    def read() -> None:
        with suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(ours, 65536):
                shown.append(piece)

    reading = threading.Thread(target=read)
    reading.start()
    with open(theirs, "w", encoding="utf-8") as terminal, redirect_stderr(terminal):
        train = ("train", "--corpus", text, *SMALL, "--steps", 30, "--out", tmp_path / "out")
        assert run(*train) == 0
    reading.join()
    os.close(ours)
    told = b"".join(shown).decode("utf-8")
    assert "Training" in told
    assert "of 30, loss" in told
    assert told.rstrip().endswith(f"Wrote the model to {tmp_path / 'out'}.")
