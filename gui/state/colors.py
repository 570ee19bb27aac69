"""Colours of the curve: the value of each position, the limits of the scale, the colour map."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from cmap import Colormap

from gui.state.session import Session
from gui.state.values import ColorLimits
from gui.style.theme import HUES, format_number

MIN_CONTRAST = 2.0
"""Minimum contrast of a point's colour to a dark background."""
ROUNDING = 1e-6
"""Values that differ by a smaller share count as equal, such as norms of computed positions."""
EACH_POSITION, EACH_VALUE = ("first", "last"), ("lowest", "highest")
"""Labels of one colour bar for several views that span their own ranges."""


@dataclass(frozen=True, eq=False, slots=True)
class ColorScale:
    """Values of all positions and their mapping to colours."""

    title: str  # The quantity, with its unit if it has one
    values: np.ndarray  # (n_positions,) float32
    limits: tuple[float, float]  # The values at the two ends of the colour map
    # The limits as text, with a sign where values beyond them take the end's colour.
    labels: tuple[str, str]
    colormap: str  # Name of the map


def lookup_table(colormap: str) -> np.ndarray:
    """Return (256, 4) uint8 colours of a named map, or of one of :data:`HUES`."""
    return _table(colormap).copy()


@functools.cache
def _table(colormap: str) -> np.ndarray:
    found = Colormap(list(HUES[colormap]) if colormap in HUES else colormap)
    table: np.ndarray = np.round(found.lut(256) * 255).astype(np.uint8)
    return table


def legible(table: np.ndarray, background: str) -> np.ndarray:
    """Lighten colours that are hard to see on a dark background.

    Parameters
    ----------
    table
        (n, 4) uint8 colours.
    background
        ``#rrggbb``.

    Returns
    -------
    np.ndarray
        The table, with each colour whose contrast to the background (WCAG 2, relative luminance) is
        below :data:`MIN_CONTRAST` mixed with just enough white. The colour bar shows the same
        colours. For light backgrounds the table is returned unchanged.
    """
    dark = np.array([[int(background[i : i + 2], 16) for i in (1, 3, 5)]])
    floor = MIN_CONTRAST * (_luminance(dark)[0] + 0.05) - 0.05
    if _luminance(dark)[0] > 0.2:
        return table
    lifted = table.copy()
    for share in np.linspace(0.04, 1, 25):
        swallowed = _luminance(lifted[:, :3]) < floor
        if not swallowed.any():
            break
        mixed = table[:, :3] + share * (255.0 - table[:, :3])
        lifted[swallowed, :3] = np.round(mixed[swallowed])
    return lifted


def _luminance(colors: np.ndarray) -> np.ndarray:
    """Relative luminance of (n, 3) uint8 sRGB colours, 0 to 1 (WCAG 2.2)."""
    linear = colors / 255.0
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    luminance: np.ndarray = linear @ np.array([0.2126, 0.7152, 0.0722])
    return luminance


def point_colors(scale: ColorScale, background: str) -> np.ndarray:
    """Return (n_positions, 4) uint8 colours of all positions, as the viewport shows them."""
    table = legible(lookup_table(scale.colormap), background)
    low, high = scale.limits
    share = (scale.values.astype(np.float64) - low) / (high - low)
    colors: np.ndarray = table[np.clip(share * len(table), 0, len(table) - 1).astype(np.intp)]
    return colors


def color_scale(session: Session) -> ColorScale:
    """Return the colours of the open model's curve, like :func:`own_scale`.

    For models side by side, the limits of measured quantities are common to all of them, unless
    each spans its own range.
    """
    own, shared = own_scale(session), session.color_limits
    return own if shared is None else replace(own, limits=shared.limits, labels=shared.labels)


def common_scale(session: Session) -> ColorScale:
    """Return the colours of all views side by side, for one colour bar.

    Where each view spans its own table or range and their limits differ, the labels are words.
    """
    scale = color_scale(session)
    views = (one.session for one in session.compared if one.in_grid)
    shown = (view for view in views if view.model is not None and view.curve is not None)
    if all(color_scale(view).labels == scale.labels for view in shown):
        return scale
    words = EACH_POSITION if scale.title == "Position" else EACH_VALUE
    return replace(scale, title=f"{scale.title}, in each {session.color_span}", labels=words)


def shared_limits(scales: Sequence[ColorScale]) -> ColorLimits:
    """Return common limits of several curves' colours: the widest, with their labels.

    There is at least one scale; all are of the same quantity.
    """
    lowest = min(scales, key=lambda scale: scale.limits[0])
    highest = max(scales, key=lambda scale: scale.limits[1])
    return ColorLimits((lowest.limits[0], highest.limits[1]), (lowest.labels[0], highest.labels[1]))


def own_scale(session: Session) -> ColorScale:
    """Return the colours of a model's curve, ignoring models beside it.

    Limits span the whole table, so that a colour means the same in every subset; or the shown
    range, by ``session.color_span``. Where a few outliers would leave all other positions in one
    colour (the norms of the first and last rows), limits are the 1st and 99th percentile, marked in
    the labels.
    """
    assert session.model is not None
    assert session.curve is not None
    n_positions = session.model.n_positions
    first, last = 0, n_positions - 1
    if session.color_span == "range":
        first, last = session.curve.pca.positions
    spanned = slice(first, last + 1)
    now = "" if session.shown_timeline is None else " (as it is now)"
    if session.color_by == "position" or (session.color_by == "norm" and session.norms is None):
        values = np.arange(n_positions, dtype=np.float32)
        return ColorScale(
            "Position",
            values,
            (float(first), float(max(last, first + 1))),
            (str(first), str(last)),
            session.colormap,
        )
    if session.color_by == "norm":
        assert session.norms is not None
        title = "Norm, centred" if session.norms.centred else "Norm"
        return _measured(title + now, session.norms.values, spanned, session.colormap)
    if session.color_by == "residual":
        title = f"Off-subspace residual{now}"
        return _measured(title, session.curve.residual, spanned, session.colormap)
    k = session.color_component
    pca = session.curve.pca
    along = np.zeros(n_positions)
    if k <= len(pca.components):
        # As in `PositionPCA.project`: no copy of a large table.
        direction = pca.components[k - 1]
        along = session.model.W_pos @ direction - pca.mean @ direction
    return _measured(f"PC {k}{now}", along, spanned, session.colormap)


def _measured(title: str, values: np.ndarray, spanned: slice, colormap: str) -> ColorScale:
    inside = values[spanned]
    smallest, largest = float(inside.min()), float(inside.max())
    low, high = (float(v) for v in np.percentile(inside, (1, 99)))
    # Percentiles are only for outliers: otherwise the full range is used.
    if largest - smallest < 1.5 * (high - low) or _nearly_equal(low, high):
        low, high = smallest, largest
    if _nearly_equal(low, high):
        low, high = smallest, smallest + 1.0
    labels = (
        ("\N{LESS-THAN OR EQUAL TO} " if smallest < low else "") + format_number(low, 2),
        ("\N{GREATER-THAN OR EQUAL TO} " if largest > high else "") + format_number(high, 2),
    )
    return ColorScale(title, values.astype(np.float32), (low, high), labels, colormap)


def _nearly_equal(low: float, high: float) -> bool:
    return high - low <= ROUNDING * max(abs(low), abs(high))
