"""What the directions panel asks: P's strongest singular directions, and how sparse they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.overlaps import Sparsity, random_directions, sparsity
from geometry.models.residual_stream import Subject
from gui.services.questions import Progress, Subjects, Tensor, tensors_of

TOP = 5
"""So many directions are looked at."""
EPSILON = 1e-7
"""A singular value below this share of the first may be rounding, and has no left vector."""
BLOCK_ROWS = 4096
"""Rows of E that are widened to float64 at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class TopDirections:
    """The strongest directions of P, which is uncentred.

    Attributes
    ----------
    singular_values : (k,) float64
        Falling; k is 5, or as many as there are.
    over_position : (k, n_positions) float64
        Left singular vectors: each direction's share in every row, of unit length.
    over_index : (k, d_embedding) float64
        Right singular vectors, of unit length; the entry of largest magnitude is positive.
    sparsity
        Of the directions.
    random
        Of as many random orthonormal directions of the same length.
    E_energy : (d_embedding,) float64 or None
        Σ E[t, d]² over all tokens; None where E is not asked for, or lacking.
    E_mapped
        Whether E went through the model's own map to the size of P's rows.
    E_missing
        Why E is lacking; "" where it is not.
    """

    singular_values: np.ndarray
    over_position: np.ndarray
    over_index: np.ndarray
    sparsity: Sparsity
    random: Sparsity
    E_energy: np.ndarray | None
    E_mapped: bool
    E_missing: str


@dataclass(frozen=True, slots=True)
class DirectionsOf:
    """P's strongest directions; all of its rows.

    Attributes
    ----------
    with_E
        Whether to read E, to tell how much of it lives on the entries that are large.
    """

    with_E: bool

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read."""
        return tensors_of(Subject("E")) if self.with_E else ()

    def steps(self, about: Subjects) -> Iterator[Progress | TopDirections]:
        """Yield the :class:`TopDirections` last."""
        yield Progress(None, "Decomposing P")
        found = about.stream.directions(Subject("P"))
        k = min(TOP, len(found.vectors))
        vectors, values = found.vectors[:k], found.singular_values[:k]
        strengths = about.model.W_pos @ vectors.T
        # A direction without strength has no left vector: it is in no row.
        some = values > EPSILON * found.singular_values[0]
        left = np.divide(strengths, values, out=np.zeros_like(strengths), where=some).T
        energy, mapped, why = None, False, ""
        if self.with_E:
            yield Progress(None, "Measuring E")
            try:
                energy, mapped = column_energy(about)
            except TensorUnavailable as error:
                why = str(error)
        left.flags.writeable = False
        yield TopDirections(
            values,
            left,
            vectors,
            sparsity(vectors),
            sparsity(random_directions(k, vectors.shape[1])),
            energy,
            mapped,
            why,
        )


def column_energy(about: Subjects) -> tuple[np.ndarray, bool]:
    """Sum the squares of every column of E, in the space of P's rows.

    Returns
    -------
    energy : (d_embedding,) float64
        In squared units of E.
    mapped
        Whether E went through the model's own map to that space.

    Raises
    ------
    TensorUnavailable
        The checkpoint lacks E, or a map that it would need.
    """
    E, d = about.stream.matrix(Subject("E")), about.model.d_model
    through = None
    if E.shape[1] != d:
        through = about.model.layers.embedding_map("tokens")
        if through is None or through.shape[0] != d:
            raise TensorUnavailable(
                f"E lies in {E.shape[1]} dimensions and P in {d}, and no map between them is in "
                "this checkpoint."
            )
    total = np.zeros(d)
    for start in range(0, len(E), BLOCK_ROWS):
        block = np.asarray(E[start : start + BLOCK_ROWS], dtype=np.float64)
        if through is not None:
            block = block @ through.T
        total += np.einsum("ij,ij->j", block, block)
        about.check()
    total.flags.writeable = False
    return total, through is not None
