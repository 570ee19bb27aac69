"""The command line as a user runs it, in tests: what they say of it, and what it reads."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import main
from tests.loopback.hub import LoopbackHub
from tests.stand_ins import positions_of

ROOT = Path(__file__).resolve().parents[1]
GPT2 = "openai-community/gpt2"

Completed = subprocess.CompletedProcess[str]
Command = Callable[..., Completed]


def run(*arguments: object) -> int | str | None:
    """Run the command line in this process and return its exit status."""
    with pytest.raises(SystemExit) as stop:
        main.main([str(argument) for argument in arguments])
    return stop.value.code


def heed_ctrl_c() -> None:
    """Let a child heed it: what a shell starts in the background ignores it, and its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def without_progress(done: Completed) -> str:
    """What standard error has beside lines of progress, which come every ten seconds."""
    return re.sub(r"^[A-Z][^:\n]*: .* of .*\n", "", done.stderr, flags=re.MULTILINE)


def assert_silent(done: Completed) -> None:
    """Nothing but progress, of which there is none if it does not take long."""
    assert (done.returncode, done.stdout, without_progress(done)) == (0, "", "")


def assert_refused(done: Completed, *words: str, status: int = 1) -> None:
    """One sentence in one line, which says what the words do."""
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    line = without_progress(done)
    assert line.startswith("helixscope: ")
    assert line.endswith(".\n")
    assert line.count("\n") == 1
    for some in words:
        assert some in line


def assert_ended(done: Completed) -> None:
    """By Ctrl+C, without a word."""
    assert (done.returncode, done.stdout, without_progress(done)) == (130, "", "")


def norms_in(path: Path) -> list[float]:
    with path.open(encoding="utf-8", newline="") as file:
        return [float(row["norm"]) for row in csv.DictReader(file)]


def norms_of(name: str, revision: str = "main") -> list[float]:
    """Of the positions that are exported where nothing is said: all but the first."""
    return np.linalg.norm(positions_of(name, revision)[1:].astype(float), axis=1).tolist()


def add_large(hub: LoopbackHub, table: np.ndarray, tokens: int = 2_000) -> bytes:
    """Serve a GPT-2 whose tensors are not in what the index comes with; its weights file."""
    n_positions, width = table.shape
    config = {
        "model_type": "gpt2", "n_positions": n_positions, "n_embd": width, "n_head": 2,
        "n_layer": 1, "vocab_size": tokens,
    }  # fmt: skip
    embeddings = np.random.default_rng(0).standard_normal((tokens, width), np.float32)
    padding = np.zeros(50_000, np.float32)
    content = save({"h.0.attn.bias": padding, "wpe.weight": table, "wte.weight": embeddings})
    files = {"model.safetensors": content, "config.json": json.dumps(config).encode()}
    hub.add(GPT2, files)
    return content


BODY = "*/model.safetensors"


class Terminal:
    """A process whose standard input and error are a terminal, 150 columns wide."""

    def __init__(self, environment: dict[str, str], *arguments: object) -> None:
        pty = pytest.importorskip("pty")
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "main.py", *map(str, arguments)], cwd=ROOT,
            env=os.environ | environment | {"TERM": "xterm", "COLUMNS": "150"},
            stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=heed_ctrl_c,
        )  # fmt: skip
        os.close(theirs)
        self._shown = b""

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._ours, f"{text}\n".encode())

    def until(self, words: str) -> None:
        """Wait until it shows something."""
        while words not in self._shown.decode("utf-8", "ignore"):
            piece = os.read(self._ours, 65536)
            assert piece, self._shown
            self._shown += piece

    def end(self) -> tuple[int, str]:
        """Wait until the process has ended; its status, and all that it showed."""
        try:
            while piece := os.read(self._ours, 65536):
                self._shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(self._ours)
        return self.process.wait(60), self._shown.decode("utf-8")
