"""Running the prompt, with real events: the button, the table, stopping, and what clears it."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.inside import worker
from geometry.inside.prompt import NextToken, PromptRun, to_json
from geometry.inside.settings import InsideError
from geometry.inside.worker import WorkerProgress
from gui.services.controller import Controller
from gui.services.prompt_running import OTHER, SLOT, STOPPED
from gui.side_panels.prompt import PromptPanel
from gui.state.guides import Guide, ShownChange
from gui.style.theme import LIGHT
from tests.gui.on_screen import put_on_screen

LEFT = Qt.MouseButton.LeftButton
TEXT = "the curve of positions"


def run_of(session, change=None, *, encoder=False, ids=None):
    """A run of the session's text with made-up numbers."""
    tokens = session.tokens
    after = None if change is None else 0.25
    found = (NextToken(270, " c", 0.5, after), NextToken(199, "\n", 0.125, after))
    n = len(tokens.ids)
    moved = None if change is None or encoder else 0.3061
    return PromptRun(
        session.prompt,
        ids or tokens.ids,
        tokens.texts,
        not encoder,
        change,
        () if encoder else found,
        moved,
        np.full((2, 4, n, n), 1 / n, np.float32),
    )


@pytest.fixture
def requests(monkeypatch):
    """What processes were asked for, and what they answer: results, errors, or None for never."""
    asked, answers, ended = [], [], []

    def run_in_subprocess(measure, **request):
        assert measure == "prompt"
        asked.append(request)
        answer = answers.pop(0)
        try:
            yield WorkerProgress("Loading the network", 0, 1)
            while answer is None:
                yield WorkerProgress("as it is", 0, 1)
            if isinstance(answer, Exception):
                raise answer
            return to_json(answer)
        finally:
            ended.append(True)

    monkeypatch.setattr(worker, "run_in_subprocess", run_in_subprocess)
    return asked, answers, ended


@pytest.fixture
def stage(qtbot, session, hand_jobs, dress):
    """The panel with the bundled model and a text; jobs wait until the test says so."""
    dress(LIGHT)
    controller = Controller(session, hand_jobs)
    controller.open("sample")
    hand_jobs.deliver_all()
    session.prompt = TEXT
    hand_jobs.deliver_all()
    panel = put_on_screen(qtbot, PromptPanel(session, LIGHT), 232, 209)
    panel.promptRequested.connect(lambda text: setattr(session, "prompt", text))
    panel.runRequested.connect(controller.prompt_running.run)
    panel.stopRequested.connect(controller.prompt_running.cancel)
    yield panel, session, hand_jobs
    controller.close()


def press(button):
    QTest.mouseClick(button, LEFT, pos=button.rect().center())


def shown_cells(panel):
    model = panel.outcome.table.model()
    hidden = [c for c in range(3) if panel.outcome.table.isColumnHidden(c)]
    return [
        [model.index(r, c).data().replace("\xa0", " ") for c in range(3) if c not in hidden]
        for r in range(model.rowCount())
    ]


def test_nothing_runs_until_it_is_asked_for(stage, requests):
    panel, session, jobs = stage
    asked, answers, _ = requests
    assert panel.run.isVisible()
    assert panel.run.text() == "Run"
    for words in ("process of its own", "complete on this machine", "Effects"):
        assert words in panel.run.toolTip().replace("\n", " ")
    assert not panel.shown.isVisible()
    assert panel.flow.isVisible()
    answers.append(run_of(session))
    press(panel.run)
    assert panel.run.text() == "Stop"
    assert panel.progress.isVisible()
    assert not panel.count.isVisible()
    assert asked == []  # the thread has not begun
    jobs.deliver(SLOT)
    request = {"source": "sample", "table": None, "text": TEXT, "change": None, "length": None}
    assert asked == [{**request, "fingerprint": session.model.fingerprint}]
    assert panel.run.text() == "Run"
    assert panel.outcome.table.isVisible()
    assert not panel.flow.isVisible()
    assert shown_cells(panel) == [["·c", "50.0 %"], ["⏎", "12.5 %"]]
    assert not panel.outcome.moved.isVisible()
    assert not panel.outcome.message.isVisible()


def test_the_change_that_is_seen_in_3d_is_run_as_well(stage, requests):
    panel, session, jobs = stage
    asked, answers, _ = requests
    guide = Guide(session.pca, (1, 2, 3), change=ShownChange("top 1", 240))
    session.guides = {"effects": guide}
    answers.append(run_of(session, "top 1"))
    press(panel.run)
    jobs.deliver(SLOT)
    assert (asked[0]["change"], asked[0]["length"]) == ("top 1", 240)
    assert shown_cells(panel)[0] == ["·c", "50.0 %", "25.0 %"]
    assert panel.outcome.moved.text() == "30.6\xa0% moves: only the first component"
    titles = [panel.outcome.rows.columns[i].title for i in range(3)]
    assert titles == ["Token", "Probability", "Changed"]
    session.guides = {}
    answers.append(run_of(session))
    press(panel.run)
    jobs.deliver(SLOT)
    assert asked[1]["change"] is None
    assert shown_cells(panel)[0] == ["·c", "50.0 %"]


def test_impossible_change_still_runs_the_text(stage, requests):
    panel, session, jobs = stage
    asked, answers, _ = requests
    session.guides = {"effects": Guide(session.pca, (1, 2, 3), change=ShownChange("top 1", 240))}
    answers += [InsideError("There is no table that can be changed."), run_of(session)]
    press(panel.run)
    jobs.deliver(SLOT)
    assert session.prompt_running
    jobs.deliver(SLOT)
    assert [one["change"] for one in asked] == ["top 1", None]
    assert shown_cells(panel)[0] == ["·c", "50.0 %"]
    assert panel.outcome.table.isVisible()
    assert "There is no table that can be changed." in panel.outcome.message.text()
    answers += [InsideError("There is no table."), InsideError("It is not complete.")]
    press(panel.run)
    jobs.deliver(SLOT)
    jobs.deliver(SLOT)
    assert panel.outcome.message.text() == "It is not complete."
    assert not session.prompt_running


def test_tokens_and_next_take_turns(stage, requests):
    panel, session, jobs = stage
    requests[1].append(run_of(session))
    press(panel.run)
    jobs.deliver(SLOT)
    press(panel.shown.buttons["tokens"])
    assert panel.flow.isVisible()
    assert panel.shown.isVisible()
    press(panel.shown.buttons["next"])
    assert panel.outcome.table.isVisible()


@pytest.mark.parametrize("width", [232, 280])
def test_all_fits_into_a_narrow_panel(stage, requests, width):
    panel, session, jobs = stage
    panel.resize(width, 209)
    requests[1].append(run_of(session, "top 1"))

    def fits():
        row = [panel.count, panel.surplus, panel.progress, panel.shown, panel.run, panel.clear]
        seen = [one.geometry() for one in row if one.isVisible()]
        assert all(panel.rect().contains(one) for one in seen)
        assert not any(a.intersects(b) for i, a in enumerate(seen) for b in seen[:i])
        assert all(
            one.width() >= one.sizeHint().width()
            for one in row
            if one.isVisible() and one is not panel.shown
        )
        assert panel.width() == width

    fits()
    press(panel.run)
    fits()
    jobs.deliver(SLOT)
    fits()
    assert panel.outcome.table.viewport().height() >= 3 * 20
    session.prompt = "x " * 400
    jobs.deliver_all()
    assert panel.surplus.isVisible()
    fits()


@pytest.mark.parametrize("how", ["button", "escape", "hidden"])
def test_it_is_stopped_by_button_by_esc_and_by_closing(stage, requests, how):
    panel, session, jobs = stage
    press(panel.run)
    assert SLOT in jobs.waiting
    if how == "button":
        press(panel.run)
    elif how == "escape":
        panel.flow.setFocus()
        QTest.keyClick(panel.flow, Qt.Key.Key_Escape)
    else:
        panel.hide()
        panel.show()
    assert SLOT not in jobs.waiting
    assert not session.prompt_running
    assert panel.outcome.message.text() == STOPPED
    assert panel.run.text() == "Run"


def test_the_process_ends_with_its_job(session, thread_jobs, requests, qtbot):
    _, answers, ended = requests
    controller = Controller(session, thread_jobs(session))
    controller.open("sample")
    qtbot.waitUntil(lambda: session.model is not None)
    session.prompt = TEXT
    qtbot.waitUntil(lambda: session.tokens is not None)
    for stop in (controller.cancel, controller.close):
        answers.append(None)  # it never ends by itself
        before = len(ended)
        controller.prompt_running.run()
        assert session.prompt_running
        qtbot.waitUntil(lambda: not answers)
        stop()
        qtbot.waitUntil(lambda n=before: len(ended) == n + 1)
    assert session.prompt_run is None


def test_another_text_or_model_clears_it(stage, requests):
    panel, session, jobs = stage
    _, answers, _ = requests
    for change in ("text", "model"):
        answers.append(run_of(session))
        press(panel.run)
        jobs.deliver(SLOT)
        assert session.prompt_run is not None
        if change == "text":
            panel.field.setFocus()
            QTest.keyClicks(panel.field, " a")
            QTest.keyClick(panel.field, Qt.Key.Key_Return)
        else:
            session.model = None
        assert session.prompt_run is None
        jobs.deliver_all()
        assert not panel.shown.isVisible()
        assert panel.outcome.rows.rowCount() == 0
    assert not panel.run.isVisible()


def test_a_text_that_changes_while_it_runs_is_not_answered(stage, requests):
    panel, session, jobs = stage
    press(panel.run)
    session.prompt = "another text"
    assert SLOT not in jobs.waiting
    assert not session.prompt_running
    assert session.prompt_run_failed == ""


def test_what_fails_is_a_sentence_in_the_panel(stage, requests):
    panel, session, jobs = stage
    _, answers, _ = requests
    answers.append(InsideError("gpt2 is not complete.", "Open a complete checkpoint."))
    press(panel.run)
    jobs.deliver(SLOT)
    assert panel.outcome.message.text() == "gpt2 is not complete. Open a complete checkpoint."
    assert panel.outcome.message.isVisible()
    assert not panel.outcome.table.isVisible()
    assert session.notice is None
    answers.append(run_of(session, ids=(1, 2)))
    press(panel.run)
    assert panel.outcome.message.text() == ""
    jobs.deliver(SLOT)
    assert panel.outcome.message.text() == OTHER
    answers.append(ValueError("an error of ours"))
    press(panel.run)
    jobs.deliver(SLOT)
    assert panel.outcome.message.text() == "The prompt could not be run."
    assert session.notice is not None


def test_an_encoder_has_a_sentence_in_place_of_tokens(stage, requests):
    panel, session, jobs = stage
    requests[1].append(run_of(session, "top 1", encoder=True))
    press(panel.run)
    jobs.deliver(SLOT)
    assert "predicts no next token" in panel.outcome.message.text()
    assert not panel.outcome.table.isVisible()
    assert not panel.outcome.moved.isVisible()


def test_without_tokens_there_is_no_button(qtbot, session, hand_jobs, write_table):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_table()))
    hand_jobs.deliver_all()
    session.prompt = TEXT
    hand_jobs.deliver_all()
    panel = put_on_screen(qtbot, PromptPanel(session, LIGHT), 232, 209)
    assert panel.sentence.isVisible()
    assert not panel.run.isVisible()
    controller.prompt_running.run()
    assert not session.prompt_running
    controller.close()
