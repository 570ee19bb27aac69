"""Export of a timeline: as a film, drawn off-screen, and as numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.number_files import write_numbers
from geometry.history.timelapse import Basis, make_timelapse
from geometry.measures.norms import norm_profile
from geometry.pca.curve import place_curve
from gui.export.canvas import Canvas
from gui.export.film import FILMS, Film, film_size
from gui.scene.scene_state import resolve_scene
from gui.state.session import Session
from gui.state.timeline import COMPONENTS, TrainingTimeline, columns_for
from gui.state.values import NO_FIELDS, Fields
from gui.style.theme import LIGHT, Theme

if TYPE_CHECKING:
    from geometry.history.history import History
    from geometry.models.model import PositionalModel
    from gui.state.camera import CameraPose

FORMATS = (*FILMS, ".npz")
LINES = 540
"""Height of a film in logical pixels, so that texts and points are as large as in a window."""


@dataclass(frozen=True, slots=True)
class FilmLook:
    """Options of a film's drawing."""

    # Width and height in pixels; for MP4 both even, see :func:`gui.export.film.film_size`.
    size: tuple[int, int] = (960, 720)
    fps: float = 6.0
    theme: Theme = LIGHT
    # The camera's pose; of a time-lapse its direction, from which all snapshots are framed.
    # None for the article's view.
    pose: CameraPose | None = None
    lines: int = LINES  # Height in logical pixels: the smaller, the larger are texts and points


class SceneFrames:
    """Base of the frames of a film, independent of later changes of the session.

    Created, used and closed on one thread: that of the window, if there is one. ``compact`` is that
    of :class:`gui.export.pictures.Shot`.

    Raises PictureError: if frames of this size cannot be drawn.
    """

    def __init__(self, count: int, look: FilmLook, *, compact: bool = False) -> None:
        from gui.export.pictures import OffScreen  # imports VTK

        self._count = count
        canvas = Canvas(look.size, look.size[1] / look.lines)
        self._off_screen = OffScreen(look.theme, canvas, compact=compact)

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._count

    def close(self) -> None:
        """Release the graphics."""
        self._off_screen.close()


class TimelineFrames(SceneFrames):
    """Draws the frames of a session's timeline.

    Parameters
    ----------
    session
        Its ``timeline`` is drawn as shown now, without the hovered position.

    Raises
    ------
    HelixscopeError
        There is no timeline of the shown range, or frames of this size cannot be drawn.
    """

    def __init__(self, session: Session, look: FilmLook) -> None:
        self._session = replace(session, hover=None, snapshot=0)
        timeline = self._session.shown_timeline
        if timeline is None:
            raise HelixscopeError(
                "There is no time-lapse of the current view",
                "Open the Training panel for this range first.",
            )
        self._timeline = timeline
        super().__init__(timeline.n_snapshots, look)
        self._pose = self._overview(look)

    def draw(self, snapshot: int) -> np.ndarray:
        """Draw a frame: (height, width, 3) uint8."""
        self._session.snapshot = snapshot
        state = resolve_scene(self._session)
        assert state is not None
        return self._off_screen.draw(state, self._pose)

    def _overview(self, look: FilmLook) -> CameraPose:
        """Frame the range at all snapshots together, so that it never leaves the picture."""
        from gui.state.camera import fitted, view_pose

        state = resolve_scene(self._session)
        assert state is not None
        inside = self._timeline.coordinates[:, self._timeline.timelapse.in_range]
        columns = columns_for(self._session.components)
        points = inside[..., columns].reshape(-1, len(COMPONENTS)) @ state.turn.T
        pose, aspect = look.pose, look.size[0] / look.size[1]
        if pose is None:
            return view_pose("article", points, state.turn, aspect)
        return fitted(points, pose.position - pose.focal_point, pose.up, aspect)


def timeline_numbers(timeline: TrainingTimeline) -> dict[str, np.ndarray]:
    """Return a timeline's arrays by name; n snapshots of p positions in d dimensions.

    ``steps`` (n,); ``tokens`` (n,) and ``losses`` (n,) where they are known; ``coordinates``
    (n, p, 3) in ``basis``, "frozen" or "aligned"; ``variance`` (n, 3), shares of each snapshot's
    own components over the range; ``frozen_variance`` (n,), the share in those of the last one;
    ``norms`` (n, p); ``positions``, the first and last of the range; ``mean`` (d,) and
    ``components`` (≤ 3, d) of the last snapshot: frozen coordinates are
    ``(table - mean) @ components.T``.
    """
    history, timelapse = timeline.history, timeline.timelapse
    told = {"tokens": history.tokens, "losses": history.losses}
    return {
        "steps": timelapse.steps,
        **{name: values for name, values in told.items() if values is not None},
        "coordinates": timeline.coordinates,
        "variance": timelapse.explained_variance_ratio,
        "frozen_variance": timelapse.frozen_variance_ratio,
        "norms": timelapse.norms,
        "positions": np.array(timelapse.positions),
        "basis": np.array(timeline.basis),
        "mean": timelapse.pca.mean,
        "components": timelapse.pca.components[: len(COMPONENTS)],
    }


def timeline_session(
    model: PositionalModel,
    history: History,
    basis: Basis = "frozen",
    positions: tuple[int, int] | None = None,
    look: Fields = NO_FIELDS,
) -> Session:
    """Return a session with a model's timeline, for :class:`TimelineFrames`.

    ``look`` is that of :func:`gui.export.pictures.render_picture`.

    Raises RangeError: the range leaves the table.
    Raises SourceError: a table cannot be read.
    """
    timelapse = make_timelapse(history, positions)
    session = Session(
        positions=timelapse.positions,
        model=model,
        curve=place_curve(model.W_pos, timelapse.pca, COMPONENTS),
        norms=norm_profile(model.W_pos),
        timeline=TrainingTimeline(history, timelapse, basis),
    )
    session.want(**look)
    return session


def write_timelapse(
    session: Session,
    out: Path,
    *,
    size: tuple[int, int] = (960, 720),
    fps: float = 6.0,
    theme: Theme = LIGHT,
    step: Callable[[str, Callable[[], None]], None] = lambda _, work: work(),
) -> None:
    """Write a session's timeline in the format of the file's suffix.

    Parameters
    ----------
    session
        From :func:`timeline_session`.
    out
        ``.mp4``, ``.gif`` or ``.npz``.
    step
        Does the work, given its description.

    Raises
    ------
    HelixscopeError
        It cannot be drawn or written.
    """
    assert session.timeline is not None
    timeline = session.timeline
    if out.suffix.lower() == ".npz":
        step("Writing", lambda: write_numbers(timeline_numbers(timeline), out))
        return
    look = FilmLook(film_size(size, out), fps, theme)
    film = Film(out, look.size, look.fps)
    with closing(TimelineFrames(session, look)) as frames:
        step(f"Drawing {len(frames)} frames", lambda: film.write(len(frames), frames.draw))
