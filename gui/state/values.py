"""Literal types of session fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ColorBy = Literal["position", "norm", "residual", "component"]
Outside = Literal["hidden", "faint"]
Projection = Literal["perspective", "parallel"]
Quantity = Literal["norm", "step", "residual"]
ModelState = Literal["bundled", "computed", "installed", "cached", "online"]

Fields = Mapping[str, object]
"""Values by name: fields of the session, choices of a panel, or parsed from a file."""
