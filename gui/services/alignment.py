"""Keeps a second curve aligned with the shown one, while either changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.threads import one_thread
from geometry.pca.components import PositionPCA
from geometry.pca.curve import Curve
from geometry.pca.pca import fit_pca
from gui.scene.shown_range import inside
from gui.services.alignment_text import COLORMAPS, CURVE_HUE, caption, named
from gui.services.jobs.jobs import Job, Jobs
from gui.state.aligned_curve import (
    Above,
    AlignedCurve,
    CurveAlignment,
    NotAligned,
    OfOther,
    OfRange,
    OfStep,
    align_curve,
    find_more,
)
from gui.state.guides import Guide, with_guide
from gui.state.session import OpenModel, Session
from gui.style.listening import Listening
from gui.style.sentences import as_sentence
from gui.style.theme import format_count

if TYPE_CHECKING:
    from geometry.history.history import History
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)

SLOT = "laid"
"""Slot of the guide, and of background work."""
KEPT = 4
"""Number of components of other ranges and steps kept in the cache."""
BEADS, MAX_TANGLED_BEADS = 64, 1024
"""Maximum number of points with the colours of their matches: more would hide the line, which
distinguishes this curve from the shown one. A tangled line is pale, so it may have more points.
"""
TANGLED = 24
"""A line longer than this multiple of its extent counts as tangled."""
WAITING = "Computing…"
NO_STEPS = "Its training steps have not been read: open the Training panel first."


_Key = tuple[Hashable, ...]
"""Cache key: the model or history, and the range or step."""
_Fit = tuple[np.ndarray, PositionPCA]
"""A table and its components."""
_Work = tuple[_Key, Callable[[], _Fit]]


class CurveAligner:
    """Updates ``session.aligned``, ``session.not_aligned`` and the guide for ``session.alignment``.

    The alignment is computed at once, with every tick of a drag; components of another range or
    step, and slower results, on a thread while nothing is dragged.
    """

    def __init__(self, session: Session, jobs: Jobs) -> None:
        self._session, self._jobs = session, jobs
        self._model: PositionalModel | None = session.model
        self._kept: dict[_Key, _Fit] = {}
        self._listening, self._following = Listening(), Listening()
        events = session.events
        for signal, slot in (
            (events.alignment, self._on_alignment_changed),
            (events.curve, self._refresh),
            (events.open_models, self._on_alignment_changed),
            (events.history, self._refresh),
            (events.dragging, self._on_dragging_changed),
        ):
            self._listening.to(signal, slot)

    def close(self) -> None:
        """Stop listening and cancel work."""
        self._listening.stop()
        self._following.stop()
        self._give_up()
        self._kept.clear()

    # ---- changes ----

    def _on_alignment_changed(self) -> None:
        """Listen to the other curve, if it is another open model's."""
        self._following.stop()
        other = self._other()
        if other is not None:
            self._following.to(other.session.events.curve, self._refresh)
            self._following.to(other.session.events.model, self._refresh)
        elif isinstance(getattr(self._session.alignment, "what", None), OfOther):
            self._session.alignment = None  # the other model was removed
            return
        self._refresh()

    def _on_dragging_changed(self, dragging: bool) -> None:
        if not dragging:
            self._refresh()

    def _refresh(self) -> None:
        session = self._session
        # Tables that are no longer shown are not kept in memory.
        there = (session.model, session.history)
        self._kept = {key: fit for key, fit in self._kept.items() if key[0] in there}
        if session.model is not self._model:
            self._model = session.model
            if session.alignment is not None and not isinstance(session.alignment.what, OfOther):
                session.alignment = None  # a range or a step of the previous model
                return
        self._give_up()
        alignment, model, curve = session.alignment, session.model, session.curve
        if alignment is None or model is None or curve is None:
            self._show(None)
            return
        try:
            above = self._above(alignment, model, curve)
            if not isinstance(above, Above):
                self._show(None, WAITING)
                if not session.dragging:
                    self._work_out(*above)
                return
            with one_thread():
                aligned = align_curve(alignment, above, curve, model.n_positions)
        except NotAligned as error:
            self._show(None, str(error))
            return
        self._show(aligned)
        if not session.dragging:
            self._find_more(aligned, model)

    # ---- the other curve ----

    def _other(self) -> OpenModel | None:
        alignment = self._session.alignment
        if alignment is None or not isinstance(alignment.what, OfOther):
            return None
        key = alignment.what.key
        return next((other for other in self._session.others if other.key == key), None)

    def _above(self, wanted: CurveAlignment, model: PositionalModel, curve: Curve) -> Above | _Work:
        """Return the other curve, or a function that computes it and its cache key."""
        what = wanted.what
        if isinstance(what, OfRange):
            return self._of_range(what, model, curve)
        if isinstance(what, OfStep):
            return self._of_step(what, model, curve)
        other = self._other()
        theirs = None if other is None else other.session
        if other is None or theirs is None or theirs.model is None or theirs.curve is None:
            name = "It" if other is None else other.name
            failed = other is not None and other.failed
            raise NotAligned(f"{name} could not be opened." if failed else f"{name} is loading…")
        shown = theirs.curve
        return Above(theirs.model.name, theirs.model.W_pos, shown.pca, shown.components)

    def _of_range(self, what: OfRange, model: PositionalModel, curve: Curve) -> Above | _Work:
        positions, k = inside(what.positions, model.n_positions), max(curve.components)
        key = (model, positions, k)
        fit = self._kept.get(key)
        if fit is None:
            return key, lambda: (model.W_pos, fit_pca(model.W_pos, positions, k))
        table, pca = fit
        return Above(model.name, table, pca, curve.components, in_order=True)

    def _of_step(self, what: OfStep, model: PositionalModel, curve: Curve) -> Above | _Work:
        history = self._session.history
        if history is None or what.step not in history.steps:
            raise NotAligned(NO_STEPS)
        positions, k = curve.pca.positions, max(curve.components)
        key = (history, what.step, positions, k)
        fit = self._kept.get(key)
        if fit is None:
            return key, lambda: _read_step(history, what.step, positions, k)
        table, pca = fit
        # The name of a model that is a layer has that of the open layer.
        named = model.name if history.unit == "step" else history.name
        name = f"{named} at {history.unit} {format_count(what.step)}"
        return Above(name, table, pca, curve.components)

    # ---- background work ----

    def _work_out(self, key: _Key, function: Callable[[], _Fit]) -> None:
        def keep(fit: _Fit) -> None:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = fit
            self._refresh()

        import scipy  # noqa: F401, before a thread imports its modules: see the window's panels

        self._jobs.start(SLOT, Job(function, keep, self._on_failed))

    def _find_more(self, aligned: AlignedCurve, model: PositionalModel) -> None:
        self._jobs.start(
            SLOT,
            Job(
                lambda: find_more(aligned, model.W_pos),
                lambda more: self._show(replace(aligned, more=more)),
                self._on_failed,
            ),
        )

    def _on_failed(self, error: Exception) -> None:
        log.error("The curve could not be overlaid", exc_info=error)
        self._show(None, as_sentence(str(error)))

    def _give_up(self) -> None:
        self._jobs.cancel(SLOT)

    # ---- results ----

    def _show(self, aligned: AlignedCurve | None, why_not: str = "") -> None:
        session = self._session
        if aligned is None and session.aligned is None and session.not_aligned == why_not:
            return
        session.change(
            aligned=aligned,
            not_aligned=why_not,
            guides=with_guide(session.guides, SLOT, None if aligned is None else guide(aligned)),
        )


def guide(aligned: AlignedCurve) -> Guide:
    """Return the guide of an aligned curve: a thin line with beads, in its colours."""
    coloring = aligned.wanted.coloring
    tangled = is_tangled(aligned.coordinates)
    beads = slice(None, None, -(-len(aligned.matched) // (MAX_TANGLED_BEADS if tangled else BEADS)))
    return Guide(
        aligned.curve.pca,
        _three(aligned.curve.components),
        lines=(aligned.coordinates,),
        points=aligned.coordinates[beads],
        matched=aligned.matched[beads],
        colormap=COLORMAPS[coloring],
        along=aligned.matched,
        curve_colormap=CURVE_HUE if coloring == "hues" else "",
        name=named(aligned),
        caption=caption(aligned),
        pale=tangled,
    )


def is_tangled(coordinates: np.ndarray) -> bool:
    """Return whether a line through these points would look like a solid area."""
    length = float(np.linalg.norm(np.diff(coordinates, axis=0), axis=1).sum())
    return length > TANGLED * float(np.linalg.norm(np.ptp(coordinates, axis=0)))


def _three(components: tuple[int, ...]) -> tuple[int, int, int]:
    a, b, c = components
    return a, b, c


def _read_step(history: History, step: int, positions: tuple[int, int], k: int) -> _Fit:
    """Return the table at a step, and its own components."""
    table = history.table([int(s) for s in history.steps].index(step))
    return table, fit_pca(table, positions, k)
