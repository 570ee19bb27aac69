"""Gradients on all cores, each taking shares of the batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from geometry.checkpoints.threads import cores

if TYPE_CHECKING:
    import torch

_SHARE = 2048
"""Tokens per share on a CPU: the activations roughly fit into a core's own cache."""


_Share: TypeAlias = "tuple[int, float, Sequence[torch.Tensor]]"
"""Number of windows, their mean loss, and its gradient."""


class Gradients:
    """Computes losses and gradients of a network.

    On a CPU each core takes shares of the batch: a busy core takes fewer, and none waits for
    another within a product. The gradients are summed in the order of the shares, so the result
    does not depend on the number of cores.

    Parameters
    ----------
    network
        The network, whose parameters get the gradients.
    device
        Its device.
    bfloat16
        Whether to use bfloat16 products.
    """

    def __init__(self, network: Any, device: torch.device, *, bfloat16: bool) -> None:
        self._network, self._device, self._bfloat16 = network, device, bfloat16
        self._parameters = list(network.parameters())
        on_cpu = device.type == "cpu"
        self._pool = ThreadPoolExecutor(cores(), "training", _alone) if on_cpu else None

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def compute(self, tokens: torch.Tensor, starts: torch.Tensor | None = None) -> float:
        """Set ``grad`` of the parameters to a batch's gradient; return the mean loss.

        Parameters
        ----------
        tokens : (batch, window) int64
        starts : (batch,) int64
            Position of each window's first token; 0 for all if None.

        Returns
        -------
        float
            Nats per predicted token.
        """
        import torch

        for parameter in self._parameters:
            parameter.grad = None
        mean = 0.0
        if starts is None:
            starts = torch.zeros(len(tokens), dtype=torch.int64)
        for n_windows, loss, gradients in self._shares(tokens, starts):
            weight = n_windows / len(tokens)
            mean += weight * loss
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                if parameter.grad is None:
                    parameter.grad = gradient.mul(weight)
                else:
                    parameter.grad.add_(gradient, alpha=weight)
        return mean

    def _shares(self, tokens: torch.Tensor, starts: torch.Tensor) -> Iterable[_Share]:
        import torch

        if self._pool is None:
            return (self._share(tokens.to(self._device), starts.to(self._device)),)
        size = max(1, _SHARE // tokens.shape[1])
        return self._pool.map(self._share, torch.split(tokens, size), torch.split(starts, size))

    def _share(self, tokens: torch.Tensor, starts: torch.Tensor) -> _Share:
        import torch

        positions = starts[:, None] + torch.arange(tokens.shape[1], device=starts.device)
        with self._precision():
            # transformers shifts the labels: the last token of a window has none.
            loss = self._network(
                input_ids=tokens, labels=tokens, position_ids=positions, use_cache=False
            ).loss
        # Not backward(), by which threads would add to the same tensors.
        return len(tokens), loss.item(), torch.autograd.grad(loss, self._parameters)

    def _precision(self) -> AbstractContextManager[Any]:
        import torch

        if not self._bfloat16:
            return nullcontext()
        return torch.autocast(self._device.type, dtype=torch.bfloat16)


def _alone() -> None:
    """Limit a thread's products to one core; the other cores have their own shares."""
    import torch

    torch.set_num_threads(1)
