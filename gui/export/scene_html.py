"""The scene as one HTML page, interactive in any browser, without a network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gui.export.scene_guides import Trace, guide_traces
from gui.state.camera import VIEW_ANGLE, CameraPose
from gui.state.colors import ColorScale, legible, lookup_table
from gui.style.theme import SMALL, TEXT, Theme

if TYPE_CHECKING:
    from gui.scene.scene_state import SceneState

POINT_SIZE, FAINT_SIZE, LINE_WIDTH = 4, 2, 3
"""Sizes in pixels of the browser."""
BROWSER_ANGLE = 45.0
"""Vertical field of view of Plotly's perspective camera, in degrees."""
LEGEND_STEPS = 5
"""Number of colours of a map in the legend."""
STOPS = 32
"""Number of colours that define a map."""
ARROW = 0.15
"""Length of an axis's arrow, relative to the scene's longest extent."""
PROJECTIONS = {"perspective": "perspective", "parallel": "orthographic"}
THINNEST = 1e-3
"""Minimum thickness of a flat scene, relative to its longest extent, as required by Plotly."""


def scene_html(
    state: SceneState, theme: Theme, pose: CameraPose, texts: Sequence[str], title: str
) -> str:
    """Return the scene as a self-contained page: some 5 MB, of which 4.8 are code.

    Dragging rotates, the wheel zooms, and points have tooltips.

    Positions outside the range are faint as in the window, or omitted.
    """
    import plotly.graph_objects as go

    world = state.coordinates @ state.turn.T
    first, last = state.positions
    shown = slice(first, last + 1)
    traces = [_curve(world[shown], state.scale, shown, texts[shown], theme)]
    if state.outside == "faint":
        ends = (slice(0, first + 1), slice(last, len(world)))
        traces += [
            _faint(world[end], texts[end], theme) for end in ends if end.stop - end.start > 1
        ]
    traces += guide_traces(state, theme)
    traces += _arrows(state, theme, _Box.around(traces), pose)
    figure = go.Figure([go.Scatter3d(trace) for trace in traces])
    # Anything outside the axes' ranges is not drawn.
    figure.update_layout(_layout(state, theme, _Box.around(traces), pose))
    page: str = figure.to_html(
        include_plotlyjs=True,
        div_id="scene",
        config={"displaylogo": False, "responsive": True, "scrollZoom": True},
        default_height="100%",
    )
    head = (
        f"<head><title>{html.escape(title)}</title>"
        f"<style>body {{ margin: 0; background: {theme.viewport}; }}</style>"
    )
    return page.replace("<head>", head, 1)


def _points(points: np.ndarray, texts: Sequence[str]) -> Trace:
    return {
        **{axis: points[:, i].astype(np.float32) for i, axis in enumerate("xyz")},
        "mode": "lines+markers",
        "text": [html.escape(text) for text in texts],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _curve(
    points: np.ndarray, scale: ColorScale, shown: slice, texts: Sequence[str], theme: Theme
) -> Trace:
    table = legible(lookup_table(scale.colormap), theme.viewport)
    stops = np.linspace(0, 1, STOPS)
    colored = {
        "color": scale.values[shown],
        "cmin": scale.limits[0],
        "cmax": scale.limits[1],
        "colorscale": [
            [float(at), "rgb({}, {}, {})".format(*table[round(at * (len(table) - 1))][:3])]
            for at in stops
        ],
    }
    bar = {
        "title": {"text": html.escape(scale.title), "side": "top"},
        "tickvals": list(scale.limits),
        "ticktext": list(scale.labels),
        "tickfont": {"color": theme.muted},
        "len": 0.3,
        "thickness": 10,
        "outlinewidth": 0,
    }
    return {
        **_points(points, texts),
        "line": {**colored, "width": LINE_WIDTH},
        "marker": {**colored, "size": POINT_SIZE, "opacity": 1, "colorbar": bar},
    }


def _faint(points: np.ndarray, texts: Sequence[str], theme: Theme) -> Trace:
    return {
        **_points(points, texts),
        "line": {"color": theme.faint, "width": 1},
        "marker": {"color": theme.faint, "size": FAINT_SIZE},
    }


@dataclass(frozen=True, eq=False, slots=True)
class _Box:
    """Bounding box of the drawing, and the length of Plotly's unit in it."""

    centre: np.ndarray
    extents: np.ndarray

    @classmethod
    def around(cls, traces: Sequence[Trace]) -> _Box:
        points = np.concatenate(
            [np.column_stack([np.asarray(t[axis]) for axis in "xyz"]) for t in traces]
        )
        low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
        longest = float((high - low).max()) or 1.0
        return cls((low + high) / 2, np.maximum(high - low, THINNEST * longest))

    @property
    def low(self) -> np.ndarray:
        corner: np.ndarray = self.centre - self.extents / 2
        return corner

    @property
    def unit(self) -> float:
        return float(np.cbrt(self.extents.prod()))


def _arrows(state: SceneState, theme: Theme, box: _Box, pose: CameraPose) -> list[Trace]:
    """Return a short line along each component, labelled, initially in the lower right."""
    ahead = pose.focal_point - pose.position
    right = np.cross(ahead, pose.up)
    across = right / np.linalg.norm(right) - pose.up
    start = box.centre + 0.5 * np.sign(across) * box.extents
    length = ARROW * float(box.extents.max())
    arrows: list[Trace] = []
    for along, name in zip(state.turn.T, state.axis_labels, strict=True):
        ends = np.stack([start, start + length * along])
        arrows.append(
            {
                **{axis: ends[:, i] for i, axis in enumerate("xyz")},
                "mode": "lines+text",
                "line": {"color": theme.muted, "width": LINE_WIDTH},
                "text": ["", html.escape(name)],
                "textfont": {"color": theme.text, "size": SMALL},
                "hoverinfo": "skip",
            }
        )
    return arrows


def _layout(state: SceneState, theme: Theme, box: _Box, pose: CameraPose) -> dict[str, object]:
    ranges = np.stack([box.low, box.low + box.extents], axis=1)
    axes = {
        f"{letter}axis": {"visible": False, "range": ends}
        for letter, ends in zip("xyz", ranges.tolist(), strict=True)
    }
    # Plotly's wider field of view needs a nearer camera.
    nearer = np.tan(np.radians(VIEW_ANGLE / 2)) / np.tan(np.radians(BROWSER_ANGLE / 2))
    camera = {
        "eye": _xyz((pose.position - pose.focal_point) * nearer / box.unit),
        "center": _xyz((pose.focal_point - box.centre) / box.unit),
        "up": _xyz(pose.up),
        "projection": {"type": PROJECTIONS[state.projection]},
    }
    return {
        "scene": {
            **axes,
            "aspectmode": "manual",
            "aspectratio": _xyz(box.extents / box.unit),
            "dragmode": "orbit",
            "camera": camera,
        },
        "paper_bgcolor": theme.viewport,
        "font": {"color": theme.text, "size": TEXT, "family": "system-ui, sans-serif"},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "showlegend": False,
        "annotations": [
            {
                "text": "<br>".join(html.escape(line) for line in state.caption),
                "font": {"color": theme.muted, "size": SMALL},
                "xref": "paper",
                "yref": "paper",
                "x": 0.01,
                "y": 0.01,
                "xanchor": "left",
                "yanchor": "bottom",
                "align": "left",
                "showarrow": False,
            },
            *_legend(state),
        ],
    }


def _legend(state: SceneState) -> list[dict[str, object]]:
    """Return the legend of curves that are drawn over each other, in the upper left."""
    if not state.legend:
        return []
    lines = [f"{_strip(colormap)} {html.escape(name)}" for name, colormap in state.legend]
    return [
        {
            "text": "<br>".join(lines),
            "xref": "paper",
            "yref": "paper",
            "x": 0.01,
            "y": 0.99,
            "xanchor": "left",
            "yanchor": "top",
            "align": "left",
            "showarrow": False,
        }
    ]


def _strip(colormap: str) -> str:
    table = lookup_table(colormap)
    colors = (table[at][:3] for at in np.linspace(0, len(table) - 1, LEGEND_STEPS).astype(int))
    return "".join('<span style="color:rgb({}, {}, {})">█</span>'.format(*one) for one in colors)


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", vector.tolist(), strict=True))
