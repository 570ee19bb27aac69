"""The loop that all campaigns share."""

from __future__ import annotations

import random
import sys

import pytest

from tools.campaigns.campaign import Fault, attack, main


def _case(random: random.Random) -> str:
    drawn = random.randrange(4)
    if drawn == 0:
        raise Fault("lost", "a byte")
    if drawn == 1:
        raise KeyError("a fault of ours")
    return "refused"


def test_a_campaign_counts_and_repeats_each_case() -> None:
    counts = attack(_case, seed=3, cases=40)
    assert counts.outcomes.total() == 40
    assert set(counts.outcomes) == {"lost", "traceback", "refused"}
    assert len(counts.faults) == counts.outcomes["lost"] + counts.outcomes["traceback"]
    number, what = counts.faults[0]
    assert attack(_case, seed=3, first=number, cases=1).faults[0][0] == number
    assert "lost: a byte" in what or "KeyError" in what


def test_a_case_over_its_budgets_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert attack(lambda _: "slow", seed=0, cases=1, budget_s=-1.0).faults[0][1].startswith("hang")
    if sys.platform == "linux":
        counts = attack(lambda _: str(len(bytearray(90 << 20))), seed=0, cases=1, budget_mb=60)
        assert counts.faults[0][1].startswith("memory")
    assert main(lambda _: "refused", "", cases=2, arguments=["--seed", "5"]) == 0
    assert "seed 5" in capsys.readouterr().out
