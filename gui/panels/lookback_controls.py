"""The controls of the look-back panel: what can be chosen, and what each choice means."""

from __future__ import annotations

from gui.style.theme import GRID, Theme
from gui.widgets.number_slider import NumberSlider
from gui.widgets.segmented import Segmented
from gui.widgets.table_text import Column

FIRST_LAG = 50
"""A curve of one or two turns has turned visibly by then."""
SPACES = (
    ("3", "3", "In the first three principal components of the shown positions"),
    ("6", "6", "In their first six: a rotation turns three planes there, each by its own angle"),
    ("all", "All", "In as many as hold 99.9 % of the variance, 64 at most"),
    ("heads", "Heads", "In each head's queries and keys, the first three components of each"),
)
SCORINGS = (
    (
        "even_odd",
        "Even/odd",
        "The motion is fitted on the pairs of even positions and scored on those of odd ones: "
        "nearly the same points",
    ),
    (
        "halves",
        "Halves",
        "The motion is fitted on the first half of the pairs and scored on the second: is it the "
        "same everywhere?",
    ),
)
COLUMNS = (
    Column("head", "Of the first layer, from 0", 44),
    Column("prefers", "The lag at which its queries and keys agree most, on average", 60),
    Column("R² Q", "How well its queries look back N tokens by a rotation and a shift", 52),
    Column("R² K", "How well its keys do", 52),
)
ROW_TIP = "Click shows head {position}"
LAG_TIP = "How many tokens back: drag, type, or press ← and →"
PLAY_TIP = "Move every position along its way (Space)"
STOP_TIP = "Go to the end of the way (Space)"
VIEW_TIP = (
    "Draw where the motion carries each position as a small point, with a line to where it should "
    "land"
)
NOT_SHOWN = "the shown components are not among those that are moved: nothing in the view"


def lag_slider(theme: Theme) -> NumberSlider:
    """Make what chooses N."""
    return NumberSlider("N", 1, FIRST_LAG, FIRST_LAG, LAG_TIP, theme)


def space_choice() -> Segmented:
    """Make what chooses what is moved."""
    made = Segmented(SPACES, "Space")
    # Its words are of unlike length.
    made.setMinimumWidth(made.sizeHint().width() + 3 * GRID)
    return made
