"""Fitting the components of the shown range: fast while dragging, then exactly."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.threads import one_thread
from geometry.pca.curve import place_curve
from geometry.pca.pca import PositionPCA, fit_pca
from geometry.pca.range_pca import RangePCA
from gui.services.cache import ResultCache
from gui.services.jobs.jobs import Job, Jobs, OnError
from gui.state.session import Session
from gui.state.turn import turn_onto
from gui.style.listening import Listening

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

N_COMPONENTS = 10
"""Minimum components of an exact fit: those shown as bars and offered as axes."""
INLINE_SIZE = 6_000_000
"""Tables with more entries are fitted in the background even while dragging."""
MISHAP = "The components could not be fitted"


class Fitter:
    """Updates ``session.curve`` and ``session.turn`` for the session's range and components.

    ``fast`` fits ranges while dragging; it is None if no model is open.
    """

    def __init__(self, session: Session, jobs: Jobs, on_error: OnError) -> None:
        self._session, self._jobs = session, jobs
        self._on_error = on_error
        self.fast: RangePCA | None = None
        self._following = self._quiet = False
        self._exactly: Hashable = None  # key of the exact fit in progress
        self._cache: ResultCache[PositionPCA] = ResultCache(max_bytes=64 << 20)
        events = session.events
        self._listening = Listening()
        for signal, slot in (
            (events.positions, self._on_range_changed),
            (events.components, self._on_range_changed),
            (events.color_by, self._on_color_changed),
            (events.color_component, self._on_color_changed),
            (events.dragging, self._on_dragging_changed),
            (events.keep_turned, self._on_keep_turned_changed),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()

    def pause(self) -> None:
        """Stop fitting until :meth:`use`, because the table is about to change."""
        self.fast = self._exactly = None
        self._stop_following()
        for slot in ("exact", "prepare"):
            self._jobs.cancel(slot)

    def use(self, fast: RangePCA, *, ahead: bool = True, quietly: bool = False) -> None:
        """Fit another model's table, whose curve is shown already.

        Parameters
        ----------
        fast
            Fits its ranges while dragging.
        ahead
            Whether to prepare it now, and not on the first drag.
        quietly
            Whether to fit it without a status, as it is one of many models in a row.
        """
        self.fast, self._quiet = fast, quietly
        model = self._session.model
        assert model is not None
        # Computing the digest for the cache key takes a while, so not between two frames.
        self._jobs.start(
            "prepare",
            Job(
                lambda: (model.fingerprint, fast.prepare() if ahead else None),
                lambda _: self._fit_exactly(),
                lambda error: self._on_error(error, MISHAP),
            ),
        )

    @staticmethod
    def n_components(session: Session) -> int:
        """Return the number of components of an exact fit for this session."""
        return max(N_COMPONENTS, *session.components, session.color_component)

    def _on_range_changed(self) -> None:
        model, fast, session = self._session.model, self.fast, self._session
        if model is None or fast is None:
            return
        self._quiet = False
        if not self._is_shown():  # already shown after the first of two simultaneous changes
            small = model.stored_W_pos.size <= INLINE_SIZE
            if small and fast.is_ready(session.positions):
                self._stop_following()
                with one_thread():
                    self._show(self._fit_fast(fast)(), model)
            elif not self._following and (session.dragging or not small):
                # One at a time: if each tick superseded the last, a steady drag would show nothing.
                self._following = True
                self._jobs.start(
                    "range",
                    Job(
                        self._fit_fast(fast),
                        lambda pca: self._on_followed(pca, model),
                        self._on_following_failed,
                    ),
                )
        if not session.dragging:
            self._fit_exactly()

    def _is_shown(self) -> bool:
        curve, session = self._session.curve, self._session
        return (
            curve is not None
            and curve.pca.positions == session.positions
            and curve.components == session.components
        )

    def _fit_fast(self, fast: RangePCA) -> Callable[[], PositionPCA]:
        """Return a function that fits the current range, on any thread."""
        session = self._session
        # Drawn components must be exact to the pixel; the others are only bars meanwhile.
        drawn = max(session.components)
        if session.color_by == "component":
            drawn = max(drawn, session.color_component)
        return partial(fast.fit, session.positions, self.n_components(session), certified=drawn)

    def _on_followed(self, pca: PositionPCA, model: PositionalModel) -> None:
        self._following = False
        self._show(pca, model)
        if self._session.dragging and pca.positions != self._session.positions:
            self._on_range_changed()

    def _on_following_failed(self, error: Exception) -> None:
        self._following = False
        self._on_error(error, MISHAP)

    def _stop_following(self) -> None:
        if self._following:
            self._following = False
            self._jobs.cancel("range")

    def _on_color_changed(self) -> None:
        if self._session.color_by == "component":
            self._fit_exactly()

    def _on_dragging_changed(self, dragging: bool) -> None:
        if not dragging:
            self._fit_exactly()

    def _on_keep_turned_changed(self, keep_turned: bool) -> None:
        if not keep_turned and not self._session.dragging:
            self._straighten()

    def _fit_exactly(self) -> None:
        model, positions = self._session.model, self._session.positions
        if model is None or self.fast is None:
            return
        k = self.n_components(self._session)
        key = (model.fingerprint, "pca", positions, k)
        cached = self._cache.get(key)
        if cached is not None:
            self._exactly = None
            self._jobs.cancel("exact")
            self._finish(cached, model)
            return
        if key == self._exactly:
            return
        self._exactly = key
        self._report_status(f"Fitting positions {positions[0]}–{positions[1]} exactly…")
        self._jobs.start(
            "exact",
            Job(
                lambda: fit_pca(model.W_pos, positions, k),
                lambda pca: self._finish(self._cache.put(key, pca), model),
                self._on_exact_failed,
            ),
        )

    def _on_exact_failed(self, error: Exception) -> None:
        self._exactly = None
        self._on_error(error, MISHAP)

    def _finish(self, pca: PositionPCA, model: PositionalModel) -> None:
        """Show an exact fit, in its true orientation unless the user prefers otherwise."""
        self._exactly = None
        if pca.positions != self._session.positions:
            return
        self._stop_following()
        curve = self._session.curve
        if curve is None or curve.pca is not pca or not self._is_shown():
            self._show(pca, model)
        self._report_status("Ready")
        if not self._session.keep_turned and not self._session.dragging:
            self._straighten()

    def _report_status(self, status: str) -> None:
        """Report the state of the fit, unless an opening is being reported."""
        if not self._session.opening and not self._quiet:
            self._session.status = status

    def _show(self, pca: PositionPCA, model: PositionalModel) -> None:
        """Show a fit, aligned with the previous one."""
        session = self._session
        previous = session.curve
        curve = place_curve(model.W_pos, pca, session.components)
        if previous is not None and previous.components == curve.components:
            session.turn = turn_onto(curve, previous, session.turn)
        else:
            session.turn = np.eye(3)
        session.curve = curve

    def _straighten(self) -> None:
        if not np.array_equal(self._session.turn, np.eye(3)):
            self._session.turn = np.eye(3)
