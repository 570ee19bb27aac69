"""Drawing a scene from a script, as the window draws it: the names below are for its users.

Nothing here imports Qt. :class:`SceneState` is what is drawn; the other classes are its values.
"""

from gui.export.pictures import draw
from gui.scene.scene_state import SceneState, Ways
from gui.state.camera import CameraPose
from gui.state.colors import ColorScale
from gui.state.guides import Guide
from gui.state.values import CurveLook

__all__ = ["CameraPose", "ColorScale", "CurveLook", "Guide", "SceneState", "Ways", "draw"]
