"""Compared models' curves in the running window: asked for in the background, hidden, exchanged."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from geometry.models.catalogue import read_catalogue
from gui.state.session import ComparedModel, ModelRow, Session
from gui.window.side_by_side import models_at_hand
from tests.gui.compared_stage import other_curves
from tests.gui.result_stage import named

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def compared(application, wait_until_idle, write_table, helix):
    """The application with two tables beside its model."""
    for rows, name in ((120, "short"), (260, "long")):
        application.controller.comparing.add(str(write_table(helix(rows), name)))
    wait_until_idle(application)
    return application


def show(application, wait_until_idle, name):
    application.window.docks[name].raise_()
    wait_until_idle(application)
    return application.window.panels[name]


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


def test_panels_ask_once_they_are_seen(compared, wait_until_idle):
    sessions = [c.session for c in compared.session.compared]
    assert all("spectra" not in session.answers for session in sessions)
    panel = show(compared, wait_until_idle, "spectra")
    assert names(panel) == {"short", "long"}
    for session, other in zip(sessions, panel.view().others, strict=True):
        sigma = np.linalg.svd(session.model.W_pos, compute_uv=False)
        found = other.result.found[0].singular_values
        np.testing.assert_allclose(found, sigma, atol=1e-8 * sigma[0])


def test_norms_and_spectra_are_hidden_each_by_itself(compared, wait_until_idle):
    norms = compared.window.panels["norms"]
    wait_until_idle(compared)
    assert plot(norms).view.spans()[0][1] > 259
    panel = show(compared, wait_until_idle, "spectra")
    key = compared.session.compared[1].key
    QTest.mouseClick(panel.legend.chips[key], LEFT)
    assert names(panel) == {"short"}
    show(compared, wait_until_idle, "norms")
    assert plot(norms).view.spans()[0][1] > 259, "hidden in the other panel alone"
    assert names(show(compared, wait_until_idle, "spectra")) == {"short"}


def test_the_open_model_and_another_change_places(compared, wait_until_idle):
    panel = show(compared, wait_until_idle, "spectra")
    key = compared.session.compared[1].key
    colors = dict(compared.session.compared_colors)
    assert compared.controller.comparing.make_main(key)
    wait_until_idle(compared)
    assert names(panel) == {"short", "tiny-gpt2"}
    sigma = np.linalg.svd(compared.session.model.W_pos, compute_uv=False)
    drawn = named(panel, "Singular values").curves[0]
    np.testing.assert_allclose(drawn.y, sigma, atol=1e-8 * sigma[0])
    assert dict(compared.session.compared_colors) == colors


def test_a_model_that_goes_takes_its_curves_and_work_along(compared, wait_until_idle):
    panel = show(compared, wait_until_idle, "lookback")
    compared.controller.comparing.remove(compared.session.compared[0].key)
    wait_until_idle(compared)
    assert {curve.name for curve in other_curves(panel)} == {"long"}
    compared.controller.comparing.clear()
    wait_until_idle(compared)
    assert not panel.legend.isVisible()
    assert not other_curves(panel)


# ---- models without a view -----------------------------------------------------------------


def test_a_model_is_laid_over_in_panels_alone(application, wait_until_idle, write_table, helix):
    session, window = application.session, application.window
    other = str(write_table(helix(260), "other"))
    session.recent = (session.recent[0], other)
    pick(overlay_menu(window), "other.npy")
    wait_until_idle(application)
    (one,) = session.compared
    assert not one.in_grid
    assert len(window.grid.cells) == 1
    assert not window.grid.bar.isVisible()
    assert plot(window.panels["norms"]).view.spans()[0][1] > 259
    menu = overlay_menu(window)
    assert [action.text() for action in menu.actions() if action.isChecked()] == ["other.npy"]
    pick(menu, "Take all out")
    assert session.compared == ()


def test_one_that_is_laid_over_can_get_a_view(application, wait_until_idle, write_table, helix):
    session, window = application.session, application.window
    other = str(write_table(helix(260), "other"))
    session.recent = (session.recent[0], other)
    application.controller.comparing.add(other, in_grid=False)
    wait_until_idle(application)
    window.side_by_side.choose()
    pick(QApplication.activePopupWidget(), "other.npy")
    wait_until_idle(application)
    assert [one.in_grid for one in session.compared] == [True]
    assert len(window.grid.cells) == 2


def test_where_no_other_model_is_here_the_menu_says_so(application):
    application.session.models, application.session.recent = (), application.session.recent[:1]
    menu = overlay_menu(application.window)
    (action,) = menu.actions()
    assert "No other model" in action.text()
    assert not action.isEnabled()
    menu.close()


def test_what_cannot_be_laid_over_is_one_sentence(application, wait_until_idle, tmp_path):
    session = application.session
    broken = tmp_path / "broken.npy"
    broken.write_bytes(b"this is no table")
    session.recent = (session.recent[0], str(broken))
    pick(overlay_menu(application.window), "broken.npy")
    wait_until_idle(application)
    assert session.compared == ()
    assert application.window.notice_bar.isVisible()
    assert "broken.npy" in session.notice.text


def test_models_at_hand_are_those_that_are_here(tmp_path):
    entries = read_catalogue()
    here, cached, away = entries[:3]
    file = tmp_path / "table.npy"
    file.write_bytes(b"")
    session = Session()
    session.models = (
        ModelRow(here, "installed"), ModelRow(cached, "cached"), ModelRow(away, "online"),
    )  # fmt: skip
    gone, too_long = str(tmp_path / "gone.npy"), str(tmp_path / ("x" * 300))
    session.recent = (here.id, str(file), gone, away.id, too_long)
    session.model = SimpleNamespace(source=here.id)
    assert models_at_hand(session) == ((str(file), "table.npy"), (cached.id, cached.title))
    session.compared = (ComparedModel(1, cached.id, cached.id, Session()),)
    assert models_at_hand(session) == ((str(file), "table.npy"),)
    session.model = None
    assert here.id in dict(models_at_hand(session))
