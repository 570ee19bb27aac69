"""What the norms panel shows of the session: a quantity by position, other models' beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geometry.measures.stretches import Stretch, measure_stretch
from gui.panels.norms.norms_compared import laid_over
from gui.state.session import Session
from gui.state.values import Quantity

if TYPE_CHECKING:
    from geometry.pca.components import Array
    from gui.state.session import Overlay


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A quantity of all positions.

    Attributes
    ----------
    quantity, centred
        What it is, and whether of rows minus their means.
    source
        (n,) values as they were measured; steps are one fewer than positions.
    after
        The position that stability is measured from, if there are so many.
    stretch
        How steady they are there, and which positions that is.
    outliers
        Positions that stand out; a rule for that there is only for norms.
    n_positions
        Of the model, or of the longest one that is drawn beside it.
    scale
        What drawn values are divided by where models are compared relative to their means; None
        where they are drawn as they are.
    """

    quantity: Quantity
    centred: bool
    source: Array
    after: int
    stretch: Stretch
    outliers: tuple[int, ...]
    n_positions: int
    scale: float | None

    @property
    def relative(self) -> bool:
        """Whether what is drawn is divided by its mean."""
        return self.scale is not None

    @property
    def drawn(self) -> Array:
        """The values on the axis."""
        return _divided(self.source, self.scale)

    def same_picture(self, other: Reading | None) -> bool:
        """Tell whether another reading draws the same curve."""
        return (
            other is not None
            and self.source is other.source
            and (self.quantity, self.centred, self.outliers, self.n_positions, self.scale)
            == (other.quantity, other.centred, other.outliers, other.n_positions, other.scale)
        )

    def same_words(self, other: Reading | None) -> bool:
        """Tell whether another reading says the same as well."""
        return other is not None and self.same_picture(other) and self.after == other.after


@dataclass(frozen=True, eq=False, slots=True)
class Beside:
    """Another model's curve.

    Attributes
    ----------
    overlay
        Which model.
    source, drawn
        Values as they were measured, and as they are on the axis.
    stretch
        How steady they are.
    """

    overlay: Overlay
    source: Array
    drawn: Array
    stretch: Stretch


def read(session: Session, others: Sequence[Beside] = ()) -> Reading | None:
    """Return what there is to show; None while it is not known.

    Parameters
    ----------
    session, others
        What is open, and what is drawn beside it: see :func:`beside`.
    """
    source, centred, outliers = _own(session)
    if source is None or not len(source):
        return None
    stretch = measure_stretch(source, session.norms_after)
    return Reading(
        session.norms_quantity,
        centred,
        source,
        session.norms_after,
        stretch,
        outliers,
        max(_n_positions(session, source), *(len(other.source) for other in others), 0),
        _scale(session, stretch),
    )


def beside(session: Session) -> tuple[Beside, ...]:
    """Return the curves of the models that are compared and shown; none where that says nothing."""
    if session.norms_quantity == "residual":  # of components that are another model's
        return ()
    found = []
    for overlay in laid_over(session):
        if overlay.lengths is None or not overlay.shown:
            continue
        source = overlay.lengths.of(session.norms_quantity, centred=session.norms_centred)
        if len(source):
            stretch = measure_stretch(source, session.norms_after)
            drawn = _divided(source, _scale(session, stretch))
            found.append(Beside(overlay, source, drawn, stretch))
    return tuple(found)


def overlay_stretch(session: Session, overlay: Overlay) -> Stretch | None:
    """Return how steady an overlay's values are, drawn or not; None while they are not known."""
    if overlay.lengths is None or session.norms_quantity == "residual":
        return None
    values = overlay.lengths.of(session.norms_quantity, centred=session.norms_centred)
    return measure_stretch(values, session.norms_after) if len(values) else None


def _own(session: Session) -> tuple[Array | None, bool, tuple[int, ...]]:
    norms, lengths, curve = session.norms, session.lengths, session.curve
    if session.norms_quantity == "norm":
        return (None, False, ()) if norms is None else (norms.values, norms.centred, norms.outliers)
    if session.norms_quantity == "step":
        centred = session.norms_centred
        return (None if lengths is None else lengths.of("step", centred=centred)), centred, ()
    return (None if curve is None else np.asarray(curve.residual)), False, ()


def _n_positions(session: Session, source: Array) -> int:
    return session.model.n_positions if session.model is not None else len(source)


def _scale(session: Session, stretch: Stretch) -> float | None:
    compared = session.norms_relative and bool(session.overlays or session.compared)
    if not compared or session.norms_quantity == "residual":
        return None
    return stretch.mean or 1.0


def _divided(values: Array, scale: float | None) -> Array:
    return values if scale is None else values / scale
