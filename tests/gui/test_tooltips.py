"""Tooltips break into lines."""

from gui.tooltips import LINE, wrapped


def test_long_lines_break_and_short_ones_stay():
    text = "Position 3\n" + "word " * 40
    lines = wrapped(text).split("\n")
    assert lines[0] == "Position 3"
    assert len(lines) > 3
    assert all(len(line) <= LINE for line in lines)
    assert " ".join(lines[1:]) == ("word " * 40).strip()


def test_numbers_and_units_stay_together_and_long_words_break():
    assert "2.9\u00a0%" in wrapped("x" * 57 + " 2.9\u00a0%")
    assert max(map(len, wrapped("y" * 300).split("\n"))) == LINE
    assert wrapped("") == ""
