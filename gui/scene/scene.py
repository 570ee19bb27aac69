"""The 3D scene: one coloured curve, its marks, and the heads-up display.

Independent of Qt: the window, pictures and headless renders all use :class:`HelixScene`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pyvista as pv
from vtkmodules.vtkCommonMath import vtkMatrix4x4
from vtkmodules.vtkRenderingCore import vtkCamera

from gui.scene.actors import Trails, WireSphere, add_actor, user_matrix
from gui.scene.arrows import LENGTH, ComponentArrows
from gui.scene.hud import Box, ColorBar2D, Plates2D, Text2D, padded
from gui.scene.legend import CurveLegend
from gui.scene.marks import Marks
from gui.scene.picking import Projection
from gui.scene.scene_state import MODEL_LINES, SceneState, net
from gui.state.camera import EVEN, VIEW_ANGLE, CameraPose, Margins, fitted, view_axes
from gui.state.colors import ColorScale, lookup_table, missing_color
from gui.state.values import CurveLook
from gui.style.theme import GRID, SMALL, Theme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gui.scene.guide_lines import GuideLines

PARTS = ("faint", "curve", "faint points", "points")
"""Of the curve, in the order in which they are drawn; the faint ones are outside the range."""
FAINT_LINE_WIDTH, FAINT_POINT_SIZE = 1.0, 3.0
"""Outside the range, in logical pixels where the curve has its default sizes."""
MAX_BESIDE = 4.0
"""Spheres and other curves are framed with the curve up to this multiple of its size."""
MAX_LEGEND = 12
"""Categories listed beside the curve."""
COMPACT_ARROWS, COMPACT_CORNER, COMPACT_POINTS = 20.0, (52.0, 38.0), 0.6
"""In small views: length of the arrows, their distance from the corner, and relative point size."""
EDGE, MAX_KEPT = 0.04, 0.25
"""Share of the view's height that a framed curve keeps from its edges; most it leaves for texts."""
BAR_ROOM = 88.0
"""Most that a framed curve keeps off the right edge for the colour bar, in logical pixels."""
FARTHER = 1.2
"""A curve is framed from up to so much farther away where that frees the arrows' corner."""
LETTER, MIN_LETTERS = 0.58, 24
"""Approximate width of a letter relative to its size; minimum letters per line."""
PALE = 0.28
"""Share of its colour that the curve keeps while positions are highlighted."""
SMALL_WIDTH = 520.0
"""Width of views, such as small films, in which the arrows' labels alone have backings."""
ARROWS_WIDTH = 210.0
"""Width of the lower right corner used by arrows and labels; narrower compact views omit them."""


class HelixScene:
    """Draws a :class:`SceneState` into a pyvista plotter, updating only what changes.

    ``scale`` is pixels per logical pixel: the screen's pixel ratio, or a picture's magnification.
    """

    def __init__(self, plotter: pv.BasePlotter, theme: Theme, scale: float = 1.0) -> None:
        self.plotter = plotter
        self._state: SceneState | None = None
        self._scale = scale
        self._compact = False
        self._displayed: np.ndarray | None = None
        self._held = False
        # Size, resolution and scale for which texts other than labels are placed; None if they
        # have changed. The boxes that they cover, and the corner of the arrows.
        self._placed: tuple[float, ...] | None = None
        self._taken: list[Box] = []
        self._corner = (0.0, 0.0)
        self._rows = MAX_LEGEND
        self.turn = np.eye(3)
        plotter.camera.SetViewAngle(VIEW_ANGLE)
        # Separate meshes for lines and points: with both in one, VTK draws every point twice.
        self._shapes = {name: pv.PolyData() for name in PARTS}
        self._actors = {
            name: add_actor(plotter, name, "points" if "points" in name else "wireframe", shape)
            for name, shape in self._shapes.items()
        }
        self._colors = CurveColors([self._actors[name].mapper for name in ("curve", "points")])
        renderer = plotter.renderer
        self._plates = Plates2D(renderer)
        self.arrows = ComponentArrows(renderer)
        self._caption = Text2D(renderer)
        self._bar = ColorBar2D(renderer)
        self._legend = CurveLegend(renderer)
        self._marks = Marks(plotter)
        self._sphere: WireSphere | None = None
        self._trails: Trails | None = None
        self._guides: GuideLines | None = None
        self._observer = renderer.AddObserver("StartEvent", self._on_render_started)
        self._renderer = renderer
        self.set_theme(theme)
        self._size_actors()

    def release(self) -> None:
        """Release the renderer; called by the plotter's owner before closing it."""
        self._renderer.RemoveObserver(self._observer)

    # ---- state --------------------------------------------------------------------------

    @property
    def state(self) -> SceneState | None:
        """The shown state."""
        return self._state

    @property
    def displayed(self) -> np.ndarray:
        """(n_positions, 3) displayed world coordinates of all positions."""
        if self._state is None:
            return np.zeros((0, 3))
        if self._displayed is None:
            self._displayed = self._state.coordinates @ self.turn.T
        return self._displayed

    @property
    def displayed_range(self) -> np.ndarray:
        """The part of :attr:`displayed` in the shown range."""
        if self._state is None:
            return np.zeros((0, 3))
        first, last = self._state.positions
        return self.displayed[first : last + 1]

    @property
    def framed(self) -> np.ndarray:
        """(m, 3) points the camera should frame: the range, and other objects of similar size."""
        return self.framed_at(self.turn)

    def framed_at(self, turn: np.ndarray) -> np.ndarray:
        """Return :attr:`framed` with another display transform, such as that of a curve at rest.

        The present one cannot be undone: while a curve is mirrored, it is flat for a moment.
        """
        guides = () if self._state is None else self._state.guides
        # An aligned curve is as important as this one.
        aligned = [g.points for g in guides if g.matched is not None and g.points is not None]
        ways = None if self._state is None else self._state.ways
        trails = [] if ways is None else [ways.points.reshape(-1, 3)]
        return np.vstack([self._alone_at(turn), *self._of_similar_size([*aligned, *trails], turn)])

    @property
    def framed_alone(self) -> np.ndarray:
        """(m, 3) points of :attr:`framed` without the aligned curve.

        Linked cameras compare views by these, so that a curve aligned later changes no view.
        """
        return self._alone_at(self.turn)

    def _alone_at(self, turn: np.ndarray) -> np.ndarray:
        sphere = None if self._state is None else self._state.sphere
        corners = [] if sphere is None else [sphere.corners()]
        return np.vstack([self._range_at(turn), *self._of_similar_size(corners, turn)])

    def _range_at(self, turn: np.ndarray) -> np.ndarray:
        if self._state is None or turn is self.turn:
            return self.displayed_range
        first, last = self._state.positions
        return self._state.coordinates[first : last + 1] @ turn.T

    def _of_similar_size(self, parts: Iterable[np.ndarray], turn: np.ndarray) -> list[np.ndarray]:
        """Return parts as displayed; a huge one would make a short piece of the curve invisible."""
        shown = self._range_at(turn)
        turned = [part @ turn.T for part in parts if len(part)]
        return [part for part in turned if _extent(part) <= MAX_BESIDE * _extent(shown)]

    def framing(
        self,
        points: np.ndarray,
        direction: np.ndarray,
        up: np.ndarray,
        size: tuple[int, int] | None = None,
    ) -> CameraPose:
        """Return the pose with points in view from a direction, off the texts where possible.

        ``size`` is as in :meth:`margins`.
        """
        width, height = size = self._size if size is None else size
        margins = self.margins(size)
        pose = fitted(points, direction, up, width / height, margins)
        if self._compact:
            return pose
        x, y = self._arrows_corner(width, self.plotter.render_window.GetDPI())
        left, top = x - self.arrows.reach[0] * self._scale, y + self.arrows.reach[1] * self._scale
        seen = self._seen(points, pose, size)
        if not ((seen[:, 0] > left) & (seen[:, 1] < top)).any():
            return pose
        beside = replace(margins, right=min(1 - left / width, MAX_KEPT))
        apart = fitted(points, direction, up, width / height, beside)
        parallel = bool(self.plotter.camera.GetParallelProjection())
        farther = _reach(apart, parallel=parallel) / _reach(pose, parallel=parallel)
        return apart if farther <= FARTHER else pose

    def pose_of(self, name: str, points: np.ndarray) -> CameraPose:
        """Return the pose of one of :data:`gui.state.camera.VIEWS` with points in view."""
        return self.framing(points, *view_axes(name, points, self.turn))

    def look_from(self, pose: CameraPose | str) -> None:
        """Put the camera at a pose, or where the range is seen in one of these views."""
        if isinstance(pose, str):
            pose = self.pose_of(pose, self.displayed_range)
        pose.apply(self.plotter.camera)

    def margins(self, size: tuple[float, float] | None = None) -> Margins:
        """Return what a framed curve leaves free for caption and colour bar.

        ``size`` is the view's in pixels, if not the present one.
        """
        if self._state is None:
            return Margins()
        width, height = (max(side, 1) for side in size or self._size)
        s, dpi = self._scale, self.plotter.render_window.GetDPI()
        edge = max(EDGE * height, GRID * s)
        self._placed = None
        if self._compact:
            self._break_caption(self._state, width)
        self._place_caption(width, dpi)
        under = self._caption.box(dpi)[3] + GRID * s
        legend = self._legend.height(s)
        above = legend + 2.5 * GRID * s if legend else 0.0
        if self._compact:
            return Margins(
                bottom=min(under / height, MAX_KEPT) if self._caption.text else EVEN,
                top=min(max(above / height, EVEN), MAX_KEPT),
            )
        left, _, right, _ = self._bar.box(dpi)
        room = right - left
        if not self._state.scale.categories:  # whose names are longer than numbers
            room = min(room, BAR_ROOM * s)
        beside = 3 * GRID * s + room
        return Margins(
            left=min(edge / width, MAX_KEPT),
            right=min(max(beside, edge) / width, MAX_KEPT),
            bottom=min(max(under, edge) / height, MAX_KEPT),
            top=min(max(above, edge) / height, MAX_KEPT),
        )

    def show(self, state: SceneState | None) -> None:
        """Show a state, updating only what differs from the previous one. Does not render."""
        previous, self._state, self._placed = self._state, state, None
        for name, actor in self._actors.items():
            actor.SetVisibility(state is not None and _drawn(name, state))
        if state is None:
            self._bar.hide()
            self._legend.show(())
            self._caption.hide()
            self._show_beside()
            self._show_guides()
            return
        moved = previous is None or previous.coordinates is not state.coordinates
        resized = previous is None or len(previous.coordinates) != len(state.coordinates)
        if moved:
            self._move(state.coordinates)
            self._displayed = None
        if resized or (previous and _joined_otherwise(previous, state)):
            self._connect(state.positions, len(state.coordinates), state.columns)
        if previous is None or (
            # Its matrices would be reset with each tick of a dragged range or step.
            (moved or previous.turn is not state.turn) and not np.array_equal(self.turn, state.turn)
        ):
            self.set_turn(state.turn)
        else:
            self._show_beside()
        if previous is None or resized or not _same_colors(previous.scale, state.scale):
            self._recolor(state.scale)
        else:
            self._span(state.scale)
        if previous is None or previous.look != state.look:
            self._size_actors()
        self._show_guides()
        self._legend.show(state.legend)
        self._write_caption()
        camera = self.plotter.camera
        if camera.GetParallelProjection() != (state.projection == "parallel"):
            camera.SetParallelProjection(state.projection == "parallel")

    @property
    def lines_of_text(self) -> tuple[int, int]:
        """Numbers of lines of the caption and of the legend."""
        state = self._state
        return (0, 0) if state is None else (len(state.caption), len(state.legend))

    @property
    def compact(self) -> bool:
        """Whether this is one of several views, without captions of model and colour bar."""
        return self._compact

    @compact.setter
    def compact(self, on: bool) -> None:
        self._compact, self._placed = on, None
        self._size_actors()
        if self._state is not None:
            self._write_caption()
            self._recolor(self._state.scale)

    def _write_caption(self) -> None:
        assert self._state is not None
        lines = self._state.caption[MODEL_LINES:] if self._compact else self._state.caption
        self._caption.write("\n".join(lines))

    def set_turn(self, turn: np.ndarray) -> None:
        """Set the display transform through the actors' matrices, without changing any points."""
        self.turn, self._displayed = turn, None
        matrix = user_matrix(turn)
        for actor in self._actors.values():
            actor.SetUserMatrix(matrix)
        self._show_beside()
        if self._guides is not None:
            self._guides.turn(turn)

    def _show_beside(self) -> None:
        """Show the sphere, and the paths of positions through the training."""
        section = None if self._state is None else self._state.sphere
        ways = None if self._state is None else self._state.ways
        if self._sphere is None and section is not None:
            self._sphere = WireSphere(self.plotter)
            self._style_lines()
        if self._trails is None and ways is not None:
            self._trails = Trails(self.plotter)
            self._style_lines()
        if self._sphere is not None:
            self._sphere.place(section, self.turn)
        if self._trails is not None:
            self._trails.place(ways, self.turn)

    def _show_guides(self) -> None:
        state = self._state
        if self._guides is None and state is not None and state.guides:
            from gui.scene.guide_lines import GuideLines

            self._guides = GuideLines(self.plotter, self._colors.table)
            self._guides.turn(self.turn)
            self._style_lines()
        if self._guides is not None and state is None:
            self._guides.show((), np.zeros((0, 3)), np.zeros(0))
        elif self._guides is not None and state is not None:
            self._guides.show(state.guides, state.coordinates, state.scale.values)
            dims = (guide.ghost or guide.positions is not None for guide in state.guides)
            self._colors.dim(on=any(dims))

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme, self._placed = theme, None
        self.plotter.set_background(theme.viewport)
        if self._state is not None:
            self._recolor(self._state.scale)
        for name in ("faint", "faint points"):
            self._actors[name].mapper.SetScalarVisibility(False)
            self._actors[name].prop.color = theme.faint
        size = theme.px(SMALL)
        self._bar.style_texts(theme.text, theme.muted, size)
        self._caption.style(theme.muted, size)
        self._plates.style(theme.viewport)
        self._legend.style(theme.text, size, theme.viewport)
        self.arrows.style_labels(theme.text, theme.accent, size)
        self._style_lines()

    def set_scale(self, scale: float) -> None:
        """Set the number of pixels per logical pixel; sizes of points and lines follow."""
        if scale != self._scale:
            self._scale = scale
            self._size_actors()

    def _size_actors(self) -> None:
        scale, look = self._scale, self._look
        small = COMPACT_POINTS if self._compact else 1.0
        self._actors["points"].prop.point_size = look.point_size * small * scale
        self._actors["faint points"].prop.point_size = FAINT_POINT_SIZE * look.point_share * scale
        self._actors["curve"].prop.line_width = look.line_width * scale
        self._actors["faint"].prop.line_width = FAINT_LINE_WIDTH * look.line_share * scale
        for actor in self._actors.values():
            actor.prop.opacity = look.opacity
        self._style_lines()

    @property
    def _look(self) -> CurveLook:
        return CurveLook() if self._state is None else self._state.look

    def projection(self) -> Projection:
        """Return the projection from world coordinates to pixels."""
        width, height = self._size
        matrix = self.plotter.camera.GetCompositeProjectionTransformMatrix(
            width / height, -1.0, 1.0
        )
        return _projection(matrix, (width, height))

    def _seen(self, points: np.ndarray, pose: CameraPose, size: tuple[int, int]) -> np.ndarray:
        """Return the (m, 2) pixels of points from a pose, in a view of some size."""
        camera = vtkCamera()
        camera.SetViewAngle(VIEW_ANGLE)
        camera.SetParallelProjection(self.plotter.camera.GetParallelProjection())
        pose.apply(camera)
        matrix = camera.GetCompositeProjectionTransformMatrix(size[0] / size[1], -1.0, 1.0)
        return _projection(matrix, size).to_screen(points)[0]

    @property
    def _size(self) -> tuple[int, int]:
        width, height = self.plotter.render_window.GetSize()
        return max(width, 1), max(height, 1)

    def set_backed(self, backed: bool) -> None:
        """Set whether texts have backings and marks a halo in the background's colour.

        In a transparent picture they would be opaque.
        """
        self._plates.on, self._placed = backed, None
        self._marks.set_backed(backed)

    # ---- curve --------------------------------------------------------------------------

    def _move(self, coordinates: np.ndarray) -> None:
        shared = self._shapes["curve"]
        if shared.n_points == len(coordinates):
            shared.points[:] = coordinates
            shared.GetPoints().Modified()
            return
        points = pv.vtk_points(np.array(coordinates, dtype=np.float32))
        for shape in self._shapes.values():
            shape.DeepCopy(pv.PolyData())
            shape.SetPoints(points)

    def _connect(self, positions: tuple[int, int], n_positions: int, columns: int) -> None:
        first, last = positions
        shapes = self._shapes
        shapes["points"].verts = _polyline(first, last)
        shapes["faint points"].verts = np.concatenate(
            [_polyline(0, first - 1), _polyline(last + 1, n_positions - 1)]
        )
        if columns:
            inside, outside = net(n_positions, columns, positions)
            shapes["curve"].lines, shapes["faint"].lines = _segments(inside), _segments(outside)
            return
        shapes["curve"].lines = _polyline(first, last)
        # The faint ends include the range's end points, so that the curve has no gap.
        before, after = (0, first), (last, n_positions - 1)
        shapes["faint"].lines = np.concatenate([_polyline(*before), _polyline(*after)])

    def _recolor(self, scale: ColorScale) -> None:
        self._colors.show(scale, self.theme.viewport)
        for name in ("curve", "points"):
            self._shapes[name].point_data["value"] = scale.values
            self._shapes[name].point_data.active_scalars_name = "value"
        self._show_bar(scale)

    def _show_bar(self, scale: ColorScale) -> None:
        legend = scale.legend(self.theme.viewport, self._rows)
        self._bar.show(scale.title, scale.labels, scale.table(self.theme.viewport), legend)
        if self._compact:
            self._bar.hide()

    def _span(self, scale: ColorScale) -> None:
        """Change only the ends of the colour map, as with each tick of a dragged range."""
        if scale.limits != tuple(self._colors.table.scalar_range):
            self._colors.span(scale.limits)
        if not self._compact:
            self._bar.write(scale.title, scale.labels)

    # ---- heads-up display, placed before each frame -------------------------------------

    def _style_lines(self) -> None:
        size = self._actors["points"].prop.point_size
        self._marks.style(self.theme, self._scale, size)
        self.arrows.style(self.theme.muted, self.theme.hover, 1.5 * self._scale)
        if self._sphere is not None:
            self._sphere.style(self.theme.faint, self._scale)
        if self._trails is not None:
            theme = self.theme
            self._trails.colors = (theme.accent, theme.faint, self.theme.viewport)
            self._trails.style(theme.accent, 1.5 * self._scale)
        if self._guides is not None:
            self._guides.style(self.theme, self._scale, self._look.point_share)

    def _on_render_started(self, _renderer: pv.Renderer, _event: str) -> None:
        if not self._held:
            self._lay_out()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Place the heads-up display for the camera as it is now, and keep it there."""
        self._lay_out()
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _place_caption(self, width: float, dpi: int) -> None:
        """Place the caption in the lower left corner of a view of some width."""
        margin = 2 * GRID * self._scale
        self._caption.place(margin, 0.75 * margin)
        self._caption.fit(width - 2 * margin, dpi)

    def _arrows_corner(self, width: float, dpi: int) -> tuple[float, float]:
        """Return where the arrows begin: in the lower right, above a caption that extends there."""
        s = self._scale
        x = width - (self.arrows.reach[0] + GRID) * s
        caption = self._caption.box(dpi)
        under = caption[3] if caption[2] > x - self.arrows.reach[0] * s else 0.0
        return x, under + (self.arrows.reach[1] + GRID) * s

    def _lay_out(self) -> None:
        state, s = self._state, self._scale
        width, height = self.plotter.render_window.GetSize()
        dpi = self.plotter.render_window.GetDPI()
        if state is None:
            self._marks.hide()
            self.arrows.hide()
            self._plates.draw([])
            return
        if self._placed != (width, height, dpi, s):
            self._placed = (width, height, dpi, s)
            self._taken = self._place_texts(state, width, height, dpi)
        taken, plates = list(self._taken), list(self._taken)
        if self._compact and width < ARROWS_WIDTH * s:
            self.arrows.hide()
        else:
            self._draw_arrows(state, dpi)
            taken.append(self.arrows.box())
            # A small view has no corner that the curve leaves free.
            small = self._compact or width < SMALL_WIDTH * s
            plates += self.arrows.label_boxes() if small else [self.arrows.box()]
        self._plates.draw(plates)
        self._draw_marks(state, taken, dpi)

    def _place_texts(self, state: SceneState, width: int, height: int, dpi: int) -> list[Box]:
        """Place what stays where it is when the camera moves; return what its backings cover."""
        s = self._scale
        margin = 2 * GRID * s
        if self._compact:
            self._break_caption(state, width)
        self._place_caption(width, dpi)
        taken = [padded(self._caption.box(dpi), s)] if self._caption.text else []
        legend = self._legend.place(margin, height - 0.75 * margin, width - margin, s, dpi)
        self._corner = (width - COMPACT_CORNER[0] * s, COMPACT_CORNER[1] * s)
        if not self._compact:
            self._corner = self._arrows_corner(width, dpi)
            between = (self._corner[1] + (self.arrows.reach[1] + GRID) * s, height - GRID * s)
            rows = min(self._bar.rows(between, s), MAX_LEGEND)
            if rows != self._rows:
                self._rows = rows
                if state.scale.categories:
                    self._show_bar(state.scale)
            self._bar.place(width - margin, height / 2, between, s)
            taken += [padded(box, s) for box in self._bar.boxes(dpi)]
        return [*taken, *(padded(box, s) for box in legend)]

    def _break_caption(self, state: SceneState, width: float) -> None:
        """Write a compact view's caption in lines that end before its arrows."""
        s = self._scale
        room = width - 2 * GRID * s - 2 * COMPACT_CORNER[0] * s
        lines = "\n".join(state.caption[MODEL_LINES:])
        self._caption.write(broken(lines, room / s, self.theme.px(SMALL)))

    def _draw_arrows(self, state: SceneState, dpi: int) -> None:
        s, length = self._scale, COMPACT_ARROWS if self._compact else LENGTH
        view = self.plotter.camera.GetViewTransformMatrix()
        rotation = pv.array_from_vtkmatrix(view)[:3, :3]
        names = [text.partition(" · ")[0] for text in state.axis_labels]
        self.arrows.draw(rotation @ self.turn, names, np.array(self._corner), s, dpi, length=length)

    def _draw_marks(self, state: SceneState, taken: list[Box], dpi: int) -> None:
        marked = state.labels or state.selection or state.hover is not None
        if not marked and not any(guide.texts for guide in state.guides):
            self._marks.hide()
            return
        written = [(at @ self.turn.T, text) for guide in state.guides for at, text in guide.texts]
        beside = [line @ self.turn.T for guide in state.guides for line in guide.curves]
        if state.ways is not None:
            beside += [way @ self.turn.T for way in state.ways.points]
        self._marks.draw(state, self.displayed, written, beside, self.projection(), taken, dpi)


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

    def show(self, scale: ColorScale, background: str) -> None:
        """Set the colours of a scale on a background, ``#rrggbb``."""
        table = scale.table(background)
        pale = table.astype(np.float64)
        ground = np.array(pv.Color(background).int_rgb)
        pale[:, :3] = ground + PALE * (pale[:, :3] - ground)
        for lookup, values in ((self.table, table), (self._pale, np.round(pale))):
            lookup.values = values.astype(np.uint8)
            lookup.nan_color = missing_color(background)
        self.span(scale.limits)

    def span(self, limits: tuple[float, float]) -> None:
        """Set the values at the two ends of the colours."""
        self.table.scalar_range = self._pale.scalar_range = limits

    def dim(self, *, on: bool) -> None:
        """Make the curve pale or normal."""
        for mapper in self._mappers:
            mapper.SetLookupTable(self._pale if on else self.table)


def _projection(matrix: vtkMatrix4x4, size: tuple[int, int]) -> Projection:
    return Projection(pv.array_from_vtkmatrix(matrix), size)


@lru_cache(maxsize=64)
def broken(text: str, width: float, size: int) -> str:
    """Break lines of a font's size that are wider than ``width``, both in logical pixels."""
    letters = max(round(width / (LETTER * size)), MIN_LETTERS)
    return "\n".join(fill(line, letters, break_on_hyphens=False) for line in text.split("\n"))


def _reach(pose: CameraPose, *, parallel: bool) -> float:
    """Return a measure of how much is in view: the camera's distance, or the view's height."""
    return (
        pose.parallel_scale if parallel else float(np.linalg.norm(pose.position - pose.focal_point))
    )


def _drawn(name: str, state: SceneState) -> bool:
    """Return whether a part of the curve is drawn, by its actor's name."""
    left_out = "line" if "points" in name else "points"
    return state.look.curve_parts != left_out and ("faint" not in name or state.outside == "faint")


def _extent(points: np.ndarray) -> float:
    return float(np.ptp(points, axis=0).max())


def _polyline(first: int, last: int) -> np.ndarray:
    """Return the VTK cell of one polyline (or poly-vertex) through a run of points."""
    if last < first:
        return np.zeros(0, dtype=np.int64)
    cell = np.arange(first - 1, last + 1)
    cell[0] = last - first + 1
    return cell


def _segments(edges: np.ndarray) -> np.ndarray:
    """Return the VTK cells of separate lines."""
    return np.column_stack([np.full(len(edges), 2), edges]).ravel()


def _joined_otherwise(a: SceneState, b: SceneState) -> bool:
    """Return whether the points are joined by other lines."""
    return (a.positions, a.columns) != (b.positions, b.columns)


def _same_colors(a: ColorScale, b: ColorScale) -> bool:
    """Return whether both have the same values and colour map, whatever their limits."""
    return (a.colormap, a.categories) == (b.colormap, b.categories) and np.array_equal(
        a.values, b.values, equal_nan=True
    )
