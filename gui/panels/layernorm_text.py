"""What can be taken away of LayerNorm's errors: their numbers, and the Python that finds them."""

from __future__ import annotations

import numpy as np

from geometry.models.model import PositionalModel
from gui.panels.layernorm_question import LayerNorms, OnlyErrors
from gui.services.snippets import opening


def columns(result: LayerNorms) -> dict[str, np.ndarray]:
    """Return errors by position, the histogram, and the tokens."""
    bins = len(result.histogram)
    return {
        **error_columns(result),
        "cosine_from": np.arange(bins) / bins,
        "pairs": result.histogram,
        "token": np.array([one.token for one in result.most_alike]),
        "token_text": np.array([one.text for one in result.most_alike]),
        "token_position": np.array([one.position for one in result.most_alike]),
        "token_cosine": np.array([one.cosine for one in result.most_alike]),
    }


def error_columns(result: LayerNorms | OnlyErrors) -> dict[str, np.ndarray]:
    """Return errors by position."""
    first, last = result.positions
    return {
        "position": np.arange(first, last + 1),
        "orthogonal_median": result.orthogonal.median,
        "orthogonal_p95": result.orthogonal.p95,
        "constant_norm_median": result.constant_norm.median,
        "constant_norm_p95": result.constant_norm.p95,
    }


def script(model: PositionalModel, positions: tuple[int, int]) -> str:
    """Return Python that prints the errors and the most position-like tokens."""
    return (
        opening(model)
        + f"""import numpy as np

from geometry import Measurements, Scope

measured = Measurements(model, Scope(positions={positions}))
for errors in (measured.layernorm.orthogonal, measured.layernorm.constant_norm):
    print(*np.percentile(errors, (50, 95)))
for one in measured.cosines.most_alike():
    print(one.token, one.position, one.value)
"""
    )
