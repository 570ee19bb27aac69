"""Colours in glTF, which are linear: compared with those of the window by trimesh's own formula."""

import numpy as np
import trimesh
from trimesh.visual.color import srgb_to_linear


def linear(colors: np.ndarray) -> np.ndarray:
    """Return sRGB colours, (n, 4) uint8, as linear ones."""
    return np.hstack([np.round(255 * srgb_to_linear(colors[:, :3])), colors[:, 3:]]).astype(int)


def stored(body: trimesh.Trimesh) -> np.ndarray:
    """Return the colours of a body's vertices as they are stored, (n, 4)."""
    return np.asarray(body.visual.vertex_attributes["color"]).astype(int)


def distinct(colors: np.ndarray) -> set[tuple[int, ...]]:
    """Return the different ones of some colours."""
    return {tuple(map(int, color)) for color in colors}
