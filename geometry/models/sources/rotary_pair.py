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
from geometry.models.sources.computed import OneTable
from geometry.models.sources.derived import FORMS, Derived, chosen_of

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


def open_pair(derived: Derived, model: PositionalModel) -> PositionalModel:
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
    known = derived.what.isascii() and derived.what.isdigit() and len(derived.what) < 7
    if not known or int(derived.what) >= rotary.n_pairs:
        raise SourceError(
            f"{model.name} has the pairs 0 to {rotary.n_pairs - 1}, and none {derived.what!r}.",
            f"Use the form {FORMS['pair']}.",
        )
    pair = int(derived.what)
    place = Architecture(None, ALONE, "", f"pair {pair}", {}, chosen=chosen_of(model))
    return PositionalModel(
        OneTable(place.table, pair_curve(rotary.rates[pair], model.n_positions), of=model),
        place,
        source=derived.source,
        name=derived.name(model.name),
        commit=model.commit,
    )
