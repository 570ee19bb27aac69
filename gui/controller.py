"""What happens when the user wants something: the only place that starts work.

Intents come in as method calls and as changes of the session's first group of fields; results go
out as changes of the second group. Nothing here knows a toolkit.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from geometry.errors import HelixscopeError, TensorUnavailable
from geometry.neighbours import position_details
from geometry.norms import norm_profile
from gui.fitting import Fitter
from gui.jobs import Jobs
from gui.listening import Listening
from gui.loading import (
    Opened,
    Wanted,
    first_source,
    list_models,
    load,
    remembered_name,
    short_name,
)
from gui.session import ColorBy, Notice, Session

if TYPE_CHECKING:
    from geometry.model import PositionalModel

log = logging.getLogger(__name__)

MAX_RECENT = 8


class Controller:
    """Answers the user's intents.

    Parameters
    ----------
    session
        The state it reads and writes, on the thread that calls it.
    jobs
        What runs slow work.
    opener
        Opens a source; ``geometry.sources.open_source`` unless a test brings its own.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        opener: Callable[..., PositionalModel] | None = None,
    ) -> None:
        self.session = session
        self._jobs = jobs
        self._opener = opener
        self._fitter = Fitter(session, jobs, self._fail)
        events = session.events
        self._listening = Listening()
        for signal, slot in (
            (events.curve, self._describe_selection),
            (events.selection, self._describe_selection),
            (events.norms_centred, self._on_norms_centred_changed),
            (events.prompt, self._tokenize),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop answering."""
        self._listening.stop()
        self._fitter.close()

    # ---- opening -----------------------------------------------------------------------

    def open(
        self,
        source: str,
        *,
        table: str | None = None,
        positions: tuple[int, int] | None = None,
        whole: bool = False,
        fresh: bool = False,
    ) -> None:
        """Open a source; what is open stays until the new one is there, or for good if it fails.

        Parameters
        ----------
        source
            Folder, file, or a model's id on the Hub, perhaps with "@revision".
        table
            Tensor to take as the position table, for an unknown architecture.
        positions
            Range to show first; 1 to the last position if None.
        whole
            Whether the user agreed to the download of a whole file.
        fresh
            Whether to ask the Hub which commit the revision is now, though one is known.
        """
        session = self.session
        wanted = Wanted(source, table, positions, session.components, session.norms_centred)

        def announce() -> None:
            session.change(opening=source, status=f"Opening {short_name(source)}…")

        self._jobs.cancel("first")
        session.notice = None
        self._jobs.start(
            "open",
            lambda: load(wanted, self._opener),
            lambda opened: self._show(source, opened),
            lambda error: self._on_opening_failed(error, source),
            announce,
        )
        if session.opening:
            announce()  # in place of the one that is given up

    def open_first(
        self, source: str | None, last: str = "", positions: tuple[int, int] | None = None
    ) -> None:
        """Open what the window starts with.

        Parameters
        ----------
        source
            What the user asked for; opened whatever comes of it.
        last
            What was open when the window was closed last; "" at the first start. If it is gone,
            or at the first start, the best model that is on this machine is opened; if there is
            none, nothing.
        positions
            Range to show first.
        """
        if source is not None:
            self.open(source, positions=positions)
            return
        self._jobs.start(
            "first",
            lambda: first_source(last),
            lambda found: self.open(found, positions=positions) if found else None,
            lambda error: self._fail(error, "The list of models could not be read"),
        )

    def switch_side(self) -> None:
        """Open the other table of a model that has two, the decoder's or the encoder's."""
        model = self.session.model
        if model is not None and model.sides:
            other = next(side for side in model.sides if side != model.side)
            self.open(model.source, table=other)

    def cancel_opening(self) -> None:
        """Give up on the source being opened; what was open stays."""
        for slot in ("first", "open"):
            self._jobs.cancel(slot)
        self.session.opening = ""
        self.session.status = "Opening cancelled"

    def retry(self, *, whole: bool = False) -> None:
        """Do again what the notice says has failed; ``whole`` agrees to the whole download."""

    def check_for_update(self) -> None:
        """Ask the Hub whether the open model has a newer version, and open that."""

    def search_hub(self, text: str) -> None:
        """Search the Hub for models; the newest search wins, and "" ends searching."""

    def refresh_models(self) -> None:
        """Read the catalogue again, and what of it is on this machine."""
        self._jobs.start(
            "models",
            list_models,
            lambda rows: setattr(self.session, "models", rows),
            lambda error: self._fail(error, "The list of models could not be read"),
        )

    def _on_opening_failed(self, error: Exception, source: str) -> None:
        self.session.opening = ""
        self._fail(error, f"{short_name(source)} could not be opened", source)

    def _show(self, source: str, opened: Opened) -> None:
        session, model, norms = self.session, opened.model, opened.norms
        self._fitter.pause()
        if norms.centred != session.norms_centred:  # changed while the model was being opened
            norms = norm_profile(model.W_pos, centred=session.norms_centred)
        session.change(
            # The first to be told of, so that it is on the screen before the panels begin.
            curve=opened.curve,
            hover=None,
            details=None,
            tokens=None,
            selection=tuple(p for p in session.selection if p < model.n_positions),
            model=model,
            positions=opened.curve.pca.positions,
            turn=np.eye(3),
            norms=norms,
        )
        session.opening = ""
        source = remembered_name(source)
        session.recent = (source, *(r for r in session.recent if r != source))[:MAX_RECENT]
        session.status = "Ready"
        if model.warnings:
            session.notice = Notice(" ".join(model.warnings))
        self._tokenize()
        self._fitter.use(opened.fast)

    # ---- the range and the colours -------------------------------------------------------

    def request_positions(self, first: int, last: int) -> None:
        """Show a range; it is put in order and kept inside the table."""
        if self.session.model is None:
            return
        end = self.session.model.n_positions - 1
        first, last = sorted((min(max(first, 0), end), min(max(last, 0), end)))
        self.session.positions = (first, last)

    def color_by(self, quantity: ColorBy, component: int) -> None:
        """Colour the curve by a quantity; ``component`` (1-based) counts for "component"."""
        self.session.color_component = component
        self.session.color_by = quantity

    # ---- selection, norms, prompt ------------------------------------------------------

    def select(self, positions: tuple[int, ...]) -> None:
        """Select positions, the last one being the current one; those off the table are dropped."""
        if self.session.model is None:
            return
        n = self.session.model.n_positions
        # Of a position that comes twice the last mention counts: the last one is the current one.
        last_first = dict.fromkeys(p for p in reversed(positions) if 0 <= p < n)
        self.session.selection = tuple(last_first)[::-1]

    def walk(self, step: int) -> None:
        """Move the current position along the curve, inside the table."""
        if self.session.model is None:
            return
        first, end = self.session.positions[0], self.session.model.n_positions - 1
        current = self.session.current
        target = first if current is None else min(max(current + step, 0), end)
        self.select((target,))

    def _describe_selection(self) -> None:
        session = self.session
        if session.model is None or session.pca is None or session.current is None:
            session.details = None
            return
        session.details = position_details(
            session.model.W_pos, session.pca, session.current, session.components
        )

    def _on_norms_centred_changed(self) -> None:
        if self.session.model is not None:
            self.session.norms = norm_profile(
                self.session.model.W_pos, centred=self.session.norms_centred
            )

    def _tokenize(self) -> None:
        """Split the prompt; reading a tokenizer the first time takes a moment."""
        model, text = self.session.model, self.session.prompt
        self.session.tokens_missing = ""
        if model is None or not text:
            self._jobs.cancel("tokens")
            self.session.tokens = None
            return
        self._jobs.start(
            "tokens",
            lambda: model.tokenize(text),
            lambda tokens: setattr(self.session, "tokens", tokens),
            self._on_tokens_failed,
        )

    def _on_tokens_failed(self, error: Exception) -> None:
        self.session.tokens = None
        if isinstance(error, TensorUnavailable):
            # No tokenizer is a property of the checkpoint and no mishap: the panel says it.
            self.session.tokens_missing = str(error)
            return
        self._fail(error, "The prompt could not be split into tokens")
        self.session.tokens_missing = "The prompt could not be split into tokens."

    # ---- errors ------------------------------------------------------------------------

    def _fail(self, error: Exception, what: str, source: str = "") -> None:
        """Report a failed job in one plain sentence; the traceback goes to the log."""
        log.error("%s", what, exc_info=error)
        session = self.session
        if not session.opening:
            session.status = "Ready"
        details = "".join(traceback.format_exception(error))
        if isinstance(error, HelixscopeError):
            candidates = tuple(info.name for info in getattr(error, "candidates", ()))
            session.notice = Notice(str(error), error.advice, details, candidates, source)
        else:
            session.notice = Notice(
                f"{what}: {type(error).__name__}: {error}",
                "This is a fault of Helixscope; the details help to mend it.",
                details,
            )
