"""Tables that are computed: what every panel shows of them, or says."""

import pytest

from gui.panels.table import PANELS
from gui.scene.scene_state import resolve_scene
from tests.gui.result_stage import ResultStage, enter

LACKING = {
    "capture": "computed: there are no tokens",
    "overlaps": "computed: there are no layers",
    "layernorm": "computed: there are no tokens",
    "kernels": "computed: there are no layers",
    "rotary": "does not turn queries and keys",
    "training": "no training history",
}
"""What a table alone cannot show, and words of the reason."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PANELS)
def test_every_panel_shows_it_or_says_why_not(qtbot, name):
    stage = ResultStage(qtbot, name)
    panel = stage.panel
    for source in ("sinusoidal:128x32", "synthetic:helix,n=128,d=32,offset=1"):
        stage.open(source)
        if name in LACKING:
            assert panel.result is None
            assert LACKING[name] in panel.words.message.text()
            assert panel.words.advice.text().endswith(".")
        else:
            assert panel.result is not None, panel.words.message.text()
            assert panel.figure()() is not None
            assert panel.numbers()


def test_the_caption_and_a_notice_say_that_it_is_computed(session, controller):
    controller.open("sinusoidal:64x16")
    said = resolve_scene(session).caption[0]
    assert said == "sinusoidal-64x16 · positions 1–63 · centred · computed, not learned"
    controller.open("sinusoidal:64")
    assert "should end in positions x dimensions" in session.notice.text
    assert session.model.n_positions == 64


def test_it_is_typed_into_the_search_and_remembered(application, wait_until_idle):
    panel = application.window.built_panels["models"]
    enter(panel.search, "sinusoidal:48x12")
    wait_until_idle(application)
    assert application.session.model.W_pos.shape == (48, 12)
    assert application.session.recent[0].id == "sinusoidal:48x12"
    (line,) = panel.list.open_lines()
    assert (line.source, line.state) == ("sinusoidal:48x12", "open")
