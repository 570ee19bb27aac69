"""Running sums of a residual stream, from which everything else follows; never activations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from geometry.emergent.settings import SIZES
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

FIRST = 4
"""Context means and the covariance begin here: before, many models have an attention sink, a
position whose norm is a thousand times the others'."""
COVARIANCE_STRIDE = 8
"""The covariance is over every eighth position of a window, others in each: all would cost a tenth
of the forward pass."""


@dataclass(eq=False, slots=True)
class Sums:
    """Sums over the windows so far, in float64; G counters take K values in all.

    Values stand in one row: the positions, then those of each counter of
    :data:`geometry.emergent.settings.SIZES`.

    Attributes
    ----------
    windows : (2,) int64
        Number of windows in each half.
    totals : (2, n_layers, K, d_model)
        Σ h over the tokens with each value, by half.
    together : (2, K, K) int64
        Number of tokens that have two values at once; the diagonal has the number with one.
    energy : (n_layers, length)
        Σ ‖h‖² by position.
    context : (n_layers,)
        Σ over windows of ‖Σ h over the positions from :data:`FIRST`‖².
    products : (n_layers, d_model, d_model)
        Σ h hᵀ over an eighth of the positions from :data:`FIRST`.
    product_mean : (n_layers, d_model)
        Σ h over the same tokens.
    product_tokens : (1,) int64
        Their number.
    """

    windows: npt.NDArray[np.int64]
    totals: Array
    together: npt.NDArray[np.int64]
    energy: Array
    context: Array
    products: Array
    product_mean: Array
    product_tokens: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, n_layers: int, length: int, d_model: int) -> Self:
        """Return sums over nothing."""
        n_values = length + sum(SIZES.values())
        return cls(
            np.zeros(2, np.int64),
            np.zeros((2, n_layers, n_values, d_model)),
            np.zeros((2, n_values, n_values), np.int64),
            np.zeros((n_layers, length)),
            np.zeros(n_layers),
            np.zeros((n_layers, d_model, d_model)),
            np.zeros((n_layers, d_model)),
            np.zeros(1, np.int64),
        )

    @property
    def length(self) -> int:
        """Tokens of a window."""
        return int(self.energy.shape[1])

    @property
    def n_layers(self) -> int:
        """Layers of the residual stream, the embedding included."""
        return len(self.energy)

    @property
    def d_model(self) -> int:
        """Size of the residual stream."""
        return int(self.totals.shape[-1])

    @property
    def n_windows(self) -> int:
        """Number of windows in both halves."""
        return int(self.windows.sum())

    def values_of(self, counter: str) -> slice:
        """Return the values of a counter, or of "position"."""
        return value_ranges(self.length)[counter]

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the sums by name, for :meth:`of_tensors`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_tensors(cls, tensors: dict[str, npt.NDArray[Any]]) -> Self:
        """Create from :meth:`tensors`."""
        return cls(**{field.name: tensors[field.name] for field in fields(cls)})


def value_ranges(length: int) -> dict[str, slice]:
    """Return the place of each counter's values in a row, positions first."""
    ranges, first = {}, 0
    for name, size in {"position": length, **SIZES}.items():
        ranges[name] = slice(first, first + size)
        first += size
    return ranges


class Batch:
    """Adds a batch of windows of one half to sums, a layer at a time.

    Parameters
    ----------
    sums
        What is added to.
    half
        0 or 1.
    labels : (batch, length, G) int16
        Counters of the tokens; -1 where there is none.
    """

    def __init__(self, sums: Sums, half: int, labels: npt.NDArray[np.int16]) -> None:
        self._sums, self._half, self._n = sums, half, len(labels)
        starts = [place.start for place in value_ranges(sums.length).values()][1:]
        columns = np.where(labels < 0, -1, labels.astype(np.int64) + starts)
        self._columns = columns.reshape(-1, len(starts))
        length, before = sums.length, sums.n_windows
        self._sample = np.concatenate(
            [
                i * length + np.arange(FIRST + (before + i) % COVARIANCE_STRIDE, length,
                                       COVARIANCE_STRIDE)
                for i in range(self._n)
            ]
        )  # fmt: skip
        self._chooser: torch.Tensor | None = None

    def count(self) -> None:
        """Count the windows and the values that occur together; called once."""
        sums, length = self._sums, self._sums.length
        sums.windows[self._half] += self._n
        sums.product_tokens += len(self._sample)
        positions = np.tile(np.arange(length), self._n)[:, None]
        values = np.concatenate([positions, self._columns], axis=1)
        size = len(sums.together[0])
        pairs = [
            (one * size + other)[(one >= 0) & (other >= 0)]
            for one in values.T
            for other in values.T
        ]
        counted = np.bincount(np.concatenate(pairs), minlength=size * size)
        sums.together[self._half] += counted.reshape(size, size)

    def add(self, layer: int, hidden: torch.Tensor) -> None:
        """Add a layer's residual stream, (batch, length, d_model)."""
        sums, h = self._sums, hidden.detach().float()
        if h.device.type == "mps":  # which lacks sparse products
            h = h.cpu()
        totals, length = sums.totals[self._half, layer], sums.length
        totals[:length] += h.sum(dim=0).cpu().numpy()
        flat = h.reshape(-1, h.shape[-1])
        totals[length:] += (self._chooser_on(h) @ flat).cpu().numpy()
        sums.energy[layer] += h.norm(dim=2).square().sum(dim=0).cpu().numpy()
        sums.context[layer] += float(h[:, FIRST:].sum(dim=1).cpu().double().square().sum())
        some = flat[self._sample]
        sums.products[layer] += (some.T @ some).cpu().numpy()
        sums.product_mean[layer] += some.sum(dim=0).cpu().numpy()

    def _chooser_on(self, h: torch.Tensor) -> torch.Tensor:
        """Return the sparse matrix that adds the tokens with each value of a counter."""
        if self._chooser is None:
            import torch

            tokens, _ = np.nonzero(self._columns >= 0)
            values = self._columns[self._columns >= 0] - self._sums.length
            size = (len(self._sums.together[0]) - self._sums.length, len(self._columns))
            made = torch.sparse_coo_tensor(
                torch.from_numpy(np.stack([values, tokens])), torch.ones(len(values)), size,
                check_invariants=False,
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that it is a beta version
                # Twenty times as fast as the coordinates above.
                self._chooser = made.coalesce().to_sparse_csr().to(h.device)
        return self._chooser
