"""The guides of a scene in files for other programs."""

from __future__ import annotations

import html
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv

from gui.scene.guide_lines import LIT_SIZES, LOOKS, GuidePart, guide_parts, lit_levels
from gui.state.colors import point_colors
from gui.style.theme import TEXT, Theme

if TYPE_CHECKING:
    from gui.scene.scene_state import SceneState
    from gui.state.guides import Guide

Trace = dict[str, object]
"""A Plotly trace."""

Body = tuple[np.ndarray, np.ndarray]
"""(m, 3) points, and their colours, (m, 4) uint8."""

LINE_WIDTH, PALE_WIDTH, POINT_SIZE, MATCHED_SIZE = 3, 1, 2, 3
"""Sizes in pixels of the browser."""
LIT_SHARE = 4 / 7
"""Scale from the window's point sizes to the browser's."""


def guide_bodies(state: SceneState, theme: Theme) -> tuple[list[Body], list[Body]]:
    """Return all lines of the guides as displayed, dash by dash, and their points.

    Their colours are grey, those of positions, or their own.
    """
    lines: list[Body] = []
    points: list[Body] = []
    for guide in state.guides:
        for part in guide_parts(guide):
            if part.at is None:
                grey = np.array(pv.Color(theme.muted).int_rgba, np.uint8)
                colors = np.tile(grey, (len(part.points), 1))
            else:
                colors = colors_of(state, guide, theme)[part.at]
            (lines if part.is_line else points).append((part.points @ state.turn.T, colors))
    return lines, points


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
        for kind, group in groupby(guide_parts(guide), lambda part: part.kind):
            parts = list(group)
            if not parts[0].is_line:
                traces += [_markers(state, part, guide, theme) for part in parts]
            elif kind == "colored lines":
                width = PALE_WIDTH if guide.pale else LINE_WIDTH
                for part in parts:
                    assert part.at is not None
                    colors = _matching(state, part.at, theme, guide)
                    traces.append(_line(state, part.points, colors, width))
            else:
                color, points = getattr(theme, LOOKS[kind].tone), [part.points for part in parts]
                width = LINE_WIDTH if kind == "lines" else PALE_WIDTH
                traces.append(_line(state, _apart(points), color, width))
        traces += _written(state, guide.texts, theme)
        traces += _lit(state, guide, theme)
    return [{**trace, "hoverinfo": "skip"} for trace in traces]


def _line(state: SceneState, points: np.ndarray, color: str | list[str], width: int) -> Trace:
    line = {"color": color, "width": width}
    return {**xyz(points @ state.turn.T), "mode": "lines", "line": line}


def _markers(state: SceneState, part: GuidePart, guide: Guide, theme: Theme) -> Trace:
    marker: dict[str, object] = {"color": theme.muted, "size": POINT_SIZE, "opacity": 1}
    if part.at is not None:
        marker["size"] = MATCHED_SIZE * state.look.point_share
        marker["color"] = _matching(state, part.at, theme, guide)
    return {**xyz(part.points @ state.turn.T), "mode": "markers", "marker": marker}


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
    return [{**xyz(state.displayed[at]), "mode": "markers", "marker": marker}]


def _matching(state: SceneState, positions: np.ndarray, theme: Theme, guide: Guide) -> list[str]:
    """Return the colours of positions in a guide, in CSS syntax."""
    return [css(color) for color in colors_of(state, guide, theme)[positions, :3]]


def css(color: np.ndarray) -> str:
    """Return a colour of red, green, blue, and perhaps opacity, in CSS syntax."""
    return "rgb({}, {}, {})".format(*color)


def _apart(parts: list[np.ndarray]) -> np.ndarray:
    """Return polylines as one, separated by gaps."""
    gap = np.full((1, 3), np.nan)
    return np.concatenate([piece for part in parts for piece in (part, gap)][:-1])


def xyz(points: np.ndarray) -> Trace:
    """Return the coordinates of (m, 3) points for a trace."""
    return {axis: points[:, i].astype(np.float32) for i, axis in enumerate("xyz")}
