"""Running the prompt in the whole window: Esc stops it, a change in 3D is run, Kernels shows it."""

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.inside import worker
from geometry.inside.worker import WorkerProgress

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def endless(monkeypatch):
    """A process that never ends by itself; what was asked, and whether it has ended."""
    asked, ended, pause = [], [], threading.Event()

    def run_in_subprocess(measure, **request):
        asked.append((measure, request))
        try:
            while not pause.wait(0.01):
                yield WorkerProgress("as it is", 0, 1)
        finally:
            ended.append(True)

    monkeypatch.setattr(worker, "run_in_subprocess", run_in_subprocess)
    return asked, ended


def test_esc_in_the_window_stops_it(application, settle, endless, qtbot):
    window, session = application.window, application.session
    asked, ended = endless
    session.prompt = "hello"
    settle()
    panel = window.panels["prompt"]
    QTest.mouseClick(panel.run, LEFT)
    assert session.prompt_running
    qtbot.waitUntil(lambda: bool(asked))
    panel.field.setFocus()
    QTest.keyClick(panel.field, Qt.Key.Key_Escape)
    assert not session.prompt_running
    qtbot.waitUntil(lambda: bool(ended))
    settle()
    assert panel.outcome.message.isVisible()


def test_the_change_in_front_is_run(application, settle, endless, qtbot):
    window, session = application.window, application.session
    asked, _ = endless
    session.prompt = "hello"
    window.bring("effects")
    settle()
    window.panels["effects"].configure(change="top 1")
    settle()
    assert session.shown_change.name == "top 1"
    QTest.mouseClick(window.panels["prompt"].run, LEFT)
    qtbot.waitUntil(lambda: bool(asked))
    measure, request = asked[0]
    assert measure == "prompt"
    length = window.panels["effects"].result.table.length
    assert (request["text"], request["change"], request["length"]) == ("hello", "top 1", length)
    window.cancel()
    window.bring("norms")
    settle()
    assert session.shown_change is None
