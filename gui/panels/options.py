"""What can be chosen in panels, as it is in a file of saved work. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gui.panels import kit
from gui.panels.table import PANELS

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


def usable(panel: str, options: Mapping[str, Any], model: PositionalModel) -> dict[str, Any]:
    """Return the choices in a file that make sense for a panel, and that a model has."""
    return kit.usable(PANELS[panel].spec, options, model) if panel in PANELS else {}
