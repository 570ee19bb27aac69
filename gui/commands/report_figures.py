"""The figures of `helixscope report`, drawn from the report's measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from geometry.checkpoints.errors import RangeError
from geometry.pca.curve import place_curve
from gui.export.figures import helix_figure, spectrum_figure
from gui.panels.kit.outputs import report_view
from gui.panels.kit.views import Reported
from gui.panels.table import PANELS
from gui.scene.drawable import check_drawable

Texts = Mapping[str, Callable[[], str]]


def figure(name: str, reported: Reported) -> tuple[Figure, Texts]:
    """Draw one of :data:`gui.commands.report_files.FIGURES`.

    Returns the figure, and functions that write its content as text, by suffix.

    Raises TensorUnavailable: The checkpoint lacks a tensor for it, or its numbers cannot be drawn.
    Raises Offline: It would need a download, but the network is disabled.
    Raises RangeError: The table or the range is too small for it, or too large.
    Raises PluginError: It is a plugin's, and failed.
    """
    check_drawable(reported.model)
    for entry in PANELS.values():
        if name in entry.figures:
            with entry.contained():
                view = report_view(entry.spec, reported, name)
                contents = entry.spec.texts(view)[:1]
                texts = {end: write for text in contents for end, (_, write) in text.kinds.items()}
                return entry.spec.figure(view), texts
    return _DRAW[name](reported), {}


# ---- all stored rows ------------------------------------------------------------------------


def _spectrum(reported: Reported) -> Figure:
    model = reported.model
    return spectrum_figure(model.name, model.n_positions, reported.measured.spectrum("P"))


# ---- the shown range ------------------------------------------------------------------------


def _helix(reported: Reported) -> Figure:
    W_pos = reported.model.W_pos
    curve = place_curve(W_pos, reported.measured.pca)
    first, last = curve.pca.positions
    if last - first < 2:
        raise RangeError(f"the range {first}–{last} has too few positions for a curve")
    grid = reported.model.grid
    return helix_figure(reported.model.name, curve, columns=0 if grid is None else grid[1])


_DRAW: Mapping[str, Callable[[Reported], Figure]] = {
    "helix": _helix,
    "spectrum": _spectrum,
}
