"""The words that fields of the session can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ColorBy = Literal["position", "norm", "residual", "component"]
Outside = Literal["hidden", "faint"]
Projection = Literal["perspective", "parallel"]
Quantity = Literal["norm", "step", "residual"]
ModelState = Literal["bundled", "computed", "installed", "cached", "online"]

Fields = Mapping[str, object]
"""Values by name: of fields of the session, choices of a panel, or as a file has them."""
