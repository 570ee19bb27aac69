"""Answers to the panels' questions about the open model, each computed once, on a thread.

A panel asks under its own name, its slot, and reads ``session.answers[slot]``. The newest question
of a slot replaces earlier ones; a question that no slot waits for is cancelled. While all panels
that wait for a question are hidden, it is held after its current step.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from geometry.checkpoints.errors import FileChanged, HelixscopeError, RangeError, TensorUnavailable
from geometry.checkpoints.memo import Memo
from geometry.checkpoints.plugins import report_to
from geometry.hub.faults import WholeDownload
from gui.services.cache import ResultCache
from gui.services.jobs.jobs import Gate, Job, Jobs
from gui.state.answer import Answer
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import format_bytes, format_part

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.models.model import PositionalModel
    from geometry.models.residual_stream import ResidualStream
    from gui.services.questions import Progress, Question, QuestionContext

log = logging.getLogger(__name__)

R = TypeVar("R")

MAX_BYTES = 256_000_000
"""Size limit of the results kept in memory."""
FAULT = "This is an error in Helixscope; see the log for details."


class FetchFirst(Exception):
    """A large download is needed to which the user has not agreed.

    Attributes
    ----------
    nbytes
        Its size; 0 if unknown.
    why
        The reason as a sentence, or "" if just a tensor is large.
    """

    def __init__(self, nbytes: int, why: str = "") -> None:
        super().__init__(nbytes)
        self.nbytes, self.why = nbytes, why


@dataclass(eq=False, slots=True)
class _Pending:
    """A question being answered."""

    job: str
    announced: bool = False
    fraction: float | None = None
    message: str = ""
    so_far: object = None
    seen: bool = True


class Answers:
    """Answers questions in ``session.answers``.

    Parameters
    ----------
    max_bytes
        Size limit of the results kept in memory.
    on_changed
        Called when a question could not be answered because a file has changed.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        max_bytes: int = MAX_BYTES,
        on_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._session, self._jobs, self._on_changed = session, jobs, on_changed
        self._cache: ResultCache[object] = ResultCache(max_bytes)
        self._agreed: dict[Question[object], float] = {}
        self._model: PositionalModel | None = None
        self._first: PositionalModel | None = None
        self._stream: ResidualStream | None = None
        self._memo = Memo()
        self._wanted: dict[str, Question[object]] = {}
        self._running: dict[Question[object], _Pending] = {}
        self._hidden: set[str] = set()
        self._quiet: set[str] = set()
        self._listening = Listening()
        self._listening.to(session.events.model, self._follow_model)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self._give_up_all()

    def ask(
        self, slot: str, question: Question[object], *, fetch: bool = False, quiet: bool = False
    ) -> None:
        """Answer a question of a visible slot, replacing its earlier question.

        A cached answer is set at once; otherwise the slot's answer stays unchanged, or becomes
        "working" after a short delay.

        Parameters
        ----------
        slot
            Name of the asking panel.
        question
            A :class:`gui.services.questions.Question`.
        fetch
            The user agrees to the download given in the slot's answer, or to any if it gives none.
        quiet
            Its progress is not shown, so that :meth:`cancel_newest` skips it.
        """
        self._follow_model()
        if self._model is None:
            return
        if fetch:
            self._note_agreement(self._model, question, self._session.answers.get(slot))
        before = self._wanted.pop(slot, None)
        self._wanted[slot] = question  # the newest is the last
        self._hidden.discard(slot)
        (self._quiet.add if quiet else self._quiet.discard)(slot)
        if before is not None and before != question:
            self._give_up(before)
        result = self._cache.get(question)
        run = self._running.get(question)
        if result is not None:
            self._publish(slot, Answer(question, "ready", result))
        elif run is None:
            self._start(question)
        else:
            self._hold_or_resume(question)
            if run.announced:
                self._publish(slot, self._working(question, run))

    def cancel(self, slot: str) -> None:
        """Cancel a slot's question, unless other slots wait for it too; keep its partial result."""
        question = self._wanted.pop(slot, None)
        run = None if question is None else self._running.get(question)
        if question is not None and run is not None:
            self._give_up(question)
            self._publish(slot, Answer(question, "cancelled", run.so_far))

    def cancel_newest(self) -> bool:
        """Cancel the newest question whose progress is shown.

        Returns False if there is none.
        """
        for slot, question in reversed(self._wanted.items()):
            run = self._running.get(question)
            if run is not None and run.announced and run.seen and slot not in self._quiet:
                self.cancel(slot)
                return True
        return False

    @property
    def busy(self) -> bool:
        """Whether a visible panel waits for an answer that would begin anew for another model.

        Not for a quiet one, or one of a question that ``resumes`` and has a partial answer.
        """
        for slot, question in self._wanted.items():
            run = self._running.get(question)
            if run is not None and run.seen and slot not in self._quiet:
                resumes = run.so_far is not None and getattr(question, "resumes", False)
                if not resumes:
                    return True
        return False

    def hold(self, slot: str) -> None:
        """Hold a slot's question, as the panel is hidden."""
        self._hidden.add(slot)
        if slot in self._wanted:
            self._hold_or_resume(self._wanted[slot])

    def resume(self, slot: str) -> None:
        """Continue a slot's question, as the panel is shown again."""
        self._hidden.discard(slot)
        if slot in self._wanted:
            self._hold_or_resume(self._wanted[slot])

    def forget(self, slot: str) -> None:
        """Cancel a slot's question without an answer, as it is no longer shown."""
        question = self._wanted.pop(slot, None)
        if question is None or question not in self._running:
            return
        self._give_up(question)
        answers = dict(self._session.answers)
        if slot in answers and answers[slot].state == "working":
            del answers[slot]
            self._session.answers = MappingProxyType(answers)

    def _note_agreement(
        self, model: PositionalModel, question: Question[object], answer: Answer | None
    ) -> None:
        """Record the user's consent to a download, also for later attempts."""
        if answer is None or answer.question != question or answer.state != "to fetch":
            self._agreed[question] = math.inf
            return
        self._agreed[question] = answer.bytes_to_fetch or math.inf
        if answer.why:
            model.agree("whole files")

    # ---- work ----------------------------------------------------------------------------

    def _start(self, question: Question[object]) -> None:
        from geometry.checkpoints.transfer import Transfer
        from gui.services.questions import Progress, ProgressThrottle, QuestionContext

        assert self._model is not None
        model, stream, run = self._model, self._stream_of(self._model), _Pending(self._free_job())
        memo, gate = self._memo, Gate()
        agreed, self._running[question] = self._agreed.get(question, 0), run

        def on_transfer(progress: TransferProgress) -> None:
            if report_progress is not None:
                report_progress(_fetching(progress, Progress))

        transfer = Transfer(on_transfer)
        report_progress: Callable[[Progress], None] | None = None

        def work(report: Callable[[Progress], None]) -> object:
            nonlocal report_progress
            report_progress = report
            context = QuestionContext(
                model, stream, ProgressThrottle(report), transfer.check, memo, gate.wait
            )
            context.wait_if_held()
            with model.through(transfer):
                return answer_within(question, context, agreed)

        self._jobs.start(
            run.job,
            Job(
                work,
                lambda result: self._on_result(question, result),
                lambda error: self._on_error(question, error),
                lambda: self._on_slow(question),
                on_progress=partial(self._on_progress, question),
                stop=transfer.cancel,
                gate=gate,
            ),
        )

    def _stream_of(self, model: PositionalModel) -> ResidualStream:
        from geometry.models.kept_directions import DirectionsOnDisk
        from geometry.models.residual_stream import ResidualStream

        if self._stream is None:
            self._stream = ResidualStream(model, DirectionsOnDisk(model))
        return self._stream

    def _free_job(self) -> str:
        taken = {run.job for run in self._running.values()}
        names = (f"answer {number}" for number in range(len(taken) + 1))
        return next(name for name in names if name not in taken)

    def _give_up(self, question: Question[object]) -> None:
        """Stop working on a question, unless a slot waits for it."""
        if question in self._wanted.values():
            self._hold_or_resume(question)
        elif question in self._running:
            self._jobs.cancel(self._running.pop(question).job)

    def _hold_or_resume(self, question: Question[object]) -> None:
        """Hold a question if all slots that wait for it are hidden; otherwise resume it."""
        run = self._running.get(question)
        slots = {slot for slot, wanted in self._wanted.items() if wanted == question}
        seen = not slots <= self._hidden
        if run is not None and run.seen is not seen:
            run.seen = seen
            (self._jobs.resume if seen else self._jobs.hold)(run.job)

    def _give_up_all(self) -> None:
        self._wanted.clear()
        for question in list(self._running):
            self._give_up(question)

    def _follow_model(self) -> None:
        """Discard everything when another model is open."""
        if self._session.model is self._model:
            return
        self._give_up_all()
        self._cache.clear()
        self._agreed.clear()
        before, self._first = self._first, self._session.first_model
        goes_on = self._first is not None and self._first is before
        self._model, self._stream = self._session.model, None
        self._memo = Memo(self._memo.lasting if goes_on else None)
        self._session.answers = MappingProxyType({})

    # ---- results -------------------------------------------------------------------------

    def _on_slow(self, question: Question[object]) -> None:
        run = self._running[question]
        run.announced = True
        self._publish_all(question, self._working(question, run))

    def _on_progress(self, question: Question[object], progress: Progress) -> None:
        run = self._running[question]
        run.fraction, run.message = progress.fraction, progress.message or run.message
        run.so_far = run.so_far if progress.so_far is None else progress.so_far
        if run.announced:
            self._publish_all(question, self._working(question, run))

    def _on_result(self, question: Question[object], result: object) -> None:
        del self._running[question]
        self._cache.put(question, result)
        self._publish_all(question, Answer(question, "ready", result))

    def _on_error(self, question: Question[object], error: Exception) -> None:
        del self._running[question]
        if isinstance(error, FetchFirst):
            answer = Answer(question, "to fetch", why=error.why, bytes_to_fetch=error.nbytes)
        elif isinstance(error, HelixscopeError):
            from geometry.history.here import NoHistory

            final = isinstance(error, TensorUnavailable | RangeError | NoHistory)
            why, advice = str(error), error.advice
            answer = Answer(question, "impossible", why=why, advice=advice, retry=not final)
            if isinstance(error, FileChanged):
                self._on_changed()
        else:
            log.error("%r could not be answered", question, exc_info=error)
            why = f"This could not be computed: {type(error).__name__}: {error}"
            advice = report_to(error, FAULT)
            answer = Answer(question, "impossible", why=why, advice=advice, retry=True)
        self._publish_all(question, answer)

    def _working(self, question: Question[object], run: _Pending) -> Answer:
        return Answer(question, "working", run.so_far, fraction=run.fraction, message=run.message)

    def _publish_all(self, question: Question[object], answer: Answer) -> None:
        slots = [slot for slot, wanted in self._wanted.items() if wanted == question]
        self._set(dict.fromkeys(slots, answer))

    def _publish(self, slot: str, answer: Answer) -> None:
        self._set({slot: answer})

    def _set(self, answers: Mapping[str, Answer]) -> None:
        self._session.answers = MappingProxyType({**self._session.answers, **answers})


def _fetching(progress: TransferProgress, progress_type: type[Progress]) -> Progress:
    """Return a download's progress as that of an answer."""
    share = progress.done / progress.total if progress.total else None
    amount = format_bytes(progress.done)
    if progress.total:
        amount = format_part(progress.done, progress.total)
    text = progress.waiting or f"{progress.what}: {amount}"
    return progress_type(share, text if progress.waiting else f"Downloading {text}")


# ---- consent to large downloads ----


def answer_within(question: Question[R], context: QuestionContext, agreed: float) -> R:
    """Answer a question on this thread, unless it needs a larger download than agreed to.

    Parameters
    ----------
    agreed
        Bytes that the user agreed to; 0 if not asked yet.

    Raises
    ------
    FetchFirst
        The user has to be asked.
    HelixscopeError
        As :func:`gui.services.questions.resolve`.
    """
    from geometry.hub.network import LARGE
    from gui.services.questions import resolve

    try:
        nbytes = _to_fetch(context.model, question)
        if nbytes > max(LARGE, agreed):
            raise FetchFirst(nbytes)
        return resolve(question, context)
    except WholeDownload as error:
        nbytes = _whole(context.model, question, error)
        if (nbytes or math.inf) > agreed:
            raise FetchFirst(nbytes, str(error)) from error
    context.model.agree("whole files")
    return resolve(question, context)


def _whole(model: PositionalModel, question: object, error: WholeDownload) -> int:
    """Return a question's download from a server without range support; 0 if unknown."""
    if error.nbytes is None:
        return 0
    with suppress(WholeDownload):  # of another file of unknown size
        return max(error.nbytes, _to_fetch(model, question))
    return error.nbytes


def _to_fetch(model: PositionalModel, question: object) -> int:
    """Return the size of the question's tensors that are on the Hub and not cached."""
    from gui.services.questions import ReadsTensors

    # Missing tensors count 0: the question itself reports them.
    return model.bytes_to_fetch_for(question.tensors()) if isinstance(question, ReadsTensors) else 0
