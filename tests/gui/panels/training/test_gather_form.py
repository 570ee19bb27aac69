"""Gathering checkpoints: its form, answered by a controller, and in the whole window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.history.gathering import Gathered
from geometry.history.history import Skipped
from gui.panels.training.download import MAX_NAMED, DownloadForm, skipped_text
from gui.services.checkpoint_download import GATHER, LIST
from gui.services.controller import Controller
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT, format_bytes
from gui.window.arrangement.result_docks import carry_out
from tests.gui.conftest import TIMEOUT_MS
from tests.gui.gather_stage import NAME, STEPS, hasten, serve_checkpoints, write_checkpoints
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import LEFT, enter


@pytest.fixture
def hub(loopback_hub, tmp_path):
    return serve_checkpoints(loopback_hub, tmp_path / "made")


@pytest.fixture
def show(qtbot, thread_jobs):
    """Show a form, answered on threads, or by jobs of another kind."""
    controllers = []

    def shown(jobs=None):
        session = Session()
        controller = Controller(session, jobs or thread_jobs(session))
        hasten(controller)
        form = DownloadForm(session, LIGHT)
        form.intended.connect(lambda wanted: carry_out(wanted, controller))
        controllers.append(controller)
        put_on_screen(qtbot, form, 700, 200)
        return form, session, controller

    yield shown
    for controller in controllers:
        controller.close()


@pytest.fixture
def idle(qtbot):
    """Wait until nothing is under way for a form."""

    def wait(form):
        QApplication.processEvents()
        qtbot.waitUntil(lambda: not form.session.jobs, timeout=TIMEOUT_MS)

    return wait


@pytest.fixture
def press(idle):
    """Click the form's button, and wait for what comes of it."""

    def pressed(form):
        click(form.button)
        idle(form)

    return pressed


@pytest.fixture
def form(show, hub, idle):
    form, _, controller = show()
    controller.open(NAME)
    idle(form)
    return form


def click(button):
    assert button.isVisible()
    QTest.mouseClick(button, LEFT)
    QApplication.processEvents()


def test_asks_and_fetches_only_when_agreed(form, press, hub):
    hub.forget_requests()
    assert form.message.text() == "The Hub may have checkpoints of gpt2’s training."
    assert form.advice.text() == "The search makes one request to the Hub and downloads nothing."
    assert form.button.text() == "Find checkpoints"
    assert "nothing is downloaded yet" in form.button.toolTip()
    assert not form.count.isVisible()
    assert hub.requests == []
    press(form)
    assert len(hub.requests) == 1
    form.count.setFocus()
    QTest.keyClick(form.count, Qt.Key.Key_Down)
    assert form.count.value() == 19
    assert len(form.session.gathering.plan.snapshots) == 19
    for _ in range(3):
        QTest.keyClick(form.count, Qt.Key.Key_Up)
    assert form.count.value() == 20
    hub.forget_requests()
    assert form.message.text() == "20 checkpoints of gpt2’s training on the Hub."
    assert form.count.value() == 20
    assert form.budget.text().startswith("of 20 · log-spaced, steps 0–1\N{THIN SPACE}900 · at most")
    before = form.budget.text()
    enter(form.count, "4")
    assert form.budget.text() != before
    assert format_bytes(4 * (4 * 64 * 24 + 256 * 1024)) in form.budget.text()
    assert "Steps: 0, " in form.budget.toolTip().replace("\n", " ")
    enter(form.count, "1")
    assert form.budget.text().startswith("of 20 · step 1\N{THIN SPACE}900 · at most")
    assert hub.requests == []


def test_gathering(form, press, hub):
    press(form)
    enter(form.count, "6")
    assert form.button.text() == "Load"
    press(form)
    assert form.session.history.n_snapshots == 6
    assert form.budget.text().endswith("nothing to download")
    enter(form.count, "9")
    assert "already here" in form.budget.text()
    assert form.button.text() == "Load the rest"
    press(form)
    assert form.session.history.n_snapshots == 9


def test_how_far_it_is_and_cancel(show, hub, hand_jobs):
    form, session, controller = show(hand_jobs)
    controller.open(NAME)
    hand_jobs.deliver_all()
    click(form.button)
    hand_jobs.drag_on(LIST)
    assert form.message.text() == "Searching for checkpoints…"
    assert not form.button.isVisible()
    hand_jobs.deliver(LIST)
    click(form.button)
    assert form.bar.isVisible()
    assert form.bar.maximum() == 0
    hand_jobs.tell(GATHER, Gathered(5, 20, 1_300_000, 250_000.0))
    said = form.progress.text().replace("\N{NO-BREAK SPACE}", " ")
    assert said == "5 of 20 checkpoints · 1.3 MB · 250 kB/s"
    assert form.bar.value() / form.bar.maximum() == 0.25
    hand_jobs.tell(GATHER, Gathered(5, 20, 1_300_000, None, "The Hub is busy: again in 3 s."))
    assert form.progress.text() == "The Hub is busy: again in 3 s."
    assert not form.count.isVisible()
    click(form.cancel)
    assert GATHER not in hand_jobs.waiting
    assert not form.bar.isVisible()
    assert form.count.isVisible()
    assert session.gathering.stage == "listed"


def test_whole_files_are_agreed_to_by_a_button_that_says_how_much(form, press, hub, tmp_path):
    press(form)
    enter(form.count, "3")
    hub.ranges = False
    press(form)
    (size,) = {file.stat().st_size for file in tmp_path.glob("made/**/model.safetensors")}
    assert "cannot send parts of files" in form.message.text()
    assert form.button.text() == f"Download {format_bytes(3 * size)}"
    assert form.budget.text().endswith(f"{format_bytes(3 * size)} as whole files")
    press(form)
    assert form.session.history.n_snapshots == 3
    assert form.button.text() == "Load"


def test_what_was_left_out_is_named(form, press, hub):
    hub.add(NAME, {"README.md": b"nothing"}, revision="checkpoint-550")
    press(form)
    press(form)
    assert form.session.history.steps.tolist() == STEPS
    assert form.skipped.isVisible()
    assert form.skipped.text().startswith("1 checkpoint left out: step 550. ")
    assert "has no weights" in " ".join(form.skipped.toolTip().split())


def test_offline_is_said(form, press, hub):
    hub.forget_requests()
    form.session.offline = True
    assert form.advice.text().startswith("Helixscope is offline")
    press(form)
    assert hub.requests == []
    assert "Helixscope is offline" in form.message.text()
    assert form.button.text() == "Search again"
    form.session.offline = False
    press(form)
    assert form.count.isVisible()


def test_a_folder(show, press, idle, tmp_path):
    form, session, controller = show()
    folder = write_checkpoints(tmp_path / "run", [0, 10, 20, 40])
    controller.open(str(folder / "checkpoint-40"))
    idle(form)
    press(form)
    assert form.message.text() == "4 checkpoints of run’s training in run."
    assert form.budget.text().endswith("nothing to download")
    press(form)
    assert session.history.n_snapshots == 4


def test_it_takes_other_colours_and_is_let_go_of(show, idle, hub):
    form, _, controller = show()
    controller.open(NAME)
    idle(form)
    form.set_theme(DARK)
    assert form.theme is DARK
    form.release()
    controller.gatherer.look()
    idle(form)
    assert form.session.gathering is not None
    assert form.button.text() == "Find checkpoints"


def test_of_many_left_out_the_first_are_named():
    several = [Skipped(step, "x", "It has no weights.") for step in range(0, 40_000, 1000)]
    text, tip = skipped_text(several)
    assert text == "40 checkpoints left out"
    assert tip.count("\n") == MAX_NAMED
    assert tip.endswith("And 28 more.")


@pytest.fixture
def in_front(show_model, wait_until_idle):
    """Open a source in the window, with the training panel in front."""

    def shown(source):
        application = show_model(source)
        application.window.focus_on("training")
        wait_until_idle(application)
        return application

    return shown


def listed(session):
    """Whether checkpoints were looked for, and a plan made."""
    return session.gathering is not None and session.gathering.plan is not None


@pytest.mark.slow
def test_twenty_hub_revisions_become_a_moving_curve(hub, in_front, qtbot, wait_until_idle):
    application = in_front(NAME)
    session, body = application.session, application.window.panels["training"].content
    assert body.download.isVisible()
    assert not body.checkpoints.isVisible()
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: listed(session), timeout=TIMEOUT_MS)
    hub.forget_requests()
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.timeline is not None, timeout=TIMEOUT_MS)
    wait_until_idle(application)
    assert session.history.steps.tolist() == STEPS
    assert body.plots.isVisible()
    assert body.checkpoints.isVisible()
    hub.forget_requests()
    for snapshot in (0, 7, 19):
        body.player.go_to(snapshot)
        wait_until_idle(application)
        shown = application.window.viewport.scene.displayed
        np.testing.assert_array_equal(shown, session.timeline.coordinates[snapshot])
    assert hub.requests == []  # scrubbing asks nobody


@pytest.mark.slow
def test_fewer_checkpoints_replace_all(in_front, tmp_path, qtbot, wait_until_idle):
    application = in_front(write_checkpoints(tmp_path / "run", [0, 100, 200, 400, 800]))
    session, body = application.session, application.window.panels["training"].content
    assert session.history.n_snapshots == 5
    QTest.mouseClick(body.checkpoints, LEFT)
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: listed(session), timeout=TIMEOUT_MS)
    body.download.count.setValue(3)
    QTest.mouseClick(body.download.button, LEFT)
    qtbot.waitUntil(lambda: session.timeline.n_snapshots == 3, timeout=TIMEOUT_MS)
    wait_until_idle(application)
    assert body.plots.isVisible()
    assert not body.checkpoints.isChecked()
    assert body.player.slider.maximum() == 2
