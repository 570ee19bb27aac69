"""Texts over the scene."""

import pytest
import pyvista as pv

from gui.scene.hud import Text2D


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
