"""The guides of a scene in files for other programs."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv

from gui.scene.guide_lines import LIT_SIZES, dashes_of, lit_levels
from gui.state.colors import point_colors
from gui.style.theme import TEXT, Theme

if TYPE_CHECKING:
    from gui.scene.scene_state import SceneState
    from gui.state.guides import Guide

Trace = dict[str, object]
"""A Plotly trace."""

LINE_WIDTH, PALE_WIDTH, POINT_SIZE, MATCHED_SIZE = 3, 1, 2, 3
"""Sizes in pixels of the browser."""
LIT_SHARE = 4 / 7
"""Scale from the window's point sizes to the browser's."""


def guide_polylines(state: SceneState, theme: Theme) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return all lines of the guides as displayed, dash by dash: each (m, 3).

    With the colours of their points, (m, 4) uint8: grey, or their own.
    """
    grey, found = _grey(theme), []
    for guide in state.guides:
        for line in (*guide.lines, *dashes_of(guide), *_each(guide.segments)):
            colors = np.tile(grey, (len(line), 1))
            if guide.colormap and guide.along is not None:
                colors = colors_of(state, guide, theme)[guide.along]
            found.append((line @ state.turn.T, colors))
    return found


def guide_points(state: SceneState, theme: Theme) -> tuple[np.ndarray, np.ndarray]:
    """Return the guides' points as displayed: (k, 3).

    With their colours, (k, 4) uint8: grey, matched or their own.
    """
    parts = [(np.zeros((0, 3)), np.zeros((0, 4), np.uint8))]
    for guide in state.guides:
        if guide.points is not None:
            colors = np.tile(_grey(theme), (len(guide.points), 1))
            if guide.matched is not None:
                colors = colors_of(state, guide, theme)[guide.matched]
            parts.append((guide.points @ state.turn.T, colors))
    points, colored = zip(*parts, strict=True)
    return np.concatenate(points), np.concatenate(colored)


def colors_of(state: SceneState, guide: Guide, theme: Theme) -> np.ndarray:
    """Return the colours of all positions in a guide, (n_positions, 4) uint8."""
    if not guide.colormap:
        return point_colors(state.scale, theme.viewport)
    own = replace(state.scale, colormap=guide.colormap, categories=())
    return point_colors(own, theme.viewport)


def guide_traces(state: SceneState, theme: Theme) -> list[Trace]:
    """Return the guides as Plotly traces of lines and markers."""
    traces: list[Trace] = []
    for guide in state.guides:
        firm = (theme.faint, PALE_WIDTH) if guide.pale else (theme.text, LINE_WIDTH)
        for parts, (color, width) in (
            ((), firm) if guide.colormap else (guide.lines, firm),
            (dashes_of(guide), (theme.muted, PALE_WIDTH)),
            (_each(guide.segments), (theme.muted, PALE_WIDTH)),
        ):
            if len(parts):
                line = {"color": color, "width": width}
                traces.append({**xyz(_apart(parts) @ state.turn.T), "mode": "lines", "line": line})
        if guide.colormap and guide.along is not None:
            colors = _matching(state, guide.along, theme, guide)
            line = {"color": colors, "width": PALE_WIDTH if guide.pale else LINE_WIDTH}
            traces += [
                {**xyz(one @ state.turn.T), "mode": "lines", "line": line} for one in guide.lines
            ]
        if guide.points is not None and len(guide.points):
            marker: dict[str, object] = {"color": theme.muted, "size": POINT_SIZE, "opacity": 1}
            if guide.matched is not None:
                marker.update(
                    size=MATCHED_SIZE * state.look.point_share,
                    color=_matching(state, guide.matched, theme, guide),
                )
            traces.append({**xyz(guide.points @ state.turn.T), "mode": "markers", "marker": marker})
        traces += _written(state, guide.texts, theme)
        traces += _lit(state, guide, theme)
    return [{**trace, "hoverinfo": "skip"} for trace in traces]


def _written(
    state: SceneState, texts: tuple[tuple[np.ndarray, str], ...], theme: Theme
) -> list[Trace]:
    if not texts:
        return []
    places = np.stack([at for at, _ in texts]) @ state.turn.T
    words = [html.escape(text) for _, text in texts]
    font = {"color": theme.text, "size": TEXT}
    return [{**xyz(places), "mode": "text", "text": words, "textfont": font}]


def _lit(state: SceneState, guide: Guide, theme: Theme) -> list[Trace]:
    levels = lit_levels(guide)
    at = np.concatenate(levels)
    if not len(at):
        return []
    each = np.array(LIT_SIZES) * LIT_SHARE * state.look.point_share
    sizes = np.repeat(each, [len(level) for level in levels])
    marker = {"size": sizes, "color": _matching(state, at, theme, guide), "opacity": 1}
    places = (state.coordinates @ state.turn.T)[at]
    return [{**xyz(places), "mode": "markers", "marker": marker}]


def _matching(state: SceneState, positions: np.ndarray, theme: Theme, guide: Guide) -> list[str]:
    """Return the colours of positions in a guide, in CSS syntax."""
    colors = colors_of(state, guide, theme)[positions, :3]
    return [css(color) for color in colors]


def css(color: np.ndarray) -> str:
    """Return a colour of red, green, blue, and perhaps opacity, in CSS syntax."""
    return "rgb({}, {}, {})".format(*color)


def _grey(theme: Theme) -> np.ndarray:
    return np.array(pv.Color(theme.muted).int_rgba, np.uint8)


def _each(segments: np.ndarray | None) -> list[np.ndarray]:
    return [] if segments is None else list(segments)


def _apart(parts: tuple[np.ndarray, ...] | list[np.ndarray]) -> np.ndarray:
    """Return polylines as one, separated by gaps."""
    gap = np.full((1, 3), np.nan)
    return np.concatenate([piece for part in parts for piece in (part, gap)][:-1])


def xyz(points: np.ndarray) -> Trace:
    """Return the coordinates of (m, 3) points for a trace."""
    return {axis: points[:, i].astype(np.float32) for i, axis in enumerate("xyz")}
