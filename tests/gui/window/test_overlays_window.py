"""Compared models' curves in the running window: asked for in the background, hidden, exchanged."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

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
    assert norms.plot.view.spans()[0][1] > 259
    panel = show(compared, wait_until_idle, "spectra")
    key = compared.session.compared[1].key
    QTest.mouseClick(panel.legend.chips[key], LEFT)
    assert names(panel) == {"short"}
    show(compared, wait_until_idle, "norms")
    assert norms.plot.view.spans()[0][1] > 259, "hidden in the other panel alone"
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
