"""Words and small values of the session's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from geometry.models.catalogue import CatalogueEntry
    from geometry.models.model import PositionalModel

ColorBy = Literal["position", "norm", "residual", "component"]
ColorSpan = Literal["table", "range"]
Outside = Literal["hidden", "faint"]
Projection = Literal["perspective", "parallel"]
FirstRange = Literal["typical", "from 1", "all"]
"""Range of a model that is opened: without outliers at its ends, from 1 to the last, all."""
Quantity = Literal["norm", "step", "residual"]
ModelState = Literal["bundled", "computed", "installed", "cached", "online"]

Fields = Mapping[str, object]
"""Values by name: fields of the session, choices of a panel, or parsed from a file."""


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
    """Something the user should know: one plain sentence, what to do next, and the details."""

    text: str  # What happened, and why
    advice: str = ""  # What to do next; may be empty
    details: str = ""  # Technical details (a traceback), shown on a click; may be empty
    # For a source of unknown architecture: names of tensors that could be position tables.
    candidates: tuple[str, ...] = ()
    source: str = ""  # The source that could not be opened
    retry: bool = False  # Whether to offer to try again
    # Size in bytes of a whole-file download that a button offers; 0 for none, -1 if the size is
    # unknown.
    whole: int = 0
    beside: bool = False  # Whether it is about models beside the open one
    # The model whose file has changed, which a button opens again.
    again: PositionalModel | None = None
