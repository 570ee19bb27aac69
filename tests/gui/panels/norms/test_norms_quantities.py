"""The norms panel's quantities, and the line that stability is measured from."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.panels.norms.norms_text import AFTER_TIP, MEANINGS, OUTLIER_RULE
from gui.style.theme import DARK, LIGHT
from tests.gui.norms_stage import LEFT, NONE, at, drag, on_line, show_panel


@pytest.fixture
def panel(qtbot, session, controller):
    return show_panel(qtbot, session, controller)


def choose(panel, quantity):
    QTest.mouseClick(panel.header.quantity.buttons[quantity], LEFT)


def numbers(panel):
    """The readout's numbers by their names."""
    said = {}
    for part in panel.header.readout.text().split(" · "):
        name, _, rest = part.partition(" ")
        said[name] = rest
    return said


# ---- what is drawn ------------------------------------------------------------------------


def test_steps_are_drawn_with_their_formula_and_no_outliers(opened, panel):
    assert panel.plot.marks.mark_near(panel.plot.view.mapFromScene(QPointF(at(panel, 0))), 8) == 0
    choose(panel, "step")
    steps = np.linalg.norm(np.diff(opened.model.W_pos, axis=0), axis=1)
    np.testing.assert_allclose(panel.plot.values, steps)
    assert panel.header.formula.text() == "‖Pᵢ₊₁ − Pᵢ‖₂"
    assert MEANINGS["step"].split(",")[0] in panel.header.formula.toolTip()
    assert panel.plot.y_axis.title == "step (units of P)"
    assert panel.plot.tooltip_at(QPointF(at(panel, 0))) == ""
    assert "outlier" not in panel.header.readout.text()
    stretch = steps[100:198]
    assert numbers(panel)["mean"] == f"{stretch.mean():.3f}"
    assert f"{steps[:100].mean() / stretch.mean():.2f} times that" in panel.header.readout.text()


def test_steps_of_row_centred_rows(opened, panel):
    choose(panel, "step")
    QTest.mouseClick(panel.header.kind.buttons["centred"], LEFT)
    W_pos = opened.model.W_pos
    centred = W_pos - W_pos.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(panel.plot.values, np.linalg.norm(np.diff(centred, axis=0), axis=1))
    assert "mean(Δᵢ)" in panel.header.formula.text()


def test_residuals_follow_the_range_and_the_components(opened, controller, panel):
    choose(panel, "residual")
    np.testing.assert_array_equal(panel.plot.values, opened.curve.residual)
    assert panel.plot.y_axis.title == "residual (share)"
    before = panel.plot.values.copy()
    controller.request_positions(20, 60)
    np.testing.assert_array_equal(panel.plot.values, opened.curve.residual)
    assert not np.array_equal(panel.plot.values, before)
    opened.components = (1, 2, 5)
    np.testing.assert_array_equal(panel.plot.values, opened.curve.residual)
    assert not panel.header.kind.isEnabled()
    choose(panel, "norm")
    assert panel.header.kind.isEnabled()
    np.testing.assert_array_equal(panel.plot.values, opened.norms.values)


@pytest.mark.parametrize("folder", ["gpt2_folder", "minilm_folder"])
def test_real_models_early_steps_are_longer_and_say_so(folder, request, controller, session, panel):
    controller.open(str(request.getfixturevalue(folder)))
    choose(panel, "step")
    table = session.model.W_pos.astype(float)
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    times = steps[:100].mean() / steps[100 : len(steps) - 1].mean()
    assert f"{times:.2f} times that" in panel.header.readout.text()
    if folder == "gpt2_folder":
        assert times > 1.5
    choose(panel, "residual")
    assert "cv" not in numbers(panel)
    assert 0 < float(numbers(panel)["mean"]) < 1


def test_another_quantity_leaves_the_reader_where_they_were(opened, panel):
    panel.plot.view.setRange(xRange=(20, 60), padding=0)
    for quantity in ("step", "residual", "norm"):
        choose(panel, quantity)
        assert panel.plot.view.spans()[0] == pytest.approx((20, 60))


def test_selection_and_hover_are_shared_whatever_is_drawn(opened, panel):
    for quantity, said in (("step", "positions 30 → 31 · step "), ("residual", "residual ")):
        choose(panel, quantity)
        QTest.mouseClick(panel.plot.viewport(), LEFT, NONE, at(panel, 70))
        assert opened.selection == (70,)
        opened.hover = 30
        assert said in panel.plot.hover_text()
        assert panel.plot.hover_text().endswith(f"{panel.plot.values[30]:.3f}")
    choose(panel, "step")
    opened.hover = 199  # no step begins at the last position
    assert panel.plot.hover_text() == ""
    panel.plot.setFocus()
    opened.selection = (198,)
    QTest.keyClick(panel.plot, Qt.Key.Key_Right)
    assert opened.selection == (199,)


def test_steps_that_are_on_their_way_say_so(session, hand_jobs, write_table, qtbot):
    from gui.panels.norms.norms import NormsPanel
    from gui.services.controller import Controller

    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    made = NormsPanel(session, LIGHT)
    qtbot.addWidget(made, before_close_func=NormsPanel.release)
    made.show()
    session.norms_quantity = "step"
    assert made.body.note.isVisible()
    assert "Measuring" in made.body.note.text()
    assert not made.plot.isVisible()
    assert made.header.quantity.isVisible()
    hand_jobs.deliver_all()
    assert not made.body.note.isVisible()
    assert made.plot.isVisible()
    assert len(made.plot.values) == 199
    controller.close()


def test_one_position_has_no_steps(session, controller, write_table, panel):
    controller.open(str(write_table(np.ones((1, 4)), "one")))
    assert len(panel.plot.values) == 1
    choose(panel, "step")
    assert panel.body.note.isVisible()
    assert "one position" in panel.body.note.text()
    choose(panel, "norm")
    assert panel.plot.isVisible()
    assert not panel.body.note.isVisible()


# ---- the dashed line ----------------------------------------------------------------------


def test_dragging_the_line_measures_from_there_live(opened, panel):
    assert panel.plot.tooltip_at(QPointF(on_line(panel))) == AFTER_TIP
    heard = []
    opened.events.norms_after.connect(heard.append)
    selection = opened.selection
    drag(panel, on_line(panel), at(panel, 80, 3), at(panel, 60, 3), at(panel, 40, 3))
    assert len(heard) >= 3
    assert opened.norms_after == pytest.approx(40, abs=1)
    after = opened.norms_after
    values = opened.norms.values
    stretch = values[after:199]
    assert opened.norms.cv == pytest.approx(stretch.std() / stretch.mean())
    assert numbers(panel)["mean"] == f"{stretch.mean():.3f}"
    assert numbers(panel)["cv"].endswith(f"over {after}–198")
    assert panel.header.after.value() == after
    assert at(panel, after, 3).x() == pytest.approx(on_line(panel).x(), abs=1)
    assert opened.selection == selection


def test_the_line_stays_where_something_is_left_to_measure(opened, panel):
    drag(panel, on_line(panel), at(panel, 150, 3), at(panel, 199, 3))
    assert opened.norms_after == 198
    assert opened.norms.std == 0.0
    drag(panel, on_line(panel), at(panel, 50, 3), at(panel, 0, 3) - QPoint(8, 0))
    assert opened.norms_after == 0
    assert numbers(panel)["cv"].endswith("over 0–198")


def test_a_double_click_on_the_line_and_the_button_go_back(opened, panel):
    opened.selection = (7,)
    opened.norms_after = 40
    panel.plot.view.setRange(xRange=(10, 90), padding=0)
    assert panel.header.default.isEnabled()
    window = panel.window()
    point = panel.plot.viewport().mapTo(window, on_line(panel))
    QTest.mouseDClick(window.windowHandle(), LEFT, NONE, point)
    assert opened.norms_after == 100
    assert opened.selection == (7,)
    assert panel.plot.view.spans()[0] == pytest.approx((10, 90))
    assert not panel.header.default.isEnabled()
    opened.norms_after = 12
    QTest.mouseClick(panel.header.default, LEFT)
    assert opened.norms_after == 100


def test_a_click_on_the_line_selects_what_is_under_it(opened, panel):
    QTest.mouseClick(panel.plot.viewport(), LEFT, NONE, on_line(panel))
    assert opened.selection == (100,)
    assert opened.norms_after == 100


def test_the_number_is_typed_and_stepped(opened, panel):
    field = panel.header.after
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "25")
    assert opened.norms_after == 100
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert opened.norms_after == 25
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert opened.norms_after == 26
    assert opened.norms.mean == pytest.approx(opened.norms.values[26:199].mean())


def test_escape_ends_a_drag_and_the_line_is_free_again(opened, panel):
    window = panel.window().windowHandle()
    to_window = panel.plot.viewport().mapTo
    panel.plot.setFocus()
    QTest.mousePress(window, LEFT, NONE, to_window(panel.window(), on_line(panel)))
    QTest.mouseMove(window, to_window(panel.window(), at(panel, 60, 3)))
    QTest.keyClick(panel.plot, Qt.Key.Key_Escape)
    held = opened.norms_after
    QTest.mouseMove(window, to_window(panel.window(), at(panel, 20, 3)))
    assert opened.norms_after == held
    QTest.mouseRelease(window, LEFT, NONE, to_window(panel.window(), at(panel, 20, 3)))


def test_the_mouse_over_the_line_says_that_it_can_be_dragged(opened, panel):
    shape = panel.plot.viewport().cursor
    window = panel.window()
    QTest.mouseMove(window.windowHandle(), panel.plot.viewport().mapTo(window, at(panel, 50, 3)))
    assert shape().shape() == Qt.CursorShape.CrossCursor
    QTest.mouseMove(window.windowHandle(), panel.plot.viewport().mapTo(window, on_line(panel)))
    assert shape().shape() == Qt.CursorShape.SizeHorCursor
    QTest.mouseMove(window.windowHandle(), panel.plot.viewport().mapTo(window, at(panel, 50, 3)))
    assert shape().shape() == Qt.CursorShape.CrossCursor


def test_a_short_table_has_no_line_and_is_measured_whole(session, controller, write_table, helix,
                                                         panel):  # fmt: skip
    controller.open(str(write_table(helix(60), "short")))
    assert panel.plot.after_point() is None
    assert "too few to leave out the first 100" in panel.header.readout.text()
    session.norms_after = 30
    assert panel.plot.after_point() is not None
    assert numbers(panel)["cv"].endswith("over 30–58")


def test_dragging_keeps_the_zoom_and_steps_have_the_line_too(opened, panel):
    choose(panel, "step")
    panel.plot.view.setRange(xRange=(50, 150), yRange=(0, 1), padding=0)
    before = panel.plot.view.spans()
    drag(panel, on_line(panel), at(panel, 90, 0.5), at(panel, 70, 0.5))
    assert opened.norms_after == pytest.approx(70, abs=1)
    assert panel.plot.view.spans() == before
    steps = opened.lengths.steps[opened.norms_after : 198]
    assert numbers(panel)["mean"] == f"{steps.mean():.3f}"


def test_outliers_keep_their_rule(opened, panel):
    assert panel.plot.tooltip_at(QPointF(at(panel, 0))) == OUTLIER_RULE
    assert panel.header.readout.toolTip().count("Outlier") == 1
    choose(panel, "step")
    assert "Outlier" not in panel.header.readout.toolTip()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_line_is_in_the_themes_colours(opened, panel, theme):
    panel.set_theme(theme)
    QCursor.setPos(panel.mapToGlobal(QPoint(2, 2)))
    QApplication.processEvents()
    image = panel.plot.grab().toImage()
    tab = panel.plot.view.mapToScene(
        QPointF(panel.plot._after.pixel(), panel.plot.view.rect().top() + 4)
    ).toPoint()
    assert image.pixelColor(tab).name() == theme.muted
