"""The rows of P in use: how rows are added, and the few directions in which they may vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from geometry.measures.rigid_motion import fit_motion
from geometry.pca.components import Array
from geometry.training.schedule import positions_in_use
from geometry.training.settings import TrainingSettings

if TYPE_CHECKING:
    import torch

_IN_USE, _MEAN, _DIRECTIONS = "in use", "mean row", "directions"


class PositionRows:
    """The rows of P that are trained so far.

    A new row is a copy of the row before it, so that the curve continues where it ends. When rows
    vary in few directions, the curve is extrapolated by the rotation and translation that best map
    each row of the last short window to the next. The last position in use is only ever the last
    token of a window, which predicts nothing: its row is added with the next ones.

    Parameters
    ----------
    P : (n_positions, d_model)
        The position table.
    optimizer
        Its averages are set for new rows.
    settings
        How many rows are in use at each step, and in how many directions they vary.
    """

    def __init__(
        self, P: torch.nn.Parameter, optimizer: torch.optim.AdamW, settings: TrainingSettings
    ) -> None:
        self._P, self._optimizer, self._settings = P, optimizer, settings
        self._in_use = positions_in_use(settings, 0)
        self._mean: torch.Tensor | None = None
        self._directions: torch.Tensor | None = None

    def join(self, in_use: int) -> None:
        """Use the rows below ``in_use``."""
        import torch

        first, self._in_use = self._in_use - 1, max(in_use, self._in_use)
        if self._in_use - 1 == first:
            return
        with torch.no_grad():
            self._P[first : in_use - 1] = self._P[first - 1]
            if self._mean is not None and self._directions is not None:
                last = self._P[first - self._settings.window + 1 : first] - self._mean
                curve = (last @ self._directions.T).cpu().numpy()
                ahead = torch.from_numpy(continued(curve, in_use - 1 - first)).to(last)
                self._P[first : in_use - 1] = self._mean + ahead @ self._directions
        averages = self._optimizer.state.get(self._P)
        if averages:
            averages["exp_avg"][first : in_use - 1] = 0.0
            averages["exp_avg_sq"][first : in_use - 1] = averages["exp_avg_sq"][first - 1]

    def keep_few_directions(self) -> None:
        """Project all rows but the first and the last onto their first components.

        The components are those of the rows in use when these first exceeded a short window.
        """
        import torch

        count = self._settings.components
        if not count or self._in_use <= (self._settings.window or self._settings.positions - 1):
            return
        with torch.no_grad():
            rows = self._P[1 : self._in_use - 1]
            if self._mean is None or self._directions is None:
                self._mean = rows.mean(dim=0)
                centred = rows - self._mean
                self._directions = torch.linalg.svd(centred, full_matrices=False)[2][
                    :count
                ].contiguous()
            rows.copy_(self._mean + (rows - self._mean) @ self._directions.T @ self._directions)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return what an interrupted run needs to continue."""
        import torch

        state = {_IN_USE: torch.tensor(self._in_use)}
        if self._mean is not None and self._directions is not None:
            state |= {_MEAN: self._mean, _DIRECTIONS: self._directions}
        return state

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Continue from :meth:`tensors`."""
        if _IN_USE in tensors:  # not in states of version 0.1
            self._in_use = int(tensors[_IN_USE])
        if _MEAN in tensors:
            self._mean = tensors[_MEAN].to(self._P.device)
            self._directions = tensors[_DIRECTIONS].to(self._P.device)


def continued(points: npt.ArrayLike, count: int) -> Array:
    """Continue a curve by the rigid motion that best maps each of its points to the next.

    Parameters
    ----------
    points : (n, k)
        The curve.
    count
        The number of points to add.

    Returns
    -------
    (count, k) float64
        The points that follow the last one.
    """
    curve = np.asarray(points, dtype=np.float64)
    motion = fit_motion(curve[:-1], curve[1:])
    continuation = [curve[-1]]
    for _ in range(count):
        continuation.append(motion.carry(continuation[-1]))
    return np.array(continuation[1:])
