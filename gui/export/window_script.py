"""A Python script that draws what a window shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pprint import pformat
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gui.scene.guide_lines import PALE
from gui.scene.scene import COMPACT_POINTS, FAINT_LINE_WIDTH, FAINT_POINT_SIZE, MOST_LEGEND
from gui.scene.scene_state import MAX_TRAILS, MODEL_LINES, lasting_labels, resolve_scene
from gui.services.alignment import SLOT as ALIGNED
from gui.services.alignment_text import computing, names_used, other_model
from gui.services.pair_measuring import SLOT as MEASURE
from gui.services.snippets import opening
from gui.state.camera import VIEW_ANGLE
from gui.state.colors import lookup_table, missing_color
from gui.state.session import Session
from gui.state.timeline import columns_for
from gui.style.theme import HUES, THEMES

if TYPE_CHECKING:
    from gui.state.camera import CameraPose

SCALE = 2
"""Pixels per logical pixel, the default of saved pictures."""
WRITTEN_OUT = 88
"""Letters in a line of numbers that are written out."""
LINE, FONT = 3, 11
"""Width of guides and font size in the picture."""
_NOT_IN_MATPLOTLIB = ("batlow", "romaO", *HUES)
"""Colour maps whose names pyvista does not know."""


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """Camera, size and theme of a view."""

    pose: CameraPose
    size: tuple[int, int]  # Width and height of the viewport in logical pixels
    theme: str  # ``light`` or ``dark``
    compact: bool = False  # Whether it is one of several views, without caption and colour bar


def script(
    session: Session,
    sight: Sight,
    panels: Mapping[str, str] = MappingProxyType({}),
    others: Mapping[int, Sight] = MappingProxyType({}),
) -> str:
    """Return a script that fits and draws a session's scene, and prints the results.

    Parameters
    ----------
    session
        A session with a model. Compared models follow, each in its own picture.
    sight
        The open model's view.
    panels
        Scripts of panels that show results of the open model, by title.
    others
        Views of compared models, by key; default: that of the open one.
    """
    assert session.model is not None
    begin = opening(session.model)
    parts = [_HEAD + _ModelLines(session, sight).text()]
    parts += [f"# {title}\n{text.removeprefix(begin).strip()}" for title, text in panels.items()]
    parts += [
        _ModelLines(one.session, others.get(one.key, sight), number).text()
        for number, one in enumerate(session.compared, start=1)
        if one.session.model is not None and one.session.curve is not None
    ]
    return "\n\n".join(parts) + "\n"


_HEAD = """\
import numpy as np
import pyvista as pv

from geometry import fit_pca, norm_profile, place_curve
"""


class _ModelLines:
    """The lines for one model; ``number`` is 0 for the open one."""

    def __init__(self, session: Session, sight: Sight, number: int = 0) -> None:
        state = resolve_scene(session)
        assert state is not None
        assert session.curve is not None
        self._session, self._sight, self._number = session, sight, number
        self._state, self._curve = state, session.curve
        self._theme = THEMES[sight.theme]
        drawn = [session.guides.get(slot) for slot in (ALIGNED, MEASURE)]
        self._missing = [guide for guide in state.guides if guide not in drawn]

    def text(self) -> str:
        """Return the lines as text."""
        lines = [
            *self._numbers(),
            *self._points(),
            *self._plotter(),
            *self._marks(),
            *self._sphere(),
            *self._trails(),
            *self._aligned(),
            *self._measured(),
            *self._around(),
            *self._picture(),
        ]
        assert self._session.model is not None
        return opening(self._session.model) + "\n".join(lines)

    # ---- numbers ---------------------------------------------------------------------------

    def _numbers(self) -> list[str]:
        pca, norms = self._curve.pca, self._session.norms
        centred, after = (False, 0) if norms is None else (norms.centred, norms.after)
        return [
            f"pca = fit_pca(model.W_pos, {pca.positions}, {max(len(pca.components), 1)})",
            f"curve = place_curve(model.W_pos, pca, {tuple(self._curve.components)})",
            f"norms = norm_profile(model.W_pos, after={after}, centred={centred})",
            "print(model.name, pca.positions, curve.components, curve.explained_variance_ratio)",
            "for position, (xyz, norm) in enumerate(zip(curve.coordinates, norms.values)):",
            "    print(position, *xyz, norm)",
            "",
        ]

    def _points(self) -> list[str]:
        """Return the lines that compute ``points`` and their ``values`` for all positions."""
        lines, timeline = ["points = curve.coordinates"], self._session.shown_timeline
        if timeline is not None:
            assert self._session.snapshot is not None
            step = int(timeline.history.steps[self._session.snapshot])
            columns = list(columns_for(self._curve.components))
            lines = [
                "from geometry import history_here, make_timelapse",
                "",
                f"lapse = make_timelapse(history_here(model), {timeline.positions})",
                f"ways = lapse.{timeline.basis}[:, :, {columns}]  # of all positions, by step",
                f"snapshot = lapse.steps.tolist().index({step})",
                "points = ways[snapshot]",
            ]
        lines += self._value_lines()
        if self._turned:
            lines += [
                f"turn = np.array({self._state.turn.tolist()})",
                "points = points @ turn.T  # as the window turns them",
            ]
        return lines

    @property
    def _turned(self) -> bool:
        return not np.array_equal(self._state.turn, np.eye(3))

    def _value_lines(self) -> list[str]:
        """Return the lines that set ``values``; those of a prompt or a column are written out."""
        scale, title = self._state.scale, f"# {self._state.scale.title}"
        if self._session.color_by not in ("token", "column"):
            return [f"values = {self._values()}  {title}"]
        known = np.flatnonzero(~np.isnan(scale.values))
        given = scale.values[: known[-1] + 1 if len(known) else 0]
        numbers = ", ".join("nan" if np.isnan(v) else f"{v:.7g}" for v in given)
        return [
            f"nan = np.nan  {title}; what has no value is grey",
            "values = np.full(model.n_positions, nan)",
            f"values[: {len(given)}] = [",
            *(f"    {line}" for line in wrap(numbers, WRITTEN_OUT, break_long_words=False)),
            "]",
        ]

    def _values(self) -> str:
        session = self._session
        if session.color_by == "period":
            return f"np.arange(model.n_positions) % {session.color_period!r}"
        if session.color_by == "residual":
            return "curve.residual"
        if session.color_by == "component":
            return f"place_curve(model.W_pos, pca, ({session.color_component},)).coordinates[:, 0]"
        if session.color_by == "norm" and session.norms is not None:
            return "norms.values"
        return "np.arange(model.n_positions)"

    # ---- picture ---------------------------------------------------------------------------

    def _plotter(self) -> list[str]:
        """Return the lines that draw the curve."""
        state, theme, (width, height) = self._state, self._theme, self._sight.size
        first, last = state.positions
        low, high = (float(limit) for limit in state.scale.limits)
        scale = state.scale
        rows = scale.legend(theme.viewport, len(scale.categories))
        hexed = [[name, "#{:02x}{:02x}{:02x}".format(*color[:3])] for name, color in rows]
        name = "[color for _, color in categories]" if hexed else _map_of(scale.colormap)
        look, lines = state.look, [""]
        if any(one in _NOT_IN_MATPLOTLIB for one in self._maps()):
            lines += ["from cmap import Colormap", ""]
        lines += [
            f"size = ({width * SCALE}, {height * SCALE})",
            "plotter = pv.Plotter(off_screen=True, window_size=size)",
            f'plotter.set_background("{theme.viewport}")',
            'flat = {"lighting": False, "render_points_as_spheres": True}',
        ]
        if state.outside == "faint":
            faint = f'color="{theme.faint}", {self._opacity}**flat)'
            thick = f"line_width={FAINT_LINE_WIDTH * look.line_share * SCALE:g}"
            across = f"point_size={FAINT_POINT_SIZE * look.point_share * SCALE:g}"
            if look.curve_parts != "points":
                lines.append(f"plotter.add_mesh(pv.lines_from_points(points), {thick}, {faint}")
            if look.curve_parts != "line":
                lines.append(f"plotter.add_points(points, {across}, {faint}")
        bar = f'scalar_bar_args={{"title": {state.scale.title!r}, **bar}}'
        if self._sight.compact or hexed:
            bar = "show_scalar_bar=False"
        else:
            lines += [
                'bar = {"vertical": True, "n_labels": 2, "position_x": 0.86, "position_y": 0.4,',
                f'       "title_font_size": {FONT * SCALE}, "label_font_size": {FONT * SCALE},',
                f'       "color": "{theme.muted}"}}',
            ]
        return [
            *lines,
            *([f"categories = {pformat(hexed, width=88)}"] if hexed else []),
            f'colors = {{"cmap": {name}, "clim": ({low}, {high}), {self._opacity}**flat}}',
            *self._missing_line(),
            f"shown = slice({first}, {last + 1})",
            *self._curve_lines(bar),
            *self._legend_lines(),
        ]

    def _missing_line(self) -> list[str]:
        """Return the line that sets the colour of positions without a value, if there are any."""
        if not np.isnan(self._state.scale.values).any():
            return []
        return [f'colors["nan_color"] = "{missing_color(self._theme.viewport)}"']

    def _legend_lines(self) -> list[str]:
        """Return the line that lists the categories, if there are any."""
        if self._sight.compact or not self._state.scale.categories:
            return []
        return [
            f'plotter.add_legend(categories[:{MOST_LEGEND}], bcolor=None, face="rectangle",',
            '                   loc="center right")',
        ]

    @property
    def _opacity(self) -> str:
        opacity = self._state.look.opacity
        return "" if opacity == 1.0 else f'"opacity": {opacity:g}, '

    def _curve_lines(self, bar: str) -> list[str]:
        """Return the lines that draw the shown range: its line, its points, or both."""
        look, size = self._state.look, self._point_size
        line_bar = bar if look.curve_parts == "line" else "show_scalar_bar=False"
        line = [
            "plotter.add_mesh(pv.lines_from_points(points[shown]), scalars=values[shown],",
            f"                 line_width={look.line_width * SCALE:g}, {line_bar}, **colors)",
        ]
        points = [
            f"plotter.add_points(points[shown], scalars=values[shown], point_size={size:g},",
            f"                   {bar}, **colors)",
        ]
        drawn = {"both": line + points, "line": line, "points": points}
        return drawn[look.curve_parts]

    @property
    def _point_size(self) -> float:
        return (
            self._state.look.point_size * (COMPACT_POINTS if self._sight.compact else 1.0) * SCALE
        )

    def _maps(self) -> list[str]:
        """Return the names of the colour maps of the picture."""
        return [self._state.scale.colormap, *(guide.colormap for guide in self._state.guides)]

    def _marks(self) -> list[str]:
        """Return the lines that draw selected positions and all labels."""
        state, lines = self._state, []
        size = f"{self._point_size + 2 * SCALE:g}"
        chosen = [position for position in state.selection if state.visible(position)]
        if chosen:
            lines += [
                "# Rings in the window:",
                f"plotter.add_points(points[{chosen}], point_size={size}, "
                f'color="{self._theme.accent}", **flat)',
            ]
        labels = {p: t for p, t in lasting_labels(self._session).items() if state.visible(p)}
        if labels:
            lines += [
                f"labels = {pformat(labels, width=88, sort_dicts=False)}",
                *self._write("points[[*labels]]", "[*labels.values()]"),
            ]
        return lines

    def _write(self, points: str, texts: str) -> list[str]:
        color = self._theme.text
        return [
            f"plotter.add_point_labels({points}, {texts}, show_points=False,",
            f'                         shape=None, always_visible=True, text_color="{color}",',
            f"                         font_size={FONT * SCALE})",
        ]

    def _sphere(self) -> list[str]:
        """Return the lines that draw the sphere of rows of mean norm."""
        section = self._state.sphere
        if section is None or section.axes is None:
            return []
        rows = [component - 1 for component in self._curve.components]
        return [
            "",
            "from geometry import sphere_section",
            "",
            f"section = sphere_section(pca.mean, pca.components[{rows}], norms.mean,",
            "                         centred=norms.centred)",
            "sphere = pv.Sphere(radius=1)",
            "sphere.points = section.centre + sphere.points @ section.axes.T",
            *(["sphere.points = sphere.points @ turn.T"] if self._turned else []),
            f'plotter.add_mesh(sphere, style="wireframe", color="{self._theme.faint}",',
            "                 lighting=False, opacity=0.3)",
        ]

    def _trails(self) -> list[str]:
        """Return the lines that draw paths of selected positions through the training."""
        if self._state.ways is None:
            return []
        chosen = [p for p in self._state.selection if self._state.visible(p)][-MAX_TRAILS:]
        way = "ways[:, position]" + " @ turn.T" * self._turned
        return [
            f"for position in {chosen}:",
            f'    plotter.add_lines({way}, color="{self._theme.faint}", width={LINE},',
            "                      connected=True)",
        ]

    def _aligned(self) -> list[str]:
        """Return the lines that draw an aligned curve, if there is one."""
        aligned, guide = self._session.aligned, self._session.guides.get(ALIGNED)
        if aligned is None or guide not in self._state.guides:
            return []
        assert guide is not None
        assert guide.matched is not None
        first, last = int(aligned.matched[0]), int(aligned.matched[-1])
        every = int(guide.matched[1] - guide.matched[0]) if len(guide.matched) > 1 else 1
        color = self._theme.faint if guide.pale else self._theme.text
        size = f"{6 * self._state.look.point_share * SCALE:g}"
        matched, own = f"values[{first} : {last + 1}]", guide.colormap
        drawn = [f'plotter.add_lines(laid, color="{color}", width={LINE}, connected=True)']
        if own:
            pale = f", opacity={PALE}" if guide.pale else ""
            drawn = [
                f'own = {{**colors, "cmap": {_map_of(own)}}}',
                f"plotter.add_mesh(pv.lines_from_points(laid), scalars={matched},",
                f"                 line_width={LINE}, show_scalar_bar=False{pale}, **own)",
            ]
        return [
            "",
            f"from geometry import {', '.join(names_used(aligned))}",
            "",
            *computing(aligned, other_model(self._session)),
            *(["laid = laid @ turn.T"] if self._turned else []),
            *drawn,
            f"plotter.add_points(laid[::{every}], scalars={matched}[::{every}],",
            f"                   point_size={size}, show_scalar_bar=False,",
            f"                   **{'own' if own else 'colors'})",
            *self._legend(),
        ]

    def _legend(self) -> list[str]:
        """Return the lines that name overlaid curves, in the middle of their colour maps."""
        if not self._state.legend:
            return []
        table = {colormap: lookup_table(colormap)[128, :3] for _, colormap in self._state.legend}
        entries = [
            [name, "#{:02x}{:02x}{:02x}".format(*table[colormap])]
            for name, colormap in self._state.legend
        ]
        return [
            f"legend = {pformat(entries, width=88)}",
            "plotter.add_legend(legend, loc='upper left', face='rectangle', bcolor=None,",
            "                   size=(0.3, 0.08))",
        ]

    def _measured(self) -> list[str]:
        """Return the lines that draw the measured line, if there is one."""
        pair, guide = self._session.pair, self._session.guides.get(MEASURE)
        if pair is None or guide not in self._state.guides:
            return []
        said = f"{tuple(pair.positions)}, {tuple(self._curve.components)}"
        return [
            "",
            "from geometry import pair_distance",
            "",
            f"pair = pair_distance(model.W_pos, pca, {said})",
            "print(pair)",
            "ends = points[[*pair.positions]]",
            f'plotter.add_lines(ends, color="{self._theme.text}", width={LINE})',
            *self._write("ends.mean(axis=0, keepdims=True)", '[f"{pair.shown:.3g}"]'),
        ]

    def _around(self) -> list[str]:
        """Return the lines for axes and caption, and a comment on what is omitted."""
        theme, missing = self._theme, [guide.caption for guide in self._missing]
        names = [label.partition(" · ")[0] for label in self._state.axis_labels]
        x, y, z = (repr(name.replace("\N{NO-BREAK SPACE}", " ")) for name in names)
        lines = [
            f"axes = plotter.add_axes(xlabel={x}, ylabel={y}, zlabel={z},",
            f'                        color="{theme.text}", x_color="{theme.muted}",',
            f'                        y_color="{theme.muted}", z_color="{theme.muted}",',
            "                        viewport=(0.78, 0, 0.98, 0.25))",
        ]
        if self._turned:
            lines.append("axes.SetUserTransform(pv.Transform(turn))")
        said = self._state.caption[MODEL_LINES if self._sight.compact else 0 :]
        caption = "\n".join(text for text in said if text not in missing)
        if caption:
            # VTK takes what stands between two "$" for a formula.
            parts = [f"    {line!r}," for line in caption.replace("$", r"\$").split("\n")]
            lines += [
                "caption = [",
                *parts,
                "]",
                'plotter.add_text("\\n".join(caption), position="lower_left", '
                f'font_size={FONT}, color="{theme.muted}")',
            ]
        not_drawn = [line for text in missing for line in text.splitlines()]
        return lines + [f"# Not drawn here: {line}" for line in not_drawn]

    def _picture(self) -> list[str]:
        pose = self._sight.pose
        position, focal, up = (
            tuple(vector.tolist()) for vector in (pose.position, pose.focal_point, pose.up)
        )
        lines = [
            "plotter.camera_position = [",
            *(f"    {vector}," for vector in (position, focal, up)),
            "]",
            f"plotter.camera.view_angle = {VIEW_ANGLE}",
        ]
        if self._state.projection == "parallel":
            lines += [
                "plotter.camera.parallel_projection = True",
                f"plotter.camera.parallel_scale = {pose.parallel_scale!r}",
            ]
        assert self._session.model is not None
        name = self._session.model.name.replace("/", "-")
        number = f" {self._number}" if self._number else ""
        return [
            *lines,
            "# To turn it with the mouse: no off_screen=True above, and plotter.show() here.",
            f"plotter.screenshot({f'{name}{number}.png'!r})",
            "plotter.close()",
        ]


def _map_of(colormap: str) -> str:
    """Return the expression of a colour map, which pyvista takes."""
    if colormap in HUES:
        return f"Colormap({list(HUES[colormap])}).to_matplotlib()"
    if colormap in _NOT_IN_MATPLOTLIB:
        return f"Colormap({colormap!r}).to_matplotlib()"
    return repr(colormap)
