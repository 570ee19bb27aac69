"""Compared models' norms in the norms panel, beside overlays of its own menu."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton

from gui.panels.norms.norms_compared import laid_over
from gui.panels.norms.norms_reading import beside
from gui.panels.norms.overlay_menu import overlay_choices
from gui.style.theme import DARK, LIGHT, SERIES
from tests.gui.compared_stage import ComparedStage
from tests.gui.norms_stage import LEFT, at, is_drawn_in, show_panel
from tests.scripts import run_script


@pytest.fixture
def sources(write_table, helix):
    """A longer table of twice the size, and a shorter one."""
    return [write_table(2 * helix(320, 16, 3), "long"), write_table(helix(120, 8, 4), "short")]


@pytest.fixture
def panel(qtbot, opened, controller):
    made = show_panel(qtbot, opened, controller)
    made.overlayAsked.connect(
        lambda key, question, _: controller.compared_answers.ask("norms", key, question)
    )
    made.hiddenRequested.connect(lambda hidden: setattr(opened, "hidden_curves", hidden))
    return made


@pytest.fixture
def compared(opened, panel, sources):
    """Both beside the open model."""
    made = ComparedStage(opened)
    for source in sources:
        made.add(source, (3, 60))
    yield made
    made.close()


def button(panel, name):
    (found,) = [
        b for b in panel.body.legend.findChildren(QToolButton) if b.accessibleName() == name
    ]
    return found


def norms(source):
    return np.linalg.norm(np.load(source), axis=1)


def test_each_is_drawn_over_all_its_positions_without_being_opened_again(
    opened, panel, compared, sources, monkeypatch
):
    found = {one.overlay.name: one.source for one in beside(opened)}
    assert list(found) == ["long", "short"]
    for source in sources:
        np.testing.assert_allclose(found[source.stem], norms(source), rtol=1e-6)
    assert opened.overlays == ()
    assert is_drawn_in(panel, at(panel, 250, norms(sources[0])[250]), SERIES["light"][1], "#ffffff")
    assert panel.plot.view.spans()[0][1] > 319


def test_the_legend_tells_them_and_takes_none_out(opened, panel, compared, sources):
    texts = [shown.text() for shown in panel.body.legend.findChildren(QLabel)]
    assert f"{norms(sources[0])[100:319].mean():.3f}" in texts
    names = [b.accessibleName() for b in panel.body.legend.findChildren(QToolButton)]
    assert names == ["Draw helix", "Draw long", "Draw short"]


def test_the_swatch_hides_and_it_stays_hidden(opened, panel, compared):
    QTest.mouseClick(button(panel, "Draw long"), LEFT)
    assert opened.hidden_curves == {("norms", 1)}
    assert [one.overlay.name for one in beside(opened)] == ["short"]
    assert panel.plot.view.spans()[0][1] < 210
    opened.norms_quantity = "step"
    panel.set_theme(DARK)
    assert [one.overlay.name for one in beside(opened)] == ["short"]
    again = button(panel, "Draw long")
    assert not again.isChecked()
    again.setFocus()
    QTest.keyClick(again, Qt.Key.Key_Space)
    assert [one.overlay.name for one in beside(opened)] == ["long", "short"]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_are_the_themes(opened, panel, compared, sources, theme):
    panel.set_theme(theme)
    point = at(panel, 250, norms(sources[0])[250])
    assert is_drawn_in(panel, point, SERIES[theme.name][1], theme.viewport)


def test_steps_and_row_centred_norms_and_means_are_compared_too(opened, panel, compared, sources):
    opened.norms_quantity = "step"
    table = np.load(sources[0])
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    np.testing.assert_allclose(beside(opened)[0].source, steps, rtol=1e-6)
    QTest.mouseClick(panel.body.legend.scale.buttons["relative"], LEFT)
    assert panel.plot.y_axis.title == "step / its mean"
    opened.norms_quantity, opened.norms_centred = "norm", True
    rows = table - table.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(beside(opened)[0].source, np.linalg.norm(rows, axis=1), rtol=1e-6)
    opened.norms_quantity = "residual"
    assert beside(opened) == ()
    assert not panel.body.legend.isVisible()


def test_the_users_own_overlays_stay_and_nothing_is_drawn_twice(
    opened, controller, panel, compared, sources, write_table
):
    other = write_table(name="other")
    for source in (other, sources[1]):
        controller.overlays.add(str(source))
    assert [(o.name, bool(o.key)) for o in laid_over(opened)] == [
        ("other", False), ("short", False), ("long", True),
    ]  # fmt: skip
    QTest.mouseClick(button(panel, "Take short out"), LEFT)
    assert [(o.name, bool(o.key)) for o in laid_over(opened)] == [
        ("other", False), ("long", True), ("short", True),
    ]  # fmt: skip
    assert len({o.color for o in laid_over(opened)}) == 3


def test_what_is_shown_beside_is_not_offered(opened, controller, compared, sources):
    opened.recent = (opened.recent[0], *map(str, sources))
    assert overlay_choices(opened) == ()
    compared.remove(1)
    assert [source for source, _ in overlay_choices(opened)] == [str(sources[0])]


def test_one_that_goes_takes_its_curve_along(opened, panel, compared):
    compared.remove(1)
    assert [one.overlay.name for one in beside(opened)] == ["short"]
    compared.remove(2)
    assert not panel.body.legend.isVisible()
    QApplication.processEvents()
    assert panel.plot.view.spans()[0][1] < 210


def test_hovering_asks_nothing_of_the_disk(
    opened, controller, panel, compared, write_table, monkeypatch
):
    controller.overlays.add(str(write_table(name="other")))
    asked = []
    monkeypatch.setattr("gui.panels.norms.norms_compared.remembered_name", asked.append)
    for position in range(20, 80, 5):
        opened.hover = position
        text = panel.plot.hover_text()
        assert all(f"{name} " in text for name in ("other", "long", "short"))
    assert asked == []


def test_nothing_is_measured_while_nobody_looks(qtbot, opened, controller, sources):
    panel = show_panel(qtbot, opened, controller)
    asked = []
    panel.overlayAsked.connect(lambda key, question, _: asked.append(key))
    panel.hide()
    stage = ComparedStage(opened)
    stage.add(sources[0])
    assert asked == []
    panel.show()
    assert asked == [1]
    stage.close()


def test_hover_numbers_figure_and_python_have_them(opened, panel, compared, sources):
    opened.hover = 50
    said = [f"{norms(source)[50]:.3f}" for source in sources]
    assert panel.plot.hover_text().endswith(f"long {said[0]} · short {said[1]}")
    numbers = panel.numbers(panel.result)
    np.testing.assert_allclose(numbers["norm long"], norms(sources[0]), rtol=1e-6)
    (axes,) = panel.figure(panel.result)().axes
    assert [text.get_text() for text in axes.get_legend().texts] == ["long", "short", "helix"]
    QTest.mouseClick(button(panel, "Draw short"), LEFT)
    script = panel.python()
    assert "short" not in script
    ends = [line.split() for line in run_script(script).splitlines() if line.startswith("50 ")]
    assert float(ends[0][1]) == pytest.approx(opened.norms.values[50])
    assert float(ends[1][1]) == pytest.approx(norms(sources[0])[50])
