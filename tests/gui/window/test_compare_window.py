"""The table of models in the window: models come, take the open one's place, and go."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gui.panels.compare.words import MARK
from tests.gui.compare_stage import TITLES


@pytest.fixture
def window(application, write_table, helix, wait_until_idle):
    """A tiny GPT-2 open, and beside it a bare table and a model made by formula."""
    app = application
    app.window.docks["compare"].raise_()
    wait_until_idle(app)
    for source in (write_table(helix(90, 12, 3), "bare"), "synthetic:helix,n=128,d=32,turns=3"):
        app.controller.comparing.add(str(source))
        wait_until_idle(app)
    return app


def column(app, title):
    rows = app.window.panels["compare"].content.table.rows
    return [rows.index(row, TITLES.index(title)).data() for row in range(rows.rowCount())]


def test_models_beside_the_open_one_have_their_lines(window):
    assert column(window, "Model") == ["tiny-gpt2", "bare", "synthetic helix, 3 turns"]
    assert column(window, "Range") == ["1–199", "1–89", "1–127"]
    assert column(window, "Turns")[2] == "2.98"
    assert window.session.notice is None


def test_enter_makes_a_model_the_open_one_and_its_line_stays(window, qtbot, wait_until_idle):
    table = window.window.panels["compare"].content.table
    window.window.activateWindow()
    table.values.setFocus()
    qtbot.waitUntil(table.values.hasFocus)
    table.values.selectRow(1)
    QTest.keyClick(table.values, Qt.Key.Key_Return)
    wait_until_idle(window)
    assert table.values.hasFocus()
    assert table.marked.row.name == "bare"
    assert window.session.model.name == "bare"
    assert column(window, "Model") == ["tiny-gpt2", "bare", "synthetic helix, 3 turns"]
    assert column(window, "") == ["", MARK, ""]
    assert column(window, "Range") == ["1–199", "1–89", "1–127"]
    assert "bare is the open one" in window.window.panels["compare"].header.caption.text()


def test_delete_takes_a_model_away(window, wait_until_idle):
    table = window.window.panels["compare"].content.table
    table.values.selectRow(1)
    QTest.keyClick(table.values, Qt.Key.Key_Delete)
    wait_until_idle(window)
    assert column(window, "Model") == ["tiny-gpt2", "synthetic helix, 3 turns"]
    assert len(window.session.compared) == 1


def test_the_button_offers_models_in_a_menu_below_it(window, wait_until_idle):
    button = window.window.panels["compare"].buttons["Add model…"]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.pos() == button.mapToGlobal(QPoint(0, button.height()))
    (sample,) = [one for one in menu.actions() if "sample" in one.text().lower()]
    sample.trigger()
    menu.close()
    wait_until_idle(window)
    assert column(window, "Model")[-1] == "sample"


def test_a_range_of_the_open_model_is_measured_anew(window, wait_until_idle):
    window.session.positions = (20, 120)
    wait_until_idle(window)
    assert column(window, "Range") == ["20–120", "1–89", "1–127"]


def test_real_models_and_tiny_ones(
    show_model, gpt2_folder, minilm_folder, write_gpt2, wait_until_idle
):
    app = show_model(gpt2_folder)
    app.window.docks["compare"].raise_()
    for source in (minilm_folder, "sample", write_gpt2()):
        app.controller.comparing.add(str(source))
        wait_until_idle(app)
    assert column(app, "Positions") == ["1\N{THIN SPACE}024", "512", "512", "200"]
    assert column(app, "3 PCs")[:3] == ["91.1", "36.3", "79.8"]
    assert column(app, "Outliers")[:2] == ["2", "4"]
    assert column(app, "Curve")[:2] == ["drifting helix", "none of these"]
    shaking = [float(text) for text in column(app, "Shaking")]
    assert shaking[1] > 10 > shaking[2] > shaking[0]
    assert app.session.notice is None


def test_a_range_that_is_dragged_with_many_models_is_measured_once(
    window, write_table, helix, wait_until_idle
):
    for number in range(5):
        path = write_table(helix(60 + number, 8, number), f"m{number}")
        window.controller.comparing.add(str(path))
    wait_until_idle(window)
    panel, asked = window.window.panels["compare"], []
    panel.asked.connect(lambda question, fetch: asked.append(question))
    window.session.dragging = True
    for last in range(60, 190, 10):
        window.session.positions = (1, last)
        QApplication.processEvents()
    assert asked == []
    window.session.dragging = False
    wait_until_idle(window)
    assert column(window, "Range")[0] == "1–180"
    assert {question.rows[0].positions for question in asked} == {(1, 180)}
    assert len(column(window, "Model")) == 8
