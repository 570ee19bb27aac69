"""What a position attends to, lit up on the curve in the viewport, by mouse and keys."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.measures.kernels import attention_map
from geometry.models.head_projections import project_heads
from geometry.models.sources import open_source
from tests.gui.result_stage import named, write_small_gpt2

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def shown(start_application, tmp_path, wait_until_idle):
    """The window with the panel in front, answered about a small GPT-2."""
    source = write_small_gpt2(tmp_path / "small")
    app = start_application(source, positions=(1, 63))
    app.window.docks["kernels"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["kernels"]
    assert panel.result is not None

    def guides():
        wait_until_idle(app)
        return app.window.viewport.scene.state.guides

    return SimpleNamespace(app=app, source=source, window=app.window, panel=panel, guides=guides)


def go_to(window, position):
    field = window.panels["inspector"].go_to.field
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, str(position))
    QTest.keyClick(field, Qt.Key.Key_Return)


def expected(shown, query):
    """Positions and weights that a query of the shown head lights up."""
    weights = attention_map(
        project_heads(open_source(shown.source)), shown.panel.result.head, (1, 63)
    )[query - 1]
    weights = weights / weights.max()
    lit = np.flatnonzero(weights >= 0.01)
    return 1 + lit, weights[lit]


def test_a_position_that_is_gone_to_lights_up_what_it_attends_to(shown):
    assert shown.guides() == ()
    go_to(shown.window, 40)
    (guide,) = shown.guides()
    positions, weights = expected(shown, 40)
    np.testing.assert_array_equal(guide.positions, positions)
    np.testing.assert_allclose(guide.weights, weights, atol=1e-4)
    assert shown.window.viewport.scene.state.guides[0].caption.endswith(
        f"(layer 0, head {shown.panel.result.head})"
    )


def test_a_click_on_the_map_makes_its_row_the_current_position(shown):
    view = named(shown.panel, "Attention of every query of the range")
    QTest.mouseClick(view.viewport(), LEFT, NONE, view.point_of(50, 12).toPoint())
    (guide,) = shown.guides()
    assert shown.app.session.current == 50
    np.testing.assert_array_equal(guide.positions, expected(shown, 50)[0])


def test_another_panel_in_front_darkens_it(shown):
    go_to(shown.window, 40)
    assert len(shown.guides()) == 1
    shown.window.docks["similarity"].raise_()
    assert shown.guides() == ()
    shown.window.docks["kernels"].raise_()
    assert len(shown.guides()) == 1
