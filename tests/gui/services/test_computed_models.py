"""Tables that are computed, opened in the window: what every panel shows of them, or says."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.window.docks import BOTTOM, DOCKS

LACKING = {
    "capture": "computed: there are no tokens",
    "overlaps": "computed: there are no layers",
    "layernorm": "computed: there are no tokens",
    "kernels": "computed: there are no layers",
    "training": "comes without a history",
}
"""What a table alone cannot show, and words of the reason."""


@pytest.mark.parametrize("source", ["sinusoidal:128x32", "synthetic:helix,n=128,d=32,offset=1"])
def test_every_panel_shows_it_or_says_why_not(show_model, wait_until_idle, source):
    app = show_model(source)
    window = app.window
    for dock in (dock for dock in DOCKS if dock.lazy and dock.area == BOTTOM):
        window.docks[dock.name].raise_()
        wait_until_idle(app)
        panel = window.panels[dock.name]
        if dock.name in LACKING:
            assert panel.result is None
            assert LACKING[dock.name] in panel.words.message.text()
            assert panel.words.advice.text().endswith(".")
        else:
            assert panel.result is not None, f"{dock.name}: {panel.words.message.text()}"
            assert panel.figure()() is not None
            assert panel.numbers()
    assert app.session.notice is None


def test_the_caption_says_that_it_is_computed(show_model):
    app = show_model("sinusoidal:64x16")
    said = app.window.viewport.scene.state.caption[0]
    assert said == "sinusoidal-64x16 · positions 1–63 · centred · computed, not learned"


def test_it_is_typed_into_the_search_and_remembered(show_model, wait_until_idle):
    app = show_model("sinusoidal:64x16")
    panel = app.window.docks["models"].widget()
    panel.search.setFocus()
    QTest.keyClicks(panel.search, "sinusoidal:48x12")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    wait_until_idle(app)
    assert app.session.model.W_pos.shape == (48, 12)
    assert app.session.recent[:2] == ("sinusoidal:48x12", "sinusoidal:64x16")
    (line,) = panel.list.open_lines()
    assert (line.source, line.state) == ("sinusoidal:48x12", "open")


def test_a_size_that_cannot_be_is_a_notice(show_model, wait_until_idle):
    app = show_model("sinusoidal:64x16")
    app.controller.open("sinusoidal:64")
    wait_until_idle(app)
    assert "should end in positions x dimensions" in app.session.notice.text
    assert app.session.model.n_positions == 64
