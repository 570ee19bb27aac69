"""Running the prompt through the model's network, in a separate process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import FileChanged, HelixscopeError
from gui.services.jobs.jobs import Job, Jobs, OnError
from gui.state.session import Session
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.inside.prompt import PromptRun
    from geometry.inside.worker import WorkerProgress
    from geometry.models.model import PositionalModel
    from gui.state.guides import ShownChange

SLOT = "run prompt"
MISHAP = "The prompt could not be run"
STOPPED = "Stopped before it was complete."
OTHER = "The network’s tokenizer splits this text into other tokens than those shown."


class PromptRunning:
    """Updates ``session.prompt_run`` when asked to; another model or text clears it."""

    def __init__(self, session: Session, jobs: Jobs, on_error: OnError) -> None:
        self._session, self._jobs, self._on_error = session, jobs, on_error
        self._listening = Listening()
        for signal in (session.events.model, session.events.prompt):
            self._listening.to(signal, self._forget)

    def close(self) -> None:
        """Stop listening, and the process."""
        self._listening.stop()
        self._jobs.cancel(SLOT)

    def run(self) -> None:
        """Run the prompt as it is and, if the viewport shows a change, after that change."""
        if self._session.model is not None and self._session.tokens is not None:
            self._start(self._session.model, self._session.shown_change)

    def _start(
        self, model: PositionalModel, change: ShownChange | None, unchanged: str = ""
    ) -> None:
        """Start a process; ``unchanged`` is the reason why a shown change is left out."""
        session = self._session
        self._jobs.cancel(SLOT)
        stopped = threading.Event()
        request: dict[str, object] = {
            "source": model.source.text,
            "table": model.table_choice,
            "fingerprint": model.fingerprint,
            "text": session.prompt,
            "change": None if change is None else change.name,
            "length": None if change is None else change.length,
        }
        session.change(prompt_run=None, prompt_run_failed="", prompt_running=True)
        self._jobs.start(
            SLOT,
            Job(
                partial(_run, request, stopped),
                lambda run: self._on_done(run, unchanged),
                lambda error: self._on_failed(error, model, change),
                on_progress=lambda _: None,
                stop=stopped.set,
            ),
        )

    def cancel(self) -> bool:
        """Stop the process; return whether one was running."""
        if not self._session.prompt_running:
            return False
        self._jobs.cancel(SLOT)
        self._session.change(prompt_running=False, prompt_run_failed=STOPPED)
        return True

    def _forget(self) -> None:
        self._jobs.cancel(SLOT)
        self._session.change(prompt_run=None, prompt_run_failed="", prompt_running=False)

    def _on_done(self, run: PromptRun | None, unchanged: str) -> None:
        session = self._session
        shown = session.tokens
        # Checked now: at the start, the text may not have been split into tokens yet.
        if run is not None and (shown is None or run.ids != shown.ids):
            session.change(prompt_running=False, prompt_run_failed=OTHER)
        else:
            session.change(prompt_run=run, prompt_run_failed=unchanged, prompt_running=False)

    def _on_failed(
        self, error: Exception, model: PositionalModel, change: ShownChange | None
    ) -> None:
        message = f"{MISHAP}."
        if isinstance(error, HelixscopeError) and not isinstance(error, FileChanged):
            if change is not None:  # run the text without the change
                self._start(model, None, f"Without the change that is shown: {error}")
                return
            message = f"{error} {error.advice}".strip()
        else:
            self._on_error(error, MISHAP)
        self._session.change(prompt_running=False, prompt_run_failed=message)


def _run(
    request: dict[str, object], stopped: threading.Event, report: Callable[[WorkerProgress], None]
) -> PromptRun | None:
    """Wait for a process; None if it was stopped."""
    from geometry.inside.prompt import from_json
    from geometry.inside.worker import run_in_subprocess

    with closing(run_in_subprocess("prompt", **request)) as telling:
        while not stopped.is_set():
            try:
                report(next(telling))
            except StopIteration as end:
                return from_json(end.value)
    return None
