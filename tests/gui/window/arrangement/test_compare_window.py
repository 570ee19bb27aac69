"""Models beside the open one in the window: the table of them, and their curves in panels."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from geometry.models.sources.catalogue import read_catalogue
from geometry.models.sources.source import Source
from gui.panels.compare.words import MARK
from gui.services.loading import not_there
from gui.state.session import ModelRow, OpenModel, Session
from gui.window.arrangement.side_by_side import models_at_hand
from tests.gui.compare_stage import TITLES
from tests.gui.open_models import show_others
from tests.gui.others_stage import other_curves
from tests.gui.result_stage import named

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def table(application, write_table, helix, settle):
    """The table in front, with a tiny GPT-2 open, and beside it a bare one and one by formula."""
    application.window.bring("compare")
    for source in (write_table(helix(90, 12, 3), "bare"), "synthetic:helix,n=128,d=32,turns=3"):
        application.controller.comparing.add(str(source))
    settle()
    return application.window.panels["compare"].content.table


def column(app, title):
    rows = app.window.panels["compare"].content.table.rows
    return [rows.index(row, TITLES.index(title)).data() for row in range(rows.rowCount())]


MODELS, RANGES = ["tiny-gpt2", "bare", "synthetic helix, 3 turns"], ["1–199", "1–89", "1–127"]


@pytest.mark.slow
def test_rows_and_the_add_button(application, table, settle, write_table, helix):
    session = application.session
    assert column(application, "Model") == MODELS
    assert column(application, "Range") == RANGES
    assert column(application, "Turns")[2] == "2.98 (2.98–2.98)"
    assert session.notice is None
    panel = application.window.panels["compare"]
    button = panel.buttons["Add model…"]
    QTest.mouseClick(button, LEFT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.pos() == button.mapToGlobal(QPoint(0, button.height()))
    (sample,) = [one for one in menu.actions() if one.text() == "Helixscope sample"]
    sample.trigger()
    menu.close()
    for number in range(4):
        path = write_table(helix(60 + number, 8, number), f"m{number}")
        application.controller.comparing.add(str(path))
    settle()
    names = [*MODELS, "sample", *(f"m{number}" for number in range(4))]
    assert column(application, "Model") == names
    # A range that is dragged is measured anew, once.
    asked = []
    panel.asked.connect(lambda question, fetch: asked.append(question))
    session.dragging = True
    for last in range(60, 190, 10):
        session.positions = (1, last)
        QApplication.processEvents()
    assert asked == []
    session.dragging = False
    settle()
    assert column(application, "Range")[:3] == ["1–180", *RANGES[1:]]
    assert {question.rows[0].positions for question in asked} == {(1, 180)}


@pytest.mark.slow
def test_overlaying_a_curve_begins_with_the_list_of_them(application, table, qtbot):
    box = application.window.panels["compare"].content.aligned.what
    application.window.commands.by_name["lay_over"].trigger()
    qtbot.waitUntil(box.view().isVisible)
    assert box.itemText(1) == "bare"
    box.hidePopup()


@pytest.mark.slow
def test_enter_makes_current_and_delete_removes(application, table, qtbot, settle):
    application.window.activateWindow()
    table.values.setFocus()
    qtbot.waitUntil(table.values.hasFocus)
    table.values.selectRow(1)
    QTest.keyClick(table.values, Qt.Key.Key_Return)
    settle()
    assert table.values.hasFocus()
    assert table.marked.row.name == "bare"
    assert application.session.model.name == "bare"
    assert column(application, "Model") == MODELS
    assert column(application, "") == ["", MARK, ""]
    assert column(application, "Range") == RANGES
    panel = application.window.panels["compare"]
    assert "bare is the open model" in panel.header.caption.text()
    table.values.selectRow(0)
    QTest.keyClick(table.values, Qt.Key.Key_Delete)
    settle()
    assert column(application, "Model") == MODELS[1:]
    assert len(application.session.others) == 1


@pytest.fixture
def compared(application, settle, write_table, helix):
    """The application with two tables beside its model."""
    for rows, name in ((120, "short"), (260, "long")):
        application.controller.comparing.add(str(write_table(helix(rows), name)))
    settle()
    return application


def show(compared, settle, name):
    compared.window.docks[name].raise_()
    settle()
    return compared.window.panels[name]


def names(panel):
    return {curve.name for curve in named(panel, "Singular values").curves if curve.name}


def plot(norms):
    return norms.content.painted[0].widget


def overlay_menu(window):
    """Press "Overlay…" in Norms and return the menu that comes up."""
    QTest.mouseClick(window.panels["norms"].buttons["Overlay…"], LEFT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def pick(menu, title):
    action = next(action for action in menu.actions() if action.text() == title)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


@pytest.mark.slow
def test_panels_ask_once_they_are_seen_and_show_the_models_that_are_there(compared, settle):
    session, comparing = compared.session, compared.controller.comparing
    sessions = [c.session for c in session.others]
    assert all("spectra" not in other.answers for other in sessions)
    panel = show(compared, settle, "spectra")
    assert names(panel) == {"short", "long"}
    for other, shown in zip(sessions, panel.view().others, strict=True):
        sigma = np.linalg.svd(other.model.W_pos, compute_uv=False)
        found = shown.result.spectra[0].singular_values
        np.testing.assert_allclose(found, sigma, atol=1e-8 * sigma[0])
    # Another becomes the current one.
    colors = {one.key: one.color for one in session.open_models}
    assert comparing.make_current(session.others[1].key)
    settle()
    assert names(panel) == {"short", "tiny-gpt2"}
    sigma = np.linalg.svd(session.model.W_pos, compute_uv=False)
    drawn = named(panel, "Singular values").curves[0]
    np.testing.assert_allclose(drawn.y, sigma, atol=1e-8 * sigma[0])
    assert {one.key: one.color for one in session.open_models} == colors
    # A model that goes takes its curves and work along.
    panel = show(compared, settle, "lookback")
    comparing.remove(session.others[0].key)
    settle()
    assert {curve.name for curve in other_curves(panel)} == {"short"}
    comparing.clear()
    settle()
    assert not panel.legend.isVisible()
    assert not other_curves(panel)


def test_norms_and_spectra_are_hidden_each_by_itself(compared, settle):
    norms = compared.window.panels["norms"]
    settle()
    assert plot(norms).view.spans()[0][1] > 259
    panel = show(compared, settle, "spectra")
    key = compared.session.others[1].key
    QTest.mouseClick(panel.legend.chips[key], LEFT)
    assert names(panel) == {"short"}
    show(compared, settle, "norms")
    assert plot(norms).view.spans()[0][1] > 259, "hidden in the other panel alone"
    assert names(show(compared, settle, "spectra")) == {"short"}


def test_model_in_panels_alone_gets_a_view(application, settle, write_table, helix, tmp_path):
    session, window = application.session, application.window
    session.models, session.recent = (), session.recent[:1]
    menu = overlay_menu(window)
    typed, _, action = menu.actions()
    assert typed.text() == "Id, path or formula…"
    assert "No other model" in action.text()
    assert not action.isEnabled()
    menu.close()
    broken = tmp_path / "broken.npy"
    broken.write_bytes(bytes(16))
    # What was opened before can be laid over.
    earlier = str(broken), str(write_table(helix(260), "other"))
    session.recent = (*session.recent, *map(Source.parse, earlier))
    pick(overlay_menu(window), "broken.npy")
    settle()
    assert [one.failed for one in session.others] == ["broken.npy is not a weights file."]
    assert window.notice_bar.isVisible()
    assert "broken.npy" in session.notice.text
    pick(overlay_menu(window), "broken.npy")
    assert session.others == ()
    pick(overlay_menu(window), "other.npy")
    settle()
    (one,) = session.others
    assert not one.in_grid
    assert len(window.grid.cells) == 1
    assert not window.grid.bar.isVisible()
    assert plot(window.panels["norms"]).view.spans()[0][1] > 259
    menu = overlay_menu(window)
    assert [action.text() for action in menu.actions() if action.isChecked()] == ["other.npy"]
    pick(menu, "Remove all")
    assert session.others == ()
    pick(overlay_menu(window), "other.npy")
    window.side_by_side.choose()
    pick(QApplication.activePopupWidget(), "other.npy")
    settle()
    assert [one.in_grid for one in session.others] == [True]
    assert len(window.grid.cells) == 2


def test_models_at_hand_are_those_that_are_here(tmp_path):
    entries = read_catalogue()
    here, cached, away = entries[:3]
    file = tmp_path / "table.npy"
    file.write_bytes(b"")
    session = Session()
    states = (here, "installed"), (cached, "cached"), (away, "online")
    session.models = tuple(ModelRow(*row) for row in states)
    work = tmp_path / "work1.helix"
    work.write_bytes(b"")
    gone, too_long = str(tmp_path / "gone.npy"), str(tmp_path / ("x" * 300))
    earlier = here.id, str(work), str(file), gone, away.id, too_long
    session.recent = tuple(map(Source.parse, earlier))
    session.missing = not_there(session.recent)
    session.model = SimpleNamespace(source=Source.parse(here.id))
    table = Source.parse(str(file)), "table.npy"
    other = Source.parse(cached.id), cached.title
    assert models_at_hand(session) == (table, other)
    show_others(session, OpenModel(1, Source.parse(cached.id), cached.id, Session()))
    assert models_at_hand(session) == (table,)
    session.model = None
    assert Source.parse(here.id) in dict(models_at_hand(session))
