"""Figures of all panels at the widths of a column and of a page: whole, legible, and filled."""

import numpy as np
import pytest
from matplotlib.text import Text
from PySide6.QtWidgets import QApplication

from gui.panels.table import PANELS
from gui.plots.figure_base import drawn, fits, with_width
from gui.style.theme import FIGURE_WIDTHS
from tests.gui.open_models import add_beside
from tests.small_models import write_small_llama

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_random_curves")]

PAPER = 11.7
"""Height of a sheet of A4 in inches."""
SMALLEST, LARGEST = 7.0, 10.0
"""Sizes of text in points."""


@pytest.fixture(scope="module")
def rotary(tmp_path_factory):
    return write_small_llama(tmp_path_factory.mktemp("rotary"))


def sizes(figure):
    """The sizes of all texts that can be seen."""
    texts = figure.findobj(Text)
    return {text.get_fontsize() for text in texts if text.get_visible() and text.get_text()}


def filled(figure):
    """The shares of width and height from the first of the axes and legends to the last."""
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    width, height = figure.get_size_inches() * figure.dpi
    across = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
    down = max(box.y1 for box in boxes) - min(box.y0 for box in boxes)
    return across / width, down / height


@pytest.mark.parametrize("part", FIGURE_WIDTHS)
@pytest.mark.parametrize("beside", [0, 1, 5])
@pytest.mark.parametrize("name", [name for name, entry in PANELS.items() if entry.spec.has_plots])
def test_a_figure_fits_and_fills_its_width(name, beside, part, stage_of, rotary):
    stage = stage_of(name, rotary if name == "rotary" else "sample", size=(1000, 320))
    for last in range(100, 100 + beside):
        add_beside(stage.controller, rotary if name == "rotary" else "sample", (1, last))
    QApplication.processEvents()
    figure = with_width(stage.panel.figure()(), FIGURE_WIDTHS[part])
    assert figure.get_figwidth() == pytest.approx(FIGURE_WIDTHS[part])
    assert figure.get_figheight() < PAPER
    assert fits(figure)
    assert min(sizes(figure)) >= SMALLEST
    assert max(sizes(figure)) <= LARGEST
    assert np.min(filled(figure)) > 0.7
    assert b"/FontFile2" in drawn(figure, "pdf")
