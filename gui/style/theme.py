"""Every colour, size and number format of the application, in one place.

Qt, VTK and the plots all use a :class:`Theme`; no colours are defined elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from geometry.checkpoints.sizes import amount_text, size_text

ThemeName = Literal["light", "dark"]
ThemeChoice = Literal["system", "light", "dark"]

SMALL, TEXT, TITLE = 11, 13, 16
"""The three font sizes, in logical pixels: labels and ticks; text; titles. The window scales them
to the size of text that the user has chosen, see :meth:`Theme.px`; files are not scaled.
"""
TEXT_SIZES = (12, TEXT, 15, 17)
"""Sizes of text to choose from, in logical pixels."""
FIGURE_WIDTHS = {"column": 3.4, "page": 7.0}
"""Widths of printed figures in inches."""
GRID = 8
"""Spacing between widgets, in logical pixels; half of it inside controls."""

FIGURE_SPACE = "\N{FIGURE SPACE}"
"""A space as wide as a digit, so that changing numbers do not move."""

ICONS = Path(__file__).parents[2] / "resources" / "icons"

COLORMAPS = ("jet", "turbo", "viridis", "plasma", "cividis", "batlow", "romaO")
"""Available colour maps: the article's, then perceptual and colour-blind-safe ones."""
CYCLIC = "romaO"
"""The cyclic one of these."""
HUES = {
    "blue": ("#7fb2f0", "#1a5dbd"),
    "orange": ("#f2a04c", "#a34603"),
    "grey": ("#a3a8b1", "#5a606b"),
}
"""First and last colour of maps of one hue, which distinguish curves drawn over each other.

They differ also for dichromats, and are visible in both themes.
"""
DIVERGING: dict[ThemeName, str] = {"light": "vik", "dark": "berlin"}
"""Diverging colour maps, with the background's colour in the middle."""
SHADES: dict[ThemeName, str] = {"light": "gray_r", "dark": "gray"}
"""Colour maps of shares, with the background's colour for 0."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as ``#rrggbb``; the same two accents are used for selection and hover everywhere."""

    name: ThemeName
    viewport: str
    panel: str
    field: str
    text: str
    muted: str
    line: str
    accent: str
    hover: str
    faint: str
    warning: str
    good: str
    usual: str
    text_size: int = TEXT  # Chosen by the user; the other sizes of fonts follow

    def px(self, size: int) -> int:
        """Return a font's size in the window, in logical pixels."""
        return round(size * self.text_size / TEXT)

    @property
    def disabled(self) -> str:
        """Colour of disabled controls: half-way between those of small text and of the panel."""
        pairs = zip(*(_channels(color) for color in (self.muted, self.panel)), strict=True)
        return "#" + "".join(f"{(muted + panel) // 2:02x}" for muted, panel in pairs)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color.removeprefix("#")))


LIGHT = Theme(
    name="light",
    viewport="#ffffff",
    panel="#f6f7f9",
    field="#ffffff",
    text="#1d2129",
    muted="#5b6370",
    line="#d8dce2",
    accent="#d1005d",
    hover="#e8679f",
    faint="#b9bfc9",
    warning="#8a5a00",
    good="#1a7f37",
    usual="#5457a6",
)
DARK = Theme(
    name="dark",
    viewport="#14161a",
    panel="#1c1f25",
    field="#14161a",
    text="#e6e8eb",
    muted="#9aa3b0",
    line="#333840",
    accent="#ff4f9a",
    hover="#ff9cc6",
    faint="#4a515d",
    warning="#f0b429",
    good="#4ac26b",
    usual="#a9adf5",
)
THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK}
SERIES: dict[ThemeName, tuple[str, ...]] = {
    "light": (
        "#1d2129",
        "#0029c4",
        "#995a16",
        "#184800",
        "#b01bee",
        "#377c78",
        "#8b224c",
        "#7a5ab3",
        "#561183",
    ),
    "dark": (
        "#e6e8eb",
        "#18cff5",
        "#ce6c12",
        "#7fbe53",
        "#c74cfe",
        "#3a967e",
        "#f699b4",
        "#9589c8",
        "#eed232",
    ),
}
"""Colours of several curves in one plot: the open model's, and those of eight others.

Each has a contrast of 4.5:1 to the plot's background, and they are distinct for dichromats, too.
"""
SHAPES = ("", "o", "s", "^", "D", "P", "X", "v", "*")
"""Shapes that go with these colours, as Matplotlib names them; "" for none.

Curves have them at some points, and legends beside the names, so that no curve is known by its
colour alone.
"""


def shape_of(color: str) -> str:
    """Return the shape that goes with a colour; "" for those not of :data:`SERIES`."""
    colors = next((colors for colors in SERIES.values() if color in colors), ())
    return SHAPES[colors.index(color)] if colors else ""


def format_number(value: float, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals, a real minus sign and thin spaces."""
    text = f"{value:,.{digits}f}".replace(",", "\N{THIN SPACE}")
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0. \N{THIN SPACE}") else "\N{MINUS SIGN}" + text[1:]
    return text


def format_power(power: int) -> str:
    """Format a power of ten: ``10⁻⁵``."""
    return f"10{str(power).translate(_RAISED)}"


def format_level(value: float) -> str:
    """Format a value with three significant digits, or as a power of ten if it is tiny."""
    if value == 0.0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if power < -4 or power > 5:
        return f"{format_number(value / 10.0**power, 1)}·{format_power(power)}"
    return format_number(value, max(0, 2 - power))


def format_percent(share: float, digits: int = 1) -> str:
    """Format a share between 0 and 1 as a percentage: ``91.1 %`` (with a no-break space)."""
    return f"{format_number(100 * share, digits)}\N{NO-BREAK SPACE}%"


def format_count(value: int) -> str:
    """Format an integer with thin spaces between thousands and a real minus sign."""
    return format_number(value, 0)


def format_position(position: float) -> str:
    """Format a position as in captions: 1023; with thin spaces from 10 000 on."""
    if abs(position) >= 10_000:
        return format_count(round(position))
    return f"{position:.0f}".replace("-", "\N{MINUS SIGN}")


def format_bytes(nbytes: float) -> str:
    """Format an amount of data: ``786 kB``, ``3.1 MB`` (with a no-break space)."""
    return size_text(nbytes).replace(" ", "\N{NO-BREAK SPACE}")


def format_part(done: int, total: int) -> str:
    """Format a part of an amount, ``1.2 of 3.1 MB``, with constant width."""
    whole, part = format_bytes(total), amount_text(done, total)
    width = len(amount_text(total, total))
    return f"{part.rjust(width, FIGURE_SPACE)} of {whole}"


def format_rough(count: int) -> str:
    """Format a count with three digits: ``812``, ``3.4 k``, ``12.3 M``."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= 0.9995 * size:
            value = count / size
            return f"{format_number(value, 1 if value < 99.95 else 0)}\N{NO-BREAK SPACE}{unit}"
    return str(count)


def stylesheet(theme: Theme) -> str:
    """Return the Qt style sheet of a theme.

    The accent is not used here: it is for selected positions only. Focus is shown as a darker
    border. Spin boxes have no buttons (keys and wheel step them); with a style sheet Qt's own
    ``NoButtons`` loses their text, so the buttons have zero width instead. Widgets of the class
    "segments" and "segment" are those of :class:`gui.widgets.segmented.Segmented`; a tool button of
    the class "chip" is a small one. Widgets without a frame show the focus if their property "ring"
    is true. No rule tests a property of every widget, which would take most of the time of a
    change of theme.
    """
    small, text, title = theme.px(SMALL), theme.px(TEXT), theme.px(TITLE)
    tick = (ICONS / f"tick-{theme.name}.svg").as_posix()
    return f"""
QMainWindow, QDialog, QDockWidget, QMenuBar, QMenu, QStatusBar, QToolBar,
QScrollArea, QScrollArea > QWidget > QWidget, QTabBar {{
    background: {theme.panel}; color: {theme.text};
}}
QWidget {{ color: {theme.text}; }}
QDockWidget[floating="true"] {{ border: 1px solid {theme.muted}; }}
QMainWindow::separator {{ background: {theme.line}; width: 1px; height: 1px; }}
QMainWindow::separator:hover {{ background: {theme.muted}; }}
/* The font is the bar's, by which Qt elides, not that of a tab. */
QTabBar {{ border-bottom: 1px solid {theme.line}; font-size: {small}px; }}
QTabBar::tab {{
    color: {theme.muted}; background: transparent; padding: 5px 7px 4px 7px;
    border: none; border-bottom: 2px solid transparent;
}}
QTabBar::tab:first {{ margin-left: 1px; }}
QTabBar::tab:hover {{ color: {theme.text}; }}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom-color: {theme.text}; }}
GroupBar {{ background: {theme.panel}; border-bottom: 1px solid {theme.line}; }}
GroupBar QTabBar {{ border: none; font-size: {text}px; }}
GroupBar QTabBar::tab {{ padding: 3px 9px; }}
GroupBar QTabBar[close="true"]::tab {{ padding: 3px; }}
QTabBar[closed="true"]::tab:selected {{ color: {theme.muted}; border-bottom-color: transparent; }}
QTabBar[closed="true"]::tab:hover {{ color: {theme.text}; }}
QTabBar QToolButton {{ background: {theme.panel}; border: none; padding: 0; }}
QMenuBar {{ border-bottom: 1px solid {theme.line}; }}
QMenuBar::item {{ padding: 4px 8px; background: transparent; }}
QMenuBar::item:selected, QMenu::item:selected {{ background: {theme.line}; }}
QMenu {{ border: 1px solid {theme.line}; padding: 4px 0; }}
QMenu::item {{ padding: 4px 24px 4px 24px; }}
QMenu::item:disabled {{ color: {theme.disabled}; }}
QMenu::separator {{ height: 1px; background: {theme.line}; margin: 4px 0; }}
QToolTip {{
    background: {theme.panel}; color: {theme.text};
    border: 1px solid {theme.line}; padding: 4px;
}}
QStatusBar {{ border-top: 1px solid {theme.line}; color: {theme.muted}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ color: {theme.muted}; font-size: {small}px; }}
QToolBar {{ border: none; border-bottom: 1px solid {theme.line}; spacing: 0; padding: 2px 4px; }}
QToolBar::separator {{ background: {theme.line}; width: 1px; margin: 4px 6px; }}
QToolBar QToolButton {{ padding: 3px 7px; font-size: {small}px; }}
QToolButton {{ border: 1px solid transparent; border-radius: 4px; padding: 4px; }}
QToolButton:hover {{ background: {theme.line}; }}
QToolButton:checked {{ background: {theme.line}; }}
QToolButton[role="title button"] {{
    color: {theme.muted}; font-size: {small}px; padding: 0 4px; border: none;
    min-height: {theme.px(18)}px;
}}
QToolButton[role="title button"]:hover, QToolButton[role="title button"]:focus {{
    color: {theme.text}; background: {theme.line};
}}
QPushButton {{
    background: {theme.field}; border: 1px solid {theme.line}; border-radius: 4px;
    padding: 4px 8px; min-height: {theme.px(16)}px;
}}
QPushButton:hover {{ border-color: {theme.faint}; }}
QPushButton:pressed {{ background: {theme.line}; }}
QPushButton:checked, QPushButton:default {{ background: {theme.line}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {theme.muted}; }}
QToolButton[class="chip"] {{
    font-size: {small}px; padding: 3px 0; border: 1px solid {theme.line}; border-radius: 4px;
}}
QToolButton[class="chip"]:focus {{ border-color: {theme.muted}; }}
QFrame[class="segments"] {{
    background: transparent; border: 1px solid {theme.line}; border-radius: 5px;
}}
QPushButton[class="segment"] {{
    background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 2px 8px;
}}
QPushButton[class="segment"]:checked {{ background: {theme.line}; }}
QPushButton[class="segment"]:!checked {{ color: {theme.muted}; }}
QPushButton[class="segment"]:hover {{ color: {theme.text}; }}
QPushButton[class="segment"]:focus {{ border-color: {theme.muted}; }}
QLineEdit, QPlainTextEdit, QAbstractSpinBox, QComboBox {{
    background: {theme.field}; border: 1px solid {theme.line}; border-radius: 4px;
    padding: 4px; min-height: {theme.px(16)}px;
    selection-background-color: {theme.faint}; selection-color: {theme.text};
}}
QLineEdit, QPlainTextEdit {{ placeholder-text-color: {theme.muted}; }}
QLineEdit:focus, QPlainTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {{
    border-color: {theme.muted};
}}
QAbstractSpinBox {{ padding: 2px 4px; min-height: {theme.px(18)}px; }}
QAbstractSpinBox QLineEdit, QComboBox QLineEdit {{
    border: none; padding: 0 4px; min-height: 0; background: transparent;
}}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ width: 0; border: none; }}
QComboBox {{
    padding: 3px 4px; combobox-popup: 0;
    selection-background-color: {theme.line}; selection-color: {theme.text};
}}
DropDown::drop-down {{ border: none; width: 16px; }}
QComboBox QAbstractItemView::item {{ min-height: {theme.px(22)}px; }}
QComboBox QAbstractItemView, QListView, QListWidget, QTreeView, QTableView {{
    background: {theme.field}; color: {theme.text}; border: 1px solid {theme.line};
    selection-background-color: {theme.line}; selection-color: {theme.text}; outline: none;
}}
QListWidget::item {{ padding: 4px; }}
QListView:focus, QTreeView:focus, QTableView:focus {{ border-color: {theme.muted}; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QAbstractScrollArea[ring="true"] {{ border: 1px solid transparent; }}
QAbstractScrollArea[ring="true"]:focus {{ border-color: {theme.muted}; }}
QHeaderView::section {{
    background: {theme.panel}; color: {theme.muted}; font-size: {small}px;
    border: none; border-bottom: 1px solid {theme.line}; padding: 4px;
}}
QFrame[role="palette"] {{ background: {theme.panel}; border: 1px solid {theme.line}; }}
QFrame[role="palette"] QTreeView {{ background: {theme.panel}; border: none; }}
QFrame[role="palette"] QTreeView::item {{ height: {theme.px(26)}px; padding: 0 8px; }}
#notice {{
    background: {theme.panel}; border-bottom: 1px solid {theme.line};
    border-left: 3px solid {theme.warning};
}}
#views {{ background: {theme.viewport}; }}
GridCell {{ background: {theme.line}; }}
ViewHeader {{ background: {theme.panel}; border-bottom: 2px solid {theme.line}; }}
ViewHeader[main="true"] {{ border-bottom-color: {theme.text}; }}
ViewHeader[target="true"] {{ background: {theme.line}; border-bottom-color: {theme.muted}; }}
ViewHeader[main="true"] QLabel[role="view name"] {{ font-weight: 600; }}
QLabel[role="view name"] {{ font-size: {small}px; }}
QLabel[role="muted"] {{ color: {theme.muted}; }}
QLabel[role="small"] {{ color: {theme.muted}; font-size: {small}px; }}
QLabel[role="heading"] {{ color: {theme.muted}; font-size: {small}px; font-weight: 600; }}
QLabel[role="title"] {{ font-size: {title}px; font-weight: 600; }}
QLabel[role="badge"] {{
    color: {theme.warning}; font-size: {small}px;
}}
QCheckBox::indicator, QRadioButton::indicator {{
    width: 10px; height: 10px; border: 1px solid {theme.muted}; background: {theme.field};
}}
QCheckBox::indicator {{ border-radius: 2px; }}
QRadioButton::indicator {{ border-radius: 6px; }}
QCheckBox::indicator:checked, QRadioButton::indicator:checked {{ background: {theme.muted}; }}
QCheckBox::indicator:checked {{ image: url("{tick}"); }}
QCheckBox::indicator:focus, QRadioButton::indicator:focus {{ border-color: {theme.text}; }}
QToolButton:disabled, QPushButton:disabled, QPushButton[class="segment"]:disabled,
QCheckBox:disabled, QRadioButton:disabled, QLabel:disabled, QLineEdit:disabled,
QPlainTextEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {{
    color: {theme.disabled};
}}
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {{
    border-color: {theme.disabled}; background: {theme.panel};
}}
QCheckBox::indicator:checked:disabled {{ background: {theme.disabled}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
Slider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {theme.line}; }}
Slider::sub-page:horizontal {{ background: {theme.muted}; border-radius: 2px; }}
Slider::handle:horizontal {{
    width: 10px; height: 16px; margin: -7px 0; border-radius: 5px;
    background: {theme.field}; border: 1px solid {theme.muted};
}}
Slider::handle:horizontal:hover {{ border-color: {theme.text}; background: {theme.line}; }}
Slider::handle:horizontal:focus {{ border-color: {theme.text}; background: {theme.faint}; }}
Slider::sub-page:horizontal:disabled {{ background: {theme.line}; }}
Slider::handle:horizontal:disabled {{ border-color: {theme.disabled}; background: {theme.panel}; }}
HoverLabel {{
    background: {theme.panel}; color: {theme.text}; border: 1px solid {theme.line};
    border-radius: 4px; padding: 2px 4px; font-size: {small}px;
}}
WorkingStrip {{
    background: {theme.panel}; border: 1px solid {theme.line}; border-radius: 4px;
}}
WorkingStrip QPushButton {{ padding: 0 6px; min-height: {theme.px(14)}px; font-size: {small}px; }}
QProgressBar {{
    border: none; border-radius: 2px; background: {theme.line}; max-height: 4px;
}}
QProgressBar::chunk {{ background: {theme.muted}; border-radius: 2px; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{
    background: {theme.line}; border-radius: 4px; min-height: 24px; min-width: 24px;
    margin: 1px; }}
QScrollBar::handle:hover {{ background: {theme.muted}; }}
QScrollBar::handle:disabled {{ background: transparent; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
"""
