"""Looking back in heads, through real events."""

import numpy as np
from PySide6.QtTest import QTest

from gui.panels.lookback_question import HeadsLookBackOf
from gui.style.theme import format_number
from tests.gui.panels.lookback.lookback_stage import LEFT, NONE, guide


def test_heads_are_listed_with_the_lag_they_prefer(heads, stage):
    assert heads.answered == HeadsLookBackOf((1, 63), "even_odd")
    back = heads.result.back
    assert [row.position for row in heads.heads.rows] == [0, 1]
    lag = heads.lag.value
    for head, row in enumerate(heads.heads.rows):
        r2 = [side[head].r2["screw"][lag - 1] for side in (back.queries, back.keys)]
        assert row.cells == (str(head), str(back.preferred[head]), *map(format_number, r2))
    assert guide(stage) is None
    assert not heads.play.isEnabled()
    assert "head 0, N = " in heads.header.caption.text()


def test_a_click_shows_a_head(heads):
    table = heads.heads
    at = table.visualRect(table.model().index(1, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, NONE, at)
    queries, keys = heads.plots._lines[heads.plots.fits]
    np.testing.assert_allclose(queries.values, heads.result.back.queries[1].r2["screw"])
    np.testing.assert_allclose(keys.values, heads.result.back.keys[1].r2["screw"])
    assert "head 1, N = " in heads.header.caption.text()


def test_the_list_of_heads_follows_the_lag(heads, qtbot):
    before = heads.heads.rows
    heads.lag.slider.setValue(2)
    qtbot.waitUntil(lambda: heads.heads.rows != before)
    assert heads.heads.rows[0].cells[2] == format_number(
        heads.result.back.queries[0].r2["screw"][1]
    )


def test_a_bare_table_has_no_heads_but_positions(panel):
    QTest.mouseClick(panel.space.buttons["heads"], LEFT)
    assert "bare table" in panel.message.text()
    QTest.mouseClick(panel.space.buttons["3"], LEFT)
    assert panel.result is not None
