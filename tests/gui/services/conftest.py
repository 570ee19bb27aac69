"""Controllers whose jobs the tests deliver."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gui.services.controller import Controller
from gui.state.session import Session
from tests.gui.hand_jobs import HandJobs

WANTED = ("model", "curve", "norms", "positions", "selection", "details", "tokens", "turn")


def snapshot(session: Session) -> dict[str, object]:
    """What a session shows."""
    return {name: getattr(session, name) for name in WANTED}


def is_same(session: Session, before: dict[str, object]) -> bool:
    """Whether a session shows what it showed."""
    return all(getattr(session, name) is value for name, value in before.items())


@pytest.fixture
def by_hand(session: Session, hand_jobs: HandJobs) -> Iterator[Controller]:
    """A controller whose jobs are delivered by the test."""
    made = Controller(session, hand_jobs)
    yield made
    made.close()


@pytest.fixture
def helix_by_hand(
    by_hand: Controller, hand_jobs: HandJobs, write_table: Callable[..., Path]
) -> Controller:
    """The same, with the small helix open."""
    by_hand.open(str(write_table()))
    hand_jobs.deliver_all()
    return by_hand
