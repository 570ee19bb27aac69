"""A training run from text to model, which can be interrupted and continued."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geometry.training.gradients import Gradients
from geometry.training.network import (
    bfloat16_is_faster,
    new_network,
    new_optimizer,
    position_decay,
)
from geometry.training.position_rows import PositionRows
from geometry.training.run_folder import RunFolder
from geometry.training.schedule import (
    learning_rate,
    positions_in_use,
    snapshot_steps,
    window_length,
)
from geometry.training.settings import TrainingError, TrainingSettings
from geometry.training.state import Memory, read_state, write_state
from geometry.training.tokenization import (
    Corpus,
    learn_tokens,
    read_tokens,
    write_tokenizer,
    write_tokens,
)

_WRITE_AFTER_S = 60.0
"""Interval between saved states, and so the maximum work lost by an interruption."""


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Progress of a run.

    Attributes
    ----------
    what
        "Learning tokens", "Reading the text" or "Training".
    done, total
        Documents or steps.
    loss
        Loss of the last step before its update, in nats per token; NaN before the first.
    """

    what: str
    done: int
    total: int
    loss: float = float("nan")


def train(
    folder: Path,
    out: Path,
    settings: TrainingSettings,
    *,
    half: bool = False,
    bfloat16: bool | None = None,
    on_progress: Callable[[TrainingProgress], None] | None = None,
) -> bool:
    """Train a model, or continue its training.

    An interruption of any kind loses at most a minute of work. Called again, it continues from the
    saved state and gives the same model on the same machine as without interruption. The number of
    steps may be changed then, which changes the learning rate from there on. The model and its
    history so far are written with each snapshot.

    Parameters
    ----------
    folder
        Folder of the text; its .txt files, including those in subfolders, are the documents.
    out
        Output folder for ``config.json``, ``model.safetensors``, ``tokenizer.json``,
        ``tokenizer_config.json``, ``history.safetensors`` and ``training.json``.
    settings
        Settings of the model and the run.
    half
        Whether to write the weights as float16.
    bfloat16
        Whether to use bfloat16 products; None for where that is faster.
    on_progress
        Called after each batch of documents and each step.

    Returns
    -------
    bool
        Whether there was anything left to do.

    Raises
    ------
    TrainingError
        The text is missing or too short, the folder belongs to another run or is not writable, or
        the loss has become NaN.
    """
    corpus = Corpus(folder, settings.seed)
    place = RunFolder(out, settings, corpus.fingerprint())
    if place.finished:
        return False
    report = on_progress or (lambda _: None)
    with place.alone():
        tokens, end = _tokens(corpus, place, settings, report)
        _Run(place, settings, tokens, end, half, bfloat16).to_the_end(report)
    place.finish()
    return True


def _tokens(
    corpus: Corpus,
    place: RunFolder,
    settings: TrainingSettings,
    report: Callable[[TrainingProgress], None],
) -> tuple[np.ndarray[Any, Any], int]:
    """Return the text's tokens, and the id of the end-of-document token."""
    if not place.tokens.is_file():
        report(TrainingProgress("Learning tokens", 0, 1))
        tokenizer = learn_tokens(corpus, settings.vocabulary)

        def on_documents(done: int) -> None:
            report(TrainingProgress("Reading the text", done, len(corpus)))

        write_tokenizer(tokenizer, place.folder, settings.positions)
        write_tokens(corpus, tokenizer, settings, place.tokens, on_documents)
    return read_tokens(place.folder, place.tokens, settings.vocabulary)


class _Run:
    """The network and the state of its run."""

    def __init__(
        self,
        place: RunFolder,
        settings: TrainingSettings,
        tokens: np.ndarray[Any, Any],
        end: int,
        half: bool,
        bfloat16: bool | None,
    ) -> None:
        import torch

        self._place, self._settings, self._half = place, settings, half
        self._windows = Windows(tokens, settings.positions, settings.batch, settings.seed)
        self._snapshots = frozenset(snapshot_steps(settings))
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._network = new_network(settings, end).to(device)
        self._optimizer = new_optimizer(self._network, settings)
        if bfloat16 is None:
            bfloat16 = bfloat16_is_faster(device)
        self._gradients = Gradients(self._network, device, bfloat16=bfloat16)
        table = self._network.transformer.wpe.weight
        self._rows = PositionRows(table, self._optimizer, settings)
        kept = read_state(place.work, self._network, self._optimizer, self._rows)
        self._memory, self._step, self._decay = kept or (Memory(), 0, 1.0)
        place.go_on_from(self._step)

    def to_the_end(self, report: Callable[[TrainingProgress], None]) -> None:
        """Do the remaining steps."""
        try:
            self._go_on(report)
        finally:
            self._gradients.close()
        self._write_model()

    def _go_on(self, report: Callable[[TrainingProgress], None]) -> None:
        written = time.monotonic()
        while self._step < self._settings.steps:
            loss = self._do_step()
            report(TrainingProgress("Training", self._step, self._settings.steps, loss))
            if self._step in self._snapshots:
                self._keep(self._step, loss)
                self._write_model()
            elif time.monotonic() - written < _WRITE_AFTER_S:
                continue
            self._write_state()
            written = time.monotonic()

    def _do_step(self) -> float:
        import torch

        rate = learning_rate(self._settings, self._step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        in_use = positions_in_use(self._settings, self._step)
        self._rows.join(in_use)
        length = window_length(self._settings, self._step)
        windows = self._windows.at(self._step, length)
        starts = self._windows.starts(self._step, len(windows), in_use - length + 1)
        value = self._gradients.compute(torch.from_numpy(windows), torch.from_numpy(starts))
        if not np.isfinite(value):
            raise TrainingError(
                f"The loss is not a number at step {self._step:,}.",
                "Start again with a lower learning rate.",
            )
        if self._step == 0 and not self._memory.steps:
            self._keep(0, value)
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._settings.clip)
        self._optimizer.step()
        self._rows.keep_few_directions()
        self._decay *= 1 - rate * position_decay(self._settings)
        self._step += 1
        return value

    def _keep(self, step: int, loss: float) -> None:
        table = self._network.transformer.wpe.weight.detach().cpu().numpy()
        self._memory.add(step, loss, self._decay, table)

    def _write_state(self) -> None:
        write_state(
            self._place.work,
            self._settings,
            self._network,
            self._optimizer,
            self._rows,
            self._memory,
            self._step,
            self._decay,
        )

    def _write_model(self) -> None:
        self._place.write_model(self._network, half=self._half)
        self._memory.write(self._place.folder, self._settings)


class Windows:
    """Windows of n_positions tokens, each seen once per epoch, in random order.

    Each epoch has a random offset, so that no token is always at the same position. Shorter windows
    are drawn from anywhere in the text; there are more of them, for the same number of tokens.

    Parameters
    ----------
    tokens
        The text, (n_tokens,).
    positions
        Tokens of a window.
    batch
        Windows of a step.
    seed
        Seed of offsets and orders.
    """

    def __init__(self, tokens: np.ndarray[Any, Any], positions: int, batch: int, seed: int) -> None:
        self._tokens, self._positions, self._batch, self._seed = tokens, positions, batch, seed
        # One window fewer than fit, because each epoch starts up to a window later.
        self._n = len(tokens) // positions - 1
        self._epoch: tuple[int, int, np.ndarray[Any, Any]] | None = None

    def at(self, step: int, length: int | None = None) -> np.ndarray[Any, Any]:
        """Return a step's windows, (batch, n_positions), int64; or more, of another length."""
        if length is not None and length < self._positions:
            return self._shorter(step, length)
        first = step * self._batch
        return np.stack([self._window(index) for index in range(first, first + self._batch)])

    def starts(self, step: int, count: int, places: int) -> np.ndarray[Any, Any]:
        """Return the first positions of a step's windows, (count,) int64, below ``places``."""
        generator = np.random.default_rng((self._seed, step, count, places))
        return generator.integers(places, size=count)

    def _shorter(self, step: int, length: int) -> np.ndarray[Any, Any]:
        count = self._batch * self._positions // length
        generator = np.random.default_rng((self._seed, step, length))
        starts = generator.integers(len(self._tokens) - length + 1, size=count)
        windows: np.ndarray[Any, Any] = self._tokens[starts[:, None] + np.arange(length)]
        return windows.astype(np.int64)

    def _window(self, index: int) -> np.ndarray[Any, Any]:
        epoch, place = divmod(index, self._n)
        if self._epoch is None or self._epoch[0] != epoch:
            generator = np.random.default_rng((self._seed, epoch))
            offset = int(generator.integers(self._positions))
            self._epoch = epoch, offset, generator.permutation(self._n)
        _, offset, order = self._epoch
        start = offset + int(order[place]) * self._positions
        return self._tokens[start : start + self._positions].astype(np.int64)
