"""Selecting, norms and prompts without a window; jobs are done at once, or by hand."""

import numpy as np

from gui.services.controller import Controller
from gui.state.session import Session
from tests.gui.services.conftest import is_same, snapshot


def test_selection_is_clipped_and_keeps_current(opened, controller):
    controller.select((5, -1, 200, 9))
    assert opened.selection == (5, 9)
    assert opened.details.position == 9
    controller.select(())
    assert opened.details is None
    controller.select((5, 9, 5))
    assert opened.selection == (9, 5)


def test_walking_stays_on_the_curve(opened, controller):
    opened.positions = (40, 60)
    controller.walk(1)
    assert opened.selection == (40,)
    for step, end in ((1, 41), (-1, 40), (10, 50), (-500, 0), (-1, 0), (500, 199), (1, 199)):
        controller.walk(step)
        assert opened.selection == (end,)


def test_nothing_open_nothing_happens(session, controller):
    before = snapshot(session)
    controller.select((3,))
    controller.walk(1)
    controller.request_positions(3, 9)
    session.norms_centred = True
    session.prompt = "hello"
    session.components = (2, 3, 4)
    session.dragging = True
    session.dragging = False
    assert is_same(session, before)
    assert session.notice is None


def test_norms_raw_or_centred(opened, controller):
    W_pos = opened.model.W_pos
    np.testing.assert_allclose(opened.norms.values, np.linalg.norm(W_pos, axis=1))
    opened.norms_centred = True
    centred = W_pos - W_pos.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(opened.norms.values, np.linalg.norm(centred, axis=1))


def test_a_prompt_is_split_by_the_model(session, controller, write_gpt2):
    controller.open(str(write_gpt2()))
    session.prompt = "Hello my name is Adam"
    assert session.tokens.texts == ("<|endoftext|>", "hello", "my", "name", "is", "adam")
    assert session.text_at(5) == "adam"
    assert session.text_at(6) is None
    session.prompt = ""
    assert session.tokens is None


def test_a_model_without_a_tokenizer_says_so(opened, controller):
    opened.prompt = "hello"
    assert opened.tokens is None
    assert "no tokenizer" in opened.tokens_missing
    assert opened.notice is None
    opened.prompt = ""
    assert opened.tokens_missing == ""


def test_a_tokenizer_that_cannot_be_read_is_a_notice(session, controller, write_gpt2):
    folder = write_gpt2()
    (folder / "tokenizer.json").write_text("{", "utf-8")
    controller.open(str(folder))
    session.prompt = "hello"
    assert "is not valid JSON" in session.notice.text
    assert session.tokens_missing
    assert session.model is not None


def test_a_mishap_elsewhere_does_not_end_an_opening(session, hand_jobs, write_gpt2, write_table):
    folder = write_gpt2()
    (folder / "tokenizer.json").write_text("{", "utf-8")
    controller = Controller(session, hand_jobs)
    controller.open(str(folder))
    hand_jobs.deliver_all()
    session.prompt = "hello"
    other = str(write_table())
    controller.open(other)
    hand_jobs.drag_on("open")
    hand_jobs.deliver("tokens")
    assert "is not valid JSON" in session.notice.text
    assert session.opening.text == other
    assert session.status.startswith("Opening")
    hand_jobs.deliver_all()
    assert session.model.name == "helix"
    assert (session.opening, session.status) == (None, "Ready")


def test_the_newest_prompt_wins(session, hand_jobs, write_gpt2):
    controller = Controller(session, hand_jobs)
    controller.open(str(write_gpt2()))
    hand_jobs.deliver_all()
    session.prompt = "hello"
    hand_jobs.compute("tokens")
    session.prompt = "name"
    hand_jobs.deliver_all()
    assert session.tokens.texts[1:] == ("name",)


def test_a_closed_controller_answers_no_more(opened, controller):
    controller.close()
    before = snapshot(opened)
    opened.norms_centred = True
    opened.components = (2, 3, 4)
    assert is_same(opened, before)


def test_sessions_do_not_share_their_state():
    first, second = Session(), Session()
    first.selection = (3,)
    assert second.selection == ()
    assert first.turn is not second.turn
