"""What happens when the user wants something: the only place that starts work.

Intents come in as method calls and as changes of the session's first group of fields; results go
out as changes of the second group. Nothing here knows a toolkit.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.curve import Curve, place_curve
from geometry.errors import HelixscopeError, TensorUnavailable
from geometry.neighbours import position_details
from geometry.norms import NormProfile, norm_profile
from geometry.pca import PositionPCA, fit_pca
from geometry.range_pca import RangePCA
from gui.cache import ResultCache
from gui.jobs import Jobs
from gui.session import ColorBy, ModelRow, Notice, Session
from gui.turn import turn_onto

if TYPE_CHECKING:
    from geometry.model import PositionalModel

log = logging.getLogger(__name__)

N_COMPONENTS = 10
"""Components that are fitted, shown as bars and on offer for the axes."""
INLINE_SIZE = 6_000_000
"""Tables with more entries than this are fitted in the background even while dragging."""
MAX_RECENT = 8


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """All that showing a newly opened model needs, computed off the GUI thread."""

    model: PositionalModel
    fast: RangePCA
    curve: Curve
    norms: NormProfile


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
        self._fast: RangePCA | None = None
        self._cache = ResultCache(max_bytes=64 << 20)
        events = session.events
        self._listening = [
            (events.positions, self._on_positions_changed),
            (events.dragging, self._on_dragging_changed),
            (events.components, self._on_components_changed),
            (events.color_component, self._on_components_changed),
            (events.keep_turned, self._on_keep_turned_changed),
            (events.selection, self._on_selection_changed),
            (events.norms_centred, self._on_norms_centred_changed),
            (events.prompt, self._on_prompt_changed),
        ]
        for signal, slot in self._listening:
            signal.connect(slot)

    def close(self) -> None:
        """Stop answering."""
        for signal, slot in self._listening:
            signal.disconnect(slot, missing_ok=True)
        self._listening.clear()

    # ---- opening -----------------------------------------------------------------------

    def open(
        self, source: str, *, table: str | None = None, positions: tuple[int, int] | None = None
    ) -> None:
        """Open a source; what is open stays until the new one is there, or for good if it fails.

        Parameters
        ----------
        source
            Folder, file, catalogue id.
        table
            Tensor to take as the position table, for an unknown architecture.
        positions
            Range to show first; 1 to the last position if None.
        """
        session = self.session
        session.opening = source
        session.notice = None
        session.status = f"Opening {_short(source)}…"
        self._jobs.start(
            "open",
            lambda: self._load(source, table, positions),
            lambda opened: self._show(source, opened),
            lambda error: self._fail(error, f"{_short(source)} could not be opened", source),
        )

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
            lambda: last if last and Path(last).exists() else _best_model_here(),
            lambda found: self.open(found, positions=positions) if found else None,
            lambda error: self._fail(error, "The list of models could not be read"),
        )

    def cancel_opening(self) -> None:
        """Give up on the source being opened; what was open stays."""
        self._jobs.cancel("open")
        self.session.opening = ""
        self.session.status = "Opening cancelled"

    def refresh_models(self) -> None:
        """Read the catalogue again, and what of it is on this machine."""
        self._jobs.start(
            "models",
            _list_models,
            lambda rows: setattr(self.session, "models", rows),
            lambda error: self._fail(error, "The list of models could not be read"),
        )

    def _load(self, source: str, table: str | None, positions: tuple[int, int] | None) -> Opened:
        opener = self._opener
        if opener is None:
            from geometry.sources import open_source as opener
        model = opener(source, table=table)
        if positions is None:
            positions = (min(1, model.n_positions - 1), model.n_positions - 1)
        fast = RangePCA(model.W_pos)
        pca = fast.fit(positions, self._wanted_components())
        curve = place_curve(model.W_pos, pca, self.session.components)
        norms = norm_profile(model.W_pos, centred=self.session.norms_centred)
        return Opened(model, fast, curve, norms)

    def _show(self, source: str, opened: Opened) -> None:
        session = self.session
        self._fast = None  # no refit while the old table's range gives way to the new one's
        session.hover = None
        session.model = opened.model
        session.positions = opened.curve.pca.positions
        session.turn = np.eye(3)
        session.norms = opened.norms
        session.curve = opened.curve
        self._fast = opened.fast
        session.opening = ""
        session.recent = (source, *(r for r in session.recent if r != source))[:MAX_RECENT]
        session.status = "Ready"
        session.selection = tuple(p for p in session.selection if p < opened.model.n_positions)
        self._describe_selection()
        self._tokenize()
        self._fit_exactly()

    # ---- the range and the components --------------------------------------------------

    def request_positions(self, first: int, last: int) -> None:
        """Show a range; it is put in order and kept inside the table."""
        if self.session.model is None:
            return
        end = self.session.model.n_positions - 1
        first, last = sorted((min(max(first, 0), end), min(max(last, 0), end)))
        self.session.positions = (first, last)

    def _on_positions_changed(self) -> None:
        self._refit()

    def _on_components_changed(self) -> None:
        self._refit()

    def _on_dragging_changed(self, dragging: bool) -> None:
        if not dragging:
            self._fit_exactly()

    def _on_keep_turned_changed(self, keep_turned: bool) -> None:
        if not keep_turned and not self.session.dragging:
            self._straighten()

    def _wanted_components(self) -> int:
        return max(N_COMPONENTS, *self.session.components, self.session.color_component)

    def _refit(self) -> None:
        """Fit the range fast, at once where the table is small; exactly when no drag is on."""
        model, fast, positions = self.session.model, self._fast, self.session.positions
        if model is None or fast is None:
            return
        k = max(*self.session.components, 3)
        if model.W_pos.size <= INLINE_SIZE:
            self._take(fast.fit(positions, k))
        else:
            self._jobs.start(
                "range",
                lambda: fast.fit(positions, k),
                self._take,
                lambda error: self._fail(error, "The components could not be fitted"),
            )
        if not self.session.dragging:
            self._fit_exactly()

    def _take(self, pca: PositionPCA) -> None:
        """Show a fit, turned onto what was shown before."""
        session = self.session
        assert session.model is not None
        previous = session.curve
        curve = place_curve(session.model.W_pos, pca, session.components)
        if previous is not None and previous.components == curve.components:
            session.turn = turn_onto(curve, previous, session.turn)
        else:
            session.turn = np.eye(3)
        session.curve = curve
        self._describe_selection()

    def _fit_exactly(self) -> None:
        model, positions, k = self.session.model, self.session.positions, self._wanted_components()
        if model is None or self._fast is None:
            return
        key = (model.fingerprint, "pca", positions, k)
        found = self._cache.get(key)
        if found is not None:
            self._jobs.cancel("exact")
            self._finish(found)
            return
        self.session.status = f"Fitting positions {positions[0]}–{positions[1]} exactly…"
        self._jobs.start(
            "exact",
            lambda: fit_pca(model.W_pos, positions, k),
            lambda pca: self._finish(self._cache.put(key, pca)),
            lambda error: self._fail(error, "The components could not be fitted"),
        )

    def _finish(self, pca: PositionPCA) -> None:
        """Show the exact fit, and the components as they truly lie unless the user prefers not."""
        if pca.positions != self.session.positions:
            return
        self._take(pca)
        self.session.status = "Ready"
        if not self.session.keep_turned and not self.session.dragging:
            self._straighten()

    def _straighten(self) -> None:
        if not np.array_equal(self.session.turn, np.eye(3)):
            self.session.turn = np.eye(3)

    # ---- colours -----------------------------------------------------------------------

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
        self.session.selection = tuple(dict.fromkeys(p for p in positions if 0 <= p < n))

    def click(self, position: int, *, extend: bool = False, through: bool = False) -> None:
        """Select what a click on a point means.

        Parameters
        ----------
        position
            The point.
        extend
            Add it to the selection, or take it out (shift).
        through
            Select everything from the current position to it (control and shift).
        """
        selection, current = self.session.selection, self.session.current
        if through and current is not None:
            step = 1 if position >= current else -1
            self.select((*selection, *range(current, position + step, step)))
        elif extend and position in selection:
            self.select(tuple(p for p in selection if p != position))
        elif extend:
            self.select((*selection, position))
        else:
            self.select((position,))

    def walk(self, step: int) -> None:
        """Move the current position along the curve, inside the table."""
        if self.session.model is None:
            return
        first, end = self.session.positions[0], self.session.model.n_positions - 1
        current = self.session.current
        target = first if current is None else min(max(current + step, 0), end)
        self.select((target,))

    def _on_selection_changed(self) -> None:
        self._describe_selection()

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

    def _on_prompt_changed(self) -> None:
        self._tokenize()

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
        session.opening = ""
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


def _short(source: str) -> str:
    return source.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or source


def _best_model_here() -> str | None:
    """Return the first model of the catalogue that opens without a network, or None."""
    from geometry.catalogue import locate, read_catalogue

    return next((entry.id for entry in read_catalogue() if locate(entry) is not None), None)


def _list_models() -> tuple[ModelRow, ...]:
    from geometry.catalogue import read_catalogue, state

    rows: list[Any] = [ModelRow(entry, state(entry)) for entry in read_catalogue()]
    return tuple(rows)
