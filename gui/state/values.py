"""Types and small values of the session's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from gui.state.fields import Name, Whole

if TYPE_CHECKING:
    from geometry.checkpoints.stores import TensorInfo
    from geometry.models.model import PositionalModel
    from geometry.models.sources.catalogue import CatalogueEntry
    from geometry.models.sources.source import Source

ColorBy = Literal["position", "period", "norm", "residual", "component", "token", "column"]
ColorSpan = Literal["range", "table"]
Outside = Literal["hidden", "faint"]
CurveParts = Literal["both", "points", "line"]
Projection = Literal["perspective", "parallel"]
FirstRange = Literal["typical", "from 1", "all"]
"""Range of a model that is opened: without outliers at its ends, from 1 to the last, all."""
Quantity = Literal["norm", "step", "residual"]
ModelState = Literal["bundled", "computed", "installed", "cached", "online"]

MAX_TABLES = 64
"""Maximum number of sources whose chosen table is remembered."""
ColumnWidths = Annotated[tuple[tuple[Name, Whole], ...], Meta(max_length=1_000)]
"""Keys of a table's columns in order, and their widths in pixels."""
Fields = Mapping[str, object]
"""Values by name: fields of the session, choices of a panel, or parsed from a file."""
NO_FIELDS: Fields = MappingProxyType({})


LINE_WIDTH, POINT_SIZE = 1.5, 7.0
"""Default sizes of the curve, in logical pixels."""
PERIOD, PERIODS = 32.0, (2.0, 4096.0)
"""Default period in positions, and its inclusive bounds: a shorter period has a single colour."""
LINE_WIDTHS, POINT_SIZES, OPACITIES = (0.5, 12.0), (1.0, 30.0), (0.05, 1.0)
"""Inclusive bounds: thinner or fainter curves are invisible, larger points hide the curve."""


USUAL_HEIGHT, MAX_GROWTH = 900.0, 1.6
"""Height of a screen with the default sizes, in logical pixels; on higher screens sizes grow with
the square root of the height, up to the factor."""


def sizes_on_screen(height: float) -> tuple[float, float]:
    """Return the line width and point size of a first start, on a screen of some height.

    All are in logical pixels.
    """
    growth = min(max(height / USUAL_HEIGHT, 1.0) ** 0.5, MAX_GROWTH)
    return round(growth * LINE_WIDTH, 1), round(growth * POINT_SIZE, 1)


@dataclass(frozen=True, slots=True)
class CurveLook:
    """Thickness and opacity of the drawn curve."""

    # Width of the line and diameter of the points, in logical pixels.
    line_width: float = LINE_WIDTH
    point_size: float = POINT_SIZE
    curve_parts: CurveParts = "both"
    opacity: float = 1.0  # 1 for solid

    @property
    def line_share(self) -> float:
        """The line's width relative to the default."""
        return self.line_width / LINE_WIDTH

    @property
    def point_share(self) -> float:
        """The points' size relative to the default."""
        return self.point_size / POINT_SIZE


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of the model list: a catalogue entry and whether it can be opened from here."""

    entry: CatalogueEntry
    state: ModelState


@dataclass(frozen=True, slots=True)
class ColorLimits:
    """The values at the two ends of the colour scale, and their labels."""

    limits: tuple[float, float]
    labels: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the user: one plain sentence, advice, and details."""

    text: str  # What happened, and why
    advice: str = ""  # What to do next; may be empty
    details: str = ""  # Technical details (a traceback), shown on a click; may be empty
    # For a source of unknown architecture: tensors that could be position tables.
    candidates: tuple[TensorInfo, ...] = ()
    source: Source | None = None  # What could not be opened
    retry: bool = False  # Whether to offer to try again
    # Size in bytes of a whole-file download that a button offers; 0 for none, -1 if the size is
    # unknown.
    whole: int = 0
    inside: bool = False  # Whether to offer to measure the positions inside the source
    beside: bool = False  # Whether it is about other models
    # The model whose file has changed; a button reopens it.
    again: PositionalModel | None = None
    # If only the row for position 0 of the one candidate is unknown: the possible ones.
    first_rows: tuple[int, ...] = ()
    asks: bool = False  # Whether trying again looks up models that a project names
