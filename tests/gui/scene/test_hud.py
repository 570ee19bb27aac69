"""Texts over the scene."""

from itertools import pairwise

import numpy as np
import pytest
import pyvista as pv

from gui.scene.hud import ColorBar2D, Text2D


@pytest.mark.parametrize("name", ["$x^2$", "a$\\frac{$b", "$$", "a|b"])
def test_names_are_no_formulas(name, capfd):
    """VTK would give "$…$" to Matplotlib, which refuses some with a traceback."""
    plotter = pv.Plotter(off_screen=True, window_size=(300, 100))
    text = Text2D(plotter.renderer)
    text.style("#000000", 20)
    widths = []
    for written in (name, name.replace("$", "S")):
        text.write(written)
        left, _, right, _ = text.box(72)
        widths.append(right - left)
    plotter.render()
    plotter.close()
    assert widths[0] == pytest.approx(widths[1], rel=0.2)
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def bar():
    """A colour bar in a view, placed in the middle of its right side."""
    plotter = pv.Plotter(off_screen=True, window_size=(300, 400))
    made = ColorBar2D(plotter.renderer)
    made.style_texts("#000000", "#888888", 11)
    yield made
    plotter.close()


TABLE = np.zeros((256, 4), np.uint8)


def test_a_long_title_and_the_bar_have_boxes_of_their_own(bar):
    """One box would cover the curve left of the bar."""
    bar.show("a title that is much longer than the bar is wide", ("0", "9"), TABLE)
    bar.place(290, 200, (10, 390), 1.0)
    title, rest = bar.boxes(72)
    assert title == bar.title.box(72)
    assert rest[2] - rest[0] < 20 < 100 < title[2] - title[0]
    assert rest[3] - rest[1] >= bar.HEIGHT
    assert rest[3] <= title[1]
    names = [("noun", TABLE[0]), ("verb", TABLE[0])]
    bar.show("kind", ("", ""), TABLE, names)
    bar.place(290, 200, (10, 390), 1.0)
    rest = bar.boxes(72)[1]
    assert rest[2] == 290, "with the squares"
    assert rest[0] == min(text.box(72)[0] for text in bar.names)


@pytest.mark.parametrize("size", [11, 14, 24])
def test_lines_of_text_are_as_far_apart_as_their_font_needs(bar, size):
    bar.style_texts("#000000", "#888888", size)
    bar.show("Position", ("0", "9"), TABLE)
    bar.place(290, 200, (10, 390), 1.0)
    assert bar.title.box(72)[1] >= bar.high.box(72)[3]
    bar.show("kind", ("", ""), TABLE, [(name, TABLE[0]) for name in ("(noun)", "(verb)", "(jot)")])
    bar.place(290, 200, (10, 390), 1.0)
    boxes = [text.box(72) for text in (bar.title, *bar.names)]
    for above, below in pairwise(boxes):
        assert above[1] >= below[3], "no line covers the one below it"


def test_without_values_there_is_no_bar(bar):
    bar.show("Token", ("", ""), TABLE)
    bar.place(290, 200, (10, 390), 1.0)
    assert not bar.actor.GetVisibility()
    assert bar.boxes(72) == [bar.title.box(72)]
    bar.write("loss", ("0", "9"))
    assert bar.actor.GetVisibility()
    assert len(bar.boxes(72)) == 2
