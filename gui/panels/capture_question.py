"""What the capture panel asks: how much of a matrix's directions lies in P's strongest ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geometry.measures.overlaps import squared_overlaps
from geometry.models.residual_stream import Subject
from gui.services.questions import Subjects, Tensor, tensors_of


@dataclass(frozen=True, eq=False, slots=True)
class Captures:
    """Capture for every k at once.

    Attributes
    ----------
    of
        Whose directions v_j are captured.
    by_rank : (r, n) float64
        ``by_rank[k − 1, j − 1]`` = v_jᵀ Π v_j, with Π the projector onto the first k directions of
        P: the sum of the first k squared overlaps with v_j.
    d
        Dimensions of the space they share: chance is k/d.
    """

    of: Subject
    by_rank: np.ndarray
    d: int


@dataclass(frozen=True, slots=True)
class CaptureOf:
    """Capture of a matrix's directions by P's, which is uncentred."""

    of: Subject

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read."""
        return tensors_of(self.of)

    def answer(self, about: Subjects) -> Captures:
        """Sum the squared overlaps up.

        Raises
        ------
        TensorUnavailable
            The checkpoint lacks the matrix, or a map from P's space to its own.
        """
        P, other = about.stream.pair(Subject("P"), self.of)
        by_rank = np.cumsum(squared_overlaps(P, other), axis=0)
        by_rank.flags.writeable = False
        return Captures(self.of, by_rank, P.vectors.shape[1])
