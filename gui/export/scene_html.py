"""The scene as one HTML page, interactive in any browser, without a network."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from gui.export.scene_guides import Trace, css, guide_traces, xyz
from gui.scene.scene_state import net
from gui.state.camera import VIEW_ANGLE, CameraPose
from gui.state.colors import ColorScale, lookup_table, missing_color
from gui.style.theme import SMALL, TEXT, Theme

if TYPE_CHECKING:
    from gui.scene.scene_state import SceneState
    from gui.state.values import CurveLook

POINT_SIZE, FAINT_SIZE, LINE_WIDTH = 4, 2, 3
"""Default sizes in pixels of the browser."""
BROWSER_ANGLE = 45.0
"""Vertical field of view of Plotly's perspective camera, in degrees."""
FEW = 12
"""Up to this number of categories the colour bar is a short one."""
LEGEND_STEPS = 5
"""Number of colours of a map in the legend."""
STOPS = 32
"""Number of colours that define a map."""
MODES = {"both": "lines+markers", "points": "markers", "line": "lines"}
AXES_SCRIPT = """
(() => {
  const graph = document.getElementById('{plot_id}'), axes = AXES, length = 30;
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.id = 'axes';
  svg.setAttribute('viewBox', '-66 -48 132 96');
  svg.style.cssText = 'position: fixed; right: 8px; bottom: 8px; width: 132px; height: 96px;' +
    'pointer-events: none; font: ' + axes.size + 'px system-ui, sans-serif';
  document.body.append(svg);
  const part = (name, attributes, text) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text) made.textContent = text;
    svg.append(made);
  };
  const list = (p) => [p.x, p.y, p.z];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const unit = (a) => a.map((x) => x / (Math.hypot(...a) || 1));
  const cross = (a, b) =>
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const draw = (camera) => {
    const middle = list(camera.center), back = unit(list(camera.eye).map((x, i) => x - middle[i]));
    const right = unit(cross(list(camera.up), back)), above = cross(back, right);
    svg.replaceChildren();
    part('rect', {x: -66, y: -48, width: 132, height: 96, rx: 4, fill: axes.ground, opacity: 0.8});
    const tips = axes.arrows.map((a) => [length * dot(a, right), -length * dot(a, above)]);
    const rest = unit([0, 1].map((i) => -tips[0][i] - tips[1][i] - tips[2][i]));
    tips.forEach((tip, i) => {
      const seen = Math.hypot(...tip) > 8, way = seen ? unit(tip) : rest;
      const head = (side) => [0, 1].map(
        (k) => tip[k] + 5 * (side * [-way[1], way[0]][k] / 2 - way[k])).join(',');
      part('polyline', {points: '0,0 ' + tip.join(','), stroke: axes.line, fill: 'none',
        'stroke-width': 1.5});
      if (seen) part('polyline', {points: [head(1), tip.join(','), head(-1)].join(' '),
        stroke: axes.line, fill: 'none', 'stroke-width': 1.5});
      part('text', {x: tip[0] + 18 * way[0], y: tip[1] + 10 * way[1], fill: axes.text,
        'text-anchor': 'middle', 'dominant-baseline': 'central'}, axes.names[i]);
    });
  };
  const follow = (moved) => {
    draw((moved && moved['scene.camera']) || graph._fullLayout.scene.camera);
  };
  graph.on('plotly_relayouting', follow);
  graph.on('plotly_relayout', follow);
  follow();
})();
"""
"""Draws the axes' arrows as the window does; Plotly has no axes that stay in a corner."""
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

    world = state.displayed
    first, last = state.positions
    shown = slice(first, last + 1)
    own = _curve(world[shown], state, shown, texts[shown], theme)
    traces = [own]
    if state.columns:
        parts = state.look.curve_parts
        traces = [] if parts == "line" else [{**own, "mode": "markers"}]
        if parts != "points":
            traces.append(_net(world, state, own, theme))
    elif state.outside == "faint":
        ends = (slice(0, first + 1), slice(last, len(world)))
        traces += [
            _faint(world[end], state.look, texts[end], theme)
            for end in ends
            if end.stop - end.start > 1
        ]
    traces += guide_traces(state, theme)
    figure = go.Figure([go.Scatter3d(trace) for trace in traces])
    # Anything outside the axes' ranges is not drawn.
    figure.update_layout(_layout(state, theme, _Box.around([own, *traces]), pose))
    page: str = figure.to_html(
        include_plotlyjs=True,
        div_id="scene",
        config={"displaylogo": False, "responsive": True, "scrollZoom": True},
        default_height="100%",
        post_script=_axes(state, theme),
    )
    head = (
        f"<head><title>{html.escape(title)}</title>"
        f"<style>body {{ margin: 0; background: {theme.viewport}; }}</style>"
    )
    return page.replace("<head>", head, 1)


def _net(world: np.ndarray, state: SceneState, own: Trace, theme: Theme) -> Trace:
    """Return the lines between neighbours of a picture's patches, with gaps between them."""
    edges, _ = net(len(world), state.columns, state.positions)
    ends = np.full((len(edges), 3, 3), np.nan, np.float32)
    ends[:, :2] = world[edges]
    at = edges[:, [0, 1, 1]].ravel()  # the gap has a colour too
    return {
        **xyz(ends.reshape(-1, 3)),
        "mode": "lines",
        "opacity": state.look.opacity,
        "hoverinfo": "skip",
        "line": {**cast("Trace", own["line"]), "color": _colors(state.scale.values[at], theme)},
    }


def _points(points: np.ndarray, look: CurveLook, texts: Sequence[str]) -> Trace:
    return {
        **xyz(points),
        "mode": MODES[look.curve_parts],
        "opacity": look.opacity,
        "text": [html.escape(text) for text in texts],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _curve(
    points: np.ndarray, state: SceneState, shown: slice, texts: Sequence[str], theme: Theme
) -> Trace:
    scale, look = state.scale, state.look
    colored = {
        "color": _colors(scale.values[shown], theme),
        "cmin": scale.limits[0],
        "cmax": scale.limits[1],
        "colorscale": _stops(scale, theme),
    }
    names = [html.escape(name) for name in scale.categories]
    bar = {
        "title": {"text": html.escape(scale.title), "side": "top"},
        "tickvals": list(range(len(names))) if names else list(scale.limits),
        "ticktext": names or [html.escape(label) for label in scale.labels],
        "tickfont": {"color": theme.muted},
        "len": 0.3 if len(names) <= FEW else 0.9,
        "thickness": 10,
        "outlinewidth": 0,
    }
    line: Trace = {**colored, "width": LINE_WIDTH * look.line_share}
    marker: Trace = {**colored, "size": POINT_SIZE * look.point_share, "opacity": 1}
    # Markers that are not drawn have no bar either.
    (line if look.curve_parts == "line" else marker).update(colorbar=bar, showscale=True)
    return {**_points(points, look, texts), "line": line, "marker": marker}


def _colors(values: np.ndarray, theme: Theme) -> np.ndarray | list[float | str]:
    """Return values for Plotly, with a colour where there is none."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    grey = missing_color(theme.viewport)
    return [grey if gone else float(value) for value, gone in zip(values, missing, strict=True)]


def _stops(scale: ColorScale, theme: Theme) -> list[list[float | str]]:
    """Return the colour map as Plotly has it: colours between 0 and 1, in steps for categories."""
    table = scale.table(theme.viewport)
    n = len(scale.categories)
    if n:
        ends = [(end / n, (k + 0.5) / n) for k in range(n) for end in (k, k + 1)]
    else:
        ends = [(float(at), float(at)) for at in np.linspace(0, 1, STOPS)]
    rows = [(at, table[round(seen * (len(table) - 1))]) for at, seen in ends]
    return [[at, css(color)] for at, color in rows]


def _faint(points: np.ndarray, look: CurveLook, texts: Sequence[str], theme: Theme) -> Trace:
    return {
        **_points(points, look, texts),
        "line": {"color": theme.faint, "width": look.line_share},
        "marker": {"color": theme.faint, "size": FAINT_SIZE * look.point_share},
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


def _axes(state: SceneState, theme: Theme) -> str:
    """Return a script that draws the components' arrows over the scene, in its lower right.

    They turn with the camera, and stay in their corner.
    """
    shown = {
        "arrows": state.turn.T.tolist(),
        "names": [name.partition(" · ")[0] for name in state.axis_labels],
        "line": theme.muted,
        "text": theme.text,
        "ground": theme.viewport,
        "size": SMALL,
    }
    # "<" could end the script.
    return AXES_SCRIPT.replace("AXES", json.dumps(shown).replace("<", "\\u003c"))


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
        "annotations": [_caption(state, theme), *_legend(state)],
    }


def _caption(state: SceneState, theme: Theme) -> dict[str, object]:
    """Return the caption, in the lower left."""
    lines = [html.escape(line) for line in state.caption]
    font = {"color": theme.muted, "size": SMALL}
    note = _note(lines, 0.01, "bottom")
    return {**note, "font": font, "bgcolor": theme.viewport, "opacity": 0.85}


def _legend(state: SceneState) -> list[dict[str, object]]:
    """Return the legend of curves that are drawn over each other, in the upper left."""
    lines = [f"{_strip(colormap)} {html.escape(name)}" for name, colormap in state.legend]
    return [_note(lines, 0.99, "top")] if lines else []


def _note(lines: Sequence[str], y: float, anchor: str) -> dict[str, object]:
    """Return lines of text at the left."""
    place = {"xref": "paper", "yref": "paper", "x": 0.01, "y": y, "yanchor": anchor}
    text = "<br>".join(lines)
    return {**place, "xanchor": "left", "text": text, "align": "left", "showarrow": False}


def _strip(colormap: str) -> str:
    table = lookup_table(colormap)
    colors = table[np.linspace(0, len(table) - 1, LEGEND_STEPS).astype(int)]
    return "".join(f'<span style="color:{css(color)}">█</span>' for color in colors)


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", vector.tolist(), strict=True))
