"""The line at the bottom, by itself."""

import pytest

from geometry.checkpoints.transfer import TransferProgress
from gui.state.session import Session
from gui.style.theme import LIGHT
from gui.window.status_bar import StatusBar

VOCABULARY = TransferProgress("vocab.json", 0, 900_000, None)


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def bar(qtbot, session):
    bar = StatusBar(session, LIGHT)
    qtbot.addWidget(bar, before_close_func=lambda closing: closing.release())
    bar.show()
    return bar


def test_it_is_not_ready_while_something_is_fetched(bar, session):
    """As a tokenizer, for which nothing is opened or fitted."""
    assert bar.status.text() == "Ready"
    session.transfer = VOCABULARY
    assert bar.status.text() == ""
    assert "vocab.json" in bar.fetch.text.text()
    session.transfer = None
    assert bar.status.text() == "Ready"


def test_what_else_is_going_on_is_said_beside_what_is_fetched(bar, session):
    session.transfer = VOCABULARY
    for status in ("Opening gpt2…", "Fitting positions 1–1023 exactly…"):
        session.status = status
        assert bar.status.text() == status
    session.status = "Ready"
    assert bar.status.text() == ""


def test_it_knows_from_the_start(qtbot):
    bar = StatusBar(Session(transfer=VOCABULARY), LIGHT)
    qtbot.addWidget(bar, before_close_func=lambda closing: closing.release())
    assert bar.status.text() == ""
