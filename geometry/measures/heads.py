"""What each attention head makes of positions alone: its queries and keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False, slots=True)
class HeadProjections:
    """Queries and keys of all heads of a layer.

    Attributes
    ----------
    layer
        From 0.
    queries, keys : (n_heads, n_positions, d_head)
        Of each row; keys that heads share are repeated. Read-only.
    scale
        What q·k is multiplied by before the softmax.
    causal
        A position attends to itself and earlier ones only.
    window
        How far back and ahead it attends; None for as far as there are positions.
    """

    layer: int
    queries: npt.NDArray[np.floating]
    keys: npt.NDArray[np.floating]
    scale: float
    causal: bool
    window: tuple[int, int] | None = None
