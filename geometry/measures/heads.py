"""Queries and keys of attention heads for positions alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result


@result
class HeadProjections:
    """Queries and keys of all heads of a layer.

    Attributes
    ----------
    layer
        From 0.
    queries, keys : (n_heads, n_positions, d_head)
        For each position; keys shared by heads are repeated. Read-only.
    scale
        Factor of q·k before the softmax.
    causal
        Whether a position attends only to itself and earlier ones.
    window
        How far back and ahead it attends; None if unlimited.
    """

    layer: int
    queries: npt.NDArray[np.floating]
    keys: npt.NDArray[np.floating]
    scale: float
    causal: bool
    window: tuple[int, int] | None = None
