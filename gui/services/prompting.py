"""Tokenizing the prompt; the tokenizer may have to be downloaded first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry.checkpoints.errors import TensorUnavailable
from geometry.hub.faults import LargeTokenizer, Offline
from gui.services.fetching import Fetch
from gui.services.jobs.jobs import Job, Jobs, OnError
from gui.state.session import Session

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import Transfer, TransferProgress
    from geometry.models.model import PositionalModel, TokenizedPrompt

MISHAP = "The prompt could not be split into tokens"
CANCELLED = "The download of the tokenizer was cancelled; edit the text to start it again."


class Prompting:
    """Updates ``session.tokens`` for the prompt and the open model."""

    def __init__(self, session: Session, jobs: Jobs, on_error: OnError) -> None:
        self._session, self._jobs, self._on_error = session, jobs, on_error
        self._busy: PositionalModel | None = None
        self._slow = False
        self._progress: TransferProgress | None = None

    @property
    def fetching(self) -> bool:
        """Whether the download of a tokenizer is shown."""
        return self._busy is not None and self._slow and self._progress is not None

    def tokenize(self) -> None:
        """Tokenize the prompt; loading the tokenizer the first time takes a moment."""
        session = self._session
        model, text = session.model, session.prompt
        session.change(tokens_to_fetch=0, tokens_missing="")
        if model is None or not text:
            self._give_up()
            session.tokens = None
        elif model is not self._busy:
            self._give_up()
            self._start(model, text)
        # Otherwise the prompt is tokenized when the current download is done.

    def fetch(self) -> None:
        """Download a large tokenizer with the user's consent."""
        if self._session.model is not None:
            self._session.model.agree("tokenizer")
            self.tokenize()

    def cancel(self) -> None:
        """Cancel the download of a tokenizer."""
        self._give_up()
        self._session.tokens_missing = CANCELLED

    def _start(self, model: PositionalModel, text: str) -> None:
        def work(transfer: Transfer) -> TokenizedPrompt:
            with model.through(transfer):
                return model.tokenize(text)

        self._busy, self._slow, self._progress = model, False, None
        fetch = Fetch(work)
        self._jobs.start(
            "tokens",
            Job(
                fetch,
                lambda tokens: self._show(tokens, text),
                lambda error: self._fail(error, model, text),
                self._on_slow,
                on_progress=self._on_progress,
                stop=fetch.stop,
            ),
        )

    def _give_up(self) -> None:
        self._jobs.cancel("tokens")
        self._end()

    def _end(self) -> None:
        shown, self._busy, self._progress = self.fetching, None, None
        if shown and not self._session.opening:
            self._session.transfer = None

    def _on_slow(self) -> None:
        self._slow = True
        if self._progress is not None:
            self._on_progress(self._progress)

    def _on_progress(self, progress: TransferProgress) -> None:
        self._progress = progress
        if self._slow and not self._session.opening:  # an opening has precedence in the status
            self._session.transfer = progress

    def _show(self, tokens: TokenizedPrompt, text: str) -> None:
        self._end()
        if text == self._session.prompt:
            self._session.tokens = tokens
        else:
            self.tokenize()

    def _fail(self, error: Exception, model: PositionalModel, text: str) -> None:
        self._end()
        session = self._session
        session.tokens = None
        if text != session.prompt:
            self.tokenize()
            return
        if isinstance(error, TensorUnavailable):
            # A missing tokenizer is a property of the checkpoint, not an error: the panel shows it.
            session.tokens_missing = str(error)
            return
        if isinstance(error, Offline):
            session.tokens_missing = (
                f"The tokenizer of {model.name} is not on this machine yet, and Helixscope is "
                "offline."
            )
            return
        if isinstance(error, LargeTokenizer):
            session.change(tokens_to_fetch=error.nbytes, tokens_missing=str(error))
            return
        self._on_error(error, MISHAP)
        session.tokens_missing = f"{MISHAP}."
