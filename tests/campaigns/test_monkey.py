"""A few gestures of the monkey, and that it sees what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.campaigns.campaign import Fault, attack
from tools.campaigns.monkey import Windows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")


@pytest.mark.slow
def test_gestures_at_random_break_nothing_and_what_breaks_is_seen(tmp_path: Path) -> None:
    # How long a gesture takes is the machine's affair.
    windows = Windows(tmp_path, hang_s=float("inf"))
    try:
        counts = attack(windows.case, seed=15, cases=60)
        assert not counts.faults, counts.faults[0][1]
        assert sum(map(len, windows.took_s.values())) == counts.outcomes.total() == 60
        for provoked, kind in (
            ("exception", "exception"), ("warning", "Qt"), ("print", "printed"),
        ):  # fmt: skip
            with pytest.raises(Fault, match="provoked") as seen:
                windows.provoke(provoked)
            assert seen.value.kind == kind
        windows.provoke("freeze")
        (dumped,) = tmp_path.glob("*/faulthandler.txt")
        assert "_stand_still" in dumped.read_text("utf-8")
        windows.kill()
        crashed = attack(windows.case, seed=15, first=60, cases=1)
        ((number, what),) = crashed.faults
        assert number == 60
        assert what.startswith("crash: exit status -11")
        assert "journal.txt" in what  # with the gestures before it
        assert "59 " in what
    finally:
        windows.close()
