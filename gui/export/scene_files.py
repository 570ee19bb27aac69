"""The scene as a file for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, writing
from gui.scene.scene_state import SceneState, point_text, resolve_scene
from gui.state.camera import CameraPose, view_pose
from gui.state.values import NO_FIELDS, Fields
from gui.style.theme import THEMES, Theme

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.session import Session

SCENES = (".html", ".glb")
SCREEN = 4 / 3
"""Aspect ratio of the browser's window for which a named view is framed."""


@dataclass(frozen=True, eq=False, slots=True)
class SceneExport:
    """Content of a scene's file; may be written on any thread."""

    state: SceneState
    texts: tuple[str, ...]  # Texts of the positions' points
    title: str  # The model's name
    theme: Theme
    pose: CameraPose

    @classmethod
    def of(cls, session: Session, theme: Theme, pose: CameraPose | str) -> SceneExport:
        """Create from a session, with a camera pose or the name of a view.

        Raises HelixscopeError: if no model is open.
        """
        state = resolve_scene(session)
        if state is None or session.model is None:
            raise HelixscopeError("There is nothing to export yet", "Open a model first.")
        if isinstance(pose, str):
            pose = view_pose(pose, state.displayed_range, state.turn, SCREEN)
        texts = tuple(point_text(session, i) for i in range(len(state.coordinates)))
        return cls(state, texts, session.model.name, theme, pose)

    def write(self, out: Path) -> None:
        """Write a file in the format of its suffix, one of :data:`SCENES`.

        Raises HelixscopeError: if it cannot be written.
        """
        if out.suffix.lower() == ".glb":
            from gui.export.scene_glb import scene_glb

            data = scene_glb(self.state, self.theme)
        else:
            from gui.export.scene_html import scene_html

            page = scene_html(self.state, self.theme, self.pose, self.texts, self.title)
            data = page.encode()
        with writing(out):
            write_bytes(data, out)


def export_scene(
    model: PositionalModel,
    out: Path,
    positions: tuple[int, int] | None = None,
    components: tuple[int, int, int] = (1, 2, 3),
    *,
    view: str = "article",
    theme: str = "light",
    look: Fields = NO_FIELDS,
) -> None:
    """Write a model's 3D view as a scene.

    Parameters
    ----------
    out
        The file: ``.html``, or ``.glb``, which has no camera.
    positions, components, view, theme, look
        As in :func:`gui.export.pictures.render_picture`.

    Raises
    ------
    HelixscopeError
        If it cannot be written, or the model has no such positions or components.
    """
    from gui.export.pictures import still_session  # imports VTK

    session = still_session(model, positions, components, look=look)
    SceneExport.of(session, THEMES[theme], view).write(out)
