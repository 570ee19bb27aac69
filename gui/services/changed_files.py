"""Changed files of open models: a training is followed, other changes are reported once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakSet

from geometry.checkpoints.errors import FileChanged
from gui.services.jobs.jobs import Job, Jobs
from gui.services.notices import notice_of
from gui.services.origins import may_go_on, progress_shown, training_progress, training_state
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)

SLOT = "changed files"
ATTEMPTS = 10
"""Looks at a changed file of a training, which may be being written, until it is reported."""
ADVICE = "What is shown was computed from the earlier file. Open it again to read the new one."


class ChangedFiles:
    """Compares the files of all open models with their state at opening.

    Where a training has gone on, its later step is opened. Other changes are reported: each model
    has at most one notice, even after it was closed.

    Parameters
    ----------
    open_again
        Opens the model with a key again.
    follow
        Opens the later step of the training of the model with a key; called with that and with a
        function for its error.
    busy
        Whether the panels have not yet answered about the model that is shown; a later step, which
        would cancel that, waits.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        open_again: Callable[[int], None],
        follow: Callable[[int, Callable[[Exception], None]], None],
        busy: Callable[[], bool],
    ) -> None:
        self._session, self._jobs, self._open_again = session, jobs, open_again
        self._follow, self._busy = follow, busy
        self._looking = False
        self._reported: WeakSet[PositionalModel] = WeakSet()
        self._any = False
        self._failed: tuple[int, Hashable] | None = None
        self._attempts = 0
        self._count = len(session.open_models)
        self._listening = Listening()
        self._listening.to(session.events.model, self._look_on)
        self._listening.to(session.events.open_models, self._on_listed)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self._jobs.cancel(SLOT)

    def watch(self) -> None:
        """Look for later steps of trainings, unless a disk has not answered the last look yet.

        Called about every second; there is nothing to do without a training.
        """
        if not self._looking and any(may_go_on(model) for _, model in self._models()):
            self.look(counted=False)

    def look(self, error: FileChanged | None = None, *, counted: bool = True) -> None:
        """Compare the files on a thread, since a disk on the network may not answer.

        Parameters
        ----------
        error
            The error of a read, which is not shown elsewhere; reported by itself if it concerns
            none of the models.
        counted
            As of a :class:`gui.services.jobs.jobs.Job`.
        """
        models = dict(self._models())
        trainings = {key: model for key, model in models.items() if may_go_on(model)}

        def find() -> tuple[dict[int, FileChanged], dict[int, Hashable]]:
            errors = {}
            for key, model in models.items():
                try:
                    model.check_files()
                except FileChanged as changed:
                    errors[key] = changed
            return errors, {key: training_progress(model) for key, model in trainings.items()}

        def on_result(found: tuple[dict[int, FileChanged], dict[int, Hashable]]) -> None:
            self._looking = False
            errors, progress = found
            present, known = dict(self._models()), len(errors)
            for key, model in trainings.items():
                if present.get(key) is model and progress[key] is not None:
                    self._go_on(key, model, progress[key], errors.pop(key, None))
            goes_on = len(errors) < known
            # A closed model may be restored by undo.
            for model in set(self._reported).difference(present.values()):
                self._reported.discard(model)
            changed = {key: e for key, e in errors.items() if present.get(key) is models[key]}
            self._report(changed)
            if error is not None and not changed and not goes_on:
                self._session.notice = notice_of(error, str(error))

        def on_error(failed: Exception) -> None:
            self._looking = False
            log.error("The files could not be compared", exc_info=failed)

        self._looking = True
        # With ``stop``, it has its own thread.
        self._jobs.start(SLOT, Job(find, on_result, on_error, stop=lambda: None, counted=counted))

    def _go_on(
        self, key: int, model: PositionalModel, progress: Hashable, changed: FileChanged | None
    ) -> None:
        """Show how far a training has come, and open its later step if there is one."""
        state = training_state(progress)
        for listed in self._session.open_models:
            if listed.key == key and state:
                listed.session.training_state = state
        if (changed is None and progress == progress_shown(model)) or self._busy():
            return
        reported = self._failed == (key, progress) and self._attempts >= ATTEMPTS
        if changed is not None and reported:
            return

        def on_error(error: Exception) -> None:
            log.info("A later step of %s could not be opened", model.name, exc_info=error)
            if self._failed != (key, progress):
                self._failed, self._attempts = (key, progress), 0
            self._attempts += 1
            last = self._attempts == ATTEMPTS
            if changed is not None and last and dict(self._models()).get(key) is model:
                self._report({key: changed})

        self._follow(key, on_error)

    def open_again(self, model: PositionalModel) -> None:
        """Open a model again, if it is still open."""
        for key, present in self._models():
            if present is model:
                self._open_again(key)
                return

    def _report(self, changed: dict[int, FileChanged]) -> None:
        session, present = self._session, dict(self._models())
        for key, error in changed.items():
            model = present[key]
            if model in self._reported:
                continue
            self._reported.add(model)
            self._any = True
            alone = len(session.open_models) == 1
            text = str(error) if alone else f"{model.name}: {error}"
            session.notice = replace(notice_of(error, text), text=text, advice=ADVICE, again=model)
            return  # others are reported when this model was reopened, or at the next comparison

    def _models(self) -> Iterator[tuple[int, PositionalModel]]:
        for listed in self._session.open_models:
            if listed.session.model is not None:
                yield listed.key, listed.session.model

    def _look_on(self) -> None:
        """Report the next model, after one that was reported has been opened again."""
        if self._any:
            self.look()

    def _on_listed(self) -> None:
        """Withdraw the notice of a model that was removed."""
        session, before = self._session, self._count
        self._count = len(session.open_models)
        again = None if session.notice is None else session.notice.again
        there = any(again is model for _, model in self._models())
        # While two models exchange their places, one is missing for a moment.
        if self._count < before and again is not None and not there:
            session.notice = None
        self._look_on()
