"""Colours of the curve in the scene: normal, or pale around highlighted positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyvista as pv

from gui.state.colors import ColorScale, lookup_table, missing_color

PALE = 0.28
"""Share of its colour that the curve keeps while positions are highlighted."""


class CurveColors:
    """Colours the curve's line and points by its values."""

    def __init__(self, mappers: Sequence[pv.DataSetMapper]) -> None:
        self.table = pv.LookupTable(values=lookup_table("jet"))
        """The full colours, which what lights up has too."""
        self._pale = pv.LookupTable(values=lookup_table("jet"))
        self._mappers = tuple(mappers)
        for mapper in self._mappers:
            mapper.SetUseLookupTableScalarRange(True)
            mapper.SetScalarModeToUsePointData()
            mapper.SetScalarVisibility(True)
        self.dim(on=False)

    def show(self, scale: ColorScale, background: str) -> np.ndarray:
        """Set the colours of a scale on a background, ``#rrggbb``; return them, (n, 4) uint8."""
        table = scale.table(background)
        pale = table.astype(np.float64)
        ground = np.array(pv.Color(background).int_rgb)
        pale[:, :3] = ground + PALE * (pale[:, :3] - ground)
        for lookup, values in ((self.table, table), (self._pale, np.round(pale))):
            lookup.values = values.astype(np.uint8)
            lookup.nan_color = missing_color(background)
        self.span(scale.limits)
        return table

    def span(self, limits: tuple[float, float]) -> None:
        """Set the values at the two ends of the colours."""
        self.table.scalar_range = self._pale.scalar_range = limits

    def dim(self, *, on: bool) -> None:
        """Make the curve pale or normal."""
        for mapper in self._mappers:
            mapper.SetLookupTable(self._pale if on else self.table)
