"""The third lesson: what the user measures in Effects is told, and links open layers."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from geometry.inside.worker import WorkerProgress
from gui.services import effects as module
from gui.style.theme import format_percent
from tests.gui.lesson_stage import LEFT, LessonStage

COSTS = {"top 0": 1.6, "top 1": 1.2, "top 2": 0.8, "top 3": 0.0, "fitted helix": 0.08}
OF_LAYER = 0.25
"""What a layer costs, as a share of what the table costs."""
MOVED = ((0.1, 0.1, 0.8, 0.9), (0.6, 0.7, 0.2, 0.1))


def costs(layer, changes):
    """What is measured: every change but the first components costs as much as no positions."""
    share = 1.0 if layer is None else OF_LAYER
    common = {"low": share * 1.5, "high": share * 1.7, "why": "", "by_window": []}
    common["attention"] = MOVED if layer else []
    return [{"name": name, "delta": share * COSTS.get(name, 1.6), **common} for name in changes]


@pytest.fixture
def requests(monkeypatch):
    """What was to be measured, in place of the process that does it."""
    made = []

    def at_once(measure, **request):
        made.append((measure, request["source"], request["layer"]))
        yield WorkerProgress("as it is", 1, 2)
        effects = costs(request["layer"], request["changes"])
        return {"baseline": 4.0, "windows": 4, "effects": effects}

    monkeypatch.setattr(module, "run_in_subprocess", at_once)
    return made


@pytest.fixture
def stage(show_model, requests, qtbot):
    """The third lesson on the bundled model."""
    stage = LessonStage(qtbot, show_model("sample"))
    stage.begin()
    stage.panel.choice.setFocus()
    QTest.keyClick(stage.panel.choice, Qt.Key.Key_End)
    stage.settle()
    step(stage, "A network without positions", Qt.Key.Key_F7)
    yield stage
    stage.window.lesson_player.leave()


def effects(stage):
    return stage.window.built_panels["effects"]


def text(stage):
    """What can be read, in one line with plain spaces."""
    return " ".join(stage.text.split())


def measure(stage, qtbot, says):
    """Press Measure; what was measured is in the text soon."""
    assert says not in text(stage)
    QTest.mouseClick(effects(stage).content.measure, LEFT)
    qtbot.waitUntil(lambda: says in text(stage))
    assert "Press Measure" not in text(stage)


def step(stage, title, key=Qt.Key.Key_F8):
    """Go to a step by a key."""
    for _ in stage.session.lesson.steps:
        if stage.panel.title.text() != title:
            stage.press(key)
    stage.settle()
    assert stage.panel.title.text() == title


def open_by_link(stage, qtbot, words, name):
    """Click a link at its beginning, as it may go on in another line; the step stays."""
    title, page = stage.panel.title.text(), stage.panel.page
    place = QTextCursor(page.document())
    place.setPosition(page.document().find(words).selectionStart() + 1)
    QTest.mouseClick(page.viewport(), LEFT, pos=page.cursorRect(place).center() + QPoint(1, 0))
    qtbot.waitUntil(lambda: stage.session.model.name == name)
    stage.settle()
    assert stage.panel.title.text() == title
    assert stage.session.notice is None


@pytest.mark.slow
def test_the_lesson_goes_on_with_what_was_measured(stage, requests, qtbot):
    assert "Press Measure in the panel: texts run" in text(stage)
    measure(stage, qtbot, "Without positions it grows by 1.600")
    assert requests == [("effects", "sample", None)]
    assert "The loss is 4.000 nats" in text(stage)
    step(stage, "Three components")
    assert "One component keeps 25 % of what positions are worth, two keep 50 %, three 100 %" in (
        text(stage)
    )
    assert "Press Measure" not in text(stage)
    step(stage, "The helix, and nothing else")
    assert "The fitted helix keeps 95 %" in text(stage)
    assert "So the helix is nearly enough" in text(stage)
    assert effects(stage).content.helix.isVisible()
    effects(stage).content.sliders["Pitch"].field.setValue(0)
    measure(stage, qtbot, "Your own helix, 1 × radius and 0 × pitch, keeps nothing.")
    step(stage, "Wrong positions")
    assert "This costs 1.600 nats" in text(stage)
    assert "worse than none" not in text(stage)
    # Going back and forth asks for nothing more.
    step(stage, "Three components", Qt.Key.Key_F7)
    assert "One component keeps 25 %" in text(stage)
    assert len(requests) == 2


@pytest.mark.slow
def test_links_open_layers_and_the_table_again(stage, requests, qtbot):
    measure(stage, qtbot, "Without positions it grows by 1.600")
    step(stage, "Inside the network")
    assert stage.in_front("training")
    open_by_link(stage, qtbot, "Open its layers", "sample · layer 0")
    tables = stage.session.model.store.tables
    share = format_percent(float(tables.share[0]), 1).replace("\N{NO-BREAK SPACE}", " ")
    qtbot.waitUntil(lambda: f"In layer 0 position makes {share} of" in text(stage))
    qtbot.waitUntil(lambda: stage.session.timeline is not None)
    slider = stage.window.built_panels["training"].content.player.slider
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: stage.session.snapshot == 2)
    step(stage, "A mean that looks like a result")
    assert stage.session.snapshot is None
    windows, cosines = int(tables.windows.sum()), tables.halves_cosine
    assert f"{windows} windows of text were averaged" in text(stage)
    assert f"{cosines[0]:.2f} in layer 0 and of {cosines[2]:.2f} in layer 2" in text(stage)
    assert f"In all, {(cosines >= 0.9).sum()} of 3 layers are resolved" in text(stage)
    step(stage, "Who reads what is left")
    assert "Layer 0 is open" in text(stage)  # and nothing was measured in it
    open_by_link(stage, qtbot, "layer 1 of the bundled model", "sample · layer 1")
    measure(stage, qtbot, "Without pos in layer 1 the loss grows by 0.400")
    assert requests[1:] == [("effects", "sample", "sample/inside/layer 1")]
    assert effects(stage).choices.run.heads
    assert "65 % of the attention of heads 0 and 1 moves to other tokens" in text(stage)
    assert "of that of the other heads, 20 % at most" in text(stage)
    step(stage, "A network without positions", Qt.Key.Key_F7)
    assert "grows by 0.400" in text(stage)
    open_by_link(stage, qtbot, "open the bundled model", "sample")
    qtbot.waitUntil(lambda: "Press Measure" in text(stage))  # that was about a layer
    assert len(requests) == 2
