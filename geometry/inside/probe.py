"""A linear probe of the position: what a single token's residual stream says of its place.

A share of the variance falls when everything else grows, whether or not the position can still be
read. So the position is also predicted from h, by a linear map that is fitted to one half of the
texts and applied to the other. The map is a ridge regression, from sums alone: the penalty is the
trace of the covariance over the number of tokens, which is the size of what sampling adds to it,
and vanishes as texts are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from geometry.inside.network import RunnableNetwork, enough_memory
from geometry.inside.sums import FIRST, Sums
from geometry.inside.windows import Window
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

PROBED = 64
"""Maximum number of windows of each half to which the other half's probe is applied: with more,
the error hardly changes, and each takes another forward pass."""


def fit_probe(sums: Sums, layer: int, half: int) -> tuple[Array, float]:
    """Fit the position of a token to its h, over half of the texts.

    Returns
    -------
    weights : (d_model,) float64
        In positions by unit of h.
    constant
        The prediction of a token is ``h @ weights + constant``.
    """
    from scipy.linalg import solve

    positions = np.arange(FIRST, sums.length)
    totals = sums.totals[half, layer, FIRST : sums.length]
    tokens = int(sums.windows[half]) * len(positions)
    mean = totals.sum(axis=0) / tokens
    covariance = sums.products[half, layer] / tokens - np.outer(mean, mean)
    penalty = float(np.trace(covariance)) / tokens
    if penalty <= 0:
        return np.zeros(sums.d_model), float(positions.mean())
    covariance[np.diag_indices_from(covariance)] += penalty
    crossed = (positions - positions.mean()) @ totals / tokens
    weights: Array = solve(covariance, crossed, assume_a="sym")
    return weights, float(positions.mean() - mean @ weights)


def run_probes(
    network: RunnableNetwork,
    batches: Sequence[Sequence[Window]],
    sums: Sums,
    *,
    device: str = "cpu",
    report: Callable[[int, int], None],
) -> None:
    """Apply each half's probes to windows of the other, and add their errors to the sums.

    Parameters
    ----------
    network, batches
        The network and its inputs, over which the sums are complete.
    sums
        Changed in place, at the end.
    device
        Of the network.
    report
        Called with the number of windows done, and the total; may raise to stop.

    Raises
    ------
    InsideError
        The memory is not sufficient.
    """
    import torch

    chosen = _chosen(batches)
    total, done = sum(map(len, chosen)), 0
    probes = [[fit_probe(sums, layer, half) for layer in range(sums.n_layers)] for half in (0, 1)]
    weights = torch.tensor(np.array([[w for w, _ in of_half] for of_half in probes]))
    constants = torch.tensor([[c for _, c in of_half] for of_half in probes])
    weights, constants = (x.float().to(device) for x in (weights, constants))
    positions = torch.arange(sums.length, device=device)
    errors = torch.zeros(sums.probe_errors.shape, device=device)
    for batch in chosen:
        report(done, total)
        fitted_to = 1 - batch[0].half

        def look(layer: int, hidden: torch.Tensor, of: int = fitted_to) -> None:
            read = hidden.float() @ weights[of, layer] + constants[of, layer]
            errors[layer] += (read - positions).abs().sum(dim=0)

        tokens = torch.from_numpy(np.stack([window.ids for window in batch])).to(device)
        with torch.inference_mode(), enough_memory(), network.watched(look):
            network.module(input_ids=tokens)
        done += len(batch)
    report(done, total)
    sums.probe_errors[:] = errors.cpu().numpy()
    sums.probed[:] = total


def _chosen(batches: Sequence[Sequence[Window]]) -> list[Sequence[Window]]:
    """Return the first batches of each half, of about :data:`PROBED` windows."""
    chosen, counts = [], [0, 0]
    for batch in batches:
        if counts[batch[0].half] < PROBED:
            counts[batch[0].half] += len(batch)
            chosen.append(batch)
    return chosen
