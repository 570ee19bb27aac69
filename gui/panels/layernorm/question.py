"""The questions of the LayerNorm panel: errors by position, and the similarity of two sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.claims.measurements import Measurements, Scope
from geometry.measures.interference import Interference, RandomPairs, interference, random_pairs
from geometry.measures.layernorm import ErrorIntervals, LayerNormErrors, Version
from geometry.models.addable_tokens import addable_tokens
from geometry.models.model import PositionalModel
from gui.panels.layernorm.one_token import AnyToken, read_token, write_token
from gui.services.questions import Progress, QuestionContext, ReadsTokens
from gui.style.token_text import token_label

MAX_ALIKE = 20
Example = Literal["two tokens", "one token", "one position", "most alike", "nearest"]
WORDS = ("cat", "apple")
PLACES = (3, 6)
"""The article's example of two sums: CAT at 3 and APPLE at 6."""


# ---- errors ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Errors:
    """Relative error of one version of LayerNorm over the sampled tokens."""

    median: np.ndarray  # (m,) float64: over tokens, by position of the range
    p95: np.ndarray  # (m,) float64: 95th percentile over tokens, by position of the range
    overall: tuple[float, float]  # Both over all tokens and positions together
    # 95 % intervals of these two over samples of tokens; None if all tokens were taken
    intervals: ErrorIntervals | None


@dataclass(frozen=True, slots=True)
class Alike:
    """A token and the position that is most similar to it."""

    token: int
    text: str
    position: int
    cosine: float


@dataclass(frozen=True, eq=False, slots=True)
class ErrorsByPosition:
    """Errors of a model."""

    positions: tuple[int, int]  # First and last position, both inclusive, of the errors
    n_tokens: int  # Number of tokens sampled for the errors
    orthogonal: Errors  # Of the version that assumes orthogonal token and position
    constant_norm: Errors  # Of the one that assumes also equal norms of positions


@dataclass(frozen=True, eq=False, slots=True)
class LayerNorms(ErrorsByPosition):
    """Errors and cosines of the open model."""

    # (bins,) int: counts of |cos| of all tokens with all positions, in equal bins from 0 to 1
    histogram: np.ndarray
    most_alike: tuple[Alike, ...]  # The tokens most similar to a position, sorted


@dataclass(frozen=True, slots=True)
class LayerNormOf(ReadsTokens):
    """The errors over a range of positions, and the cosines of all positions."""

    positions: tuple[int, int]

    def steps(self, context: QuestionContext) -> Iterator[Progress | LayerNorms]:
        yield Progress(None, "Reading token embeddings")
        measured = Measurements(context.model, Scope(self.positions), context.measured())
        _ = measured.layernorm
        yield Progress(None, "Comparing all tokens with all positions")
        yield layernorms_of(measured)


@dataclass(frozen=True, slots=True)
class ErrorsOf(ReadsTokens):
    """The errors over a range of positions, without cosines."""

    positions: tuple[int, int]

    def answer(self, context: QuestionContext) -> ErrorsByPosition:
        context.report(None, "Reading token embeddings")
        measured = Measurements(context.model, Scope(self.positions), context.measured())
        return ErrorsByPosition(*_errors_of(measured))


def layernorms_of(measured: Measurements) -> LayerNorms:
    """Combine the measurements."""
    errors, cosines = _errors_of(measured), measured.cosines
    alike = tuple(
        Alike(pair.token, _text(measured.model, pair.token), pair.position, pair.value)
        for pair in cosines.most_alike(MAX_ALIKE)
    )
    return LayerNorms(*errors, cosines.histogram, alike)


def _errors_of(measured: Measurements) -> tuple[tuple[int, int], int, Errors, Errors]:
    """Return the fields of :class:`ErrorsByPosition`."""
    errors = measured.layernorm
    both = _errors(errors, "orthogonal"), _errors(errors, "constant_norm")
    return measured.positions, len(errors.tokens), *both


def _errors(errors: LayerNormErrors, version: Version) -> Errors:
    values: np.ndarray = getattr(errors, version)
    median, p95 = np.percentile(values, (50, 95), axis=0)
    both = np.percentile(values, (50, 95))
    for array in (median, p95):
        array.setflags(write=False)
    overall = float(both[0]), float(both[1])
    return Errors(median, p95, overall, errors.intervals(version))


def _text(model: PositionalModel, token: int) -> str:
    """Return a token's text; its number without a tokenizer."""
    try:
        text = model.token_text(token)
    except FileChanged:
        raise
    except HelixscopeError:
        text = None
    return f"token {token}" if text is None else token_label(text)


# ---- two sums --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Typed:
    """A sum as entered in the panel: the text of a token, and a position."""

    token: str
    position: int


@dataclass(frozen=True, slots=True)
class Term:
    """One of the two sums, with its token."""

    typed: Typed  # The text and the position in the panel
    token: AnyToken  # The token, or why there is none


@dataclass(frozen=True, eq=False, slots=True)
class ComparedSums:
    """Two sums with their similarity."""

    first: Term
    second: Term
    among: RandomPairs
    similarity: Interference | None  # Their similarity; None if one of them has no token


class _OfTwoSums(ReadsTokens, ABC):
    """The similarity of two sums."""

    __slots__ = ()

    def steps(self, context: QuestionContext) -> Iterator[Progress | ComparedSums]:
        """Yield the :class:`ComparedSums` last; a missing token is not an error."""
        yield Progress(None, "Reading token embeddings")
        among = drawn(context)
        first, second = self._sums(context, among)
        yield Progress(None, "Splitting into tokens")
        yield _compared(context.model, first, second, among)

    @abstractmethod
    def _sums(self, context: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        """Return the two sums."""


@dataclass(frozen=True, slots=True)
class InterferenceOf(_OfTwoSums):
    """The similarity of two typed sums."""

    first: Typed
    second: Typed

    def _sums(self, context: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        return self.first, self.second


@dataclass(frozen=True, slots=True)
class ExampleOf(_OfTwoSums):
    """The similarity of an example's two sums, with tokens of this model."""

    # "two tokens" at two positions; "one token" at two positions; two tokens at "one position"; the
    # token that is "most alike" some position, elsewhere, with another token at that position; the
    # "nearest" of the random pairs
    name: Example

    def _sums(self, context: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        context.report(None, "Searching for an example")
        first, second = (
            Typed(write_token(context.model, token), position)
            for token, position in _example(self.name, context, among)
        )
        return first, second


def drawn(context: QuestionContext) -> RandomPairs:
    """Return the random pairs of a model, cached for all its questions."""
    model = context.model
    tokens = addable_tokens(model)
    return context.cache(
        "random pairs",
        lambda: random_pairs(
            tokens, model.W_pos, token_scale=model.token_scale, type_row=model.token_type
        ),
    )


def _compared(
    model: PositionalModel, first: Typed, second: Typed, among: RandomPairs
) -> ComparedSums:
    tokens = addable_tokens(model)
    terms = [Term(typed, read_token(model, typed.token, len(tokens))) for typed in (first, second)]
    (a, b), similarity = (term.token.id for term in terms), None
    if a is not None and b is not None:
        similarity = interference(
            tokens,
            model.W_pos,
            (a, first.position),
            (b, second.position),
            among=among,
            token_scale=model.token_scale,
            type_row=model.token_type,
        )
    return ComparedSums(terms[0], terms[1], among, similarity)


def _example(
    name: Example, context: QuestionContext, among: RandomPairs
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return token and position of both sums."""
    (a, b), last = _words(context.model, among), context.model.n_positions - 1
    i, j = (min(place, last) for place in PLACES)
    match name:
        case "two tokens":
            return (a, i), (b, j)
        case "one token":
            return (a, i), (a, j)
        case "one position":
            return (a, i), (b, i)
        case "most alike":
            like = context.measured().cosines.most_alike(1)[0]
            # Half the table away from its own position.
            elsewhere = (like.position + (last + 1) // 2) % (last + 1)
            return (like.token, elsewhere), (a, like.position)
    nearest = int(among.likeness.distance.argmin())
    first, second = zip(among.tokens[nearest], among.positions[nearest], strict=True)
    return (int(first[0]), int(first[1])), (int(second[0]), int(second[1]))


def _words(model: PositionalModel, among: RandomPairs) -> tuple[int, int]:
    """Return two tokens: the article's, or random ones if the model lacks these."""
    count = len(model.W_E)
    tokens = [_word(model, word, count) for word in WORDS]
    if tokens[0] is not None and tokens[1] is not None and tokens[0] != tokens[1]:
        return tokens[0], tokens[1]
    different = np.flatnonzero(np.ptp(among.tokens, axis=1))
    a, b = among.tokens[different[0] if len(different) else 0]
    return int(a), int(b)


def _word(model: PositionalModel, word: str, count: int) -> int | None:
    """Return the token of a word in the middle of a text, if it is one."""
    try:
        for text in (f" {word}", word):
            ids = model.token_ids(text)
            if len(ids) == 1 and ids[0] < count:
                return ids[0]
    except FileChanged:
        raise
    except HelixscopeError:
        pass
    return None
