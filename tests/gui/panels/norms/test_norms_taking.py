"""Saving and copying what the norms panel shows."""

import csv

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from gui.export.save_result import ResultSaver
from gui.style.theme import LIGHT, SERIES
from tests.gui.norms_stage import LEFT, NONE, show_panel
from tests.scripts import run_script


@pytest.fixture
def panel(qtbot, session, controller):
    made = show_panel(qtbot, session, controller)
    made.saver = ResultSaver(session, controller.in_background)
    return made


def popup():
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def press(menu, text):
    (action,) = [action for action in menu.actions() if action.text() == text]
    QTest.mouseClick(menu, LEFT, NONE, menu.actionGeometry(action).center())


def choose(panel, text):
    QTest.mouseClick(panel.header.more, LEFT)
    press(popup(), text)


def lines_of(figure):
    return [np.asarray(line.get_ydata(), float) for line in figure.axes[0].lines]


def test_the_menu_comes_by_its_button_and_by_a_right_click(opened, panel):
    QTest.mouseClick(panel.header.more, LEFT)
    said = [action.text() for action in popup().actions()]
    assert said == ["Save figure…", "Save numbers…", "Copy figure", "Copy as Python"]
    popup().close()
    at = QPoint(400, 150)
    QApplication.sendEvent(
        panel.plot.viewport(),
        QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, panel.plot.mapToGlobal(at)),
    )
    assert [action.text() for action in popup().actions()] == said
    popup().close()


def test_nothing_can_be_taken_before_there_is_something(panel):
    assert panel.result is None
    assert not any(action.isEnabled() for action in panel.menu().actions())


@pytest.mark.parametrize("quantity", ["norm", "step", "residual"])
def test_the_figure_draws_what_is_shown(opened, panel, quantity):
    opened.norms_quantity = quantity
    figure = panel.figure(panel.result)()
    np.testing.assert_array_equal(lines_of(figure)[0], panel.plot.values)
    axes = figure.axes[0]
    assert axes.get_ylabel() == panel.plot.y_axis.title
    assert axes.get_title("left").startswith("helix · ‖")
    assert axes.texts[0].get_text().startswith("mean ")
    assert axes.get_legend() is None


def test_other_models_are_in_the_figure_with_their_colours(
    opened, controller, panel, write_table, helix
):
    controller.overlays.add(str(write_table(2 * helix(320, 16, 3), "long")))
    figure = panel.figure(panel.result)()
    other, own = figure.axes[0].lines[:2]
    assert to_hex(other.get_color()) == SERIES["light"][1].lower()
    assert to_hex(own.get_color()) == LIGHT.text.lower()
    assert (len(other.get_ydata()), len(own.get_ydata())) == (320, 200)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "long", "helix",
    ]  # fmt: skip


def test_numbers_are_saved_by_position_with_a_column_for_each_model(
    opened, controller, panel, write_table, helix, tmp_path, monkeypatch
):
    controller.overlays.add(str(write_table(2 * helix(320, 16, 3), "long")))
    path = tmp_path / "norms.csv"
    monkeypatch.setattr(QFileDialog, "exec", lambda dialog: dialog.selectFile(str(path)) or 1)
    choose(panel, "Save numbers…")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) == 320
    assert float(rows[7]["norm helix"]) == pytest.approx(opened.norms.values[7])
    assert rows[319]["norm helix"] in ("", "nan")
    assert float(rows[319]["norm long"]) > 0
    assert opened.status == f"Saved {path}"


def test_numbers_of_models_of_one_name_are_all_saved(opened, controller, panel, tmp_path, helix):
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / "helix.npy"
        np.save(path, (1 + number) * helix(100 * number, 16, number))
        controller.overlays.add(str(path))
    numbers = panel.numbers(panel.result)
    own = np.linalg.norm(opened.model.W_pos, axis=1)
    np.testing.assert_allclose(numbers["norm helix"], own, rtol=1e-6)
    for number in (1, 2):
        norms = np.linalg.norm((1 + number) * helix(100 * number, 16, number), axis=1)
        column = numbers[f"norm helix ({1 + number})"]
        np.testing.assert_allclose(column[: 100 * number], norms, rtol=1e-6)


@pytest.mark.parametrize(
    ("quantity", "centred"),
    [("norm", False), ("norm", True), ("step", True), ("residual", False)],
)
def test_the_copied_python_prints_the_values(opened, panel, quantity, centred):
    opened.norms_quantity, opened.norms_centred = quantity, centred
    choose(panel, "Copy as Python")
    printed = run_script(QApplication.clipboard().text()).splitlines()
    values = [float(line.split()[1]) for line in printed[:-1]]
    np.testing.assert_allclose(values, panel.result.source, atol=1e-6)
    assert printed[-1].startswith("Stretch(first=100")
