"""Running sums of a residual stream, from which all measures are computed without activations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from geometry.inside.settings import GROUPS, SIZES
from geometry.inside.windows import half_of
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

FIRST = 4
"""First position of context means, the covariance and the probe: before it, many models have an
attention sink, whose norm is a thousand times the others'."""


@dataclass(eq=False, slots=True)
class Sums:
    """Sums over the windows so far; K is the number of values of all counters.

    In float64, except those by group, which only estimate noise.

    Values are in one axis: first the positions, then those of each counter of
    :data:`geometry.inside.settings.SIZES`.

    Attributes
    ----------
    group_windows : (GROUPS,) int64
        Number of windows in each group of texts.
    totals : (2, n_layers, K, d_model)
        Σ h over the tokens with each value, by half.
    groups : (GROUPS, n_layers, length, d_model) float32
        Σ h by position, by group of texts.
    together : (2, K, K) int64
        Number of tokens with each pair of values; on the diagonal, with each value.
    energy : (n_layers, length)
        Σ ‖h‖² by position.
    context : (n_layers,)
        Σ over windows of ‖Σ h over the positions from :data:`FIRST`‖².
    products : (2, n_layers, d_model, d_model)
        Σ h hᵀ over the positions from :data:`FIRST`, by half.
    probe_errors : (n_layers, length)
        Σ of the distances, in positions, between the position and what a probe reads from h, over
        the windows of :func:`geometry.inside.probe.run_probes`.
    probed : (1,) int64
        Number of these windows.
    """

    group_windows: npt.NDArray[np.int64]
    totals: Array
    groups: npt.NDArray[np.float32]
    together: npt.NDArray[np.int64]
    energy: Array
    context: Array
    products: Array
    probe_errors: Array
    probed: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, n_layers: int, length: int, d_model: int) -> Self:
        """Return sums over nothing."""
        n_values = length + sum(SIZES.values())
        return cls(
            np.zeros(GROUPS, np.int64),
            np.zeros((2, n_layers, n_values, d_model)),
            np.zeros((GROUPS, n_layers, length, d_model), np.float32),
            np.zeros((2, n_values, n_values), np.int64),
            np.zeros((n_layers, length)),
            np.zeros(n_layers),
            np.zeros((2, n_layers, d_model, d_model)),
            np.zeros((n_layers, length)),
            np.zeros(1, np.int64),
        )

    @property
    def windows(self) -> npt.NDArray[np.int64]:
        """(2,) int64: number of windows in each half."""
        windows: npt.NDArray[np.int64] = self.group_windows.reshape(2, -1).sum(axis=1)
        return windows

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
        return int(self.group_windows.sum())

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
    """Return the range of each counter's values in their axis, positions first."""
    ranges, first = {}, 0
    for name, size in {"position": length, **SIZES}.items():
        ranges[name] = slice(first, first + size)
        first += size
    return ranges


class Accumulators:
    """Sums as tensors on the device of a network.

    Parameters
    ----------
    sums
        On a CPU their memory is shared with the tensors, so that they are always up to date.
    device
        Of torch. On "cuda" the tensors are copies, so that a layer never waits for the CPU;
        :meth:`write` copies them back. "mps" lacks float64 and sparse products: values are moved
        to the CPU before they are added.
    """

    def __init__(self, sums: Sums, device: str = "cpu") -> None:
        import torch

        self.sums = sums
        self.device = torch.device("cpu" if torch.device(device).type == "mps" else device)

        def tensor(values: npt.NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(values).to(self.device)

        self.totals, self.groups = tensor(sums.totals), tensor(sums.groups)
        self.energy, self.context = tensor(sums.energy), tensor(sums.context)
        self.products = tensor(sums.products)

    def write(self) -> None:
        """Update the sums from the tensors."""
        import torch

        if self.device.type == "cpu":
            return
        for name in ("totals", "groups", "energy", "context", "products"):
            torch.from_numpy(getattr(self.sums, name)).copy_(getattr(self, name))

    def not_finite(self) -> int | None:
        """Return the first layer with numbers that are not finite; None if there is none.

        Waits until the last layer is added.
        """
        import torch

        finite = torch.isfinite(self.energy).all(dim=1).cpu().numpy()
        return None if finite.all() else int(np.argmin(finite))


class Batch:
    """Adds a batch of windows of the same half to sums, layer by layer.

    Parameters
    ----------
    to
        The sums to add to.
    groups
        Of the windows, all in the same half.
    labels : (batch, length, n_counters) int16
        Counters of the tokens; -1 where there is none.
    """

    def __init__(
        self, to: Accumulators, groups: Sequence[int], labels: npt.NDArray[np.int16]
    ) -> None:
        import torch

        sums = to.sums
        self._to, self._half, self._n = to, half_of(groups[0]), len(labels)
        self._groups = torch.tensor(groups, device=to.device)
        starts = [place.start for place in value_ranges(sums.length).values()][1:]
        columns = np.where(labels < 0, -1, labels.astype(np.int64) + starts)
        self._columns = columns.reshape(-1, len(starts))
        self._chooser = self._make_chooser().to(to.device)

    def count(self) -> None:
        """Count the windows and the pairs of values; called once."""
        sums, length = self._to.sums, self._to.sums.length
        np.add.at(sums.group_windows, self._groups.cpu().numpy(), 1)
        positions = np.tile(np.arange(length), self._n)[:, None]
        values = np.concatenate([positions, self._columns], axis=1)
        known = values >= 0
        pairs = values[:, :, None] * len(sums.together[0]) + values[:, None]
        together = sums.together[self._half].reshape(-1)
        np.add.at(together, pairs[known[:, :, None] & known[:, None]], 1)

    def add(self, layer: int, hidden: torch.Tensor) -> None:
        """Add a layer's residual stream, (batch, length, d_model)."""
        to, length = self._to, self._to.sums.length
        h = hidden.detach().float().to(to.device)
        flat = h.reshape(-1, h.shape[-1])
        totals = to.totals[self._half, layer]
        totals[:length] += h.sum(dim=0)
        totals[length:] += self._chooser @ flat
        to.groups[:, layer].index_add_(0, self._groups, h)
        to.energy[layer] += h.norm(dim=2).square().sum(dim=0)
        to.context[layer] += h[:, FIRST:].sum(dim=1).double().square().sum()
        later = h[:, FIRST:].reshape(-1, h.shape[-1])
        to.products[self._half, layer] += later.T @ later

    def _make_chooser(self) -> torch.Tensor:
        """Return the sparse matrix that sums the tokens with each value of a counter."""
        import torch

        sums = self._to.sums
        tokens, _ = np.nonzero(self._columns >= 0)
        values = self._columns[self._columns >= 0] - sums.length
        n_values = len(sums.together[0]) - sums.length
        rows = np.zeros(n_values + 1, np.int64)
        rows[1:] = np.cumsum(np.bincount(values, minlength=n_values))
        columns = tokens[np.argsort(values, kind="stable")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # sparse CSR support is in beta
            # Twenty times as fast as the COO format.
            return torch.sparse_csr_tensor(
                torch.from_numpy(rows),
                torch.from_numpy(columns),
                torch.ones(len(columns)),
                (n_values, len(self._columns)),
                check_invariants=False,
            )
