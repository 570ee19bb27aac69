"""Token embeddings of the same width as the positions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.model import PositionalModel
from geometry.models.parts import check_finite


def addable_tokens(model: PositionalModel) -> npt.NDArray[np.float32]:
    """Return the (d_vocab, d_model) token embeddings, if positions can be added to them directly.

    Raises
    ------
    TensorUnavailable
        There are none, they are of another width than the positions, or not all finite.
    """
    tokens, width = model.W_E, model.d_model
    if tokens.shape[1] != width:
        raise TensorUnavailable(
            f"{model.name} has tokens of {tokens.shape[1]} dimensions and positions of {width}: "
            "the stored vectors cannot be added."
        )
    check_finite("W_E", tokens)
    return tokens
