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

MOST_ALIKE = 20
Example = Literal["two tokens", "one token", "one position", "most alike", "nearest"]
WORDS = ("cat", "apple")
PLACES = (3, 6)
"""The article's example of two sums: CAT at 3 and APPLE at 6."""


# ---- errors ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Errors:
    """Relative error of one version of LayerNorm over the sampled tokens.

    Attributes
    ----------
    median, p95 : (m,) float64
        For each position of the range: median and 95th percentile over tokens.
    overall
        Both for all tokens and positions together.
    intervals
        95 % intervals of these two over samples of tokens; None if all tokens were taken.
    """

    median: np.ndarray
    p95: np.ndarray
    overall: tuple[float, float]
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
    """Errors of a model.

    Attributes
    ----------
    positions
        First and last position, both inclusive, of the errors.
    n_tokens
        How many tokens were sampled for the errors.
    orthogonal, constant_norm
        The versions that assume orthogonal token and position, and also equal norms of
        positions.
    """

    positions: tuple[int, int]
    n_tokens: int
    orthogonal: Errors
    constant_norm: Errors


@dataclass(frozen=True, eq=False, slots=True)
class LayerNorms(ErrorsByPosition):
    """Errors and cosines of the open model.

    Attributes
    ----------
    histogram : (bins,) int
        Counts of |cos| of all tokens with all stored positions, in equal bins from 0 to 1.
    most_alike
        The tokens most similar to a position, sorted.
    """

    histogram: np.ndarray
    most_alike: tuple[Alike, ...]


@dataclass(frozen=True, slots=True)
class LayerNormOf(ReadsTokens):
    """The errors over a range of positions, and the cosines of all of them."""

    positions: tuple[int, int]

    def steps(self, about: QuestionContext) -> Iterator[Progress | LayerNorms]:
        yield Progress(None, "Reading token embeddings")
        measured = Measurements(about.model, Scope(self.positions), about.measured())
        _ = measured.layernorm
        yield Progress(None, "Comparing all tokens with all positions")
        yield layernorms_of(measured)


@dataclass(frozen=True, slots=True)
class ErrorsOf(ReadsTokens):
    """The errors over a range of positions alone."""

    positions: tuple[int, int]

    def answer(self, about: QuestionContext) -> ErrorsByPosition:
        about.report(None, "Reading token embeddings")
        measured = Measurements(about.model, Scope(self.positions), about.measured())
        errors = measured.layernorm
        return ErrorsByPosition(
            measured.positions,
            len(errors.tokens),
            _errors(errors, "orthogonal"),
            _errors(errors, "constant_norm"),
        )


def layernorms_of(measured: Measurements) -> LayerNorms:
    """Combine the measurements."""
    errors, cosines = measured.layernorm, measured.cosines
    return LayerNorms(
        measured.positions,
        len(errors.tokens),
        _errors(errors, "orthogonal"),
        _errors(errors, "constant_norm"),
        cosines.histogram,
        tuple(
            Alike(one.token, _text(measured.model, one.token), one.position, one.value)
            for one in cosines.most_alike(MOST_ALIKE)
        ),
    )


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
    """A sum as it stands in the panel: a token as it is typed, and a position."""

    token: str
    position: int


@dataclass(frozen=True, slots=True)
class Term:
    """One of the two sums, with its token.

    Attributes
    ----------
    typed
        The text and the position in the panel.
    token
        The token, or why there is none.
    """

    typed: Typed
    token: AnyToken


@dataclass(frozen=True, eq=False, slots=True)
class ComparedSums:
    """What was found.

    Attributes
    ----------
    one, other
        The two sums.
    among
        Random pairs of sums.
    found
        The similarity of the two; None if one of them has no token.
    """

    one: Term
    other: Term
    among: RandomPairs
    found: Interference | None


class _OfTwoSums(ReadsTokens, ABC):
    """The similarity of two sums."""

    __slots__ = ()

    def steps(self, about: QuestionContext) -> Iterator[Progress | ComparedSums]:
        """Yield the :class:`ComparedSums` last; a missing token is no error."""
        yield Progress(None, "Reading token embeddings")
        among = drawn(about)
        one, other = self._sums(about, among)
        yield Progress(None, "Splitting into tokens")
        yield _compared(about.model, one, other, among)

    @abstractmethod
    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        """Return the two sums for the panel."""


@dataclass(frozen=True, slots=True)
class InterferenceOf(_OfTwoSums):
    """The similarity of two typed sums."""

    one: Typed
    other: Typed

    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        return self.one, self.other


@dataclass(frozen=True, slots=True)
class ExampleOf(_OfTwoSums):
    """The similarity of an example's two sums, with tokens of this model.

    Attributes
    ----------
    name
        "two tokens" at two positions; "one token" at two positions; two tokens at "one position";
        the token that is "most alike" some position, elsewhere, with another token at that
        position; the "nearest" of the random pairs.
    """

    name: Example

    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        about.report(None, "Searching for an example")
        one, other = (
            Typed(write_token(about.model, token), position)
            for token, position in _example(self.name, about, among)
        )
        return one, other


def drawn(about: QuestionContext) -> RandomPairs:
    """Return the random pairs of a model, cached for all its questions."""
    model = about.model
    tokens = addable_tokens(model)
    return about.cache(
        "random pairs",
        lambda: random_pairs(
            tokens, model.W_pos, token_scale=model.token_scale, type_row=model.token_type
        ),
    )


def _compared(model: PositionalModel, one: Typed, other: Typed, among: RandomPairs) -> ComparedSums:
    tokens = addable_tokens(model)
    terms = [Term(typed, read_token(model, typed.token, len(tokens))) for typed in (one, other)]
    (a, b), found = (term.token.id for term in terms), None
    if a is not None and b is not None:
        found = interference(
            tokens, model.W_pos, (a, one.position), (b, other.position),
            among=among, token_scale=model.token_scale, type_row=model.token_type,
        )  # fmt: skip
    return ComparedSums(terms[0], terms[1], among, found)


def _example(
    name: Example, about: QuestionContext, among: RandomPairs
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return token and position of both sums."""
    (a, b), last = _words(about.model, among), about.model.n_positions - 1
    i, j = (min(place, last) for place in PLACES)
    match name:
        case "two tokens":
            return (a, i), (b, j)
        case "one token":
            return (a, i), (a, j)
        case "one position":
            return (a, i), (b, i)
        case "most alike":
            like = about.measured().cosines.most_alike(1)[0]
            # Half the table away from its own position.
            elsewhere = (like.position + (last + 1) // 2) % (last + 1)
            return (like.token, elsewhere), (a, like.position)
    nearest = int(among.likeness.distance.argmin())
    one, other = zip(among.tokens[nearest], among.positions[nearest], strict=True)
    return (int(one[0]), int(one[1])), (int(other[0]), int(other[1]))


def _words(model: PositionalModel, among: RandomPairs) -> tuple[int, int]:
    """Return two tokens: the article's, or random ones if the model lacks these."""
    count = len(model.W_E)
    found = [_word(model, word, count) for word in WORDS]
    if found[0] is not None and found[1] is not None and found[0] != found[1]:
        return found[0], found[1]
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
