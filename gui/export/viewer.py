"""A turnable curve as self-contained HTML, for a cell or a page, and as a picture."""

from __future__ import annotations

import base64
import html
import json
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.pca.components import row_norms
from gui.style.theme import COLORMAPS, format_percent

if TYPE_CHECKING:
    from geometry.claims.measurements import Measurements
    from geometry.models.sources.source import Source
    from geometry.pca.components import Array

SCRIPT = Path(__file__).parents[2] / "resources" / "viewer.js"
MAX_POINTS = 4096
"""More rows are thinned evenly, so that a cell stays below 100 kB."""
AZIMUTH, ELEVATION = np.radians(45.0), np.radians(20.0)
STOPS = 64
"""Colours of the map."""
PICTURE = (640, 420)
SCALE = 2
"""The picture is drawn so many times as large, and reduced."""


@dataclass(frozen=True, eq=False, slots=True)
class ShownCurve:
    """The rows of a range in three components, and what is written beside them.

    Attributes
    ----------
    coordinates : (n, 3) float64
        Centred rows.
    norms : (n,) float64
        Of the rows.
    first, step
        The position of the first row, and the distance to the next.
    line
        Whether neighbours are joined.
    row
        What a row is called.
    title, caption
        The model's name, and its numbers.
    """

    coordinates: Array
    norms: Array
    first: int
    step: int
    line: bool
    row: str
    title: str
    caption: str

    @classmethod
    def of(cls, measured: Measurements) -> ShownCurve:
        """Return the curve of the measured range."""
        model, pca = measured.model, measured.pca
        first, last = pca.positions
        step = -(-(last - first + 1) // MAX_POINTS)
        rows = model.W_pos[first : last + 1 : step]
        scores = pca.project(rows)[:, :3]
        scores = np.pad(scores, ((0, 0), (0, 3 - scores.shape[1])))
        row = "position" if model.of_positions else "row"
        line = model.grid is None and model.of_positions
        text = f"{model.table}, {model.n_positions} × {model.d_model}; {caption_of(measured)}"
        return cls(scores, row_norms(rows), first, step, line, row, model.name, text)

    def data(self) -> dict[str, Any]:
        """Return what the script needs."""
        scaled = np.round(32767 * self.coordinates / self._reach).astype("<i2")
        return {
            "points": base64.b64encode(scaled.tobytes()).decode(),
            "norms": base64.b64encode(self.norms.astype("<f4").tobytes()).decode(),
            "first": self.first,
            "step": self.step,
            "row": self.row,
            "line": self.line,
            "colors": [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in _colors(STOPS)],
            "azimuth": AZIMUTH,
            "elevation": ELEVATION,
        }

    @property
    def last(self) -> int:
        """The position of the last row."""
        return self.first + self.step * (len(self.coordinates) - 1)

    @property
    def _reach(self) -> float:
        return float(row_norms(self.coordinates).max()) or 1.0

    def html(self, height: int = 420) -> str:
        """Return a part of a page, which works alone, and beside others of its kind."""
        name = f"helixscope-{uuid.uuid4().hex}"
        data = self.data()
        return (
            f'<div id="{name}" style="max-width: 720px">'
            f'<div style="font: 600 14px system-ui, sans-serif">{html.escape(self.title)}</div>'
            f'<canvas tabindex="0" role="img" aria-label="{html.escape(self.text)}" '
            f'style="width: 100%; height: {height}px; cursor: grab; touch-action: none">'
            f"</canvas>"
            f'<div style="display: flex; gap: 6px; font: 11px system-ui, sans-serif">'
            f'{self.row} {self.first}<span style="width: 90px; height: 8px; margin-top: 3px; '
            f'background: linear-gradient(to right, {", ".join(data["colors"][::9])})"></span>'
            f'{self.last}<span data-tip style="margin-left: auto"></span></div>'
            f'<div style="font: 12px system-ui, sans-serif; margin-top: 3px">'
            f"{html.escape(self.caption)}</div>"
            f"<script>({_script()})({json.dumps(name)}, {json.dumps(data)})</script></div>"
        )

    def page(self, source: Source) -> str:
        """Return a whole page, made for a frame of 600 × 400 pixels, with its source.

        Of a path of this machine only the name is shown.
        """
        place = source.name if source.model.kind in ("path", "memory") else source.text
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self.title)}</title>"
            '<meta name="viewport" content="width=device-width">'
            "<style>:root {color-scheme: light dark} body {margin: 8px}</style></head><body>"
            f"{self.html(296)}"
            f'<div style="font: 11px system-ui, sans-serif; opacity: 0.7; margin-top: 4px">'
            f"{html.escape(place)} · drawn by Helixscope</div></body></html>\n"
        )

    @property
    def text(self) -> str:
        """Name and numbers in one line."""
        return f"{self.title}: {self.caption}"

    def png(self) -> bytes:
        """Return a picture of the first view."""
        import io

        from PIL import Image, ImageDraw

        width, height = (SCALE * side for side in PICTURE)
        picture = Image.new("RGB", (width, height), "white")
        pen = ImageDraw.Draw(picture)
        size = 0.46 * min(width, height) / self._reach
        x, y, depth = (self.coordinates @ _basis().T).T
        places = np.stack([width / 2 + size * x, height / 2 - size * y], axis=1)
        colors = _colors(len(places))
        for i in np.argsort(depth):
            here, color = places[i], tuple(colors[i])
            if self.line and i:
                pen.line([*places[i - 1], *here], fill=color, width=3)
            pen.ellipse([*(here - 4), *(here + 4)], fill=color)
        file = io.BytesIO()
        picture.resize(PICTURE, Image.Resampling.LANCZOS).save(file, "PNG")
        return file.getvalue()


def caption_of(measured: Measurements) -> str:
    """Return what the curve of a range is, in one line."""
    first, last = measured.shown
    try:
        share = float(measured.pca.explained_variance_ratio[:3].sum())
        evidence = measured.evidence
    except HelixscopeError as error:
        return str(error)
    row = "positions" if measured.model.of_positions else "rows"
    over = f"{row} {first}–{last}: {format_percent(share)} of the variance in three components"
    if evidence is None:
        return over
    if evidence.kind is None:
        near = f", {evidence.strength:.2f} of its bound" if 0 < evidence.strength < 1 else ""
        return f"{over}, no helix or circle by the shape rule{near}"
    return f"{over}, a {evidence.kind} of {evidence.turns:.1f} turns by the shape rule"


def _basis() -> Array:
    """Return the directions to the right, up and to the eye, as rows."""
    ca, sa, ce, se = np.cos(AZIMUTH), np.sin(AZIMUTH), np.cos(ELEVATION), np.sin(ELEVATION)
    return np.array([[-sa, ca, 0.0], [-ca * se, -sa * se, ce], [ca * ce, sa * ce, se]])


@cache
def _script() -> str:
    """Return the function without the comment before it."""
    return "(" + SCRIPT.read_text("utf-8").partition("\n(")[2].rstrip()


def _colors(count: int) -> Any:
    from cmap import Colormap

    stops = Colormap(COLORMAPS[0])(np.linspace(0.0, 1.0, max(count, 2)))[:, :3]
    return np.round(255 * np.asarray(stops)).astype(int).tolist()
