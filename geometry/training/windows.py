"""The tokens of each step, determined by the seed and the step alone."""

from __future__ import annotations

from typing import Any

import numpy as np


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
