"""Searching the Hub without a window: the real client against a Hub on this machine."""

import pytest

from geometry.checkpoints.transfer import Cancelled
from geometry.models.sources.catalogue import find_entry
from gui.services.hub_search import HUB_GROUP
from tests.loopback.hub import Fault

FOUND = ("searching", "hub_results", "hub_query", "search_failed")
NOTHING = ("", (), "", "")
pytestmark = pytest.mark.usefixtures("hub")


@pytest.fixture
def hub(loopback_hub):
    for name in ("openai-community/gpt2", "someone/gpt2-of-theirs", "someone/else"):
        loopback_hub.add(name, {"config.json": b"{}"})
    return loopback_hub


def said(session):
    return tuple(getattr(session, name) for name in FOUND)


def test_finds_models_by_their_ids(session, controller, hub):
    controller.hub_search.search("  gpt2 ")
    found = {entry.id: entry for entry in session.hub_results}
    assert set(found) == {"openai-community/gpt2", "someone/gpt2-of-theirs"}
    known = find_entry("gpt2")
    assert found[known.id].title == known.title
    assert found[known.id].n_positions == known.n_positions
    assert found[known.id].downloads is not None
    other = found["someone/gpt2-of-theirs"]
    assert (other.title, other.group, other.n_positions) == ("gpt2-of-theirs", HUB_GROUP, 0)
    assert other.downloads is not None
    downloads = [entry.downloads for entry in session.hub_results]
    assert downloads == sorted(downloads, reverse=True)
    assert (session.searching, session.hub_query, session.search_failed) == ("", "gpt2", "")


def test_says_that_it_searches(session, by_hand, hand_jobs):
    by_hand.hub_search.search("gpt2")
    assert said(session) == ("gpt2", (), "", "")
    hand_jobs.deliver("search")
    by_hand.hub_search.search("else")
    assert session.searching == "else"
    assert session.hub_query == "gpt2"  # what was found stays until there is something else
    assert len(session.hub_results) == 2


def test_the_newest_search_wins_and_the_one_before_is_stopped(session, by_hand, hand_jobs, hub):
    by_hand.hub_search.search("gpt2")
    first = hand_jobs.waiting["search"][0]
    by_hand.hub_search.search("else")
    with pytest.raises(Cancelled):
        first()
    assert hub.requests == []
    hand_jobs.deliver_all()
    assert [entry.id for entry in session.hub_results] == ["someone/else"]
    assert session.hub_query == "else"


def test_searching_is_not_begun_anew_and_can_be_ended(session, by_hand, hand_jobs, hub):
    by_hand.hub_search.search("gpt2")
    by_hand.hub_search.search("gpt2 ")
    assert hand_jobs.started == ["search"]
    work = hand_jobs.waiting["search"][0]
    by_hand.hub_search.search("")
    assert said(session) == NOTHING
    with pytest.raises(Cancelled):
        work()
    by_hand.hub_search.search("gpt2")
    hand_jobs.deliver_all()
    assert session.hub_results
    by_hand.hub_search.search(" ")
    assert said(session) == NOTHING


def test_failed_search_and_offline(session, controller, hub):
    hub.fault(Fault.status(503, {"Retry-After": "0"}), times=4)
    controller.hub_search.search("gpt2")
    assert (session.searching, session.hub_results, session.hub_query) == ("", (), "gpt2")
    assert "unavailable or overloaded" in session.search_failed
    assert session.notice is None
    controller.hub_search.search("gpt2")
    assert session.search_failed == ""
    assert len(session.hub_results) == 2
    session.offline = True
    hub.forget_requests()
    controller.hub_search.search("gpt2")
    assert "offline" in session.search_failed
    assert "Work offline" in session.search_failed
    assert hub.requests == []


def test_our_own_faults_are_reported_as_such(session, controller, hub, monkeypatch):
    monkeypatch.setattr("gui.services.hub_search._entry", lambda found: 1 / 0)
    controller.hub_search.search("gpt2")
    assert session.search_failed == "The search on the Hub failed."
    assert "ZeroDivisionError" in session.notice.text
