"""Measuring between two positions: the session, the scene, the inspector, the page."""

import numpy as np
import pytest
from PySide6.QtTest import QTest

from geometry.measures.neighbours import PairDistance
from gui.export.scene_guides import guide_traces
from gui.scene.scene import COMPACT_CORNER
from gui.scene.scene_state import resolve_scene
from gui.services.pair_measuring import SLOT, pair_text
from gui.side_panels.cards import PairCard
from gui.style.theme import LIGHT, SMALL
from tests.gui.result_stage import LEFT


def apart(session, first, second):
    points = session.curve.coordinates
    return float(np.linalg.norm(points[second] - points[first]))


def test_the_last_two_are_measured_as_shown_and_in_all_dimensions(opened, controller):
    controller.select((9, 50, 120))
    pair, rows = opened.pair, opened.model.W_pos
    assert pair.positions == (50, 120)
    assert pair.shown == pytest.approx(apart(opened, 50, 120))
    assert pair.distance == pytest.approx(np.linalg.norm(rows[120] - rows[50]))
    assert (pair.steps, pair.d_model) == (70, 24)
    opened.components = (4, 5, 6)
    assert opened.pair.shown == pytest.approx(apart(opened, 50, 120))
    assert opened.pair.distance == pair.distance
    controller.select((9,))
    assert opened.pair is None


def test_the_line_is_there_while_it_is_wanted_and_both_ends_are_seen(opened, controller):
    controller.select((50, 120))
    assert SLOT not in opened.guides
    opened.measure = True
    (line,) = opened.guides[SLOT].lines
    np.testing.assert_allclose(line, opened.curve.coordinates[[50, 120]])
    assert pair_text(opened.pair) in resolve_scene(opened).caption
    controller.request_positions(60, 150)
    assert SLOT not in opened.guides
    assert opened.pair.positions == (50, 120)
    opened.outside = "faint"
    np.testing.assert_allclose(opened.guides[SLOT].lines[0], opened.curve.coordinates[[50, 120]])
    controller.select((120,))
    assert SLOT not in opened.guides
    controller.select((120, 121))
    opened.measure = False
    assert SLOT not in opened.guides


def test_another_model_is_measured_anew(opened, controller, write_table, helix):
    controller.select((50, 120))
    opened.measure = True
    controller.open(str(write_table(3 * helix(), "large")))
    assert opened.pair.distance == pytest.approx(
        np.linalg.norm(3 * (helix()[120] - helix()[50])), rel=1e-6
    )
    assert opened.guides[SLOT].caption == pair_text(opened.pair)
    controller.open(str(write_table(helix(100), "short")))
    assert opened.selection == (50,)
    assert opened.pair is None
    assert SLOT not in opened.guides


def test_the_caption_names_both_distances_the_unit_and_the_steps():
    pair = PairDistance((300, 5), 2.1344, 13.35, -0.6024, 768)
    said = pair_text(pair)
    for part in ("300 and 5, 295 steps:", "2.134 apart in view", "13.350 in all 768 dimensions",
                 "the table’s units", "cosine\N{NO-BREAK SPACE}\N{MINUS SIGN}0.602"):  # fmt: skip
        assert part in said
    assert "1 step:" in pair_text(PairDistance((4, 5), 1, 1, 1, 8))


def test_the_line_and_its_length_are_drawn(opened, controller, stage):
    controller.select((50, 120))
    made = stage(size=(640, 480))
    before = made.show(opened)
    opened.measure = True
    after = made.show(opened)
    ends, _ = made.pixels()
    middle = (ends[50] + ends[120]) / 2
    # The text is beside the middle, and the line goes through it.
    line = ends[50] + np.linspace(0.1, 0.9, 40)[:, None] * (ends[120] - ends[50])
    x, y = np.round(line).astype(int).T
    changed = np.abs(after.astype(int) - before).max(axis=2)[y, x] > 60
    assert changed.mean() > 0.5
    text = next(t for t in made.scene._marks.labels.texts if t.text == f"{opened.pair.shown:.3f}")
    left, bottom, right, top = text.box(72)
    middle[1] = 479 - middle[1]
    assert np.abs(np.array([(left + right) / 2, (bottom + top) / 2]) - middle).max() < 60


def test_captions_of_small_views_are_broken_and_stay_legible(opened, controller, stage):
    controller.select((50, 120))
    opened.measure = True
    made = stage(size=(420, 320))
    made.scene.compact = True
    made.show(opened)
    caption = made.scene._caption
    assert caption.text.replace("\n", " ") == pair_text(opened.pair)
    assert caption.box(72)[2] < 420 - 2 * COMPACT_CORNER[0]
    assert caption._prop.GetFontSize() == SMALL
    made.scene.compact = False
    made.show(opened)
    assert pair_text(opened.pair) in caption.text.split("\n")


def test_line_of_a_pair_in_pages_and_drags(opened, controller):
    controller.select((50, 120))
    opened.measure = True
    traces = guide_traces(resolve_scene(opened), LIGHT)
    assert [trace["mode"] for trace in traces] == ["lines", "text"]
    assert traces[1]["text"] == [f"{opened.pair.shown:.3f}"]
    middle = [float(traces[1][axis][0]) for axis in "xyz"]
    np.testing.assert_allclose(
        middle, opened.curve.coordinates[[50, 120]].mean(axis=0), rtol=1e-5, atol=1e-5
    )
    opened.measure = opened.dragging = True
    for first in range(1, 40, 4):
        controller.request_positions(first, 199)
        state = resolve_scene(opened)
        (guide,) = state.guides
        np.testing.assert_allclose(guide.lines[0], state.coordinates[[50, 120]], atol=1e-5)
    opened.dragging = False
    assert opened.pair.shown == pytest.approx(apart(opened, 50, 120))


def test_measuring_two_positions_and_undo(application, qtbot):
    window, session = application.window, application.session
    view = window.viewport.interactor
    view.setFocus()
    application.controller.select((50, 120))
    QTest.keyClicks(view, "m")
    assert session.measure
    assert SLOT in session.guides
    assert window.commands.by_name["measure"].isChecked()
    assert window.panels["inspector"].pair.line.isChecked()
    window.undo.undo()
    assert SLOT not in session.guides
    assert not window.commands.by_name["measure"].isChecked()
    card = window.panels["inspector"].pair
    application.controller.select((50,))
    assert not card.isVisibleTo(window)
    application.controller.select((120, 50))
    assert card.title.text() == "From 120 to 50"
    assert card.distance.value.accessibleName() == "In 24-D"
    said = [n.value.text() for n in (card.shown, card.distance, card.cosine, card.steps)]
    pair = session.pair
    wanted = [f"{v:.3f}" for v in (pair.shown, pair.distance, pair.cosine)]
    assert said == [text.replace("-", "\N{MINUS SIGN}") for text in (*wanted, "-70")]
    qtbot.mouseClick(card.line, LEFT)
    assert session.measure
    qtbot.mouseClick(card.line, LEFT)
    assert not session.measure
    # Without two, it is said how to select them.
    application.controller.select(())
    QTest.keyClicks(view, "m")
    assert "Shift-click" in window.status_bar.currentMessage()


def test_every_number_of_the_card_names_its_unit(qtbot):
    card = PairCard()
    qtbot.addWidget(card)
    card.show_pair(PairDistance((0, 2), 1.0, 2.0, 0.5, 1024), drawn=False)
    for number in (card.shown, card.distance):
        assert "the table's own units" in " ".join(number.toolTip().split())
    assert "without a unit" in card.cosine.toolTip()
    assert "positions" in card.steps.toolTip()
    assert card.distance.value.accessibleName() == "In 1\N{THIN SPACE}024-D"
