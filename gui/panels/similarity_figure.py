"""The figure of the similarity panel for print."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from geometry.measures.similarity import Similarity
from gui.plots.figure_base import POINTS, name_axes, new_figures, title_axes
from gui.plots.figure_models import draw_others, name_models
from gui.services.overlay_curves import OverlayLine, span_with
from gui.state.colors import lookup_table
from gui.style.theme import LIGHT, SMALL

SIZE = (6.8, 3.0)


def similarity_figure(
    found: Similarity,
    colormap: str,
    levels: tuple[float, float],
    *,
    title: str,
    scope: str,
    others: Sequence[OverlayLine] = (),
    name: str = "",
) -> Figure:
    """Cosines of all pairs, with their mean by lag beside them.

    Parameters
    ----------
    found
        What is drawn.
    colormap, levels
        A colour map's name, and the cosines at its ends.
    title, scope
        The lines above.
    others, name
        Means of other models, and what its own model is called among them.
    """
    from matplotlib.colors import ListedColormap

    figure, (left, right) = new_figures(LIGHT, SIZE, columns=2, width_ratios=(1.0, 1.1))
    figure.set_layout_engine("compressed", wspace=0.1)
    right.set_box_aspect(0.82)
    first, last = found.positions
    image = left.imshow(
        found.cosines, cmap=ListedColormap(lookup_table(colormap) / 255.0), vmin=levels[0],
        vmax=levels[1], extent=(first - 0.5, last + 0.5, last + 0.5, first - 0.5),
        interpolation="antialiased",
    )  # fmt: skip
    name_axes(left, "Position j", "Position i")
    bar = figure.colorbar(image, ax=left, fraction=0.05, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL * POINTS, color=LIGHT.line, labelcolor=LIGHT.text)
    bar.set_label("cos(Pᵢ, Pⱼ)", fontsize=SMALL * POINTS, color=LIGHT.text)
    right.axhline(0.0, color=LIGHT.line, linewidth=0.8)
    draw_others(right, others)
    right.plot(found.by_lag, color=LIGHT.text, linewidth=1.0)
    right.set_xlim(span_with(0, max(len(found.by_lag) - 1, 1), others))
    name_models(figure, others, (name, LIGHT.text))
    name_axes(right, "Lag Δ (positions)", "Mean cos(Pᵢ, Pᵢ₊Δ)")
    title_axes(left, title, scope, LIGHT)
    return figure
