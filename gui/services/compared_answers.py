"""Answers to the panels' questions about compared models, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gui.services.answers import Answers
from gui.services.jobs.jobs import Jobs, QueuedJobs, SlottedJobs
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from gui.services.questions import Question

AT_ONCE = 2
"""Number of answers computed at once; those about the open model have their own threads."""
MAX_BYTES = 32_000_000
"""Size limit of the cached results of each model."""


class ComparedAnswers:
    """Answers questions about each open model but the current one, in its own session."""

    def __init__(
        self, session: Session, jobs: Jobs, on_changed: Callable[[], None] = lambda: None
    ) -> None:
        self._on_changed = on_changed
        self._session, self._jobs = session, QueuedJobs(jobs, AT_ONCE)
        self._answers: dict[int, tuple[Session, Answers]] = {}
        self._listening = Listening()
        self._listening.to(session.events.open_models, self._follow)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        for _, answers in self._answers.values():
            answers.close()
        self._answers.clear()

    def ask(self, slot: str, key: int, question: Question[object], *, fetch: bool = False) -> None:
        """Answer a question about a compared model, like :meth:`gui.services.answers.Answers.ask`.

        Parameters
        ----------
        slot, question, fetch
            As there; the answer is in that model's own ``session.answers[slot]``.
        key
            The model's key; ignored if the model has been removed.
        """
        session = next((other.session for other in self._session.others if other.key == key), None)
        if session is None:
            return
        if key not in self._answers:
            jobs = SlottedJobs(self._jobs, f"beside {key}")
            self._answers[key] = session, Answers(session, jobs, MAX_BYTES, self._on_changed)
        self._answers[key][1].ask(slot, question, fetch=fetch)

    def hold(self, slot: str) -> None:
        """Hold a slot's questions about all models, as the panel is hidden."""
        with self._jobs.together():
            for _, answers in self._answers.values():
                answers.hold(slot)

    def resume(self, slot: str) -> None:
        """Continue a slot's questions about all models, as the panel is shown again."""
        for _, answers in self._answers.values():
            answers.resume(slot)

    def _follow(self) -> None:
        there = {other.key: other.session for other in self._session.others}
        for key, (asked, answers) in list(self._answers.items()):
            if there.get(key) is not asked:
                answers.close()
                del self._answers[key]
