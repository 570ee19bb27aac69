"""LayerNorm as a model's blocks apply it: with its gain, bias and epsilon."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.pca.components import Array
from geometry.pca.unit import unit_of


@result
class BlockNorm:
    """One LayerNorm of a model.

    Attributes
    ----------
    gain, bias : (d,) float64
        None where the model has none.
    epsilon
        Added to the variance.
    centred
        Whether the mean over d is subtracted first; not in ImageGPT.
    """

    gain: Array | None
    bias: Array | None
    epsilon: float
    centred: bool = True

    def __call__(self, rows: npt.ArrayLike, content: float = 0.0) -> Array:
        """Normalise rows.

        Parameters
        ----------
        rows : (n, d)
            One vector a row.
        content
            Norm e of the other terms of the sum, taken as orthogonal to each row: the denominator
            is √(‖x‖² + e²).

        Returns
        -------
        (n, d) float64
        """
        x = np.array(rows, dtype=np.float64)
        unit = unit_of(x)
        x /= unit
        if self.centred:
            x -= x.mean(axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # beside tiny rows, they are infinite
            besides = np.square(content / unit) / x.shape[1] + self.epsilon / unit / unit
        variance = np.einsum("ij,ij->i", x, x) / x.shape[1] + besides
        # A row of zeros stays zero, even without epsilon.
        x /= np.sqrt(np.where(variance > 0.0, variance, 1.0))[:, None]
        if self.gain is not None:
            x *= self.gain
        if self.bias is not None:
            x += self.bias
        return x
