"""Forward passes over windows, summed as they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from geometry.inside.network import RunnableNetwork, enough_memory
from geometry.inside.settings import InsideError
from geometry.inside.sums import Accumulators, Batch, Sums
from geometry.inside.windows import Window

if TYPE_CHECKING:
    import torch

BATCH = 8
"""Windows of a forward pass: more take more memory and, on a CPU, no less time."""
SAVED_AFTER_S = 30.0
"""Interval between saves, and so the maximum work lost when the process is killed."""


def batches_of(windows: Sequence[Window], size: int = BATCH) -> list[list[Window]]:
    """Return batches of windows, alternately of each half, so that both halves grow evenly."""
    halves: list[list[list[Window]]] = []
    for half in (0, 1):
        own = [window for window in windows if window.half == half]
        halves.append([own[i : i + size] for i in range(0, len(own), size)])
    return [batch for pair in zip_longest(*halves) for batch in pair if batch]


def run(
    network: RunnableNetwork,
    batches: Sequence[Sequence[Window]],
    sums: Sums,
    *,
    device: str = "cpu",
    report: Callable[[int], None],
    save: Callable[[Sums], None],
) -> None:
    """Add the batches that the sums do not yet include.

    Parameters
    ----------
    network, batches
        The network and its inputs; the sums may include the first of these batches.
    sums
        Changed in place.
    device
        Of the network.
    report
        Called with the number of windows done; may raise to stop.
    save
        Called every half minute with complete sums, and when the run is stopped between batches.

    Raises
    ------
    InsideError
        The memory is not sufficient, or the network returns numbers that are not finite.
    """
    import torch

    begin, saved = _n_done(batches, sums), time.monotonic()
    with enough_memory():
        to = Accumulators(sums, device)

    def save_now() -> None:
        _check_finite(network, to)
        to.write()
        save(sums)

    for batch in batches[begin:]:
        try:
            report(sums.n_windows)
        except BaseException:
            save_now()
            raise
        with torch.inference_mode():
            _add(network, batch, to, device)
        if time.monotonic() - saved > SAVED_AFTER_S:
            save_now()
            saved = time.monotonic()
    _check_finite(network, to)
    to.write()
    report(sums.n_windows)


def _n_done(batches: Sequence[Sequence[Window]], sums: Sums) -> int:
    """Return the number of batches in the sums."""
    done, windows = 0, sums.n_windows
    while windows > 0:
        windows -= len(batches[done])
        done += 1
    return done


def _add(network: RunnableNetwork, batch: Sequence[Window], to: Accumulators, device: str) -> None:
    import torch

    tokens = torch.from_numpy(np.stack([window.ids for window in batch])).to(device)
    groups = [window.group for window in batch]
    adding = Batch(to, groups, np.stack([window.labels for window in batch]))
    expected = (len(batch), to.sums.length, to.sums.d_model)
    seen: list[int] = []
    _check_finite(network, to)  # waits for the previous batch on a GPU

    def look(layer: int, hidden: torch.Tensor) -> None:
        if tuple(hidden.shape) != expected:
            raise InsideError(
                f"Layer {layer} of {network.name} has shape {tuple(hidden.shape)}, where "
                f"{expected} is a residual stream."
            )
        adding.add(layer, hidden)
        seen.append(layer)

    with enough_memory(), network.watched(look):
        network.module(input_ids=tokens)
    if seen != list(range(network.n_layers)):
        raise InsideError(f"{network.name} did not run through its layers one by one.")
    adding.count()


def _check_finite(network: RunnableNetwork, to: Accumulators) -> None:
    broken = to.not_finite()
    if broken is not None:
        raise InsideError(f"Layer {broken} of {network.name} has numbers that are not finite.")
