"""Looking back in heads, through real events."""

import numpy as np
from PySide6.QtTest import QTest

from gui.panels.lookback.question import HeadsLookBackOf
from gui.style.theme import format_number
from tests.gui.panels.lookback.lookback_stage import LEFT, NONE, curves, guide, head_table


def test_heads_are_listed_with_the_lag_they_prefer(heads, gpt2):
    assert heads.view().question == HeadsLookBackOf((1, 63), "even_odd")
    back = heads.result.back
    assert [row.position for row in head_table(heads).rows] == [0, 1]
    lag = heads.controls.number.value
    for head, row in enumerate(head_table(heads).rows):
        r2 = [side[head].r2["screw"][lag - 1] for side in (back.queries, back.keys)]
        assert row.cells == (str(head), str(back.preferred[head]), *map(format_number, r2))
    assert guide(gpt2) is None
    assert not heads.controls.play.isEnabled()
    assert "head 0, N = " in heads.caption()


def test_a_click_shows_a_head(heads):
    table = head_table(heads)
    at = table.visualRect(table.model().index(1, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, NONE, at)
    assert heads.choices.head == 1
    found = curves(heads, "R²")
    np.testing.assert_allclose(found["queries"].y, heads.result.back.queries[1].r2["screw"])
    np.testing.assert_allclose(found["keys"].y, heads.result.back.keys[1].r2["screw"])
    assert "head 1, N = " in heads.caption()


def test_the_list_of_heads_follows_the_lag(heads, qtbot):
    before = head_table(heads).rows
    heads.controls.number.slider.setValue(2)
    qtbot.waitUntil(lambda: head_table(heads).rows != before)
    assert head_table(heads).rows[0].cells[2] == format_number(
        heads.result.back.queries[0].r2["screw"][1]
    )


def test_a_bare_table_has_no_heads_but_positions(panel):
    QTest.mouseClick(panel.controls.widgets["space"].buttons["heads"], LEFT)
    assert "bare table" in panel.words.message.text()
    QTest.mouseClick(panel.controls.widgets["space"].buttons["3"], LEFT)
    assert panel.result is not None
