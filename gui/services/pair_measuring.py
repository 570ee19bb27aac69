"""Norms of the rows, and the distance of the two positions selected last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geometry.measures.neighbours import PairDistance, pair_distance
from geometry.measures.norms import NormProfile, norm_profile
from geometry.pca.curve import Curve
from gui.state.guides import Guide, with_guide
from gui.state.session import Session
from gui.style.listening import Listening
from gui.style.theme import format_count, format_number

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


class Measuring:
    """Updates ``session.norms`` when the session's settings of norms change."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listening = Listening()
        for signal in (session.events.norms_centred, session.events.norms_after):
            self._listening.to(signal, self._measure)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def as_wanted(self, norms: NormProfile, model: PositionalModel) -> NormProfile:
        """Return a model's norms with the current settings, which may have changed meanwhile."""
        after, centred = self._session.norms_after, self._session.norms_centred
        if norms.centred != centred:
            return norm_profile(model.W_pos, after=after, centred=centred)
        return norms if norms.after == after else norms.measured_from(after)

    def _measure(self) -> None:
        session = self._session
        if session.model is not None and session.norms is not None:
            session.norms = self.as_wanted(session.norms, session.model)


SLOT = "measure"
"""Slot of the line's guide."""


class PairMeasuring:
    """Updates :attr:`Session.pair` and the line between the two positions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listening = Listening()
        events = session.events
        for signal in (
            events.curve,
            events.selection,
            events.measure,
            events.outside,
            events.snapshot,
            events.timeline,
        ):
            self._listening.to(signal, self._measure)

    def close(self) -> None:
        """Stop listening."""
        self._listening.stop()

    def _measure(self) -> None:
        session, pair = self._session, None
        model, curve, chosen = session.model, session.curve, session.selection[-2:]
        # A step of a training has other rows, which are read from its file.
        of_model = session.shown_timeline is None
        if model is not None and curve is not None and of_model and len(chosen) == 2:
            first, second = chosen
            if max(chosen) < model.n_positions:
                pair = pair_distance(model.W_pos, curve.pca, (first, second), curve.components)
        session.pair = pair
        guide = None
        if session.measure and curve is not None and pair is not None and self._seen(curve, pair):
            guide = pair_guide(curve, pair)
        session.guides = with_guide(session.guides, SLOT, guide)

    def _seen(self, curve: Curve, pair: PairDistance) -> bool:
        first, last = curve.pca.positions
        within = all(first <= position <= last for position in pair.positions)
        return within or self._session.outside == "faint"


def pair_guide(curve: Curve, pair: PairDistance) -> Guide:
    """Return the line between two positions, labelled with its length."""
    x, y, z = curve.components
    ends = np.asarray(curve.coordinates[list(pair.positions)], dtype=float)
    return Guide(
        curve.pca,
        (x, y, z),
        lines=(ends,),
        texts=((ends.mean(axis=0), format_number(pair.shown)),),
        caption=pair_text(pair),
    )


def pair_text(pair: PairDistance) -> str:
    """Describe the distance of two positions in one line."""
    first, second = pair.positions
    steps = abs(pair.steps)
    return (
        f"{first} and {second}, {format_count(steps)} step{'' if steps == 1 else 's'}: "
        f"{format_number(pair.shown)} apart in view, {format_number(pair.distance)} "
        f"in all {format_count(pair.d_model)} dimensions, in the table’s units"
        f" · cosine\N{NO-BREAK SPACE}{format_number(pair.cosine)}"
    )
