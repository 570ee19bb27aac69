"""Tokens of a model on the Hub: its tokenizer is fetched when a prompt first asks for it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.checkpoints.transfer import Cancelled, TransferProgress
from geometry.models.sources import local_models
from gui.services.controller import Controller
from gui.services.prompting import CANCELLED, MISHAP
from gui.side_panels.prompt import PromptPanel
from gui.style.theme import LIGHT, format_bytes
from tests.gui.on_screen import put_on_screen
from tests.loopback.hub import Fault
from tests.stand_ins import write_stand_in

GPT2 = "openai-community/gpt2"
PROGRESS = TransferProgress("tokenizer.json", 10, 100, None)


@pytest.fixture
def hub(loopback_hub, tmp_path, monkeypatch):
    monkeypatch.setattr(local_models, "_in_package", lambda entry: None)
    loopback_hub.add(GPT2, write_stand_in(tmp_path / "made", GPT2))
    return loopback_hub


@pytest.fixture
def by_hand(session, hand_jobs, hub):
    """A controller with GPT-2 open; jobs are done when the test says so."""
    made = Controller(session, hand_jobs)
    made.open(GPT2)
    hand_jobs.deliver_all()
    hub.forget_requests()
    yield made
    made.close()


def asked(hub):
    return [request.path.rsplit("/", 1)[-1] for request in hub.requests]


def test_typing_on_does_not_fetch_it_anew(session, by_hand, hand_jobs, hub):
    for text in ("h", "he", "hello", "hello my"):
        session.prompt = text
    assert hand_jobs.started.count("tokens") == 1
    hand_jobs.deliver("tokens")
    assert session.tokens is None  # that of "h" is nobody's any more
    hand_jobs.deliver("tokens")
    assert [text.strip() for text in session.tokens.texts[1:]] == ["hello", "my"]
    assert asked(hub).count("tokenizer.json") == 1


def test_what_is_fetched_is_told_once_it_takes_a_moment(session, by_hand, hand_jobs):
    session.prompt = "hello"
    hand_jobs.tell("tokens", PROGRESS)
    assert session.transfer is None
    assert not by_hand.cancel()
    hand_jobs.drag_on("tokens")
    assert session.transfer is PROGRESS
    hand_jobs.deliver_all()
    assert session.transfer is None
    assert session.tokens is not None


def test_it_can_be_cancelled_and_is_fetched_for_the_next_text(session, by_hand, hand_jobs, hub):
    session.prompt = "hello"
    work = hand_jobs.waiting["tokens"][0]
    hand_jobs.drag_on("tokens")
    hand_jobs.tell("tokens", PROGRESS)
    assert by_hand.cancel()
    assert (session.transfer, session.tokens, session.tokens_missing) == (None, None, CANCELLED)
    with pytest.raises(Cancelled):
        work()
    assert asked(hub) == []
    session.prompt = "hello my"
    hand_jobs.deliver_all()
    assert session.tokens_missing == ""
    assert len(session.tokens.texts) == 3


def test_an_opening_is_told_before_a_tokenizer(session, by_hand, hand_jobs, write_table):
    session.prompt = "hello"
    hand_jobs.drag_on("tokens")
    hand_jobs.tell("tokens", PROGRESS)
    by_hand.open("someone/else")
    hand_jobs.drag_on("open")
    opening = TransferProgress("wpe.weight", 1, 2, None)
    hand_jobs.tell("open", opening)
    hand_jobs.tell("tokens", PROGRESS)
    assert session.transfer is opening
    by_hand.opening.cancel()
    assert session.transfer is None
    hand_jobs.tell("tokens", PROGRESS)
    assert session.transfer is PROGRESS
    hand_jobs.deliver("tokens")
    assert session.transfer is None


def test_another_model_stops_the_tokenizer(session, by_hand, hand_jobs, hub, write_gpt2):
    session.prompt = "hello"
    work = hand_jobs.waiting["tokens"][0]
    by_hand.open(str(write_gpt2()))
    hand_jobs.deliver("open")
    with pytest.raises(Cancelled):
        work()
    hand_jobs.deliver_all()
    assert asked(hub) == []
    assert session.tokens.texts[1:] == ("hello",)


def test_offline_it_is_missing_and_comes_with_the_network(session, by_hand, hand_jobs, hub):
    session.offline = True
    session.prompt = "hello"
    hand_jobs.deliver_all()
    assert session.tokens is None
    assert session.notice is None
    assert session.tokens_missing == (
        "The tokenizer of gpt2 is not on this machine yet, and Helixscope is offline."
    )
    session.offline = False
    hand_jobs.deliver_all()
    assert len(session.tokens.texts) == 2
    assert session.tokens_missing == ""


def test_what_fails_can_be_tried_again(session, by_hand, hand_jobs, hub):
    hub.fault(Fault.status(503, {"Retry-After": "0"}), times=4)
    session.prompt = "hello"
    hand_jobs.deliver_all()
    assert session.tokens_missing == f"{MISHAP}."
    assert session.notice.text.startswith(f"{MISHAP}: ")
    assert session.notice.retry
    by_hand.retry()
    hand_jobs.deliver_all()
    assert session.notice is None
    assert len(session.tokens.texts) == 2
    assert session.model.name == "gpt2"


def test_tokenizer_is_fetched_on_demand(session, by_hand, hand_jobs, hub):
    session.prompt = "hello"
    session.prompt = ""
    hand_jobs.deliver_all()
    assert asked(hub) == []
    assert (session.tokens, session.tokens_missing) == (None, "")
    assert asked(hub) == []
    session.prompt = "hello adam"
    hand_jobs.deliver_all()
    assert [text.strip() for text in session.tokens.texts[1:]] == ["hello", "adam"]
    assert "tokenizer.json" in asked(hub)
    hub.forget_requests()
    session.prompt = "my name"
    hand_jobs.deliver_all()
    assert len(session.tokens.texts) == 3
    assert asked(hub) == []


@pytest.fixture
def large(hub, tmp_path):
    """GPT-2's tokenizer is a large one now; its bytes."""
    files = write_stand_in(tmp_path / "large", GPT2)
    path = files["tokenizer.json"]
    path.write_text(path.read_text("utf-8") + " " * 21_000_000, "utf-8")
    hub.add(GPT2, files)
    return sum(files[name].stat().st_size for name in ("tokenizer.json", "tokenizer_config.json"))


@pytest.fixture
def panel(qtbot, session, large, by_hand):
    made = PromptPanel(session, LIGHT)
    made.promptRequested.connect(lambda text: setattr(session, "prompt", text))
    made.tokenizerRequested.connect(by_hand.prompting.fetch)
    return put_on_screen(qtbot, made, 280, 260)


def test_a_large_one_is_asked_about_once_and_a_click_agrees(session, panel, large, hand_jobs, hub):
    QTest.keyClicks(panel.field, "hello adam")
    QTest.keyClick(panel.field, Qt.Key.Key_Return)
    hand_jobs.deliver_all()
    assert session.tokens is None
    assert session.notice is None
    assert panel.sentence.text() == f"The tokenizer of {GPT2} takes 21.0 MB from the Hub."
    assert panel.fetch.isVisible()
    assert panel.fetch.text() == f"Download {format_bytes(large)}"
    assert "tokenizer.json" not in asked(hub)
    QTest.mouseClick(panel.fetch, Qt.MouseButton.LeftButton)
    hand_jobs.deliver_all()
    assert [text.strip() for text in session.tokens.texts[1:]] == ["hello", "adam"]
    assert panel.flow.isVisible()
    assert not panel.fetch.isVisible()
    assert asked(hub).count("tokenizer.json") == 1
    hub.forget_requests()
    again = Controller(session, hand_jobs)
    again.open(GPT2)
    hand_jobs.deliver_all()
    assert len(session.tokens.texts) == 3
    assert asked(hub) == []
    again.close()


def test_agreeing_holds_for_that_model_alone(session, panel, by_hand, hand_jobs, hub, write_gpt2):
    session.prompt = "hello"
    hand_jobs.deliver_all()
    assert panel.fetch.isVisible()
    by_hand.open(str(write_gpt2()))
    hand_jobs.deliver_all()
    assert session.tokens_to_fetch == 0
    assert not panel.fetch.isVisible()
