"""Answers of a session, and nothing that another test asked."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gui.services.answers import Answers
from gui.state.session import Session
from tests.gui.services.answers.questions_asked import ANSWERED


@pytest.fixture(autouse=True)
def nothing_answered() -> None:
    ANSWERED.clear()


@pytest.fixture
def session(open_table: Callable[..., Any]) -> Session:
    session = Session()
    session.model = open_table()
    return session


@pytest.fixture
def answers(session: Session, hand_jobs: Any) -> Iterator[Answers]:
    made = Answers(session, hand_jobs)
    yield made
    made.close()
