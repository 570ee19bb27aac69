"""A panel needs a tensor, and the server sends no parts of files: the cost is said and asked."""

import threading
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.sizes import size_text
from geometry.hub.client import Hub
from geometry.hub.keeping import wait_until_kept
from geometry.hub.tensor_cache import default_cache
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import Session
from gui.style.theme import format_bytes
from tests.geometry.hub_opening import QUICK, serve
from tests.gui.result_stage import ResultStage
from tests.loopback.hub import Fault
from tests.small_models import write_small_gpt2

NAME, WEIGHTS = "someone/model", "model.safetensors"
LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 20_000


@pytest.fixture
def folder(tmp_path, loopback_hub):
    """A GPT-2 of 1 MB on the Hub, most of it E."""
    made = write_small_gpt2(tmp_path / "made", d_model=64, tokens=3_000)
    serve(loopback_hub, made, NAME)
    return made


@pytest.fixture
def size(folder):
    return (folder / WEIGHTS).stat().st_size


def open_stage(qtbot, hub, jobs=None, *, before=lambda: None):
    """A panel whose model was opened in parts, of a server that sends whole files from now on."""
    stage = ResultStage(qtbot, "capture", jobs or InlineJobs())
    stage.controller.fetching._hub = Hub(retries=QUICK)  # no test waits for a server
    stage.panel.hide()
    stage.open(NAME)
    hub.ranges = False
    hub.forget_requests()
    before()
    stage.panel.show()
    return stage


def check_all_can_be_had(stage, *names):
    for name in names:
        stage.panel.controls.widgets["name"].setCurrentText(f"of {name}")
        assert stage.answer.state == "ready", stage.answer.why


def click(stage):
    assert stage.panel.words.button.isVisible()
    QTest.mouseClick(stage.panel.words.button, LEFT)


def test_the_cost_is_said_and_a_click_agrees(qtbot, loopback_hub, folder, size):
    stage = open_stage(qtbot, loopback_hub)
    panel, model = stage.panel, stage.session.model
    words = panel.words.message.text()
    assert "cannot send parts of files" in words
    assert f"all {size_text(size)} of {WEIGHTS} would have to be downloaded" in words
    assert panel.words.button.text() == f"Download {format_bytes(size)}"
    loopback_hub.forget_requests()
    # Who does not agree is left alone.
    for visible in (False, True):
        panel.set_in_front(visible)
    panel.hide()
    panel.show()
    assert stage.answer.state == "to fetch"
    assert not loopback_hub.requests
    assert model.bytes_to_fetch("W_E") == size
    assert model.name == "model"
    assert stage.session.notice is None
    click(stage)
    assert stage.answer.state == "ready"
    assert panel.content.isVisible()
    check_all_can_be_had(stage, "W_Q", "W_O", "W_in")
    assert len(loopback_hub.requests) == 1
    assert model.bytes_to_fetch("W_E") == 0
    # One download serves all panels and the next start, without a network.
    wait_until_kept(default_cache().root)
    loopback_hub.forget_requests()
    for name in ("capture", "overlaps"):
        stage = ResultStage(qtbot, name)
        stage.session.offline = True
        stage.open(NAME)
        assert stage.answer.state == "ready", stage.answer.why
    assert not loopback_hub.requests


def test_what_was_agreed_to_at_the_opening_holds(qtbot, loopback_hub, folder):
    loopback_hub.ranges = False
    stage = ResultStage(qtbot, "capture")
    stage.controller.open(NAME)
    assert stage.session.notice.whole > 0
    stage.controller.retry(whole=True)
    assert stage.answer.state == "ready", stage.answer.why
    check_all_can_be_had(stage, "W_Q", "W_in")


def test_half_download_begins_again(qtbot, loopback_hub, folder, size, thread_jobs):
    stage = open_stage(qtbot, loopback_hub, thread_jobs(Session()))
    qtbot.waitUntil(lambda: stage.answer is not None and stage.answer.state == "to fetch")
    gate = threading.Semaphore(1)
    playing = loopback_hub.fault(Fault.slow(size // 8, gate), path=f"*/{WEIGHTS}")
    click(stage)
    assert playing.reached.wait(10)
    gate.release(3)
    panel = stage.panel

    def is_told():
        return panel.strip.isVisible() and "Downloading" in (stage.answer.message or "")

    qtbot.waitUntil(is_told, timeout=WAIT_MS)
    QTest.mouseClick(panel.strip.cancel, LEFT)
    assert stage.answer.state == "cancelled"
    gate.release(100)
    click(stage)
    qtbot.waitUntil(lambda: stage.answer.state == "ready", timeout=WAIT_MS)
    assert panel.content.isVisible()


def test_cut_download_is_retried_without_asking(qtbot, loopback_hub, folder, size):
    stage = open_stage(qtbot, loopback_hub)
    loopback_hub.fault(Fault.cut(size // 2), path=f"*/{WEIGHTS}", times=None)
    click(stage)
    assert (stage.answer.state, stage.answer.retry) == ("impossible", True)
    assert stage.panel.words.button.text() == "Try again"
    loopback_hub.clear_faults()
    click(stage)
    assert stage.answer.state == "ready", stage.answer.why


def test_a_length_that_nobody_says_is_said_to_be_unknown(qtbot, loopback_hub, folder):
    open_stage(qtbot, loopback_hub)
    # Another start of the program, with what is kept.
    chunked = partial(loopback_hub.fault, Fault.chunked(), path=f"*/{WEIGHTS}", times=None)
    stage = open_stage(qtbot, loopback_hub, before=chunked)
    assert "of unknown size" in stage.panel.words.message.text()
    assert stage.panel.words.button.text() == "Download"
    click(stage)
    assert stage.answer.state == "ready", stage.answer.why
