"""A short run of the campaign of files that change, which finds the fault that it looks for."""

from geometry.checkpoints.stores import LocalFile
from tools.campaigns.campaign import attack
from tools.campaigns.changing_files import case


def test_no_number_is_of_two_versions():
    counts = attack(case, seed=1, cases=60)
    assert counts.faults == []
    assert {"read", "changed", "not opened"} <= counts.outcomes.keys()


def test_without_the_check_numbers_are_mixed(monkeypatch):
    monkeypatch.setattr(LocalFile, "_compare", lambda file, now: None)
    counts = attack(case, seed=1, cases=60)
    assert counts.outcomes["mixed"] > 0
