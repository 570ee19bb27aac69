"""A turntable: a film of the scene that turns round once and begins again. No Qt here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from gui.export.film import Film, film_size
from gui.export.timelapse_film import FilmLook, off_screen
from gui.scene.scene_state import resolve_scene
from gui.state.camera import CameraPose, view_pose
from gui.style.theme import THEMES

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.session import Session

About = Literal["up", "x", "y", "z"]
ABOUT: tuple[About, ...] = get_args(About)
"""What a scene turns about: what is up on the screen, or one of the axes."""
SECONDS, FPS = 8.0, 25.0


@dataclass(frozen=True, slots=True)
class Turn:
    """How a scene turns.

    Attributes
    ----------
    about
        One of :data:`ABOUT`; "up" is what is up on the screen in the first frame.
    seconds
        How long one turn takes.
    """

    about: About = "up"
    seconds: float = SECONDS

    def frames(self, fps: float) -> int:
        """Return how many frames one turn has."""
        return max(2, round(self.seconds * fps))


def turned(pose: CameraPose, axis: np.ndarray, angle: float) -> CameraPose:
    """Go around a pose's focal point.

    Parameters
    ----------
    pose
        Where the camera is.
    axis : (3,)
        What it goes around, in world coordinates; any length but zero.
    angle
        How far, in radians; the scene seems to turn the other way.
    """
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return CameraPose(
        pose.focal_point + rotation @ (pose.position - pose.focal_point),
        pose.focal_point,
        rotation @ pose.up,
        pose.parallel_scale,
    )


class TurnFrames:
    """Draws the frames of a turntable, whatever becomes of the session meanwhile.

    Made, used and closed on one thread: that of the window, if there is one.

    Parameters
    ----------
    session
        What it shows now is drawn, but for the mark of what is under the mouse.
    look
        How; without a pose, in the article's view.
    turn
        About what, and how fast.
    compact
        Whether it is one of several views, without caption and colour bar.

    Raises
    ------
    HelixscopeError
        Nothing is shown, or frames of this size cannot be drawn.
    """

    def __init__(
        self, session: Session, look: FilmLook, turn: Turn, *, compact: bool = False
    ) -> None:
        state = resolve_scene(replace(session, hover=None))
        if state is None:
            raise HelixscopeError("There is nothing to film yet", "Open a model first.")
        self._state, self._count = state, turn.frames(look.fps)
        first, last = state.positions
        shown = state.coordinates[first : last + 1] @ state.turn.T
        aspect = look.size[0] / look.size[1]
        self._pose = look.pose or view_pose("article", shown, state.turn, aspect)
        axes = dict(zip(("x", "y", "z"), state.turn.T, strict=True))
        self._axis = axes.get(turn.about, self._pose.up)
        self._stage = off_screen(look, compact=compact)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def draw(self, index: int) -> np.ndarray:
        """Draw a frame: (height, width, 3) uint8."""
        angle = 2.0 * np.pi * index / self._count
        return self._stage.draw(self._state, turned(self._pose, self._axis, angle))

    def close(self) -> None:
        """Let go of the graphics."""
        self._stage.close()


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
) -> None:
    """Write a model's 3D view as a film of one turn, MP4 or GIF by the file's ending.

    Parameters
    ----------
    model
        The open model.
    out
        The file.
    positions, components, view, theme
        As in :func:`gui.export.pictures.render_picture`.
    turn
        How it turns; the usual way if None.
    size, fps
        Of the film; an odd width or height of an MP4 becomes even.
    step
        Does the work, named in words.

    Raises
    ------
    HelixscopeError
        It cannot be drawn or written, or the model has no such positions or components.
    """
    from gui.export.pictures import still_session  # and with it VTK

    session = still_session(model, positions, components)
    assert session.curve is not None
    first, last = session.positions
    pixels = film_size(size, out)
    shown = session.curve.coordinates[first : last + 1]
    pose = view_pose(view, shown, session.turn, pixels[0] / pixels[1])
    look = FilmLook(pixels, fps, THEMES[theme], pose)
    frames = TurnFrames(session, look, turn or Turn())
    film = Film(out, look.size, look.fps, loops=True)
    try:
        step(f"Drawing {len(frames)} frames", lambda: film.write(len(frames), frames.draw))
    finally:
        frames.close()
