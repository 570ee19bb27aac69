"""A model whose file changes while its window is open, through real events."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from tests.gui.on_screen import put_on_screen
from tests.gui.services.test_changed_files import SAID, write_again

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def folder(write_gpt2, helix):
    made = write_gpt2("trained")
    write_again(made, helix(), 0)
    return made


@pytest.fixture
def come_back(qtbot, settle):
    """Go to another window and come back, as from a terminal with a training run."""

    def leave_and_return(window):
        other = QWidget()
        put_on_screen(qtbot, other, active=True)
        other.close()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        settle()

    return leave_and_return


@pytest.mark.slow
def test_activation_reports_the_change(show_model, folder, helix, come_back, settle):
    application = show_model(folder)
    window, session, bar = application.window, application.session, application.window.notice_bar
    come_back(window)
    assert not bar.isVisible()
    session.positions = (20, 120)
    settle()
    old, table = session.model, helix(seed=8)
    write_again(folder, table, 1)
    come_back(window)
    assert bar.isVisible()
    assert bar.text == SAID
    assert bar.retry_button.isVisible()
    assert bar.retry_button.text() == "Open again"
    assert session.model is old
    QTest.mouseClick(bar.retry_button, LEFT)
    settle()
    assert not bar.isVisible()
    np.testing.assert_array_equal(session.model.W_pos, table.astype(np.float32))
    assert session.positions == (20, 120)
    come_back(window)
    assert not bar.isVisible()


@pytest.mark.slow
def test_panel_shows_the_fault_then_the_new_version(show_model, folder, helix, settle):
    application = show_model(folder)
    window, session = application.window, application.session
    window.bring("similarity")
    settle()
    write_again(folder, helix(seed=8), 1)
    window.bring("capture")
    settle()
    words = window.panels["capture"].words
    assert words.message.isVisible()
    assert words.message.text() == SAID
    assert window.notice_bar.text == SAID
    QTest.mouseClick(window.notice_bar.close_button, LEFT)
    assert session.notice is None
    window.bring("layernorm")
    settle()
    assert window.panels["layernorm"].words.message.text() == SAID
    assert session.notice is None
    application.controller.open(str(folder))
    settle()
    assert session.answers["layernorm"].state == "ready"
