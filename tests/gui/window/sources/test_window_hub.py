"""The window and the Hub, through real events: fetch, cancel, try again, keep, be offline."""

import itertools
import re
import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources import local_models
from geometry.models.sources.source import Source
from gui.services.work_files.work_file import write_work
from gui.state.work import OtherView, Work
from tests.loopback.hub import Fault
from tests.stand_ins import positions_of, write_stand_in

GPT2, MEDIUM, LONG = "openai-community/gpt2", "openai-community/gpt2-medium", "someone/long"
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
AT_ONCE = {"Retry-After": "0"}
WAIT_MS = 20_000
WEIGHTS = "*/model.safetensors"


@pytest.fixture
def table(helix):
    """P of a model that takes its time: 1.5 MB."""
    return helix(2048, 192).astype(np.float32)


@pytest.fixture
def hub(loopback_hub, tmp_path, monkeypatch, write_gpt2, write_safetensors, table):
    """GPT-2 small and medium and a larger model on the Hub; no packages with models."""
    monkeypatch.setattr(local_models, "_in_package", lambda entry: None)
    for name in (GPT2, MEDIUM):
        loopback_hub.add(name, write_stand_in(tmp_path / "made", name))
    folder = write_gpt2("long", table)
    # What comes with the first request is not all there is.
    tensors = {"a": np.zeros(50_000), "wpe.weight": table}
    write_safetensors(folder / "model.safetensors", tensors)
    loopback_hub.add(LONG, {path.name: path for path in folder.iterdir()})
    return loopback_hub


@pytest.fixture
def start(hub, start_application, qtbot):
    """Start the application on this Hub, its window with the keyboard."""

    def started(source=None, **options):
        application = start_application(source, **options)
        application.window.activateWindow()
        qtbot.waitUntil(application.window.isActiveWindow)
        return application

    return started


@pytest.fixture
def application(start):
    """The application with nothing open."""
    return start()


@pytest.fixture
def window(application):
    return application.window


def click(button):
    assert button.isVisible()
    assert button.isEnabled()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def type_id(window, text):
    """Ask for a model by its id, with the keyboard alone."""
    QTest.keyClick(window, Qt.Key.Key_H, CONTROL)
    field = QApplication.focusWidget()
    assert field is window.panels["models"].search
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


@pytest.mark.slow
def test_a_typed_id_is_fetched_and_told_of_as_is_a_wait(application, window, hub, qtbot, table):
    session, bar, empty = application.session, window.status_bar, window.empty_state
    hub.fault(Fault.status(429, {"Retry-After": "50"}), path=WEIGHTS)
    height = bar.height()
    assert not bar.fetch.isVisible()
    type_id(window, GPT2)

    def left():
        found = re.search(r"Trying again in (\d+) seconds", bar.fetch.text.text())
        return int(found[1]) if found else None

    qtbot.waitUntil(lambda: left() is not None, timeout=WAIT_MS)
    first = left()
    assert first <= 50
    # The seconds that are left are counted, where both places say them.
    qtbot.waitUntil(lambda: left() < first, timeout=WAIT_MS)
    assert empty.details.text() == bar.fetch.text.text()
    assert bar.fetch.bar.maximum() == 0  # it runs to and fro
    click(empty.cancel)
    assert session.opening is None
    hub.clear_faults()

    gate = threading.Semaphore(0)
    playing = hub.fault(Fault.slow(4_000, gate), path=WEIGHTS, after=1)
    window.panels["models"].search.clear()
    type_id(window, LONG)
    assert playing.reached.wait(10)

    def is_under_way():
        gate.release()  # one piece more
        return bar.fetch.isVisible() and bar.fetch.bar.value() > 0

    qtbot.waitUntil(is_under_way, timeout=WAIT_MS)
    assert "Downloading wpe.weight: " in bar.fetch.text.text()
    assert " of 1.6" in bar.fetch.text.text()
    assert 0 < bar.fetch.bar.value() < bar.fetch.bar.maximum()
    assert bar.status.text() == empty.title.text() == "Opening long…"
    assert empty.details.text() == bar.fetch.text.text()
    assert empty.bar.value() == bar.fetch.bar.value()
    assert bar.height() == height
    gate.release(1000)
    qtbot.waitUntil(lambda: session.model is not None, timeout=WAIT_MS)
    np.testing.assert_array_equal(session.model.W_pos, table)
    assert not bar.fetch.isVisible()
    assert not empty.isVisible()
    assert window.windowTitle().startswith("long")


def test_what_a_project_names_is_looked_up_on_a_click(application, window, hub, tmp_path, settle):
    others = (OtherView(Source.parse(MEDIUM), (1, 9), (1, 2, 3)),)
    write_work(Work(Source.parse(GPT2), (1, 9), {}, others=others), tmp_path / "a.helix")
    asked = len(hub.requests)
    application.controller.open(str(tmp_path / "a.helix"))
    settle()
    bar, session = window.notice_bar, application.session
    assert GPT2 in bar.text
    assert MEDIUM in bar.text
    assert bar.retry_button.text() == "Look up"
    assert len(hub.requests) == asked
    QTest.mouseClick(bar.retry_button, Qt.MouseButton.LeftButton)
    settle()
    assert not bar.isVisible()
    assert [session.model.name, *(one.name for one in session.others)] == ["gpt2", "gpt2-medium"]


def test_model_is_searched_and_opened(application, window, hub, settle, qtbot):
    panel, session = window.panels["models"], application.session
    type_id(window, "nobody/nothing")
    settle()
    assert "nobody/nothing" in window.notice_bar.text
    assert not window.notice_bar.retry_button.isVisible()
    assert not window.notice_bar.whole_button.isVisible()
    panel.search.clear()
    window.empty_state.hubRequested.emit()
    QTest.keyClicks(panel.search, "long")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.hub_query == "long", timeout=WAIT_MS)
    assert [entry.id for entry in session.hub_results] == [LONG]
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.model is not None, timeout=WAIT_MS)
    settle()
    assert session.model.name == "long"


STAGES = {
    "the first answer": (Fault.stall(None), WEIGHTS, 0),
    "the header": (Fault.stall(20_000), WEIGHTS, 0),
    "the configuration": (Fault.stall(None), "*/config.json", 0),
    "the table": (Fault.stall(500_000), WEIGHTS, 1),
    "a wait": (Fault.status(503, {"Retry-After": "50"}), WEIGHTS, 0),
}
TABLE = STAGES["the table"]
WAYS = ("status bar", "empty state", "panel", "Esc", "Esc while typing")


@pytest.fixture
def open_until(hub, qtbot):
    """Open the large model until a fault holds it up."""

    def opened(application, fault, path, after):
        playing = hub.fault(fault, path=path, after=after)
        application.controller.open(LONG)
        assert playing.reached.wait(30)
        qtbot.waitUntil(lambda: application.session.transfer is not None, timeout=WAIT_MS)

    return opened


def cancel(window, way):
    if way == "status bar":
        click(window.status_bar.fetch.cancel)
    elif way == "empty state":
        click(window.empty_state.cancel)
    elif way == "panel":
        click(window.panels["models"].working.cancel)
    elif way == "Esc":
        window.viewport.interactor.setFocus()
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    else:
        search = window.panels["models"].search
        search.clear()
        search.setFocus()
        QTest.keyClick(search, Qt.Key.Key_Escape)


@pytest.mark.slow
def test_cancelling_ends_every_stage(application, window, open_until, settle, table):
    session = application.session
    for stage, way in itertools.product(STAGES.values(), WAYS):
        open_until(application, *stage)
        cancel(window, way)
        assert (session.opening, session.transfer) == (None, None)
        assert session.status == "Opening cancelled"
        assert not window.status_bar.fetch.isVisible()
        settle()  # its thread has ended
        assert (session.model, session.notice) == (None, None)
    application.controller.open(LONG)
    settle()
    np.testing.assert_array_equal(session.model.W_pos, table)


def test_cancelling_leaves_the_open_model(start, hub, open_until, qtbot, wait_until_idle):
    application = start(GPT2)
    window, session = application.window, application.session
    application.controller.select((7,))
    open_until(application, *TABLE)
    window.viewport.interactor.setFocus()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert session.opening is None
    assert (session.model.name, session.selection) == ("gpt2", (7,))
    QTest.keyClick(window, Qt.Key.Key_Escape)  # there is nothing to cancel any more
    assert session.selection == ()
    wait_until_idle(application)
    assert window.viewport.scene.state.caption[0].startswith("gpt2")
    hub.fault(Fault.stall(None), path="*/tokenizer.json")
    session.prompt = "hello adam"
    qtbot.waitUntil(lambda: window.status_bar.fetch.isVisible(), timeout=WAIT_MS)
    click(window.status_bar.fetch.cancel)
    assert not window.status_bar.fetch.isVisible()
    wait_until_idle(application)
    assert session.tokens is None
    assert "cancelled" in window.panels["prompt"].sentence.text()
    session.prompt = "hello"
    wait_until_idle(application)
    assert len(session.tokens.texts) == 2


@pytest.mark.slow
def test_the_window_closes_while_the_network_hangs(start, open_until, hub, table, new_pool_threads):
    for stage in STAGES.values():
        application = start()
        open_until(application, *stage)
        application.window.close()
        application.close()
        assert not new_pool_threads()
    application = start()
    playing = hub.fault(Fault.stall(None), path="/api/models")
    application.controller.hub_search.search("long")
    assert playing.reached.wait(10)
    application.close()
    assert not new_pool_threads()
    again = start(LONG)
    np.testing.assert_array_equal(again.session.model.W_pos, table)


@pytest.mark.slow
def test_failure_is_retried_or_downloaded_whole(application, window, hub, settle, table):
    hub.fault(Fault.status(503, AT_ONCE), times=4)
    type_id(window, GPT2)
    settle()
    bar = window.notice_bar
    assert "unavailable or overloaded" in bar.text
    assert not bar.whole_button.isVisible()
    assert window.empty_state.isVisible()
    assert not window.empty_state.cancel.isVisible()
    click(bar.retry_button)
    settle()
    assert not bar.isVisible()
    assert application.session.model.name == "gpt2"
    hub.fault(Fault.ignore_range(), path=WEIGHTS, times=None)
    window.panels["models"].search.clear()
    type_id(window, LONG)
    settle()
    assert "cannot send parts of files: all 2.0 MB of model.safetensors" in bar.text
    assert bar.whole_button.text() == "Download 2.0\xa0MB"
    assert not bar.retry_button.isVisible()
    click(bar.whole_button)
    settle()
    assert not bar.isVisible()
    np.testing.assert_array_equal(application.session.model.W_pos, table)


def test_newer_version_is_asked_for(start, hub, wait_until_idle, write_table, tmp_path):
    application = start(str(write_table()))
    window, session = application.window, application.session
    command = window.commands.by_name["check_update"]
    assert not command.isEnabled()
    application.controller.open(GPT2)
    wait_until_idle(application)
    assert command.isEnabled()
    old = session.model.commit
    QTest.keyClick(window, Qt.Key.Key_F5)
    wait_until_idle(application)
    assert window.status_bar.status.text() == f"gpt2 is up to date: commit {old[:7]}"
    files = {**write_stand_in(tmp_path / "newer", GPT2), "README.md": b"Newer.\n"}
    new = hub.add(GPT2, files)
    QTest.keyClick(window, Qt.Key.Key_F5)
    wait_until_idle(application)
    assert session.model.commit == new
    assert new[:7] in window.notice_bar.text
    assert new[:7] in window.viewport.scene.state.caption[0]


def test_settings_list_and_remove_models(start, hub, qtbot, wait_until_idle, settings):
    settings.cache_limit = 300_000_000
    application = start(MEDIUM)
    assert application.controller.fetching.cache.max_bytes == 300_000_000
    np.testing.assert_array_equal(application.session.model.W_pos, positions_of(MEDIUM))
    window, session = application.window, application.session
    QTest.keyClick(window, Qt.Key.Key_Comma, CONTROL)
    dialog = application._page.dialog
    qtbot.waitUntil(dialog.isVisible)
    wait_until_idle(application)
    dialog.limitRequested.emit(500_000_000)
    assert application.settings.cache_limit == 500_000_000
    dialog.offlineRequested.emit(True)
    assert session.offline
    assert application.settings.offline

    def state():
        return {row.entry.id: row.state for row in session.models}[MEDIUM]

    assert state() == "cached"
    application.controller.fetching.cache.clear()
    dialog.removed.emit()
    wait_until_idle(application)
    assert state() == "online"
    application.close()
    assert not dialog.isVisible()


def test_the_offline_switch(application, window, hub, settle):
    session, label = application.session, window.status_bar.offline
    assert not label.isVisible()
    QTest.keyClick(window, Qt.Key.Key_W, CONTROL | SHIFT)
    assert session.offline
    assert label.isVisible()
    assert window.commands.by_name["work_offline"].isChecked()
    application.controller.open(GPT2)
    settle()
    assert "Helixscope is offline" in window.notice_bar.text
    assert hub.requests == []
    QTest.keyClick(window, Qt.Key.Key_W, CONTROL | SHIFT)
    assert not label.isVisible()
    click(window.notice_bar.retry_button)
    settle()
    assert session.model.name == "gpt2"


@pytest.mark.slow
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


@pytest.mark.slow
def test_start_reopens_without_requests(start, hub, settings, table):
    first = start(LONG)
    assert first.session.notice is None
    first.close()
    hub.forget_requests()
    start().close()
    assert hub.requests == []
    hub.close()  # nor is a network needed
    again = start()
    assert again.session.notice is None
    assert again.session.model.name == "long"
    np.testing.assert_array_equal(again.session.model.W_pos, table)
    assert again.window.viewport.scene.state.caption[0].startswith("long")
    assert again.session.recent == (Source.parse(LONG),)
    again.close()
    settings._set("model/last", MEDIUM)
    window = start().window
    assert window.notice_bar.text.startswith(f"{MEDIUM} could not be opened: ")
    assert window.notice_bar.retry_button.isVisible()
    assert window.empty_state.isVisible()
