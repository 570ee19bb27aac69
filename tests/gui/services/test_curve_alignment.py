"""A second curve laid over the shown one: which, how, and what becomes of it."""

import gc
import weakref

import numpy as np
import pytest
import scipy.spatial
from scipy.stats import ortho_group

from geometry.checkpoints.column_files import PositionColumn
from geometry.checkpoints.errors import SourceError
from geometry.history.history import in_memory
from geometry.measures.alignment import in_basis, share_held
from geometry.models.sources.source import Source
from gui.export.pictures import render_scene
from gui.scene.scene_state import resolve_scene
from gui.services.alignment import BEADS, NO_STEPS, SLOT, WAITING, CurveAligner, is_tangled
from gui.services.alignment_text import caption, readout
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.state.camera import CameraPose
from gui.state.session import OpenModel, Session
from gui.style.theme import LIGHT
from tests.gui.aligned_stage import KEY, Beside, lines
from tests.gui.conftest import D_MODEL
from tests.gui.open_models import add_beside, show_others


@pytest.fixture
def beside(opened, controller, write_table):
    return Beside(controller, write_table)


@pytest.fixture
def copy(helix):
    """The small helix, turned and mirrored in all its dimensions, twice as large, and elsewhere."""
    turn = ortho_group.rvs(D_MODEL, random_state=3)
    return 2.0 * helix() @ turn + 5.0


@pytest.mark.parametrize(("how", "left"), [("scaled", 0.0), ("turned", 1.0)])
def test_a_copy_lies_on_the_curve_itself(opened, beside, copy, how, left):
    beside(copy)
    opened.alignment = CurveAlignment(OfOther(KEY), how)
    aligned = opened.aligned
    assert aligned.alignment.disparity < 1e-12
    assert aligned.alignment.unexplained == pytest.approx(left, abs=1e-12)
    assert aligned.alignment.scale == pytest.approx(0.5 if how == "scaled" else 1)
    assert aligned.more.whole < 1e-10, "in all dimensions too"
    first, last = aligned.positions
    assert (first, last) == aligned.onto == opened.positions
    if how == "scaled":
        ours = opened.curve.coordinates[first : last + 1]
        np.testing.assert_allclose(lines(opened), ours, atol=1e-9)
    said = resolve_scene(opened).caption[-1]
    assert said.startswith("blue: other · positions 1–199\n")
    assert ("scaled × 0.500 · " in said) == (how == "scaled")
    assert "disparity 0.000 · RMS " in said


def test_it_begins_at_the_shown_curves_size_and_each_has_a_hue(opened, beside, copy):
    beside(copy)
    opened.colormap = "viridis"
    opened.alignment = CurveAlignment(OfOther(KEY))
    assert opened.aligned.alignment.scale == pytest.approx(0.5)
    state = resolve_scene(opened)
    assert state.scale.colormap == "orange"
    assert state.legend == (("helix · 1–199", "orange"), ("other · 1–199", "blue"))
    (guide,) = state.guides
    np.testing.assert_array_equal(guide.along, np.arange(1, 200))
    opened.alignment = CurveAlignment(OfOther(KEY), coloring="grey")
    state = resolve_scene(opened)
    assert state.scale.colormap == "viridis", "it keeps its colours"
    assert state.legend == (("helix · 1–199", "viridis"), ("other · 1–199", "grey"))
    opened.alignment = CurveAlignment(OfOther(KEY), coloring="matched")
    state = resolve_scene(opened)
    assert (state.scale.colormap, state.legend) == ("viridis", ())
    assert state.caption[-1].startswith("thin line: other · ")
    kinds = PositionColumn("kind", "a.csv", ("a", "b") * 100)
    opened.change(color_by="column", color_column=kinds)
    opened.alignment = CurveAlignment(OfOther(KEY))
    state = resolve_scene(opened)
    assert state.scale.categories == ("a", "b"), "they keep their colours, and no hue"
    assert state.legend[0] == ("helix · 1–199", state.scale.colormap)
    assert state.scale.colormap != "orange"
    opened.change(color_by="position", alignment=None)
    assert resolve_scene(opened).scale.colormap == "viridis"


@pytest.mark.parametrize("compact", [False, True], ids=["whole", "compact"])
def test_both_are_drawn_in_their_hues_with_a_legend(opened, beside, helix, compact):
    beside(helix(120, 16, 9))
    pose = CameraPose(np.array([0.0, 0, 30]), np.zeros(3), np.array([0.0, 1, 0]), 5.0)

    def hues():
        """The pixels that are orange, and blue: of the whole picture, and at its upper left."""
        drawn = render_scene(resolve_scene(opened), LIGHT, pose, (400, 300), compact=compact)
        red, _, blue = np.moveaxis(drawn[..., :3].astype(int), -1, 0)
        seen = red - blue > 80, blue - red > 80
        return [int(one.sum()) for one in seen], [int(one[:60, :80].sum()) for one in seen]

    opened.colormap = "viridis"
    opened.alignment = CurveAlignment(OfOther(KEY))
    whole, legend = hues()
    assert min(legend) > 80
    assert min(whole) > min(legend) + 100, "the curves too"
    opened.alignment = None
    assert hues()[1] == [0, 0]


def test_mirrored_only_if_it_may_be(opened, beside, helix):
    table = helix()
    pca = opened.pca
    flip = np.eye(D_MODEL) - 2 * np.outer(pca.components[0], pca.components[0])
    flip -= 2 * np.outer(pca.components[5], pca.components[5])
    beside(table @ flip)
    seen = {}
    for mirrored in (True, False):
        opened.alignment = CurveAlignment(OfOther(KEY), "turned", mirrored=mirrored)
        seen[mirrored] = opened.aligned.alignment
        assert ("reflected and rotated" in caption(opened.aligned)) == seen[mirrored].mirrors
    assert not seen[False].mirrors
    # Components' signs are arbitrary: whether this one is seen as its mirror image, too.
    assert seen[True].disparity < 1e-12
    assert seen[True].mirrors == (seen[False].disparity > 1e-3)


def test_rows_are_matched_by_position_and_it_can_be_taken_off_again(opened, beside, helix, copy):
    other = beside(helix(120, 16, 9), (10, 80))
    opened.positions = (30, 150)
    opened.alignment = CurveAlignment(OfOther(KEY))
    aligned = opened.aligned
    assert aligned.positions == aligned.onto == (30, 80)
    assert aligned.more.whole is None, "the widths differ"
    theirs = other.session.curve.coordinates[30:81]
    ours = opened.curve.coordinates[30:81]
    expected = scipy.spatial.procrustes(ours, theirs)[2]
    assert aligned.alignment.disparity == pytest.approx(expected)
    assert f"disparity {expected:.3f}" in readout(aligned)
    (guide,) = resolve_scene(opened).guides
    np.testing.assert_array_equal(guide.matched, np.arange(30, 81))
    np.testing.assert_array_equal(guide.points, guide.lines[0])
    assert len(resolve_scene(opened).guides) == 1
    opened.alignment = None
    assert resolve_scene(opened).guides == ()
    assert opened.aligned is None


def test_many_positions_get_few_beads_unless_they_are_a_tangle(opened, beside, helix, copy):
    beside(copy)
    opened.alignment = CurveAlignment(OfOther(KEY))
    (guide,) = resolve_scene(opened).guides
    assert len(guide.lines[0]) == 199
    assert len(guide.points) == 50 <= BEADS
    np.testing.assert_array_equal(guide.points, guide.lines[0][::4])
    np.testing.assert_array_equal(guide.matched, np.arange(1, 200, 4))
    assert not guide.pale
    beside(np.random.default_rng(1).normal(size=copy.shape), None, "noise")
    opened.alignment = CurveAlignment(OfOther(KEY + 1))
    (guide,) = resolve_scene(opened).guides
    assert guide.pale
    assert len(guide.points) == len(guide.lines[0])
    assert not is_tangled(np.zeros((3, 3)))


def test_it_follows_both_curves(opened, beside, copy):
    other = beside(copy)
    opened.alignment = CurveAlignment(OfOther(KEY))
    opened.positions = (20, 120)
    assert opened.aligned.positions == (20, 120)
    assert len(lines(opened)) == 101
    opened.components = (2, 1, 3)
    (guide,) = resolve_scene(opened).guides
    assert guide.components == (2, 1, 3)
    assert "PC\N{NO-BREAK SPACE}1, 2, 3\n" in guide.caption, "its own are named where they differ"
    other.session.positions = (50, 70)
    assert opened.aligned.positions == (50, 70)
    other.session.components = (2, 1, 3)
    assert "PC\N{NO-BREAK SPACE}2" not in resolve_scene(opened).caption[-1]
    assert opened.aligned.alignment.disparity > 1e-6, "components of other ranges are others"
    opened.positions = (50, 70)
    assert opened.aligned.alignment.disparity < 1e-12
    other.session.positions = (150, 160)
    assert opened.aligned is None
    assert opened.not_aligned == "The positions 150–160 and 50–70 do not overlap."
    assert resolve_scene(opened).guides == ()


def test_alignment_goes_with_its_model(opened, controller, beside, copy):
    other = beside(copy)
    opened.alignment = CurveAlignment(OfOther(KEY))
    assert SLOT in opened.guides
    controller.comparing.clear()
    assert (opened.alignment, opened.aligned, opened.not_aligned) == (None, None, "")
    assert opened.guides == {}
    other.session.positions = (10, 20)
    assert opened.guides == {}
    other = beside(copy, (40, 40))
    opened.alignment = CurveAlignment(OfOther(other.key))
    assert opened.not_aligned == "An alignment needs at least two positions that differ."


def test_what_is_still_read_is_waited_for(opened, write_table, copy):
    other = Controller(Session(), InlineJobs())
    path = str(write_table(copy, "slow"))
    show_others(opened, OpenModel(KEY, Source.parse(path), "slow", other.session))
    opened.alignment = CurveAlignment(OfOther(KEY))
    assert (opened.aligned, opened.not_aligned) == (None, "slow is loading…")
    other.open(path)
    assert opened.aligned is not None
    assert opened.not_aligned == ""
    other.close()


def test_another_open_model_keeps_what_lies_over_it(opened, controller, write_table, copy):
    key = controller.comparing.add(str(write_table(copy, "other")))
    opened.alignment = CurveAlignment(OfOther(key), "scaled")
    controller.open(str(write_table(copy[:90] * 3, "next")))
    assert opened.model.n_positions == 90
    assert opened.aligned.positions == (1, 89)
    assert opened.aligned.alignment.scale == pytest.approx(3, rel=1e-4)
    assert len(lines(opened)) == 89


def test_another_models_rows_in_the_shown_components(opened, beside, helix):
    table = helix(seed=11)
    beside(table + 40.0)
    opened.alignment = CurveAlignment(OfOther(KEY), "basis")
    rows = table[1:] + 40.0
    expected = in_basis(rows, opened.pca, (1, 2, 3), "own")
    np.testing.assert_allclose(lines(opened), expected, atol=1e-9)
    more = opened.aligned.more
    assert more.held == pytest.approx(share_held(rows, opened.pca))
    assert more.own > 0.95 > more.held
    held = f"explain {100 * more.held:.1f}\N{NO-BREAK SPACE}% of its variance"
    assert held in readout(opened.aligned)
    assert "about its own mean" in resolve_scene(opened).caption[-1]
    opened.alignment = CurveAlignment(OfOther(KEY), "basis", middle="basis")
    moved = lines(opened) - expected
    np.testing.assert_allclose(moved, moved[0] + 0 * moved, atol=1e-9)
    assert np.linalg.norm(moved[0]) > 10
    assert "about the mean of the shown positions" in resolve_scene(opened).caption[-1]


def test_another_width_has_no_such_components(opened, beside, helix):
    beside(helix(d_model=16))
    opened.alignment = CurveAlignment(OfOther(KEY), "basis")
    assert opened.aligned is None
    assert opened.not_aligned.startswith("other has width 16, the shown model 24: ")
    assert opened.guides == {}


def test_a_longer_table_is_seen_as_far_as_there_are_colours(opened, beside, helix):
    beside(helix(300), (150, 290))
    opened.alignment = CurveAlignment(OfOther(KEY), "basis")
    assert opened.aligned.positions == (150, 199)
    other = beside(helix(300), (250, 290), "beyond")
    opened.alignment = CurveAlignment(OfOther(other.key), "basis")
    assert "do not overlap" in opened.not_aligned


def test_range_is_aligned_or_in_shown_components(opened):
    opened.positions = (20, 119)
    opened.alignment = CurveAlignment(OfRange((199, 90)))
    aligned = opened.aligned
    assert (aligned.positions, aligned.onto) == ((90, 189), (20, 119))
    table = opened.model.W_pos
    expected = scipy.spatial.procrustes(table[20:120], table[90:190])[2]
    assert aligned.more.whole == pytest.approx(expected)
    np.testing.assert_array_equal(aligned.matched, np.arange(20, 120))
    assert "positions 90–189\n" in caption(aligned)
    assert "onto positions 20–119 · disparity" in caption(aligned)
    opened.alignment = CurveAlignment(OfRange((120, 180)), "basis")
    expected = opened.curve.coordinates[120:181]
    np.testing.assert_allclose(lines(opened), expected, atol=1e-9)
    np.testing.assert_array_equal(opened.aligned.matched, np.arange(120, 181))
    angles = opened.aligned.more.angles
    assert len(angles) == 3
    opened.alignment = CurveAlignment(OfRange((20, 119)), "basis")
    np.testing.assert_allclose(opened.aligned.more.angles, 0, atol=1e-6)
    assert opened.aligned.more.held == pytest.approx(opened.aligned.more.own)


def trained(session, steps=(0, 10, 100)):
    """A history that ends with the open model's table, and began with another one."""
    end = session.model.W_pos
    turn = ortho_group.rvs(D_MODEL, random_state=5)
    tables = [(end @ turn * (i + 1)).astype(np.float32) for i in range(len(steps) - 1)]
    session.history = in_memory("tiny", "nowhere", steps, [*tables, end.astype(np.float32)])


def test_a_step_of_its_training_and_one_that_cannot_be_read(opened):
    opened.alignment = CurveAlignment(OfStep(10))
    assert (opened.aligned, opened.not_aligned) == (None, NO_STEPS)
    trained(opened)
    aligned = opened.aligned
    assert aligned.above.name == "helix at step 10"
    assert aligned.alignment.disparity < 1e-9
    assert aligned.positions == aligned.onto == opened.positions
    opened.alignment = CurveAlignment(OfStep(100), "basis")
    np.testing.assert_allclose(lines(opened), opened.curve.coordinates[1:], atol=1e-5)
    opened.positions = (50, 60)
    assert opened.aligned.positions == (50, 60)
    opened.alignment = CurveAlignment(OfStep(11))
    assert opened.not_aligned == NO_STEPS

    def fail(_):
        raise SourceError("the file is gone")

    object.__setattr__(opened.history, "_read", fail)
    opened.alignment = CurveAlignment(OfStep(10))
    assert opened.not_aligned == "The file is gone."
    assert opened.guides == {}


@pytest.mark.parametrize("what", [OfRange((5, 50)), OfStep(0)], ids=["range", "step"])
def test_it_was_of_the_model_before(opened, controller, write_table, helix, what):
    trained(opened)
    opened.alignment = CurveAlignment(what)
    assert opened.aligned is not None
    controller.open(str(write_table(helix(80), "next")))
    assert (opened.alignment, opened.aligned) == (None, None)
    assert opened.guides == {}


def test_no_table_stays_in_memory_for_it(opened, controller, write_table, helix):
    trained(opened)
    for what in (OfRange((5, 50)), OfStep(0)):
        opened.alignment = CurveAlignment(what)
        assert opened.aligned is not None
    gone = weakref.ref(opened.history._read), weakref.ref(opened.model.W_pos)
    opened.alignment = None
    opened.history = None
    gc.collect()
    assert gone[0]() is None
    assert gone[1]() is opened.model.W_pos
    controller.open(str(write_table(helix(80), "next")))
    gc.collect()
    assert gone[1]() is None


@pytest.fixture
def by_hand(opened, controller, hand_jobs):
    """The same session, answered by jobs done by hand."""
    controller._aligner.close()
    made = CurveAligner(opened, hand_jobs)
    yield hand_jobs
    made.close()


def test_a_drag_moves_it_and_what_takes_long_waits(opened, beside, copy, by_hand):
    beside(copy)
    opened.alignment = CurveAlignment(OfOther(KEY))
    assert opened.aligned.more is None
    assert readout(opened.aligned).endswith(" · …")
    by_hand.deliver(SLOT)
    assert opened.aligned.more is not None
    opened.dragging = True
    for last in (150, 140, 130):
        opened.positions = (10, last)
        assert opened.aligned.positions == (10, last)
        assert len(lines(opened)) == last - 9
        assert SLOT not in by_hand.waiting
    opened.dragging = False
    by_hand.deliver(SLOT)
    assert opened.aligned.more.whole < 1e-10


def test_the_components_of_a_range_are_worked_out_once(opened, by_hand):
    opened.alignment = CurveAlignment(OfRange((100, 180)))
    assert (opened.aligned, opened.not_aligned) == (None, WAITING)
    by_hand.deliver(SLOT)
    assert opened.not_aligned == ""
    by_hand.deliver(SLOT)
    opened.dragging = True
    opened.positions = (10, 90)
    assert opened.aligned.onto == (10, 90)
    opened.dragging = False
    opened.alignment = CurveAlignment(OfRange((100, 180)), "basis")
    assert opened.aligned is not None
    opened.alignment = CurveAlignment(OfRange((110, 180)))
    assert opened.not_aligned == WAITING
    opened.alignment = None
    assert SLOT not in by_hand.waiting


def test_minilm_over_gpt2(gpt2_folder, minilm_folder, session, controller):
    controller.open(str(gpt2_folder))
    other = add_beside(controller, minilm_folder)
    session.alignment = CurveAlignment(OfOther(KEY), "scaled")
    a, b = (s.curve.coordinates[1:510] for s in (session, other.session))
    assert session.aligned.alignment.disparity == pytest.approx(scipy.spatial.procrustes(a, b)[2])
    assert 0.83 < session.aligned.alignment.disparity < 0.85
    assert resolve_scene(session).guides[0].pale, "MiniLM’s curve is a tangle"
    session.alignment = CurveAlignment(OfOther(KEY), "basis")
    assert "has width 384, the shown model 768" in session.not_aligned
