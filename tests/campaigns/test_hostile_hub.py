"""A few scenarios of the campaign against the Hub's client."""

from __future__ import annotations

import pytest

from tools.campaigns.campaign import attack
from tools.campaigns.hostile_hub import BUDGET_MB, BUDGET_S, case


@pytest.mark.slow
def test_a_hub_that_answers_with_anything() -> None:
    counts = attack(case, seed=15, cases=8, budget_s=BUDGET_S, budget_mb=BUDGET_MB)
    assert not counts.faults, counts
    assert {outcome.partition(": ")[2] for outcome in counts.outcomes} == {"opened", "refused"}
