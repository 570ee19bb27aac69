"""What the spectra panel asks: singular values of matrices, and what they would be by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.chance import gaussian_singular_values
from geometry.measures.directions import Directions
from geometry.measures.spectra import summarise
from geometry.models.residual_stream import Subject
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of


@dataclass(frozen=True, eq=False, slots=True)
class NamedSpectrum:
    """Singular values of one matrix.

    Attributes
    ----------
    subject
        Which matrix.
    shape
        Its rows and columns.
    singular_values, chance : (min(shape),) float64
        Falling, in the matrix's units; and those of a Gaussian matrix of the same shape and norm.
    energy : (min(shape),) float64
        Share of Σσ² that the first 1, 2, … of them have.
    stable_rank
        ‖A‖_F² / σ₁².
    """

    subject: Subject
    shape: tuple[int, int]
    singular_values: np.ndarray
    chance: np.ndarray
    energy: np.ndarray
    stable_rank: float


@dataclass(frozen=True, eq=False, slots=True)
class Spectra:
    """Spectra of several matrices, and why others have none.

    Attributes
    ----------
    found
        In the order they were asked for.
    missing
        For each matrix that the checkpoint lacks, why.
    """

    found: tuple[NamedSpectrum, ...]
    missing: tuple[tuple[Subject, str], ...]


@dataclass(frozen=True, slots=True)
class SpectraOf:
    """Singular values of some matrices, as they are: uncentred unless a subject says otherwise."""

    subjects: tuple[Subject, ...]

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read."""
        return tensors_of(*self.subjects)

    def steps(self, about: QuestionContext) -> Iterator[Progress | Spectra]:
        """Yield the :class:`Spectra` last.

        Raises
        ------
        TensorUnavailable
            There is none of them.
        """
        found: list[NamedSpectrum] = []
        missing: list[tuple[Subject, str]] = []
        for number, subject in enumerate(self.subjects):
            yield Progress(number / len(self.subjects), f"Decomposing {subject.name}")
            try:
                found.append(_spectrum(about, subject))
            except TensorUnavailable as error:
                missing.append((subject, str(error)))
                last = error
        if not found:
            raise last
        yield Spectra(tuple(found), tuple(missing))


def _spectrum(about: QuestionContext, subject: Subject) -> NamedSpectrum:
    directions = about.stream.directions(subject)
    values = directions.singular_values
    shape = _shape(about, subject, directions)
    squares = values**2
    total = float(squares.sum())
    energy = np.cumsum(squares) / total if total > 0.0 else np.zeros_like(squares)
    energy.flags.writeable = False
    return NamedSpectrum(
        subject,
        shape,
        values,
        gaussian_singular_values(shape, float(np.sqrt(total))),
        energy,
        summarise(values).stable_rank,
    )


def _shape(about: QuestionContext, subject: Subject, directions: Directions) -> tuple[int, int]:
    """Return the matrix's shape; E is not read for it where its directions are on disk."""
    if subject.name == "E" and about.model.d_vocab is not None:
        return about.model.d_vocab, directions.vectors.shape[1]
    rows, columns = about.stream.matrix(subject).shape
    return rows, columns
