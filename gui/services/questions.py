"""Questions of panels about the open model.

A question is a small frozen dataclass whose fields determine its result, so that equal questions
have equal results. It is answered on a worker thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from geometry.checkpoints.memo import Memo
from geometry.models.model import Matrix, PositionalModel
from geometry.models.residual_stream import ResidualStream, Subject
from gui.services.jobs.jobs import gui_first

if TYPE_CHECKING:
    from geometry.claims.measured_model import MeasuredModel

REPORT_INTERVAL_S = 0.05
"""Minimum seconds between progress reports; faster reports could not be read."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an answer."""

    fraction: float | None  # 0 to 1, or None if unknown
    message: str = ""  # Description of the work, without a full stop
    # A partial result to show meanwhile; None if there is none, or nothing new.
    so_far: object = None


class QuestionContext:
    """The context in which a question is answered, on its thread.

    Parameters
    ----------
    stream
        Its directions, shared by all questions about it; a new stream if None.
    report
        Called with a :class:`Progress`, on this thread; None for no reports.
    raise_if_cancelled
        Raises when the answer is cancelled; None if it cannot be cancelled.
    cache
        Cache of values shared by questions about this model; no cache if None.
    wait_if_held
        Waits while the answer is held; None if it is never held.
    """

    def __init__(
        self,
        model: PositionalModel,
        stream: ResidualStream | None = None,
        report: Callable[[Progress], None] | None = None,
        raise_if_cancelled: Callable[[], None] | None = None,
        cache: Memo | None = None,
        wait_if_held: Callable[[], None] | None = None,
    ) -> None:
        self.model = model
        self._report, self._raise_if_cancelled = report, raise_if_cancelled
        self._wait_if_held = wait_if_held
        self.stream = (stream or ResidualStream(model)).with_progress(self.report)
        self.cache = cache or Memo()

    def measured(self, report: Callable[[float, str], None] | None = None) -> MeasuredModel:
        """Return the model's range-independent measurements, shared by all questions.

        Long computations call ``report`` with a share and a description; by default
        :meth:`report`.
        """
        from geometry.claims.measured_model import MeasuredModel

        return MeasuredModel(
            self.model, stream=self.stream, once=self.cache, tell=report or self.report
        )

    def report(self, fraction: float | None, message: str = "", so_far: object = None) -> None:
        """Report progress; raises when the answer is cancelled, so that the work ends."""
        self.raise_if_cancelled()
        if self._report is not None:
            self._report(Progress(fraction, message, so_far))

    def raise_if_cancelled(self) -> None:
        """Raise when the answer is cancelled, and yield to long work on the GUI thread."""
        gui_first.yield_to_gui()
        if self._raise_if_cancelled is not None:
            self._raise_if_cancelled()

    def pause(self) -> None:
        """Raise when the answer is cancelled, and wait while it is held."""
        self.raise_if_cancelled()
        self.wait_if_held()

    def wait_if_held(self) -> None:
        """Wait while the answer is held; raises when it is cancelled.

        Only called between steps, when the thread holds nothing that another answer waits for.
        """
        if self._wait_if_held is not None:
            self._wait_if_held()
            self.raise_if_cancelled()


class ProgressThrottle:
    """Forwards progress at most every :data:`REPORT_INTERVAL_S` seconds.

    Otherwise a loop that reports each iteration would fill the GUI thread's queue faster than it is
    read. Each report has the latest partial result, since the report that brought it may be
    omitted.
    """

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report, self._next = report, 0.0
        self._so_far: object = None

    def __call__(self, progress: Progress) -> None:
        """Report progress, unless some was reported just before."""
        if progress.so_far is not None:
            self._so_far = progress.so_far
        now = time.monotonic()
        if now >= self._next:
            self._next = now + REPORT_INTERVAL_S
            self._report(replace(progress, so_far=self._so_far))


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Direct(Hashable, Protocol[R_co]):
    """A question that is answered in one step."""

    def answer(self, context: QuestionContext) -> R_co:
        """Compute the result, which is not None.

        Raises HelixscopeError: it cannot be answered for this model.
        """


@runtime_checkable
class Stepwise(Hashable, Protocol[R_co]):
    """A question whose answer takes long."""

    def steps(self, context: QuestionContext) -> Iterator[Progress | R_co]:
        """Yield a :class:`Progress` regularly, and the result last.

        The work can be cancelled at each yield, which may have a partial result. It also waits
        there while its panels are hidden, so nothing shared may be locked.

        Raises HelixscopeError: as :meth:`Direct.answer`.
        """


Question = Direct[R] | Stepwise[R]
"""Any question."""

Tensor = tuple[Matrix, int]


@runtime_checkable
class ReadsTensors(Protocol):
    """A question that reads large tensors, so the user is asked before a large download."""

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the tensors it reads: name ("W_E", "W_Q", …) and layer."""


def tensors_of(*subjects: Subject) -> tuple[Tensor, ...]:
    """Return the tensors of subjects, for :meth:`ReadsTensors.tensors`."""
    wanted = [("W_E" if s.name == "E" else s.name, s.layer) for s in subjects if s.name != "P"]
    return tuple(dict.fromkeys(wanted))


class ReadsTokens:
    """A question that reads the token embeddings."""

    __slots__ = ()

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(Subject("E"))


def resolve(question: Question[R], context: QuestionContext) -> R:
    """Answer a question of either kind on this thread.

    Raises HelixscopeError: as :meth:`Direct.answer`.
    """
    if not isinstance(question, Stepwise):
        return question.answer(context)
    result = None
    for step in question.steps(context):
        if isinstance(step, Progress):
            context.report(step.fraction, step.message, step.so_far)
            context.wait_if_held()
        else:
            result = step
    assert result is not None
    return result
