"""The words that fields of the session can have."""

from __future__ import annotations

from typing import Literal

ColorBy = Literal["position", "norm", "residual", "component"]
Outside = Literal["hidden", "faint"]
Projection = Literal["perspective", "parallel"]
Quantity = Literal["norm", "step", "residual"]
ModelState = Literal["bundled", "computed", "installed", "cached", "online"]
