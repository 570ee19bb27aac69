"""The time that work still takes."""

import pytest

from gui.style.theme import LIGHT
from gui.widgets.time_left import TimeLeft
from gui.widgets.working_strip import WorkingStrip


@pytest.fixture
def left():
    """Return an estimate whose clock is set."""
    now = [0.0]
    estimate = TimeLeft(lambda: now[0])

    def after(seconds, share):
        now[0] = seconds
        return estimate.text(share)

    return after


def test_it_follows_from_the_mean_rate(left):
    assert left(0, 0.0) == ""
    assert left(0.1, 0.01) == ""  # too early
    assert left(2, 0.2) == "8 s left"
    assert left(5, 0.25) == "15 s left"
    assert left(9.9, 0.99) == "1 s left"


def test_what_was_done_before_does_not_count(left):
    assert left(0, 0.5) == ""
    assert left(10, 0.6) == "40 s left"


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, "50 s left"), (0.25, "2 min left"), (0.01, "1.4 h left"), (0.001, "13.9 h left")],
)
def test_units(left, share, expected):
    left(0, 0.0)
    assert left(50, share) == expected


def test_short_work_and_unknown_shares_have_none(left):
    assert left(0, 0.0) == left(0.9, 0.6) == ""
    assert left(60, None) == ""
    assert left(61, 0.6) == ""  # begins there


def test_a_smaller_share_begins_other_work(left):
    left(0, 0.0)
    assert left(50, 0.5) == "50 s left"
    assert left(51, 0.1) == ""
    assert left(53, 0.2) == "16 s left"


def test_the_strip_shows_it(qtbot, monkeypatch):
    strip = WorkingStrip(LIGHT)
    qtbot.addWidget(strip)
    monkeypatch.setattr(strip.time_left, "_clock", iter([0.0, 4.0, 5.0, 900.0]).__next__)
    for share, expected in ((0.0, ""), (0.1, "36 s left"), (0.5, "5 s left")):
        strip.show_progress(share, "Drawing")
        assert strip.left.text() == expected
    strip.show_progress(0.5, "Drawing", of="another question")
    assert strip.left.text() == ""
    strip.show_cancelled()
    assert strip.left.isHidden()
