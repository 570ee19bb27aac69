"""The scene, drawn without a window."""

import numpy as np
import pyvista as pv

from gui.scene.scene import HelixScene
from gui.scene.scene_state import resolve_scene
from gui.state.camera import AXES, framed
from gui.state.session import Session
from gui.style.theme import Theme


def rgb(color: str) -> np.ndarray:
    """A colour, ``#rrggbb``, as (3,) integers."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


class Stage:
    """A scene on an off-screen plotter."""

    def __init__(self, theme: Theme, size: tuple[int, int], scale: float) -> None:
        self.plotter = pv.Plotter(off_screen=True, window_size=size)
        self.plotter.render_window.SetMultiSamples(0)
        self.plotter.render_window.SetDPI(round(72 * scale))
        self.scene = HelixScene(self.plotter, theme, scale)

    def show(self, session: Session, view: str | None = "article") -> np.ndarray:
        """Draw a session; return the picture, (height, width, 3), upside up.

        What is larger than the curve has room around it.
        """
        state = resolve_scene(session)
        self.scene.show(state)
        width, height = self.plotter.window_size
        if state is not None and view is not None:
            towards, up = (self.scene.turn @ np.array(axis) for axis in AXES[view])
            pose = framed(self.scene.displayed_range, towards, up, width / height)
            pose.apply(self.plotter.camera)
        return self.draw()

    def draw(self) -> np.ndarray:
        self.plotter.renderer.ResetCameraClippingRange()
        self.plotter.render_window.Render()
        return np.array(self.plotter.screenshot())

    def pixels(self) -> tuple[np.ndarray, np.ndarray]:
        """Where all positions are: (n, 2) x and y of the picture, (n,) depth."""
        xy, depth = self.scene.projection().to_screen(self.scene.displayed)
        return np.column_stack([xy[:, 0], self.plotter.window_size[1] - 1 - xy[:, 1]]), depth

    def close(self) -> None:
        self.scene.release()
        self.plotter.close()
