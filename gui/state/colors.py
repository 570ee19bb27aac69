"""Colours of the curve: the value of each position, the limits of the scale, the colour map."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from cmap import Colormap

from gui.state.session import Session
from gui.state.values import ColorLimits
from gui.style.theme import DARK, HUES, LIGHT, SERIES, Theme, format_number
from gui.style.token_text import token_label

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

MIN_CONTRAST = 2.0
"""Minimum contrast of a point's colour to a dark background."""
ROUNDING = 1e-6
"""Values that differ by a smaller share count as equal, such as norms of computed positions."""
IN_EACH_RANGE = "in each range"
POSITION = "Position"
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
    # Names of the values 0, 1, …, which have their own colours; () where values are numbers.
    # Positions without a value have NaN, and are grey.
    categories: tuple[str, ...] = ()

    def table(self, background: str) -> np.ndarray:
        """Return (256, 4) uint8 colours between the limits, legible on a background."""
        if not self.categories:
            return legible(lookup_table(self.colormap), background)
        bands = np.arange(256) * len(self.categories) // 256
        return legible(_category_colors()[bands], background)

    def legend(self, background: str, max_rows: int) -> list[tuple[str, np.ndarray]]:
        """Return names of categories with their colours, (4,) uint8; the last one counts the rest.

        Empty where values are numbers.
        """
        n = len(self.categories)
        shown = n if n <= max_rows else max_rows - 1
        colors = legible(_category_colors()[:n], background)
        rows = [(name, colors[i]) for i, name in enumerate(self.categories[:shown])]
        if shown < n:
            ground = np.array([*_rgb(background), 255], dtype=np.uint8)  # a square of no colour
            rows.append((f"{n - shown} more", ground))
        return rows


MAX_CATEGORIES = 64
"""Maximum number of categories with their own colours; more could not be distinguished."""
BRIGHT = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
OTHERS = "others"
"""The name of all further categories."""


def model_color(number: int, theme: Theme) -> str:
    """Return the colour of a model's curves, by its :attr:`gui.state.session.OpenModel.color`."""
    colors = SERIES[theme.name]
    return colors[number % len(colors)]


@functools.cache
def _category_colors() -> np.ndarray:
    """Return (64, 4) uint8 colours of categories, which can be seen on white.

    The first ones are Tol's bright scheme (https://sronpersonalpages.nl/~pault), safe for the
    colour-blind; then Glasbey's, each as far from the others as possible.
    """
    table = np.round(Colormap("glasbey").lut(256) * 255).astype(np.uint8)
    first = np.array([[*_rgb(color), 255] for color in BRIGHT], dtype=np.uint8)
    luminance = _luminance(table[:, :3])
    apart = np.abs(table[:, None, :3].astype(int) - first[None, :, :3]).max(axis=2).min(axis=1)
    # Without colours that cannot be seen on white, or are like black or one of the first.
    further = table[(luminance > 0.02) & (luminance < 0.6) & (apart > 40)]
    colors: np.ndarray = np.concatenate([first, further])[:MAX_CATEGORIES]
    return colors


def _grey(background: str) -> np.ndarray:
    """Return the colour of positions without a value, (4,) uint8."""
    return np.array([*_rgb(missing_color(background)), 255], dtype=np.uint8)


def missing_color(background: str) -> str:
    """Return the colour of positions without a value on a background, as ``#rrggbb``."""
    return (LIGHT if _is_light(background) else DARK).faint


def _rgb(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def _is_light(background: str) -> bool:
    return bool(_luminance(np.array([_rgb(background)]))[0] > 0.2)


def lookup_table(colormap: str) -> np.ndarray:
    """Return (256, 4) uint8 colours of a named map, or of one of :data:`HUES`."""
    return _table(colormap).copy()


@functools.cache
def _table(colormap: str) -> np.ndarray:
    loaded = Colormap(list(HUES[colormap]) if colormap in HUES else colormap)
    table: np.ndarray = np.round(loaded.lut(256) * 255).astype(np.uint8)
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
    dark = np.array([_rgb(background)])
    floor = MIN_CONTRAST * (_luminance(dark)[0] + 0.05) - 0.05
    if _is_light(background):
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
    table = scale.table(background)
    low, high = scale.limits
    missing = np.isnan(scale.values)
    share = (np.where(missing, low, scale.values).astype(np.float64) - low) / (high - low)
    colors: np.ndarray = table[np.clip(share * len(table), 0, len(table) - 1).astype(np.intp)]
    colors[missing] = _grey(background)
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
    views = (other.session for other in session.others if other.in_grid)
    shown = (view for view in views if view.model is not None and view.curve is not None)
    if all(color_scale(view).labels == scale.labels for view in shown):
        return scale
    words = EACH_POSITION if scale.title in (POSITION, "Row") else EACH_VALUE
    return replace(scale, title=f"{scale.title}, in each {session.color_span}", labels=words)


def shared_limits(scales: Sequence[ColorScale]) -> ColorLimits:
    """Return common limits of several curves' colours: the widest, with their labels.

    There is at least one scale; all are of the same quantity.
    """
    lowest = min(scales, key=lambda scale: scale.limits[0])
    highest = max(scales, key=lambda scale: scale.limits[1])
    return ColorLimits((lowest.limits[0], highest.limits[1]), (lowest.labels[0], highest.labels[1]))


def shown_column(session: Session) -> PositionColumn | None:
    """Return the column that the colours show; None if they show something else.

    A column without a file is the open model's own column of that name, or None.
    """
    column = session.color_column if session.color_by == "column" else None
    if column is None or column.file:
        return column
    known = () if session.model is None else session.model.columns
    return next((own for own in known if own.name == column.name), None)


def own_scale(session: Session) -> ColorScale:
    """Return the colours of a model's curve, ignoring models beside it.

    Limits span the shown range, so that its order can be seen however short it is; or the whole
    table, by ``session.color_span``, so that a colour means the same in every range. Where a few
    outliers would leave all other positions in one colour (the norms of the first and last rows),
    limits are the 1st and 99th percentile, marked in the labels.
    """
    assert session.model is not None
    assert session.curve is not None
    n_positions = session.model.n_positions
    first, last = 0, n_positions - 1
    if session.color_span == "range":
        first, last = session.curve.pca.positions
    spanned = slice(first, last + 1)
    now = "" if session.shown_timeline is None else " (final model)"
    column = shown_column(session)
    if session.color_by == "period":
        return _periodic(n_positions, session.color_period, session.cyclic_colormap)
    if session.color_by == "token":
        if session.model.rows is not None:
            return categorical("Label", session.model.rows.labels, n_positions)
        tokens = [token_label(text) for text in session.texts[:n_positions]]
        return categorical("Token", tokens, n_positions)
    if column is not None and column.numeric:
        numbers = column.numbers(n_positions)
        return measured(column.name, numbers, spanned, session.colormap, whole=True)
    if column is not None:
        # Ranked over the whole column: so models of any length agree in the colours.
        names = ["" if value is None else str(value) for value in column.values]
        return categorical(column.name, names, n_positions)
    if session.color_by in ("position", "column") or (
        session.color_by == "norm" and session.norms is None
    ):
        values = np.arange(n_positions, dtype=np.float32)
        return ColorScale(
            POSITION if session.model.of_positions else "Row",
            values,
            (float(first), float(max(last, first + 1))),
            (str(first), str(last)),
            session.colormap,
        )
    if session.color_by == "norm":
        assert session.norms is not None
        title = "Norm, centred" if session.norms.centred else "Norm"
        return measured(title + now, session.norms.values, spanned, session.colormap)
    if session.color_by == "residual":
        title = f"Off-subspace residual{now}"
        return measured(title, session.curve.residual, spanned, session.colormap)
    k = session.color_component
    pca = session.curve.pca
    along = np.zeros(n_positions)
    if k <= len(pca.components):
        # As in `PositionPCA.project`: no copy of a large table.
        direction = pca.components[k - 1]
        along = session.model.W_pos @ direction - pca.mean @ direction
    return measured(f"PC {k}{now}", along, spanned, session.colormap)


def _periodic(n_positions: int, period: float, colormap: str) -> ColorScale:
    """Colour positions by their phase in a period, independent of the range."""
    values = (np.arange(n_positions) % period).astype(np.float32)
    end = f"{period:g}"
    return ColorScale(f"Position mod {end}", values, (0.0, period), ("0", end), colormap)


def categorical(title: str, names: Sequence[str], n_positions: int) -> ColorScale:
    """Colour positions by names, "" for none; the most frequent ones come first.

    There may be names of more positions: they count as well.
    """
    counts = Counter(name for name in names if name)
    ranked = [name for name, _ in counts.most_common()]
    if len(ranked) > MAX_CATEGORIES:
        ranked = [*ranked[: MAX_CATEGORIES - 1], OTHERS]
    index = {name: i for i, name in enumerate(ranked)}
    values = np.full(n_positions, np.nan, dtype=np.float32)
    names = names[:n_positions]
    values[: len(names)] = [index.get(name, len(ranked) - 1) if name else np.nan for name in names]
    limits = (-0.5, max(len(ranked), 1) - 0.5)
    return ColorScale(title, values, limits, ("", ""), "glasbey", tuple(ranked))


def measured(
    title: str, values: np.ndarray, spanned: slice, colormap: str, *, whole: bool = False
) -> ColorScale:
    """Colour positions by numbers; ``whole`` is whether whole limits have no decimals."""
    inside = values[spanned]
    inside = inside[~np.isnan(inside)]
    if not len(inside):  # no position has a value
        return ColorScale(title, values.astype(np.float32), (0.0, 1.0), ("", ""), colormap)
    smallest, largest = float(inside.min()), float(inside.max())
    low, high = (float(v) for v in np.percentile(inside, (1, 99)))
    # Percentiles are only for outliers: otherwise the full range is used.
    if largest - smallest < 1.5 * (high - low) or _nearly_equal(low, high):
        low, high = smallest, largest
    if _nearly_equal(low, high):
        low, high = smallest, smallest + 1.0
    digits = 0 if whole and low == round(low) and high == round(high) else 2
    labels = (
        ("\N{LESS-THAN OR EQUAL TO} " if smallest < low else "") + format_number(low, digits),
        ("\N{GREATER-THAN OR EQUAL TO} " if largest > high else "") + format_number(high, digits),
    )
    return ColorScale(title, values.astype(np.float32), (low, high), labels, colormap)


def _nearly_equal(low: float, high: float) -> bool:
    return high - low <= ROUNDING * max(abs(low), abs(high))
