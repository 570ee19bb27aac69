"""Answers to the panels' questions about compared models, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import MappingProxyType
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
    """Answers questions about each compared model in its own session.

    Also maintains ``session.compared_colors``: a model keeps its colour while others are added or
    removed.
    """

    def __init__(
        self, session: Session, jobs: Jobs, on_changed: Callable[[], None] = lambda: None
    ) -> None:
        self._on_changed = on_changed
        self._session, self._jobs = session, QueuedJobs(jobs, AT_ONCE)
        self._answers: dict[int, tuple[Session, Answers]] = {}
        self._sources: dict[int, str] = {}
        self._listening = Listening()
        self._listening.to(session.events.compared, self._follow)

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
        session = next((c.session for c in self._session.compared if c.key == key), None)
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
        session = self._session
        there = {compared.key: compared.session for compared in session.compared}
        for key, (asked, answers) in list(self._answers.items()):
            if there.get(key) is not asked:
                answers.close()
                del self._answers[key]
        sources = {compared.key: compared.source for compared in session.compared}
        same = {key for key, source in sources.items() if self._sources.get(key, source) == source}
        self._sources = sources
        # Curves of models that were removed or became the open model are no longer hidden.
        session.hidden_curves = frozenset(h for h in session.hidden_curves if h[1] in same)
        colors = {key: n for key, n in session.compared_colors.items() if key in there}
        for key in there:
            if key not in colors:
                free = (number for number in count() if number not in colors.values())
                colors[key] = next(free)
        if colors != session.compared_colors:
            session.compared_colors = MappingProxyType(colors)
