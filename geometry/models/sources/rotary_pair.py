"""One pair of a rotary model as a curve in space, opened like a model.

``pair:8,EleutherAI/pythia-70m`` is the helix that entries 8 of the two halves of a turned query
follow, with the position as its height: positions and their pitch have one unit, so that curves of
several pairs can be compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import SourceError
from geometry.measures.rotary import turning
from geometry.models.families.stack import ALONE
from geometry.models.model import PositionalModel
from geometry.models.recognition.architecture import Architecture
from geometry.models.sources.computed import model_derived_from
from geometry.models.sources.source import FORMS, Source

RADIUS = 1 / 8
"""Radius of the helix, as a share of its height over all positions."""


def pair_curve(rate: float, n_positions: int) -> npt.NDArray[np.float64]:
    """Return the helix of a pair.

    Parameters
    ----------
    rate
        Its angle for each position, in radians.
    n_positions
        Number of points.

    Returns
    -------
    (n_positions, 3) float64
        Cosine and sine of the angle, times an eighth of the positions, and the position.
    """
    circle = turning(np.array([rate]), n_positions)
    height = np.arange(n_positions, dtype=np.float64)
    return np.column_stack([RADIUS * n_positions * circle, height])


def open_pair(source: Source, model: PositionalModel) -> PositionalModel:
    """Open a pair's helix, as a model without tokens and layers.

    Raises
    ------
    SourceError
        The model does not turn queries and keys, or has no such pair.
    """
    rotary = model.rotary
    if rotary is None:
        raise SourceError(
            f"The model {model.name} does not turn queries and keys.",
            "Open a model with rotary positions, such as EleutherAI/pythia-70m.",
        )
    known = source.what.isascii() and source.what.isdigit() and len(source.what) < 7
    if not known or int(source.what) >= rotary.n_pairs:
        raise SourceError(
            f"{model.name} has the pairs 0 to {rotary.n_pairs - 1}, and none {source.what!r}.",
            f"Use the form {FORMS['pair']}.",
        )
    pair = int(source.what)
    place = Architecture(stack=ALONE, table=f"pair {pair}")
    curve = pair_curve(rotary.rates[pair], model.n_positions)
    return model_derived_from(model, source, curve, place)
