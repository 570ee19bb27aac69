"""A turntable: a film of the scene that makes one full turn and loops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from gui.export.film import Film, film_size
from gui.export.timelapse_film import FilmLook, SceneFrames
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose, view_pose
from gui.state.values import NO_FIELDS, Fields
from gui.style.theme import THEMES
from gui.viewport.camera_steps import rotated

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.session import Session

About = Literal["up", "x", "y", "z"]
ABOUT: tuple[About, ...] = get_args(About)
"""Axes of rotation: the screen's up direction, or a component."""
SECONDS, FPS = 8.0, 25.0


@dataclass(frozen=True, slots=True)
class Turn:
    """How a scene turns."""

    # One of :data:`ABOUT`; "up" is the screen's up direction in the first frame.
    about: About = "up"
    seconds: float = SECONDS  # Duration of one turn

    def frames(self, fps: float) -> int:
        """Return the number of frames of one turn."""
        return max(2, round(self.seconds * fps))


def turned(pose: CameraPose, axis: np.ndarray, angle: float) -> CameraPose:
    """Rotate a pose around its focal point.

    Parameters
    ----------
    axis : (3,)
        Axis in world coordinates; any length but zero.
    angle
        Angle in radians; the scene appears to rotate the other way.
    """
    unit = axis / np.linalg.norm(axis)
    offset = rotated(pose.position - pose.focal_point, unit, angle)
    return replace(pose, position=pose.focal_point + offset, up=rotated(pose.up, unit, angle))


class TurnFrames(SceneFrames):
    """Draws the frames of a turntable.

    Parameters
    ----------
    session
        Drawn as it is now, without the hovered position.
    look
        Options; without a pose, in the article's view.
    compact
        Whether it is one of several views, without caption and colour bar.

    Raises
    ------
    HelixscopeError
        No model is open, or frames of this size cannot be drawn.
    """

    def __init__(
        self, session: Session, look: FilmLook, turn: Turn, *, compact: bool = False
    ) -> None:
        state = resolve_scene(replace(session, hover=None))
        if state is None:
            raise HelixscopeError("There is nothing to save yet", "Open a model first.")
        self._state = state
        aspect = look.size[0] / look.size[1]
        self._pose = look.pose or view_pose("article", state.displayed_range, state.turn, aspect)
        axes = dict(zip(("x", "y", "z"), state.turn.T, strict=True))
        self._axis = axes.get(turn.about, self._pose.up)
        super().__init__(turn.frames(look.fps), look, compact=compact)

    def draw(self, index: int) -> np.ndarray:
        """Draw a frame: (height, width, 3) uint8."""
        angle = 2.0 * np.pi * index / self._count
        return self._off_screen.draw(self._state, turned(self._pose, self._axis, angle))


def export_turntable(
    model: PositionalModel,
    out: Path,
    positions: tuple[int, int] | None = None,
    components: tuple[int, int, int] = (1, 2, 3),
    *,
    turn: Turn | None = None,
    size: tuple[int, int] = (960, 720),
    fps: float = FPS,
    view: str = "article",
    theme: str = "light",
    step: Callable[[str, Callable[[], None]], None] = lambda _, work: work(),
    look: Fields = NO_FIELDS,
) -> None:
    """Write a model's 3D view as a film of one turn, MP4 or GIF by the file's suffix.

    Parameters
    ----------
    positions, components, view, theme, look
        As in :func:`gui.export.pictures.render_picture`.
    size, fps
        Options of the film; odd sizes of an MP4 become even.
    step
        Does the work, given its description.

    Raises
    ------
    HelixscopeError
        It cannot be drawn or written, or the model has no such positions or components.
    """
    from gui.export.pictures import still_session  # imports VTK

    session = still_session(model, positions, components, look=look)
    assert session.curve is not None
    first, last = session.positions
    pixels = film_size(size, out)
    shown = session.curve.coordinates[first : last + 1]
    pose = view_pose(view, shown, session.turn, pixels[0] / pixels[1])
    film = Film(out, pixels, fps, loops=True)
    options = FilmLook(pixels, fps, THEMES[theme], pose)
    with closing(TurnFrames(session, options, turn or Turn())) as frames:
        step(f"Drawing {len(frames)} frames", lambda: film.write(len(frames), frames.draw))
