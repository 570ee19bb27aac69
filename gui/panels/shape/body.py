"""The body of the shape panel: the verdict with its reasons, the curves, and a plot."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QWidget

from geometry.claims.scalar_results import QUANTITIES
from geometry.evidence.bootstrap import FEWEST as FEWEST_WITH_INTERVALS
from geometry.evidence.null import Null, least_favourable, strictest
from geometry.evidence.turning_nulls import MEANINGS as TURNING_NULLS
from geometry.measures.shape_fit import FREE, ShapeFit
from gui.panels.kit.body import PanelBody
from gui.panels.shape.spec import (
    CURVES,
    NAMES,
    Shape,
    ShapePanel,
    ShapeView,
    chosen,
    describes,
    drift_of,
    interval_ends,
    rough_parts,
    verdict_name,
)
from gui.plots.qt_painter import MIN_ROW_HEIGHT, PaintedRow, columns
from gui.plots.spec import EDGE, TINT
from gui.state.session import Session
from gui.style.theme import GRID, LIGHT, SMALL, Theme, format_number
from gui.widgets.boxes import hbox, vbox
from gui.widgets.choice_table import ChoiceTable
from gui.widgets.flow_row import FlowRow
from gui.widgets.fonts import sized
from gui.widgets.label import label
from gui.widgets.scroll_column import ScrollColumn
from gui.widgets.table_text import Column, Row
from gui.widgets.tooltips import wrapped

MIN_PLOT_WIDTH = 200
"""Minimum width of the plot, in pixels."""
SCROLL_BAR = 12
BAR_ROW = 14
"""Height of a bar of random curves with its name, in pixels."""
MEANINGS = {
    "line": "The positions follow a straight line; a turning curve would fit little better.",
    "arc": "The positions turn by less than one turn, as random smooth curves do too.",
    "circle": "The positions turn in a plane, more evenly than random smooth curves do.",
    "helix": "The positions turn more evenly than random smooth curves do, and climb.",
    "drifting_helix": "The positions turn more evenly than random smooth curves do, and climb; the "
    "radius changes steadily.",
    "none": (
        "The positions turn no more evenly than random smooth curves do; the better of the two "
        "helix fits is plotted."
    ),
}
NULLS = {
    "process": "smooth",
    "matern": "rougher",
    "walk": "walks",
    "band": "slow waves",
    "phase": "random phases",
    "spline": "splines",
    "rank": "low rank",
    "fourier": "Fourier series",
    "cosines": "cosine series",
}
"""Names of the random curves, within a line."""
CURVE_NULLS = tuple(name for name in NULLS if name not in ("band", "phase"))
"""Random curves of which the strictest has a bar."""
BEYOND = " The higher bound is met: the aim is that 3 in 1,000 random curves do."
FEW_TURNS = (
    "The positions make fewer than 1½ turns, as any smooth curve may; the better of the two helix "
    "fits is plotted."
)
FEW_POSITIONS = "Too few positions to decide; the better of the two helix fits is plotted."
NO_NUMBER, PENDING = "–", "…"
MARK = "●"
COLUMNS = (
    Column("", "● marks the curve that describes the positions, by the rule", 18),
    Column("Curve", "The curve fitted by least squares", 96, left=True),
    Column("R²", "1 − SSE/SST: 1 is a perfect fit", 44),
    Column(
        "Predicts",
        "Out-of-sample R²: each of eight blocks of positions is left out in turn and predicted by "
        "the fit to the others. Free parameters: "
        + ", ".join(f"{k} for {CURVES[name]}" for name, k in FREE.items()),
        62,
    ),
    Column(
        "Turns",
        "Turns of the fitted curve from the first to the last shown position; – for curves that do "
        "not describe the positions",
        44,
    ),
    Column("Radius", "Radius at the middle of the range, in the table’s units", 50),
    Column(
        "Drift",
        "Change of the radius from the first to the last shown position, in the table’s units",
        58,
    ),
    Column("Climb", "Distance along the axis per turn, in the table’s units", 48),
)
TIP = "Click to show this curve in 3D and its distances in the plot"
CONDITIONS_TIPS = (
    "A condition of the rule for a helix: the share of the variance that a single even turning "
    "explains in its two directions, times its turns (up to 2.5) over 1.5, divided by the bound. "
    "Its purity is the explained share of the variance in these directions. The bound is set so "
    "that few random curves reach it: the aim is 2 %",
    "A condition of the rule for a helix: the turns of that turning from the first to the last "
    "position. With fewer, a turn cannot be distinguished from half of a slower wave. The turns "
    "of the fitted helix are in the table; the loops below it are a median, for any curve",
    "A condition of the rule for a helix: how well a straight line describes the course along the "
    "direction of the climb, explained over unexplained variance. A circle has less than 1",
)
INTERVAL_TIP = (
    "Intervals of 95 %: what other rows along the same curve would give, if their departures from "
    "it were drawn again with the same autocorrelation. They say nothing of another training"
)
P_TIP = (
    "The share of random curves that turn as evenly as these positions, which count among them: of "
    "the kind that comes closest"
)
NULL_TIP = (
    "The balanced turning share B of random curves of this size: each bar covers 90 % of them; "
    "the line marks these positions, the band the interval of their B. The random curves are "
)
ROUGH_TIPS = {quantity.key: quantity.meaning for quantity in QUANTITIES}
NARROWEST, NARROW = (0, 1, 2, 4), (0, 1, 2, 3, 4, 7)
"""Columns of a very narrow table, and of a narrow one."""


def cells(curve: ShapeFit, *, best: bool) -> tuple[str, ...]:
    """Return a curve's formatted numbers; a dash for those that do not apply to it."""
    turning, climbing = curve.name != "line", curve.name not in ("line", "circle")
    return (
        MARK if best else "",
        NAMES[curve.name],
        format_number(curve.r2),
        format_number(curve.score),
        format_number(curve.turns, 2) if best and turning else NO_NUMBER,
        format_number(curve.radius) if best and turning else NO_NUMBER,
        format_number(drift_of(curve)) if best and curve.name == "drifting_helix" else NO_NUMBER,
        format_number(curve.climb_per_turn) if best and climbing else NO_NUMBER,
    )


def conditions(shape: Shape) -> tuple[tuple[bool, str], ...]:
    """Return the conditions of a helix, and whether they are met; empty for too few positions."""
    from geometry.evidence.turning_pairs import FEWEST_TURNS, MIN_TURNS
    from geometry.evidence.turning_share import CLIMBS

    evidence = shape.evidence
    if evidence is None:
        return ()
    ratio = evidence.climb_ratio
    climb = NO_NUMBER if ratio is None else "∞" if np.isinf(ratio) else format_number(ratio, 1)
    strength, purity = format_number(evidence.strength, 2), format_number(evidence.purity, 2)
    return (
        (evidence.strength >= 1.0, f"turning over bound ≥ 1: {strength} (purity {purity})"),
        (
            evidence.turns >= FEWEST_TURNS,
            f"turns ≥ {MIN_TURNS:g}: {format_number(evidence.turns, 2)}",
        ),
        (ratio is not None and ratio >= CLIMBS, f"climb over spread ≥ {CLIMBS:g}: {climb}"),
    )


def meaning(shape: Shape) -> str:
    """Return the meaning of the verdict, in a sentence or two."""
    evidence = shape.evidence
    if shape.best == "none" and evidence is None:
        return FEW_POSITIONS
    if shape.best == "none" and evidence is not None and evidence.remarkable is None:
        return FEW_TURNS
    beyond = BEYOND if evidence is not None and evidence.tier == 2 else ""
    return MEANINGS[shape.best] + beyond


def numbers_of(shape: Shape) -> str:
    """Return the numbers of the verdict: R² and turns, and whether it holds by construction."""
    fit = shape.fits[shape.first_choice]
    r2 = f"R² {format_number(fit.r2)}"
    if shape.best == "none":
        return f"the better helix fit: {r2}"
    turns = f"{format_number(fit.turns, 2)} turns" if shape.best != "line" else ""
    made = "by construction" if shape.notes else ""
    return " · ".join(filter(None, (r2, turns, made)))


def p_text(shape: Shape) -> str:
    """Return the p-value of a curve that turns, "…" while it is unknown; "" for other curves."""
    if shape.evidence is None or not shape.evidence.tier:
        return ""
    if not shape.rule:
        return f"p beside random curves: {PENDING}"
    null = least_favourable(shape.rule.values(), shape.evidence.strength)
    p = format_number(null.p_value(shape.evidence.strength), 3)
    return f"p beside random curves: {p} ({NULLS[null.name]}, of {len(shape.rule)} kinds)"


def null_text(shape: Shape) -> str:
    """Return the turning shares of random curves; "" while they are unknown."""
    parts = []
    for name, title in NULLS.items():
        if name in shape.nulls:
            low, _, high = shape.nulls[name].band
            parts.append(f"{title} {format_number(low, 2)}–{format_number(high, 2)}")
    return "B of random curves: " + " · ".join(parts) if parts else ""


def interval_text(shape: Shape) -> str:
    """Return the intervals in a line, "…" while they are unknown; "" for too few positions."""
    if shape.intervals is None:
        enough = len(shape.coordinates) >= FEWEST_WITH_INTERVALS
        return f"95 %: turns {PENDING} · radius {PENDING} · B {PENDING} · R² {PENDING}" * enough
    names = {"turns": "turns", "radius": "radius", "turning_share": "B", "r2": "R²"}
    parts = [
        f"{names[name]} {format_number(low, 2)}–{format_number(high, 2)}"
        for name, (low, high) in interval_ends(shape.intervals).items()
    ]
    return "95 %: " + " · ".join(parts) if parts else ""


class ShapeBody(PanelBody):
    """The numbers, and the plot below or beside them if there is room."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self.numbers = ShapeNumbers()
        self.numbers.chosen.connect(lambda name: self.chosen.emit("curve", name))
        self._area = ScrollColumn(self.numbers)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setProperty("ring", True)
        self._area.setAccessibleName("The numbers of the curves")
        self.plots = PaintedRow(session, theme)
        self.plots.hoverRequested.connect(self.hoverRequested)
        self.plots.selectionRequested.connect(self.selectionRequested)
        self._parts = hbox(self._area, (self.plots, 1), parent=self, spacing=2 * GRID)

    def draw(self, view: ShapeView) -> None:
        self.numbers.show_shape(view.result)
        self.numbers.show_chosen(chosen(view), self.theme)
        self.plots.draw(ShapePanel().plots(view))
        self._fit()

    def show_marks(self) -> None:
        self.plots.show_marks()

    def forget(self) -> None:
        self.plots.forget()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plots.set_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.width()
        needed = self.numbers.fit(room - SCROLL_BAR) + SCROLL_BAR
        high = self.numbers.heightForWidth(room - SCROLL_BAR) + GRID
        below = columns(2, self.size()) == 1 and self.height() - high - 2 * GRID >= MIN_ROW_HEIGHT
        beside = not below and room - needed - 2 * GRID >= MIN_PLOT_WIDTH
        directions = QBoxLayout.Direction
        self._parts.setDirection(directions.TopToBottom if below else directions.LeftToRight)
        self.plots.setVisible(below or beside)
        self._area.setMinimumHeight(high if below else 0)
        self._area.setMaximumHeight(high if below else self.height())
        self._area.setMaximumWidth(needed if beside else room)
        self._area.setMinimumWidth(min(needed, room))


class NullStrip(QWidget):
    """Bars with the turning shares of random curves, from 0 to 1, and the positions' B as a line.

    Of smooth curves, rougher curves and walks, the strictest is shown; the tooltip has all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._bars: list[tuple[str, Null]] = []
        self._enough = False
        self._b, self._text, self._theme = 0.0, "", LIGHT
        self._interval: tuple[float, float] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return all ranges, as in the tooltip."""
        return self._text

    def show_shape(self, shape: Shape) -> None:
        """Show the null distributions of a result, if it has any."""
        self._bars, self._text = [], null_text(shape)
        self._enough = shape.evidence is not None
        self._interval = None if shape.intervals is None else shape.intervals.b
        if shape.nulls and shape.evidence is not None:
            curves = strictest(shape.nulls[name] for name in CURVE_NULLS)
            nulls = (curves, shape.nulls["band"], shape.nulls["phase"])
            self._bars, self._b = [(NULLS[null.name], null) for null in nulls], shape.evidence.b
        tip = f"{self._text}. {NULL_TIP}{'; '.join(TURNING_NULLS.values())}."
        self.setToolTip(wrapped(tip))
        self.setAccessibleName(self._text)
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Return the size of all bars, also before the curves are drawn."""
        return QSize(80, 3 * BAR_ROW if self._enough else 0)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def place_of(self, share: float) -> float:
        """Return the x of a value from 0 to 1, in pixels."""
        left, right = self._margins()
        return left + share * (self.width() - left - right)

    def _margins(self) -> tuple[int, int]:
        metrics = QFontMetrics(self._font())
        left = max((metrics.horizontalAdvance(name) for name, _ in self._bars), default=0)
        return left + GRID, metrics.horizontalAdvance("0.00–0.00") + GRID

    def _font(self) -> QFont:
        return sized(self.font(), SMALL)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setFont(self._font())
        tint, edge = QColor(theme.muted), QColor(theme.muted)
        tint.setAlphaF(TINT)
        edge.setAlphaF(EDGE)
        start, end = self.place_of(0.0), self.place_of(1.0)
        middle = Qt.AlignmentFlag.AlignVCenter
        for row, (name, null) in enumerate(self._bars):
            top = row * BAR_ROW
            low, _, high = null.band
            painter.setPen(QColor(theme.muted))
            painter.drawText(0, top, round(start), BAR_ROW, middle, name)
            words = f"{format_number(low, 2)}–{format_number(high, 2)}"
            painter.drawText(
                round(end) + GRID, top, self.width() - round(end), BAR_ROW, middle, words
            )
            painter.setPen(QColor(theme.line))
            painter.drawLine(QPointF(start, top + BAR_ROW / 2), QPointF(end, top + BAR_ROW / 2))
            bar = QRectF(self.place_of(low), top + 2, 0, BAR_ROW - 4)
            bar.setRight(max(self.place_of(high), bar.left() + 2))
            painter.fillRect(bar, QColor(theme.panel))
            painter.setPen(edge)
            painter.setBrush(tint)
            painter.drawRect(bar)
        painter.setPen(QPen(QColor(theme.text), 2))
        at = self.place_of(self._b)
        if self._bars and self._interval is not None:
            low, high = map(self.place_of, self._interval)
            band = QColor(theme.text)
            band.setAlphaF(TINT)
            painter.fillRect(QRectF(low, 0, high - low, self.height()), band)
        if self._bars:
            painter.drawLine(QPointF(at, 0), QPointF(at, self.height()))


class ShapeNumbers(QWidget):
    """The verdict with its numbers and conditions, a row for each curve, and what they mean."""

    chosen = Signal(str)
    """The name of a curve whose row was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.verdict, self.numbers = label("", "title"), label("")
        self.p, self.meaning = label("", "small"), label("", "muted", wrap=True)
        self.p.setToolTip(wrapped(P_TIP))
        self.notes, self.intervals = label("", wrap=True), label("", "small", wrap=True)
        self.intervals.setToolTip(wrapped(INTERVAL_TIP))
        self.conditions = [label("", "small") for _ in range(3)]
        self.table = ChoiceTable(COLUMNS, TIP, (), scrolls_from=0)
        self.table.setAccessibleName("The curves")
        self.table.chosen.connect(lambda row, _: self.chosen.emit(list(NAMES)[row]))
        reasons = QWidget()
        flow = FlowRow(reasons)
        for line, tip in zip(self.conditions, CONDITIONS_TIPS, strict=True):
            line.setToolTip(wrapped(tip))
            flow.addWidget(line)
        self.rough = {
            key: label("", "small") for key in ("turning_angle", "high_frequency", "loops")
        }
        smoothness = QWidget()
        beside = FlowRow(smoothness)
        for key, line in self.rough.items():
            line.setToolTip(wrapped(ROUGH_TIPS[key]))
            beside.addWidget(line)
        table = (self.table, 0, Qt.AlignmentFlag.AlignLeft)
        self.random = NullStrip()
        # What comes later has its place from the start, and the longest texts are at the end.
        vbox(
            hbox(self.verdict, self.numbers, 1, spacing=GRID),
            reasons,
            self.p,
            table,
            self.random,
            self.intervals,
            smoothness,
            self.meaning,
            self.notes,
            1,
            parent=self,
            spacing=GRID // 2,
            margins=(0, GRID // 2, 0, 0),
        )

    def fit(self, room: int) -> int:
        """Hide columns that do not fit in a width; return the width of the table."""
        widths = self.table.widths
        for kept in (tuple(range(len(COLUMNS))), NARROW, NARROWEST):
            width = sum(widths[number] for number in kept)
            if width <= room:
                break
        for number in range(len(COLUMNS)):
            self.table.setColumnHidden(number, number not in kept)
        self.table.setFixedWidth(width)
        return width

    def show_shape(self, shape: Shape) -> None:
        """Show a result."""
        self.verdict.setText(verdict_name(shape))
        self.numbers.setText(numbers_of(shape))
        self.meaning.setText(meaning(shape))
        self.notes.setText(f"By construction: {' '.join(shape.notes)}")
        self.notes.setVisible(bool(shape.notes))
        for line, text in ((self.p, p_text(shape)), (self.intervals, interval_text(shape))):
            line.setText(text)
            line.setVisible(bool(text))
        results = conditions(shape)
        for line in self.conditions:
            line.setVisible(bool(results))
        for line, (met, text) in zip(self.conditions, results, strict=False):
            line.setText(f"{'✓' if met else '✗'} {text}")
        self.random.show_shape(shape)
        self.random.setVisible(shape.evidence is not None)
        parts = rough_parts(shape)
        for key, line in self.rough.items():
            line.setText(parts.get(key, ""))
            line.setVisible(key in parts)
        self.table.set_rows(
            Row(number, cells(curve, best=describes(shape, curve.name)))
            for number, curve in enumerate(shape.fits.values())
        )

    def show_chosen(self, name: str, theme: Theme) -> None:
        """Tint the row of the shown curve."""
        self.table.show_drawn({list(NAMES).index(name): theme.faint})
        self.random.set_theme(theme)
