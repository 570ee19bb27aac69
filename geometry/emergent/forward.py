"""Forward passes over windows, summed as they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from geometry.emergent.network import RunnableNetwork
from geometry.emergent.settings import EmergentError
from geometry.emergent.sums import Batch, Sums
from geometry.emergent.windows import Window

if TYPE_CHECKING:
    import torch

BATCH = 8
"""Windows of a forward pass: more take more memory, and on a processor no less time."""
SAVED_AFTER_S = 30.0
"""The most work that is lost when the process is killed."""


def batches_of(windows: Sequence[Window], size: int = BATCH) -> list[list[Window]]:
    """Return batches of windows of one half each, by turns, so that both halves grow alike."""
    halves: list[list[list[Window]]] = []
    for half in (0, 1):
        own = [one for one in windows if one.half == half]
        halves.append([own[i : i + size] for i in range(0, len(own), size)])
    return [batch for pair in zip_longest(*halves) for batch in pair if batch]


def run(
    network: RunnableNetwork,
    batches: Sequence[Sequence[Window]],
    sums: Sums,
    *,
    device: str = "cpu",
    tell: Callable[[int], None],
    save: Callable[[Sums], None],
) -> None:
    """Add the batches that are not yet in the sums.

    Parameters
    ----------
    network, batches
        What runs, and on what; the sums hold the first of these batches.
    sums
        Changed in place.
    device
        Of the network.
    tell
        Called with the number of windows done; may raise to stop.
    save
        Called every half minute with complete sums, and when the run is stopped between batches.

    Raises
    ------
    EmergentError
        The memory is not enough, or the network gives numbers that are not finite.
    """
    import torch

    begin, saved = _n_done(batches, sums), time.monotonic()
    for batch in batches[begin:]:
        try:
            tell(sums.n_windows)
        except BaseException:
            save(sums)
            raise
        with torch.inference_mode():
            _add(network, batch, sums, device)
        if time.monotonic() - saved > SAVED_AFTER_S:
            save(sums)
            saved = time.monotonic()
    tell(sums.n_windows)


def _n_done(batches: Sequence[Sequence[Window]], sums: Sums) -> int:
    """Return how many batches the sums hold."""
    done, windows = 0, sums.n_windows
    while windows > 0:
        windows -= len(batches[done])
        done += 1
    return done


def _add(network: RunnableNetwork, batch: Sequence[Window], sums: Sums, device: str) -> None:
    import torch

    tokens = torch.from_numpy(np.stack([one.ids for one in batch])).to(device)
    adding = Batch(sums, batch[0].half, np.stack([one.labels for one in batch]))
    seen: list[int] = []

    def look(layer: int, hidden: torch.Tensor) -> None:
        expected = (len(batch), sums.length, sums.d_model)
        if tuple(hidden.shape) != expected:
            raise EmergentError(
                f"Layer {layer} of {network.name} has shape {tuple(hidden.shape)}, where "
                f"{expected} is a residual stream."
            )
        adding.add(layer, hidden)
        if not np.isfinite(sums.energy[layer]).all():
            raise EmergentError(f"Layer {layer} of {network.name} has numbers that are not finite.")
        seen.append(layer)

    try:
        with network.watched(look):
            network.module(input_ids=tokens)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise EmergentError(
            "The memory is not enough for a forward pass.", "Use shorter windows."
        ) from error
    if seen != list(range(network.n_layers)):
        raise EmergentError(f"{network.name} did not run through its layers one by one.")
    adding.count()
