"""What clicks and typed lines mean for the selection."""

import pytest

from geometry.checkpoints.errors import RangeError
from gui.state import selection as select


@pytest.mark.parametrize(
    ("before", "clicked", "keys", "after"),
    [
        ((4, 2), 7, {}, (7,)),
        # Shift adds and takes out.
        ((4, 2), 7, {"toggle": True}, (4, 2, 7)),
        ((4, 2), 4, {"toggle": True}, (2,)),
        # Control and Shift extend from the current one.
        ((9, 4), 7, {"toggle": True, "extend": True}, (9, 4, 5, 6, 7)),
        ((9, 4), 2, {"extend": True}, (9, 4, 3, 2)),
        ((), 2, {"toggle": True, "extend": True}, (2,)),
    ],
)
def test_clicks(before, clicked, keys, after):
    assert select.click(before, clicked, **keys) == after


def test_gathering_keeps_the_order():
    assert select.gather((9, 3, 5), (3, 4)) == (3, 4)
    assert select.gather((9, 3, 5), (3, 4), add=True) == (9, 5, 3, 4)
    assert select.gather((9, 3, 5), (3, 4), remove=True) == (9, 5)
    assert select.gather((9, 3, 5), (), add=True, remove=True) == (9, 3, 5)


def test_make_current_and_without():
    assert select.make_current((3, 1, 2), 1) == (3, 2, 1)
    assert select.without((3, 1, 2), 1, 3) == (2,)


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("", ()),
        (" 12 ", (12,)),
        ("13 – 10", (13, 12, 11, 10)),
        ("10−12", (10, 11, 12)),
        ("10..12", (10, 11, 12)),
        ("10 to 12", (10, 11, 12)),
        ("5;5, 6 5", (5, 6)),
        ("007", (7,)),
    ],
)
def test_reads_what_people_type(text, positions):
    assert select.read_positions(text, 100) == select.TypedPositions(positions)


@pytest.mark.parametrize("text", ["100", "5-100", "-5", "1-2-3", "0.5", "½", "²", "a"])
def test_refuses_the_rest_in_a_sentence(text):
    with pytest.raises(RangeError):
        select.read_positions(text, 100)


def test_selection_limit_and_extension():
    typed = select.read_positions("0-4999", 5_000)
    assert len(typed.positions) == select.SELECTION_LIMIT
    assert typed.dropped == 5_000 - select.SELECTION_LIMIT
    extended = select.click((0,), 9_999, extend=True)
    assert extended[-1] == 9_999
    assert len(extended) == select.SELECTION_LIMIT + 1
