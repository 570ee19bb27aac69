"""The 3D view as vectors, for SVG and PDF: everything that a picture in pixels shows.

Neither format knows depth: lines are cut into short pieces, and pieces and points are painted from
the farthest to the nearest. Texts stay texts. Beyond :data:`MAX_STROKES` pieces and points, all of
them are embedded as an image, which bounds the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import pyvista as pv
from matplotlib.artist import Artist, allow_rasterization
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, Transform, TransformedBbox
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCellArray
from vtkmodules.vtkRenderingCore import vtkActor, vtkActor2D, vtkTextActor, vtkTextRenderer

from gui.export.canvas import PER_INCH, Canvas
from gui.plots.figure_base import DPI, drawn
from gui.scene.hud import ColorBar2D, drawable, font_file
from gui.scene.picking import Projection
from gui.scene.scene import HelixScene
from gui.state.camera import VIEW_ANGLE

Side: TypeAlias = Literal["left", "center", "right"]
SIDES: tuple[Side, ...] = ("left", "center", "right")
"""The sides of a text, by VTK's numbers of its justification."""
MAX_STROKES = 20_000
"""Pieces and points that are painted as vectors, of 150 to 200 bytes each: up to 4 MB."""
PIECE = 16.0
"""Length of the pieces of a line in pixels, if there are not too many."""
EDGE = 0.4
"""Width in pixels of the edges by which neighbouring areas of one colour bar overlap."""


@dataclass(frozen=True, eq=False, slots=True)
class Strokes:
    """Straight pieces of lines, and points."""

    ends: np.ndarray  # (n, 2, 2) pixels from the lower left corner; both are the same of a point
    depth: np.ndarray  # (n,) distance before the camera, in world units
    colors: np.ndarray  # (n, 4) red, green, blue, opacity, 0 to 1
    widths: np.ndarray  # (n,) pixels: a line's width, a point's diameter
    is_point: np.ndarray  # (n,)

    @classmethod
    def joined(cls, parts: list[Strokes]) -> Strokes:
        """Join several, the farthest first."""
        columns = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        ends, depth, *others = (np.concatenate(column) for column in columns)
        order = np.argsort(-depth, kind="stable")
        return cls(ends[order], depth[order], *(other[order] for other in others))

    def __len__(self) -> int:
        """Return their number."""
        return len(self.depth)


def blank_figure(canvas: Canvas, color: str) -> Figure:
    """Return an empty figure on a colour, or on ``none``."""
    width, height = (side / canvas.per_inch for side in canvas.pixels)
    return Figure(figsize=(width, height), dpi=canvas.per_inch, facecolor=color)


def add_scene(figure: Figure, scene: HelixScene, corner: tuple[float, float] = (0.0, 0.0)) -> None:
    """Draw an arranged scene into a figure of :func:`blank_figure`.

    ``corner`` are the pixels from the figure's lower left corner to the scene's.
    """
    width, height = scene.plotter.render_window.GetSize()
    place = Affine2D().translate(*corner) + _pixels(figure)
    clip = TransformedBbox(Bbox.from_bounds(0, 0, width, height), place)
    for artist in _artists(scene, 72 / figure.dpi):
        artist.set_transform(place)
        artist.set_clip_box(clip)  # which add_artist would replace by the figure's
        figure.add_artist(artist)


def add_text(
    figure: Figure, at: tuple[float, float], words: str, color: str, size: float, side: Side
) -> None:
    """Write a text beside a pixel, vertically centred; ``size`` in pixels."""
    font = FontProperties(fname=font_file(), size=size * 72 / figure.dpi)
    figure.add_artist(
        Text(
            *at,
            drawable(words),
            color=color,
            fontproperties=font,
            horizontalalignment=side,
            verticalalignment="center_baseline",
            transform=_pixels(figure),
        )
    )


def add_bar(
    figure: Figure, corner: tuple[float, float], size: tuple[float, float], table: np.ndarray
) -> None:
    """Draw a colour bar upwards from its lower left pixel, of (n, 4) uint8 colours."""
    colors = table[np.linspace(0, len(table) - 1, ColorBar2D.STEPS).astype(int)] / 255.0
    heights = corner[1] + size[1] * np.arange(len(colors) + 1) / len(colors)
    left, right = corner[0], corner[0] + size[0]
    areas = [
        [(left, low), (right, low), (right, high), (left, high)] for low, high in pairwise(heights)
    ]
    point = 72 / figure.dpi
    figure.add_artist(
        PolyCollection(
            areas,
            facecolors=colors,
            edgecolors="face",
            linewidths=EDGE * point,
            transform=_pixels(figure),
        )
    )


def _pixels(figure: Figure) -> Transform:
    """Return the transform of pixels from the figure's lower left corner."""
    return Affine2D().scale(1 / figure.dpi) + figure.dpi_scale_trans


def vector_file(figure: Figure, kind: str) -> bytes:
    """Return a figure as the content of a file: "svg" or "pdf"."""
    return drawn(figure, kind, max(DPI, 2 * PER_INCH, figure.dpi))


def scene_strokes(scene: HelixScene) -> Strokes:
    """Return the visible lines and points of an arranged scene, the farthest first."""
    eye = _Eye.of(scene)
    actors = [prop for prop in _visible(scene) if isinstance(prop, vtkActor)]
    nothing = _points(np.zeros((0, 3)), np.zeros((0, 4)), 0.0, eye)
    return Strokes.joined([nothing, *(part for one in actors for part in _of_actor(one, eye))])


# ---- what is in the scene ---------------------------------------------------------------


def _visible(scene: HelixScene) -> list[object]:
    return [prop for prop in scene.plotter.renderer.GetViewProps() if prop.GetVisibility()]


@dataclass(frozen=True, eq=False, slots=True)
class _Eye:
    """The camera of an arranged scene."""

    projection: Projection
    ahead: np.ndarray  # (4,) its product with (x, y, z, 1) is the distance before the camera
    near: float  # Smallest distance that is drawn
    unit: tuple[float, float]  # World units per pixel: at no distance, and more per distance

    @classmethod
    def of(cls, scene: HelixScene) -> _Eye:
        camera, projection = scene.plotter.camera, scene.projection()
        height = projection.size[1]
        if camera.GetParallelProjection():
            unit = (2 * camera.GetParallelScale() / height, 0.0)
        else:
            unit = (0.0, 2 * float(np.tan(np.radians(VIEW_ANGLE / 2))) / height)
        view = pv.array_from_vtkmatrix(camera.GetViewTransformMatrix())
        return cls(projection, -view[2], camera.GetClippingRange()[0], unit)

    def depth(self, points: np.ndarray) -> np.ndarray:
        found: np.ndarray = points @ self.ahead[:3] + self.ahead[3]
        return found

    def in_sight(self, xy: np.ndarray, width: float) -> np.ndarray:
        """Return which of some pieces, (n, ends, 2) pixels, may be in the picture."""
        low, high = xy.min(axis=1), xy.max(axis=1)
        return ((high >= -width) & (low <= np.add(self.projection.size, width))).all(axis=1)


def _of_actor(actor: vtkActor, eye: _Eye) -> Iterator[Strokes]:
    data, prop = actor.GetMapper().GetInputDataObject(0, 0), actor.GetProperty()
    if data is None or not data.GetNumberOfPoints():
        return
    matrix = pv.array_from_vtkmatrix(actor.GetMatrix())
    points = vtk_to_numpy(data.GetPoints().GetData()) @ matrix[:3, :3].T + matrix[:3, 3]
    colors = _colors(actor.GetMapper(), data, prop.GetColor(), prop.GetOpacity())
    at, _ = _cells(data.GetVerts())
    if len(at):
        yield _points(points[at], colors[at], prop.GetPointSize(), eye)
    at, starts = _cells(data.GetLines())
    if len(at):
        # Two consecutive points are a segment, unless the second one begins a line.
        first = np.setdiff1d(np.arange(len(at) - 1), starts - 1)
        pairs = np.stack([at[first], at[first + 1]], axis=1)
        yield _lines(points[pairs], colors[pairs], prop.GetLineWidth(), eye)


def _points(points: np.ndarray, colors: np.ndarray, size: float, eye: _Eye) -> Strokes:
    depth = eye.depth(points)
    xy, _ = eye.projection.to_screen(points)
    kept = (depth >= eye.near) & eye.in_sight(xy[:, None], size)
    xy, depth = xy[kept], depth[kept]
    # They are drawn as balls, whose front is nearer than the line through their middle.
    depth = depth - size / 2 * (eye.unit[0] + eye.unit[1] * depth)
    count = len(depth)
    ends = np.stack([xy, xy], axis=1)
    return Strokes(ends, depth, colors[kept], np.full(count, size), np.ones(count, bool))


def _lines(pairs: np.ndarray, colors: np.ndarray, width: float, eye: _Eye) -> Strokes:
    """Cut segments, (n, 2, 3) with (n, 2, 4) colours, into pieces."""
    pairs, colors = _in_front(pairs, colors, eye)
    xy, _ = eye.projection.to_screen(pairs.reshape(-1, 3))
    xy = xy.reshape(-1, 2, 2)
    kept = eye.in_sight(xy, width)
    pairs, colors, xy = pairs[kept], colors[kept], xy[kept]
    longest = sum(eye.projection.size)
    lengths = np.minimum(np.linalg.norm(xy[:, 1] - xy[:, 0], axis=1), longest)
    counts = np.maximum(np.ceil(lengths / PIECE), 1).astype(np.intp)
    if counts.sum() > MAX_STROKES:  # an image then, of longer pieces
        per_pixel = MAX_STROKES / 2 / max(lengths.sum(), 1.0)
        counts = np.maximum(lengths * per_pixel, 1).astype(np.intp)
    of = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = np.stack([step, step + 1], axis=1) / counts[of][:, None]  # (pieces, 2)
    start, end = pairs[of, 0][:, None], pairs[of, 1][:, None]
    ends = start + share[..., None] * (end - start)
    xy, _ = eye.projection.to_screen(ends.reshape(-1, 3))
    xy = xy.reshape(-1, 2, 2)
    kept = eye.in_sight(xy, width)
    xy, ends, share, of = xy[kept], ends[kept], share[kept], of[kept]
    middle = share.mean(axis=1)[:, None]
    mixed = colors[of, 0] + middle * (colors[of, 1] - colors[of, 0])
    count = len(of)
    return Strokes(
        xy,
        eye.depth(ends.mean(axis=1)),
        mixed,
        np.full(count, width),
        np.zeros(count, bool),
    )


def _in_front(pairs: np.ndarray, colors: np.ndarray, eye: _Eye) -> tuple[np.ndarray, np.ndarray]:
    """Cut off what is behind the camera."""
    depth = eye.depth(pairs)
    seen = (depth >= eye.near).any(axis=1)
    pairs, colors, depth = pairs[seen], colors[seen], depth[seen]
    apart = depth[:, ::-1] - depth
    share = np.where(depth < eye.near, (eye.near - depth) / np.where(apart == 0, 1, apart), 0.0)
    share = share[..., None]
    return pairs + share * (pairs[:, ::-1] - pairs), colors + share * (colors[:, ::-1] - colors)


def _cells(cells: vtkCellArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of all cells, and at which of these each cell begins."""
    if not cells.GetNumberOfCells():
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    points = vtk_to_numpy(cells.GetConnectivityArray()).astype(np.intp)
    return points, vtk_to_numpy(cells.GetOffsetsArray())[:-1].astype(np.intp)


def _colors(
    mapper: pv.DataSetMapper, data: pv.PolyData, color: tuple[float, float, float], opacity: float
) -> np.ndarray:
    """Return the colours of an actor's points, (n, 4) from 0 to 1."""
    values = data.GetPointData().GetScalars()
    if not mapper.GetScalarVisibility() or values is None:
        return np.tile([*color, opacity], (data.GetNumberOfPoints(), 1))
    colors = _mapped(mapper, values)
    colors[:, 3] *= opacity
    return colors


def _mapped(mapper: pv.DataSetMapper, values: pv.pyvista_ndarray) -> np.ndarray:
    table = mapper.GetLookupTable().MapScalars(values, mapper.GetColorMode(), -1)
    colors: np.ndarray = vtk_to_numpy(table) / 255.0
    return colors


# ---- how it is drawn --------------------------------------------------------------------


class _Painted(Artist):
    """Strokes, painted in their order."""

    def __init__(self, strokes: Strokes, point: float) -> None:
        super().__init__()
        self._strokes, self._point = strokes, point  # printer's points per pixel
        self.set_rasterized(len(strokes) > MAX_STROKES)

    @allow_rasterization
    def draw(self, renderer: RendererBase) -> None:
        strokes, place = self._strokes, self.get_transform()
        widths = np.asarray(renderer.points_to_pixels(strokes.widths * self._point), float)
        renderer.open_group("scene")
        dot, gc = Outline.unit_circle(), renderer.new_gc()
        gc.set_clip_rectangle(self.get_clip_box())
        for ends, color, width, is_point in zip(
            strokes.ends, strokes.colors, widths, strokes.is_point, strict=True
        ):
            gc.set_foreground(tuple(color), isRGBA=True)
            gc.set_alpha(float(color[3]))
            if is_point:
                gc.set_linewidth(0.0)
                circle = Affine2D().scale(width / 2)
                renderer.draw_markers(gc, dot, circle, Outline(ends[:1]), place, tuple(color))
            else:
                gc.set_linewidth(width)
                # Round ends close the gaps between the pieces of a line; see-through ones would
                # show twice.
                gc.set_capstyle("round" if color[3] == 1 else "butt")
                renderer.draw_path(gc, Outline(ends), place)
        gc.restore()
        renderer.close_group("scene")


def _artists(scene: HelixScene, point: float) -> Iterator[Artist]:
    """Yield the parts of an arranged scene from the back to the front."""
    window = scene.plotter.render_window
    pixel_size = window.GetDPI() / 72  # of VTK's texts, for each unit of their sizes
    strokes = _Painted(scene_strokes(scene), point)
    strokes.set_zorder(1)
    yield strokes
    flat = [prop for prop in _visible(scene) if isinstance(prop, vtkActor2D)]
    flat.sort(key=lambda prop: prop.GetLayerNumber())
    for order, prop in enumerate(flat, start=2):
        if isinstance(prop, vtkTextActor):
            made = _texts(prop, window.GetDPI(), pixel_size * point)
        else:
            made = _flat(prop, point)
        for artist in made:
            artist.set_zorder(order)
            yield artist


def _flat(actor: vtkActor2D, point: float) -> Iterator[Artist]:
    """Yield the lines and areas of a 2D actor, in pixels."""
    mapper, prop = actor.GetMapper(), actor.GetProperty()
    data = mapper.GetInput()
    if data is None or not data.GetNumberOfPoints():
        return
    xy = vtk_to_numpy(data.GetPoints().GetData())[:, :2] + actor.GetPosition()
    color = (*prop.GetColor(), prop.GetOpacity())
    width = prop.GetLineWidth() * point
    at, starts = _cells(data.GetPolys())
    if len(at):
        values = data.GetCellData().GetScalars()
        colors = [color] if values is None else _mapped(mapper, values)
        areas = np.split(xy[at], starts[1:])
        yield PolyCollection(areas, facecolors=colors, edgecolors="face", linewidths=EDGE * point)
    at, starts = _cells(data.GetLines())
    if len(at):
        lines = np.split(xy[at], starts[1:])
        yield LineCollection(lines, colors=[color], linewidths=width, capstyle="butt")


def _texts(actor: vtkTextActor, dpi: int, unit: float) -> Iterator[Artist]:
    """Yield the lines of a text; ``unit`` is that of its size, in points."""
    prop, words = actor.GetTextProperty(), actor.GetInput()
    bounds = _bounds(actor, words, dpi)
    x, y = actor.GetPosition()
    left, right, bottom, top = bounds[0] + x, bounds[1] + x, bounds[2] + y, bounds[3] + y
    side = SIDES[prop.GetJustification()]
    edge = {"left": left, "center": (left + right) / 2, "right": right}[side]
    # SVG shows two spaces as one, unless one of them is a no-break space.
    lines = words.replace("  ", "\N{NO-BREAK SPACE} ").split("\n")
    low, high = _bounds(actor, lines[0], dpi)[2:]
    step = (top - bottom - (high - low)) / max(len(lines) - 1, 1)
    font = FontProperties(fname=font_file(), size=prop.GetFontSize() * unit)
    for above, line in enumerate(reversed(lines)):
        yield Text(
            edge,
            bottom + above * step,
            line,
            color=(*prop.GetColor(), prop.GetOpacity()),
            fontproperties=font,
            horizontalalignment=side,
            verticalalignment="bottom",
        )


def _bounds(actor: vtkTextActor, words: str, dpi: int) -> list[int]:
    """Return left, right, bottom and top of a text around its place, in pixels."""
    bounds = [0, 0, 0, 0]
    vtkTextRenderer.GetInstance().GetBoundingBox(actor.GetTextProperty(), words, bounds, dpi)
    return bounds
