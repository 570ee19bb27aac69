"""A range that was asked for, and what of it a table has."""

import pytest

from gui.scene.shown_range import inside


@pytest.mark.parametrize(
    ("asked", "shown"),
    [((3, 9), (3, 9)), ((9, 3), (3, 9)), ((-5, 900), (0, 99)), ((500, 200), (99, 99)),
     ((-1, -7), (0, 0)), ((100, 99), (99, 99))],
)  # fmt: skip
def test_a_range_is_in_order_and_inside_the_table(asked, shown):
    assert inside(asked, 100) == shown
