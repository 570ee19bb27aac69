"""What the LayerNorm panel asks of two sums of token and position: how alike they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.measures.interference import Interference, RandomPairs, interference, random_pairs
from geometry.models.addable_tokens import addable_tokens
from geometry.models.model import PositionalModel
from gui.panels.one_token import AnyToken, read_token, write_token
from gui.services.questions import Progress, QuestionContext, ReadsTokens

Example = Literal["two tokens", "one token", "one position", "most alike", "nearest"]

WORDS = ("cat", "apple")
PLACES = (3, 6)
"""The article's example of two sums that should not be alike: CAT at 3 and APPLE at 6."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A sum as it stands in the panel: a token as it is typed, and a position."""

    token: str
    position: int


@dataclass(frozen=True, slots=True)
class Term:
    """One of the two sums, as it was understood.

    Attributes
    ----------
    typed
        What stands in the panel, or is to stand there.
    token
        Which token is meant, or why none is.
    """

    typed: Typed
    token: AnyToken


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """What was found.

    Attributes
    ----------
    one, other
        The two sums.
    among
        Random pairs of sums.
    found
        How alike the two are; None if one of them has no token.
    """

    one: Term
    other: Term
    among: RandomPairs
    found: Interference | None


class _OfTwoSums(ReadsTokens, ABC):
    """How alike two sums are."""

    __slots__ = ()

    def steps(self, about: QuestionContext) -> Iterator[Progress | Compared]:
        """Yield the :class:`Compared` last; a token that there is not is no error.

        Raises
        ------
        TensorUnavailable
            There are no token embeddings, or none of the positions' size.
        """
        yield Progress(None, "Reading token embeddings")
        among = drawn(about)
        one, other = self._sums(about, among)
        yield Progress(None, "Splitting into tokens")
        yield _compared(about.model, one, other, among)

    @abstractmethod
    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        """Return the two sums, as they are to stand in the panel."""


@dataclass(frozen=True, slots=True)
class InterferenceOf(_OfTwoSums):
    """How alike two sums are that someone typed."""

    one: Typed
    other: Typed

    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        return self.one, self.other


@dataclass(frozen=True, slots=True)
class ExampleOf(_OfTwoSums):
    """How alike the two sums of an example are, with tokens of this model.

    Attributes
    ----------
    name
        "two tokens" at two positions; "one token" at two positions; two tokens at "one position";
        the token that is "most alike" some position, elsewhere, with another token at that
        position; the "nearest" of the random pairs.
    """

    name: Example

    def _sums(self, about: QuestionContext, among: RandomPairs) -> tuple[Typed, Typed]:
        about.tell(None, "Looking for an example")
        one, other = (
            Typed(write_token(about.model, token), position)
            for token, position in _example(self.name, about, among)
        )
        return one, other


def drawn(about: QuestionContext) -> RandomPairs:
    """Return the random pairs of a model, the same for all its questions."""
    model = about.model
    tokens = addable_tokens(model)
    return about.once(
        "random pairs",
        lambda: random_pairs(
            tokens, model.W_pos, token_scale=model.token_scale, type_row=model.token_type
        ),
    )


def _compared(model: PositionalModel, one: Typed, other: Typed, among: RandomPairs) -> Compared:
    tokens = addable_tokens(model)
    terms = [Term(typed, read_token(model, typed.token, len(tokens))) for typed in (one, other)]
    (a, b), found = (term.token.id for term in terms), None
    if a is not None and b is not None:
        found = interference(
            tokens, model.W_pos, (a, one.position), (b, other.position),
            among=among, token_scale=model.token_scale, type_row=model.token_type,
        )  # fmt: skip
    return Compared(terms[0], terms[1], among, found)


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
            # Half the table away, so that its own position does not help it.
            elsewhere = (like.position + (last + 1) // 2) % (last + 1)
            return (like.token, elsewhere), (a, like.position)
    nearest = int(among.likeness.distance.argmin())
    one, other = zip(among.tokens[nearest], among.positions[nearest], strict=True)
    return (int(one[0]), int(one[1])), (int(other[0]), int(other[1]))


def _words(model: PositionalModel, among: RandomPairs) -> tuple[int, int]:
    """Return two tokens: the article's, or two that were drawn where the model has no such ones."""
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
    except HelixscopeError:
        pass
    return None
