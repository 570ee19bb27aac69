"""The window and a Hub that is not asked: offline, and at a start."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.window.hub.window_hub import (
    CONTROL,
    GPT2,
    LONG,
    MEDIUM,
    SHIFT,
    click,
)


def open_in_cache(start, source):
    """Let an application fetch a model, and close it."""
    first = start(source)
    assert first.session.notice is None
    first.close()


def test_the_offline_switch(application, window, hub, wait_until_idle, start):
    session, label = application.session, window.status_bar.offline
    assert not label.isVisible()
    QTest.keyClick(window, Qt.Key.Key_W, CONTROL | SHIFT)
    assert session.offline
    assert label.isVisible()
    assert window.commands.by_name["work_offline"].isChecked()
    application.controller.open(GPT2)
    wait_until_idle(application)
    assert "Helixscope is offline" in window.notice_bar.text
    assert hub.requests == []
    QTest.keyClick(window, Qt.Key.Key_W, CONTROL | SHIFT)
    assert not label.isVisible()
    click(window.notice_bar.retry_button)
    wait_until_idle(application)
    assert session.model.name == "gpt2"


def test_the_switch_is_remembered_and_the_command_line_is_not(start):
    first = start(offline=True)
    assert first.session.offline
    first.close()
    second = start()
    assert not second.session.offline
    second.window.commands.by_name["work_offline"].trigger()
    second.close()
    third = start()
    assert third.session.offline
    assert third.window.status_bar.offline.isVisible()
    assert third.window.commands.by_name["work_offline"].isChecked()


def test_a_start_without_a_network_reopens_what_was_fetched(start, hub, table):
    open_in_cache(start, LONG)
    hub.close()
    again = start()
    assert again.session.notice is None
    assert again.session.model.name == "long"
    np.testing.assert_array_equal(again.session.model.W_pos, table)
    assert again.window.viewport.scene.state.caption[0].startswith("long")
    assert again.session.recent == (LONG,)


def test_a_start_asks_nobody(start, hub):
    open_in_cache(start, GPT2)
    hub.forget_requests()
    start()
    assert hub.requests == []


def test_a_start_without_the_last_model_says_so_and_opens_another(start, hub, settings):
    open_in_cache(start, GPT2)
    settings._store.setValue("model/last", MEDIUM)
    hub.close()
    again = start()
    assert again.session.model.name == "gpt2"
    assert again.window.notice_bar.text.startswith("gpt2-medium could not be opened: ")
    assert again.window.notice_bar.retry_button.isVisible()
