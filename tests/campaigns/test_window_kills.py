"""A small part of the campaign that kills windows in which somebody works, and what it finds."""

import pytest

from tools.campaigns.campaign import Fault, attack
from tools.campaigns.window_kills import _check_restored, case

CHANGES = [{"number": n, "time": float(n), "killed": 20.0} for n in range(20)]


@pytest.mark.slow
def test_a_window_that_is_killed_at_work_shows_the_work_again(qapp):
    counts = attack(case, seed=7, first=1, cases=1)
    assert counts.faults == []
    (outcome,) = counts.outcomes
    assert outcome.startswith("a window killed ")


@pytest.mark.parametrize("restored", [None, 3])
def test_work_of_more_than_the_last_seconds_must_not_be_lost(restored):
    with pytest.raises(Fault, match="restored"):
        _check_restored({"restored": restored}, CHANGES, 5.0)


def test_work_of_the_last_seconds_may_be_lost():
    _check_restored({"restored": 13}, CHANGES, 5.0)
    _check_restored({"restored": None}, CHANGES[-3:], 5.0)
