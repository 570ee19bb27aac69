"""What a panel can ask about the open model, and the questions that several panels share.

A question is a small frozen dataclass with all that decides its result in its fields, so that
equal questions have equal results. It is answered on a worker thread and knows no toolkit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from geometry.checkpoints.memo import Memo
from geometry.models.model import Matrix, PositionalModel
from geometry.models.residual_stream import ResidualStream, Subject

if TYPE_CHECKING:
    from geometry.claims.measured_model import MeasuredModel

TELL_S = 0.05
"""Between two tellings of how far an answer is; nobody reads faster."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an answer is.

    Attributes
    ----------
    fraction
        0 to 1, or None where nobody knows.
    message
        What is being done, without a full stop.
    so_far
        A result that lacks something yet, to be shown meanwhile; None where there is none, or
        nothing new.
    """

    fraction: float | None
    message: str = ""
    so_far: object = None


class QuestionContext:
    """What a question is about, as its thread sees it.

    Parameters
    ----------
    model
        The open model.
    stream
        Its directions, shared by all questions about it; a new one if None.
    tell
        Called with a :class:`Progress`, on this thread; None if nobody listens.
    check
        Raises when the answer is given up; None if nobody can.
    once
        Where questions about this model keep what others need too; nothing is kept if None.
    """

    def __init__(
        self,
        model: PositionalModel,
        stream: ResidualStream | None = None,
        tell: Callable[[Progress], None] | None = None,
        check: Callable[[], None] | None = None,
        once: Memo | None = None,
    ) -> None:
        self.model = model
        self._tell, self._check = tell, check
        self.stream = (stream or ResidualStream(model)).told(self.tell)
        self.once = once or Memo()

    def measured(self, tell: Callable[[float, str], None] | None = None) -> MeasuredModel:
        """Return what is measured on the model whichever range is shown, kept for all questions.

        Parameters
        ----------
        tell
            Called with a share and words by what takes long; :meth:`tell` if None.
        """
        from geometry.claims.measured_model import MeasuredModel

        return MeasuredModel(self.model, stream=self.stream, once=self.once, tell=tell or self.tell)

    def tell(self, fraction: float | None, message: str = "", so_far: object = None) -> None:
        """Tell how far the answer is; raises when it is given up, so that the work ends."""
        self.check()
        if self._tell is not None:
            self._tell(Progress(fraction, message, so_far))

    def check(self) -> None:
        """Raise when the answer is given up, so that the work ends."""
        if self._check is not None:
            self._check()


class ProgressThrottle:
    """Passes on what is told at most every :data:`TELL_S` seconds.

    A loop that tells of each turn would else fill the GUI thread's queue faster than it is read.

    Parameters
    ----------
    tell
        Gets the :class:`Progress` that is passed on.
    """

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self._tell, self._next = tell, 0.0

    def __call__(self, progress: Progress) -> None:
        """Tell, unless something was told just before."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TELL_S
            self._tell(progress)


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Direct(Hashable, Protocol[R_co]):
    """A question that is answered at one go."""

    def answer(self, about: QuestionContext) -> R_co:
        """Compute the result, which is not None.

        Raises
        ------
        HelixscopeError
            It is not possible for this model; the message says why.
        """


@runtime_checkable
class Stepwise(Hashable, Protocol[R_co]):
    """A question whose answer takes long."""

    def steps(self, about: QuestionContext) -> Iterator[Progress | R_co]:
        """Yield a :class:`Progress` now and then, and the result last.

        Each yield is a point to give up at, and may carry what is known of the result.

        Raises
        ------
        HelixscopeError
            As :meth:`Direct.answer`.
        """


Question = Direct[R] | Stepwise[R]
"""What every question is."""

Tensor = tuple[Matrix, int]


@runtime_checkable
class ReadsTensors(Protocol):
    """A question that reads large tensors: the user is asked before much of them is fetched."""

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read: a name ("W_E", "W_Q", …) and a layer each."""


def tensors_of(*subjects: Subject) -> tuple[Tensor, ...]:
    """Return what of a checkpoint subjects take, for :meth:`ReadsTensors.tensors`."""
    wanted = [("W_E" if s.name == "E" else s.name, s.layer) for s in subjects if s.name != "P"]
    return tuple(dict.fromkeys(wanted))


class ReadsTokens:
    """A question that reads the token embeddings."""

    __slots__ = ()

    def tensors(self) -> tuple[Tensor, ...]:
        """Return what of the checkpoint is read."""
        return tensors_of(Subject("E"))


def resolve(question: Question[R], about: QuestionContext) -> R:
    """Answer a question on this thread, whichever kind it is.

    Raises
    ------
    HelixscopeError
        As :meth:`Direct.answer`.
    """
    if not isinstance(question, Stepwise):
        return question.answer(about)
    result = None
    for step in question.steps(about):
        if isinstance(step, Progress):
            about.tell(step.fraction, step.message, step.so_far)
        else:
            result = step
    assert result is not None
    return result
