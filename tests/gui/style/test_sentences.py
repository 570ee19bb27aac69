"""Messages of the library as the window shows them."""

import pytest

from gui.style.sentences import thin_spaced

THIN = "\N{THIN SPACE}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The first 4,096 of 8,192 are shown.", f"The first 4{THIN}096 of 8{THIN}192 are shown."),
        ("at most 1,234,567 numbers", f"at most 1{THIN}234{THIN}567 numbers"),
        ("rows 3,4 and 1,2345 of a,b", "rows 3,4 and 1,2345 of a,b"),
    ],
)
def test_numbers_have_thin_spaces(text, shown):
    assert thin_spaced(text) == shown
