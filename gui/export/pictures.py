"""Pictures of the scene, drawn off-screen at any size, without a window or display."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyvista as pv
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkLogger, vtkUnsignedCharArray

from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.checkpoints.whole_files import write_bytes, writing
from geometry.measures.norms import NormProfile, norm_profile
from geometry.models.model import PositionalModel
from geometry.pca.curve import place_curve
from geometry.pca.pca import PositionPCA, fit_pca
from gui.export.canvas import PER_INCH, Canvas
from gui.scene.drawable import check_drawable
from gui.scene.opengl import HELP, draws_off_screen
from gui.scene.scene import HelixScene
from gui.scene.scene_state import SceneState, resolve_scene
from gui.state.camera import VIEW_ANGLE, VIEWS, CameraPose
from gui.state.session import Session
from gui.state.values import NO_FIELDS, Fields
from gui.style.system_libraries import check_pictures
from gui.style.theme import THEMES, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUPERSAMPLING = 2
"""Pictures are rendered larger by this factor and averaged, for smooth edges with every driver."""
MAX_SMOOTHED = 50_000
"""Longer tables are drawn at the picture's own size, with the driver's smoothing: their points
cover each other.
"""
TILE = 2_000_000
"""Pixels that are drawn at once. A driver without a GPU takes 24 bytes for each, and seconds to
make the buffers of a large picture.
"""
OVERLAP = 16
"""Logical pixels by which tiles overlap: a point or a line at an edge is whole in one of them."""
SAMPLES = 4
"""Of the driver's smoothing: what all have."""
VECTORS = (".svg", ".pdf")
"""Suffixes of pictures made of vectors."""
MAX_PIXELS = 16_384
"""Maximum side of a picture in pixels, a limit of graphics drivers."""


T = TypeVar("T")
Drawing = Generator[None, None, T]
"""Draws something in short steps, so that a window can handle events between two of them."""


class PictureError(HelixscopeError):
    """A picture cannot be drawn or written."""


def finished(drawing: Drawing[T]) -> T:
    """Draw all steps at once, and return what was drawn."""
    while True:
        try:
            next(drawing)
        except StopIteration as end:
            outcome: T = end.value
            return outcome


@dataclass(frozen=True, slots=True)
class Shot:
    """How a scene is drawn, beside its state."""

    theme: Theme  # Colours of texts, marks and (unless transparent) the background
    canvas: Canvas  # The picture's size; points, lines and texts grow with its scale
    pose: CameraPose | str = "article"  # Or the name of a view, which frames the shown range
    transparent: bool = False  # Whether the background is; texts keep the theme's colours
    # Whether it is one of several views, without the model's caption and the colour bar.
    compact: bool = False


def render_scene(
    state: SceneState,
    theme: Theme,
    pose: CameraPose | str,
    size: tuple[float, float],
    *,
    scale: float = 1.0,
    transparent: bool = False,
    compact: bool = False,
) -> np.ndarray:
    """Draw a scene off-screen.

    Parameters
    ----------
    size, scale
        Width and height in logical pixels, and the pixels of each.
    theme, pose, transparent, compact
        As in :class:`Shot`.

    Returns
    -------
    np.ndarray
        (height, width, 3) uint8, or (height, width, 4) when transparent.

    Raises
    ------
    PictureError
        If the picture would be empty or larger than drivers can draw.
    """
    shot = Shot(theme, Canvas.times(size, scale), pose, transparent, compact)
    return finished(drawing_scene(state, shot))


def drawing_scene(
    state: SceneState, shot: Shot, off_screens: OffScreens | None = None
) -> Drawing[np.ndarray]:
    """Draw a scene as :func:`render_scene` does, in steps of at most :data:`TILE` pixels.

    ``off_screens`` are what to draw with; something new if None.
    """
    finer = SUPERSAMPLING if len(state.coordinates) <= MAX_SMOOTHED else 1
    with _kept(off_screens) as kept:
        off_screen = kept.of(shot, finer)
        return (yield from off_screen.drawing(state, shot.pose, transparent=shot.transparent))


def vector_scene(state: SceneState, shot: Shot) -> Figure:
    """Draw a scene as a figure of vectors, in which everything is where a picture has it.

    Raises PictureError: if the picture would be empty or larger than drivers can draw.
    """
    from gui.export.vector_picture import blank_figure  # loads Matplotlib

    figure = blank_figure(shot.canvas, "none" if shot.transparent else shot.theme.viewport)
    add_vectors(figure, state, shot)
    return figure


def add_vectors(
    figure: Figure,
    state: SceneState,
    shot: Shot,
    corner: tuple[float, float] = (0.0, 0.0),
    off_screens: OffScreens | None = None,
) -> None:
    """Draw a scene as vectors into a figure of :func:`gui.export.vector_picture.blank_figure`.

    Parameters
    ----------
    corner
        Pixels from the figure's lower left corner to the scene's.
    off_screens
        As in :func:`drawing_scene`.
    """
    from gui.export.vector_picture import add_scene

    with _kept(off_screens) as kept:
        off_screen = kept.of(shot, finer=1)
        with off_screen.arranged(state, shot.pose, transparent=shot.transparent) as scene:
            add_scene(figure, scene, corner)


class OffScreens:
    """Off-screen scenes, one for each size and look; closed together.

    To make one takes a tenth of a second or two, more than a picture of a grid's view.
    """

    def __init__(self) -> None:
        self._made: dict[object, OffScreen] = {}

    def of(self, shot: Shot, finer: int) -> OffScreen:
        """Return one for a shot; the name of its theme stands for it."""
        key = shot.theme.name, shot.canvas, shot.compact, finer
        if key not in self._made:
            self._made[key] = OffScreen(shot.theme, shot.canvas, compact=shot.compact, finer=finer)
        return self._made[key]

    def close(self) -> None:
        """Release the graphics."""
        for one in self._made.values():
            one.close()
        self._made.clear()


def _kept(off_screens: OffScreens | None) -> AbstractContextManager[OffScreens]:
    """Return the given ones, or new ones that are closed with the block."""
    return closing(OffScreens()) if off_screens is None else nullcontext(off_screens)


class OffScreen:
    """An off-screen scene for any number of pictures, on one thread.

    Parameters
    ----------
    theme, canvas, compact
        As in :class:`Shot`.
    finer
        Pictures are drawn larger by this factor and averaged, up to what drivers can draw; with 1
        the driver smooths edges.

    Raises
    ------
    PictureError
        If its pictures would be empty or larger than drivers can draw, or there is no OpenGL.
    LibrariesMissing
        If libraries of the system are missing.
    """

    def __init__(
        self,
        theme: Theme,
        canvas: Canvas,
        *,
        compact: bool = False,
        finer: int = SUPERSAMPLING,
    ) -> None:
        pixels, scale = canvas.pixels, canvas.scale
        if min(pixels) < 1 or max(pixels) > MAX_PIXELS:
            raise PictureError(
                f"A picture of {pixels[0]} × {pixels[1]} pixels is not possible",
                f"Choose a size from 1 to {MAX_PIXELS} pixels a side.",
            )
        self._finer = finer if max(pixels) * finer <= MAX_PIXELS else 1
        self._size, self._dpi = pixels, round(72 * scale * self._finer)
        self._overlap = math.ceil(OVERLAP * scale)
        most = TILE // self._finer**2
        self._parts = _parts(pixels, math.gcd(*pixels, self._dpi), self._overlap, most)
        self._tile = (pixels[0] // self._parts, pixels[1] // self._parts)
        check_pictures()
        with _quiet_vtk():
            if not draws_off_screen():
                raise PictureError("Pictures need OpenGL, which cannot be used here.", HELP)
            drawn = (self._tile[0] * self._finer, self._tile[1] * self._finer)
            self._plotter = pv.Plotter(off_screen=True, window_size=drawn)
            try:
                window = self._plotter.render_window
                window.SetMultiSamples(SAMPLES if self._finer == 1 else 0)
                window.SetTileScale(self._parts, self._parts)
                self._scene = HelixScene(self._plotter, theme, scale * self._finer)
                self._scene.compact = compact
            except BaseException:
                self._plotter.close()
                raise

    def draw(
        self, state: SceneState, pose: CameraPose | str, *, transparent: bool = False
    ) -> np.ndarray:
        """Draw a picture; see :func:`render_scene`."""
        return finished(self.drawing(state, pose, transparent=transparent))

    def drawing(
        self, state: SceneState, pose: CameraPose | str, *, transparent: bool = False
    ) -> Drawing[np.ndarray]:
        """Draw a picture tile by tile; nothing else may be drawn meanwhile."""
        width, height = self._size
        # Upside down, as VTK draws.
        picture = np.empty((height, width, 4 if transparent else 3), dtype=np.uint8)
        with self.arranged(state, pose, transparent=transparent):
            window, camera = self._plotter.render_window, self._plotter.camera
            half = math.radians(VIEW_ANGLE / 2)
            camera.SetViewAngle(2 * math.degrees(math.atan(math.tan(half) / self._parts)))
            camera.SetParallelScale(camera.GetParallelScale() / self._parts)
            window.SetDPI(self._dpi // self._parts)  # VTK multiplies it again
            for bottom, down in _strips(height, self._tile[1], self._overlap):
                for left, across in _strips(width, self._tile[0], self._overlap):
                    tile = self._draw_tile(left, bottom, transparent=transparent)
                    picture[down, across] = tile[
                        down.start - bottom : down.stop - bottom,
                        across.start - left : across.stop - left,
                    ]
                    yield
        return picture[::-1]

    @contextmanager
    def arranged(
        self, state: SceneState, pose: CameraPose | str, *, transparent: bool = False
    ) -> Iterator[HelixScene]:
        """Show a state from a pose, with labels, arrows and colour bar in their places."""
        window, camera = self._plotter.render_window, self._plotter.camera
        with _quiet_vtk():
            window.SetAlphaBitPlanes(transparent)
            window.SetDPI(self._dpi)
            self._scene.set_backed(not transparent)
            self._scene.show(state)
            self._scene.look_from(pose)
            camera.SetViewAngle(VIEW_ANGLE)
            camera.SetWindowCenter(0.0, 0.0)
            self._plotter.renderer.ResetCameraClippingRange()
            with self._scene.held():
                yield self._scene

    def _draw_tile(self, left: int, bottom: int, *, transparent: bool) -> np.ndarray:
        """Draw the tile whose lower left corner is at a pixel of the picture."""
        window = self._plotter.render_window
        (width, height), (across, down) = self._size, self._tile
        window.SetTileViewport(
            left / width, bottom / height, (left + across) / width, (bottom + down) / height
        )
        self._plotter.camera.SetWindowCenter(
            2 * left / across - self._parts + 1, 2 * bottom / down - self._parts + 1
        )
        window.Render()
        across, down = across * self._finer, down * self._finer
        pixels = vtkUnsignedCharArray()
        read = window.GetRGBACharPixelData if transparent else window.GetPixelData
        read(0, 0, across - 1, down - 1, 1, pixels, 0)
        return _averaged(vtk_to_numpy(pixels).reshape(down, across, -1), self._finer)

    def close(self) -> None:
        """Release the graphics; nothing can be drawn afterwards."""
        self._scene.release()
        self._plotter.close()


def render_picture(
    model: PositionalModel,
    out: Path,
    *,
    positions: tuple[int, int] | None = None,
    components: tuple[int, int, int] = (1, 2, 3),
    pca: PositionPCA | None = None,
    norms: NormProfile | None = None,
    look: Fields = NO_FIELDS,
    size: tuple[int, int] = (1600, 1200),
    scale: float = 1.0,
    view: str = "article",
    **options: Any,
) -> None:
    """Draw a model's positional embeddings to a PNG, SVG or PDF file.

    Parameters
    ----------
    out
        The file to write; its folder has to exist.
    positions
        Inclusive range; 1 to the last position if None.
    components
        Principal components on the three axes, 1-based.
    pca, norms
        The range's components and the norms, if already known.
    look
        Fields of :class:`gui.state.session.ViewState`, such as ``color_span`` and ``line_width``.
    size, scale, options
        As in :func:`draw`.
    view
        One of :data:`gui.state.camera.VIEWS`.

    Raises
    ------
    PictureError
        If the file cannot be written, or there is no such view or theme.
    geometry.checkpoints.errors.RangeError
        If the model has no such positions or components.
    """
    state = resolve_scene(still_session(model, positions, components, pca, norms, look))
    assert state is not None
    draw(state, out, view, size=size, scale=scale, **options)


def draw(
    scene: SceneState,
    out: str | os.PathLike[str] | None = None,
    pose: CameraPose | str = "article",
    *,
    size: tuple[int, int] = (800, 600),
    scale: float = 2.0,
    theme: str = "light",
    transparent: bool = False,
    compact: bool = False,
    canvas: Canvas | None = None,
) -> None:
    """Draw a scene to a PNG, SVG or PDF file, or in a window in which the mouse turns it.

    Parameters
    ----------
    scene
        What to draw.
    out
        The file to write; None for a window, which returns when it is closed.
    pose, transparent, compact
        As in :class:`Shot`.
    size, scale
        Width and height in logical pixels, and the pixels for each of these.
    theme
        ``light`` or ``dark``.
    canvas
        The exact size, in place of ``size`` and ``scale``.

    Raises
    ------
    PictureError
        If the file cannot be written, or there is no such view or theme.
    """
    if (isinstance(pose, str) and pose not in VIEWS) or theme not in THEMES:
        raise PictureError(
            f"There is no view {pose!r} with theme {theme!r}",
            f"Views: {', '.join(VIEWS)}; themes: {', '.join(THEMES)}.",
        )
    if out is None:
        _show(scene, THEMES[theme], pose, size, compact=compact)
        return
    canvas, path = canvas or Canvas.times(size, scale), Path(out)
    shot = Shot(THEMES[theme], canvas, pose, transparent, compact)
    if path.suffix.lower() in VECTORS:
        write_vectors(vector_scene(scene, shot), path)
    else:
        write_png(finished(drawing_scene(scene, shot)), path, canvas.per_inch)


def _show(
    scene: SceneState, theme: Theme, pose: CameraPose | str, size: tuple[int, int], *, compact: bool
) -> None:
    """Show a scene in a window until that is closed."""
    plotter = pv.Plotter(window_size=list(size))
    drawn = HelixScene(plotter, theme)
    drawn.compact = compact
    drawn.show(scene)
    drawn.look_from(pose)
    plotter.camera_set = True
    plotter.renderer.ResetCameraClippingRange()
    plotter.show(auto_close=False)
    drawn.release()
    plotter.close()


def still_session(
    model: PositionalModel,
    positions: tuple[int, int] | None = None,
    components: tuple[int, int, int] = (1, 2, 3),
    pca: PositionPCA | None = None,
    norms: NormProfile | None = None,
    look: Fields = NO_FIELDS,
) -> Session:
    """Return a session that shows a model without a window.

    Parameters
    ----------
    model, positions, components, pca, norms, look
        As in :func:`render_picture`.

    Raises
    ------
    geometry.checkpoints.errors.RangeError
        If the model has no such positions or components.
    geometry.checkpoints.errors.SourceError
        If its numbers cannot be drawn.
    """
    check_drawable(model)
    # A table with fewer than three dimensions is drawn flat, as in the window.
    if max(components) > max(3, min(model.W_pos.shape)):
        raise RangeError(f"{model.name} has {min(model.W_pos.shape)} components, got {components}")
    positions = positions or (min(1, model.n_positions - 1), model.n_positions - 1)
    pca = pca or fit_pca(model.W_pos, positions, max(components))
    session = Session(
        positions=positions,
        components=components,
        model=model,
        curve=place_curve(model.W_pos, pca, components),
        norms=norms or norm_profile(model.W_pos),
    )
    session.want(**look)
    return session


def write_png(image: np.ndarray, out: Path, per_inch: float = PER_INCH) -> None:
    """Write an (h, w, 3) or (h, w, 4) uint8 image as PNG, to be printed at pixels per inch.

    Raises PictureError: if the file cannot be written.
    """
    from PIL import Image

    drawn = io.BytesIO()  # Pillow does not give the reason of failures
    Image.fromarray(image).save(drawn, format="PNG", dpi=(per_inch, per_inch))
    with writing(out, PictureError):
        write_bytes(drawn.getvalue(), out)


def write_vectors(figure: Figure, out: Path) -> None:
    """Write a figure of vectors in the format of the file's suffix, one of :data:`VECTORS`.

    Raises PictureError: if the file cannot be written.
    """
    from gui.export.vector_picture import vector_file

    content = vector_file(figure, out.suffix.lower().lstrip("."))
    with writing(out, PictureError):
        write_bytes(content, out)


def _parts(size: tuple[int, int], common: int, overlap: int, most: int) -> int:
    """Return in how many tiles of at most ``most`` pixels to draw a picture each way.

    Only divisors of ``common`` are possible, and tiles much larger than their overlap.
    """
    largest = min(common, min(size) // (4 * overlap))
    possible = [n for n in range(1, largest + 1) if common % n == 0] or [1]
    enough = (n for n in possible if (size[0] // n) * (size[1] // n) <= most)
    return next(enough, possible[-1])


def _strips(length: int, tile: int, overlap: int) -> Iterator[tuple[int, slice]]:
    """Yield where tiles begin along a side, and the pixels of the side that each draws."""
    drawn = 0
    while drawn < length:
        start = min(max(drawn - overlap, 0), length - tile)
        end = length if start == length - tile else start + tile - overlap
        yield start, slice(drawn, end)
        drawn = end


def _averaged(image: np.ndarray, factor: int) -> np.ndarray:
    """Average blocks of factor × factor pixels, with colours weighted by their opacity."""
    if factor == 1:
        return image
    height, width, channels = image.shape
    averaged = np.empty((height // factor, width // factor, channels), dtype=np.uint8)
    # In blocks: all sums of a large picture would take gigabytes.
    for top in range(0, len(averaged), 64):
        rows = image[factor * top : factor * (top + 64)]
        color = np.zeros((len(rows) // factor, width // factor, 3), dtype=np.uint32)
        opacity = np.zeros((*color.shape[:2], 1), dtype=np.uint32)
        for i, j in np.ndindex(factor, factor):
            pixels = rows[i::factor, j::factor]
            if channels == 3:
                color += pixels
                opacity += 1
                continue
            alpha = pixels[..., 3:].astype(np.uint32)
            color += pixels[..., :3] * alpha
            opacity += alpha
        averaged[top : top + 64, :, :3] = (color + opacity // 2) // np.maximum(opacity, 1)
        if channels == 4:
            averaged[top : top + 64, :, 3:] = (opacity + factor**2 // 2) // factor**2
    return averaged


@contextmanager
def _quiet_vtk() -> Iterator[None]:
    """Suppress VTK's messages about a missing display, without which it can draw."""
    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(before)
