"""What the LayerNorm panel asks: how far tokens and positions can be taken apart in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.claims.measurements import Measurements, Scope
from geometry.models.model import PositionalModel
from gui.services.questions import Progress, QuestionContext, ReadsTokens
from gui.style.token_text import token_label

MOST_ALIKE = 20


@dataclass(frozen=True, eq=False, slots=True)
class Errors:
    """Relative error of one version of LayerNorm over the sampled tokens.

    Attributes
    ----------
    median, p95 : (m,) float64
        For each position of the range: the median, and what 95 % of the tokens are below.
    overall
        Both for all tokens and positions together.
    """

    median: np.ndarray
    p95: np.ndarray
    overall: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Alike:
    """A token and the position that it is most like."""

    token: int
    text: str
    position: int
    cosine: float


@dataclass(frozen=True, eq=False, slots=True)
class LayerNorms:
    """What was found.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the errors.
    n_tokens
        How many tokens were sampled for the errors.
    orthogonal, constant_norm
        The versions that take token and position for orthogonal, and the positions' norms for
        all the same besides.
    histogram : (bins,) int
        Counts of |cos| of all tokens with all stored positions, in equal bins from 0 to 1.
    most_alike
        The tokens most like some position, the first most.
    """

    positions: tuple[int, int]
    n_tokens: int
    orthogonal: Errors
    constant_norm: Errors
    histogram: np.ndarray
    most_alike: tuple[Alike, ...]


@dataclass(frozen=True, slots=True)
class LayerNormOf(ReadsTokens):
    """The errors over a range of positions, and the cosines of all of them."""

    positions: tuple[int, int]

    def steps(self, about: QuestionContext) -> Iterator[Progress | LayerNorms]:
        """Yield the :class:`LayerNorms` last.

        Raises
        ------
        TensorUnavailable
            There are no token embeddings, or none of the positions' size.
        """
        yield Progress(None, "Reading token embeddings")
        measured = Measurements(about.model, Scope(self.positions), about.measured())
        _ = measured.layernorm
        yield Progress(None, "Comparing all tokens with all positions")
        yield layernorms_of(measured)


@dataclass(frozen=True, eq=False, slots=True)
class OnlyErrors:
    """The errors without the cosines; attributes as of :class:`LayerNorms`."""

    positions: tuple[int, int]
    n_tokens: int
    orthogonal: Errors
    constant_norm: Errors


@dataclass(frozen=True, slots=True)
class ErrorsOf(ReadsTokens):
    """The errors over a range of positions alone."""

    positions: tuple[int, int]

    def answer(self, about: QuestionContext) -> OnlyErrors:
        """Measure them; TensorUnavailable as :meth:`LayerNormOf.steps`."""
        about.tell(None, "Reading token embeddings")
        measured = Measurements(about.model, Scope(self.positions), about.measured())
        errors = measured.layernorm
        return OnlyErrors(
            measured.positions,
            len(errors.tokens),
            _errors(errors.orthogonal),
            _errors(errors.constant_norm),
        )


def layernorms_of(measured: Measurements) -> LayerNorms:
    """Put together what is measured; TensorUnavailable as :meth:`LayerNormOf.steps`."""
    errors, cosines = measured.layernorm, measured.cosines
    return LayerNorms(
        measured.positions,
        len(errors.tokens),
        _errors(errors.orthogonal),
        _errors(errors.constant_norm),
        cosines.histogram,
        tuple(
            Alike(one.token, _text(measured.model, one.token), one.position, one.value)
            for one in cosines.most_alike(MOST_ALIKE)
        ),
    )


def _errors(values: np.ndarray) -> Errors:
    median, p95 = np.percentile(values, (50, 95), axis=0)
    both = np.percentile(values, (50, 95))
    for array in (median, p95):
        array.setflags(write=False)
    return Errors(median, p95, (float(both[0]), float(both[1])))


def _text(model: PositionalModel, token: int) -> str:
    """Return a token's text; its number where there is no tokenizer to tell."""
    try:
        text = model.token_text(token)
    except HelixscopeError:
        text = None
    return f"token {token}" if text is None else token_label(text)
