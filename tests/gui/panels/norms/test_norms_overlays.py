"""Other models beside the open one in the norms panel."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolButton

from geometry.models.catalogue import read_catalogue
from gui.panels.norms.norms_legend import NormsLegend
from gui.panels.norms.norms_reading import beside, read
from gui.panels.norms.norms_text import full_span
from gui.panels.norms.overlay_menu import NONE_HERE, overlay_choices
from gui.state.session import ModelRow, Session
from gui.style.theme import DARK, LIGHT, SERIES
from tests.gui.norms_stage import LEFT, NONE, at, drag, is_drawn_in, on_line, show_panel


@pytest.fixture
def panel(qtbot, session, controller):
    return show_panel(qtbot, session, controller)


@pytest.fixture
def others(write_table, helix):
    """A longer table of twice the size, and a shorter one."""
    return [
        str(write_table(2 * helix(320, 16, 3), "long")),
        str(write_table(helix(120, 8, 4), "short")),
    ]


def menu_of(panel):
    """Press "Overlay…" and return the menu that comes up."""
    QTest.mouseClick(panel.header.overlay, LEFT)
    popup = QApplication.activePopupWidget()
    assert isinstance(popup, QMenu)
    return popup


def pick(menu, title):
    action = next(action for action in menu.actions() if action.text() == title)
    QTest.mouseClick(menu, LEFT, NONE, menu.actionGeometry(action).center())


def legend_button(panel, name):
    return next(
        b for b in panel.body.legend.findChildren(QToolButton) if b.accessibleName() == name
    )


def legend_texts(panel):
    from PySide6.QtWidgets import QLabel

    return [shown.text() for shown in panel.body.legend.findChildren(QLabel)]


# ---- what is offered ----------------------------------------------------------------------


def test_models_that_are_here_are_offered_and_no_others(tmp_path):
    entries = read_catalogue()
    here, cached, away = entries[:3]
    file = tmp_path / "table.npy"
    file.write_bytes(b"")
    session = Session()
    session.models = (
        ModelRow(here, "installed"), ModelRow(cached, "cached"), ModelRow(away, "online"),
    )  # fmt: skip
    session.recent = (here.id, str(file), str(tmp_path / "gone.npy"), away.id)
    opened_once = str(tmp_path / ("x" * 300))  # which cannot even be asked for
    session.recent += (opened_once,)
    session.model = SimpleNamespace(source=here.id)
    assert [source for source, _ in overlay_choices(session)] == [str(file), cached.id]
    assert dict(overlay_choices(session))[cached.id] == cached.title
    session.model = None
    assert here.id in dict(overlay_choices(session))


def test_the_menu_adds_and_removes(opened, controller, panel, others):
    opened.recent = (opened.recent[0], *others)
    menu = menu_of(panel)
    assert [a.text() for a in menu.actions()] == ["long.npy", "short.npy"]
    pick(menu, "short.npy")
    assert [o.source for o in opened.overlays] == [others[1]]
    assert panel.body.legend.isVisible()
    menu = menu_of(panel)
    assert [a.isChecked() for a in menu.actions()[:2]] == [False, True]
    pick(menu, "short.npy")
    assert opened.overlays == ()
    assert not panel.body.legend.isVisible()
    for source in others:
        controller.overlays.add(source)
    pick(menu_of(panel), "Take all out")
    assert opened.overlays == ()


def test_where_nothing_else_is_here_the_menu_says_so(opened, panel):
    menu = menu_of(panel)
    assert [a.text() for a in menu.actions()] == [NONE_HERE]
    assert not menu.actions()[0].isEnabled()
    menu.close()


# ---- what is drawn ------------------------------------------------------------------------


def test_a_longer_and_a_larger_model_is_wholly_in_sight(opened, controller, panel, others):
    controller.overlays.add(others[0])
    (x0, x1), (y0, y1) = panel.plot.view.spans()
    assert x0 < 0
    assert x1 > 319
    norms = np.linalg.norm(np.load(others[0]), axis=1)
    assert y0 <= 0 < norms.max() < y1
    color = SERIES["light"][1]
    assert is_drawn_in(panel, at(panel, 250, norms[250]), color, LIGHT.viewport)
    controller.overlays.remove(others[0])
    assert panel.plot.view.spans()[0][1] < 210


def test_beyond_the_open_models_end_nothing_is_hovered_or_selected(
    opened, controller, panel, others
):
    controller.overlays.add(others[0])
    assert panel.plot.index_at(QPointF(at(panel, 300, 5))) is None
    assert panel.plot.index_at(QPointF(at(panel, 199))) == 199
    QTest.mouseClick(panel.plot.viewport(), LEFT, NONE, at(panel, 300, 5))
    assert opened.selection == ()


def test_each_has_its_mean_and_cv_in_the_legend(opened, controller, panel, others):
    for source in others:
        controller.overlays.add(source)
    norms = np.linalg.norm(np.load(others[0]), axis=1)[100:319]
    texts = legend_texts(panel)
    assert f"{norms.mean():.3f}" in texts
    assert f"{100 * norms.std() / norms.mean():.1f}\N{NO-BREAK SPACE}%" in texts
    assert f"{opened.norms.mean:.3f}" in texts
    opened.norms_after = 30
    norms = np.linalg.norm(np.load(others[0]), axis=1)[30:319]
    assert f"{norms.mean():.3f}" in legend_texts(panel)
    opened.norms_centred = True
    table = np.load(others[0])
    norms = np.linalg.norm(table - table.mean(axis=1, keepdims=True), axis=1)[30:319]
    assert f"{norms.mean():.3f}" in legend_texts(panel)
    opened.norms_quantity = "step"
    steps = controller.session.overlays[0].lengths.centred_steps[30:318]
    assert f"{steps.mean():.3f}" in legend_texts(panel)


def test_relative_to_their_means_models_lie_on_one_another(opened, controller, panel, others):
    for source in others:
        controller.overlays.add(source)
    QTest.mouseClick(panel.body.legend.scale.buttons["relative"], LEFT)
    assert opened.norms_relative
    np.testing.assert_allclose(panel.plot.values, opened.norms.values / opened.norms.mean)
    assert panel.plot.y_axis.title == "norm / its mean"
    for found in beside(opened):
        stretch = found.drawn[found.stretch.first : found.stretch.last + 1]
        assert stretch.mean() == pytest.approx(1.0)
    assert panel.plot.view.spans()[1] == pytest.approx(full_span(read(opened), beside(opened)))
    opened.hover = 50
    times = opened.norms.values[50] / opened.norms.mean
    assert f"norm {opened.norms.values[50]:.3f} ({times:.2f}×)" in panel.plot.hover_text()
    QTest.mouseClick(panel.body.legend.scale.buttons["raw"], LEFT)
    np.testing.assert_array_equal(panel.plot.values, opened.norms.values)


def test_without_another_model_nothing_is_relative(opened, controller, panel, others):
    opened.norms_relative = True
    np.testing.assert_array_equal(panel.plot.values, opened.norms.values)
    controller.overlays.add(others[0])
    assert panel.plot.values.max() < opened.norms.values.max()
    controller.overlays.remove(others[0])
    np.testing.assert_array_equal(panel.plot.values, opened.norms.values)


def test_the_hover_label_tells_all_models_norms(opened, controller, panel, others):
    for source in others:
        controller.overlays.add(source)
    opened.hover = 50
    tables = [np.load(source) for source in others]
    said = [f"{np.linalg.norm(table[50]):.3f}" for table in tables]
    assert panel.plot.hover_text().endswith(f"long {said[0]} · short {said[1]}")
    opened.hover = 150  # the short one has no such position
    assert "short" not in panel.plot.hover_text()


def test_the_swatch_hides_and_the_cross_removes(opened, controller, panel, others):
    for source in others:
        controller.overlays.add(source)
    QTest.mouseClick(legend_button(panel, "Draw long"), LEFT)
    assert [o.shown for o in opened.overlays] == [False, True]
    assert panel.plot.view.spans()[0][1] < 210
    assert "long" not in [o.overlay.name for o in beside(opened)]
    button = legend_button(panel, "Draw long")
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert [o.shown for o in opened.overlays] == [True, True]
    QTest.mouseClick(legend_button(panel, "Take long out"), LEFT)
    assert [o.name for o in opened.overlays] == ["short"]


def test_residuals_are_of_this_model_alone(opened, controller, panel, others):
    controller.overlays.add(others[0])
    QTest.mouseClick(panel.header.quantity.buttons["residual"], LEFT)
    assert not panel.body.legend.isVisible()
    assert not panel.header.overlay.isEnabled()
    assert "components" in panel.header.overlay.toolTip()
    assert beside(opened) == ()
    QTest.mouseClick(panel.header.quantity.buttons["step"], LEFT)
    assert panel.body.legend.isVisible()
    assert len(beside(opened)) == 1


def test_one_that_is_being_read_says_so(session, hand_jobs, write_table, others, qtbot):
    from gui.services.controller import Controller

    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    panel = show_panel(qtbot, session, controller)
    controller.overlays.add(others[0])
    assert "reading…" in legend_texts(panel)
    hand_jobs.deliver_all()
    assert "reading…" not in legend_texts(panel)
    controller.close()


def test_one_position_has_no_steps_to_compare(opened, controller, panel, write_table):
    controller.overlays.add(str(write_table(np.ones((1, 4)), "one")))
    opened.norms_quantity = "step"
    assert legend_texts(panel).count("–") == 2
    assert "reading…" not in legend_texts(panel)
    opened.norms_quantity = "norm"
    assert "2.000" in legend_texts(panel)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_are_the_themes(opened, controller, panel, others, theme):
    for source in others:
        controller.overlays.add(source)
    panel.set_theme(theme)
    norms = np.linalg.norm(np.load(others[0]), axis=1)
    color = SERIES[theme.name][1]
    assert is_drawn_in(panel, at(panel, 250, norms[250]), color, theme.viewport)


def test_numbers_change_in_place_while_the_line_is_dragged(opened, controller, panel, others):
    controller.overlays.add(others[0])
    button = legend_button(panel, "Take long out")
    opened.norms_after = 55
    assert legend_button(panel, "Take long out") is button


def test_the_panel_makes_no_legend_before_it_is_wanted(opened, panel):
    assert panel.body.legend is None
    assert panel.findChildren(NormsLegend) == []


@pytest.mark.parametrize("width", [480, 704, 1600])
def test_the_legend_leaves_the_plot_its_room(opened, controller, panel, others, width):
    for source in others:
        controller.overlays.add(source)
    panel.resize(width, 260)
    QApplication.processEvents()
    assert panel.body.legend.width() <= 0.45 * panel.width()
    assert panel.plot.width() >= panel.body.legend.width()


def test_in_a_narrow_panel_the_legend_is_below_or_nowhere(opened, controller, panel, others):
    controller.overlays.add(others[0])
    panel.resize(300, 600)
    QApplication.processEvents()
    legend = panel.body.legend
    assert legend.isVisible()
    assert legend.y() >= panel.plot.geometry().bottom()
    assert legend.width() == panel.body.width()
    panel.resize(300, 260)
    QApplication.processEvents()
    assert not legend.isVisible()
    panel.resize(900, 260)
    QApplication.processEvents()
    assert legend.isVisible()
    assert legend.x() >= panel.plot.geometry().right()


# ---- in the window ------------------------------------------------------------------------


def test_in_the_window_a_model_is_laid_over_in_the_background(
    application, wait_until_idle, write_table, helix
):
    session, panel = application.session, application.window.panels["norms"]
    other = str(write_table(helix(260), "other"))
    session.recent = (session.recent[0], other)
    model = session.model
    pick(menu_of(panel), "other.npy")
    wait_until_idle(application)
    assert session.overlays[0].lengths is not None
    assert session.model is model
    assert panel.plot.view.spans()[0][1] > 259
    QTest.mouseClick(legend_button(panel, "Take other out"), LEFT)
    assert session.overlays == ()


def test_in_the_window_what_cannot_be_laid_over_is_one_sentence(
    application, wait_until_idle, tmp_path
):
    session, panel = application.session, application.window.panels["norms"]
    broken = tmp_path / "broken.npy"
    broken.write_bytes(b"this is no table")
    session.recent = (session.recent[0], str(broken))
    pick(menu_of(panel), "broken.npy")
    wait_until_idle(application)
    assert session.overlays == ()
    assert panel.body.legend is None or not panel.body.legend.isVisible()
    bar = application.window.notice_bar
    assert bar.isVisible()
    assert "broken.npy" in session.notice.text


def test_a_quantity_and_the_stretch_in_the_window(application, wait_until_idle):
    session, panel = application.session, application.window.panels["norms"]
    drag(panel, on_line(panel), at(panel, 60, 4), at(panel, 40, 4), at(panel, 30, 4))
    assert session.norms_after == pytest.approx(30, abs=1)
    assert session.norms.after == session.norms_after
    QTest.mouseClick(panel.header.quantity.buttons["step"], LEFT)
    wait_until_idle(application)
    steps = np.linalg.norm(np.diff(session.model.W_pos.astype(float), axis=0), axis=1)
    np.testing.assert_allclose(panel.plot.values, steps, rtol=1e-6)
    QTest.mouseClick(panel.header.default, LEFT)
    assert session.norms.after == 100
