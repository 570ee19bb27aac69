"""The time-lapse of the open model, without a window: what is prepared, shown, and let go of."""

import numpy as np
import pytest

from geometry.checkpoints.memo import Recent
from geometry.history.history import in_memory
from gui.panels.training.question import Training, TrainingOf
from gui.scene.scene_state import resolve_scene
from gui.services.answers import Answers
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.services.timeline import nearest_step
from gui.state.session import Session
from gui.state.timeline import columns_for
from tests.geometry.history_stage import growing
from tests.gui.training_stage import LAST, STEPS, write_trained

RANGE = (1, 46)


@pytest.fixture
def trained(session, controller, tmp_path) -> Session:
    """A session with a model whose training was asked about."""
    controller.open(str(write_trained(tmp_path / "tiny")))
    controller.answers.ask("training", TrainingOf(session.positions))
    return session


def test_answer_is_shown_for_a_snapshot(trained):
    assert trained.history.steps.tolist() == STEPS
    assert trained.timeline.positions == RANGE
    assert trained.timeline.coordinates.shape == (len(STEPS), 48, 3)
    assert trained.snapshot is None
    now = resolve_scene(trained)
    np.testing.assert_array_equal(now.coordinates, trained.curve.coordinates)
    trained.snapshot = 2
    then = resolve_scene(trained)
    np.testing.assert_array_equal(then.coordinates, trained.timeline.timelapse.frozen[2])
    assert np.ptp(then.coordinates) < np.ptp(now.coordinates) / 2
    trained.snapshot = None
    np.testing.assert_array_equal(resolve_scene(trained).coordinates, now.coordinates)
    trained.snapshot = LAST
    found = resolve_scene(trained).coordinates
    np.testing.assert_allclose(found, trained.curve.coordinates, atol=2e-3)
    trained.snapshot = 4
    said = resolve_scene(trained).caption
    assert said[0] == "tiny · positions 1–46 · centred"
    assert said[1] == "as it was at step 300 · 30.0\N{NO-BREAK SPACE}k tokens · loss 4.333"
    assert said[2].startswith("PC 1–3 of step 3\N{THIN SPACE}000 explain ")
    trained.basis = "aligned"
    assert resolve_scene(trained).caption[2].startswith("this step’s own PC 1–3, aligned")


def test_what_is_not_told_is_not_said(session, controller, tmp_path):
    controller.open(str(write_trained(tmp_path / "tiny", tokens=None, losses=None)))
    controller.answers.ask("training", TrainingOf(session.positions))
    session.snapshot = 1
    assert resolve_scene(session).caption[1] == "as it was at step 10"


def test_component_order_and_other_basis(trained):
    trained.snapshot = 3
    trained.components = (3, 1, 2)
    found = resolve_scene(trained)
    np.testing.assert_array_equal(found.coordinates, trained.timeline.coordinates[3][:, [2, 0, 1]])
    assert found.axis_labels == tuple(f"PC\N{NO-BREAK SPACE}{k}" for k in (3, 1, 2))
    assert columns_for((1, 2, 4)) == (0, 1, 2)
    trained.snapshot = 3
    trained.components = (1, 2, 4)
    np.testing.assert_array_equal(
        resolve_scene(trained).coordinates, trained.timeline.coordinates[3]
    )
    trained.snapshot, timelapse = 2, trained.timeline.timelapse
    trained.basis = "aligned"
    assert trained.timeline.timelapse is timelapse
    found = resolve_scene(trained)
    np.testing.assert_array_equal(found.coordinates, timelapse.aligned[2])
    assert found.axis_labels[0] == "axis\N{NO-BREAK SPACE}1"


def test_ways_norms_and_colours_of_snapshots(trained):
    trained.color_by = "norm"
    assert resolve_scene(trained).scale.title == "Norm"
    trained.snapshot = 0
    assert resolve_scene(trained).scale.title == "Norm (final model)"
    trained.snapshot, trained.selection = 3, (5, 40, 0)
    ways = resolve_scene(trained).ways
    assert ways.at == 3
    assert ways.points.shape == (2, len(STEPS), 3)  # position 0 is not in the range
    np.testing.assert_array_equal(ways.points[1], trained.timeline.coordinates[:, 40])
    trained.outside = "faint"
    assert len(resolve_scene(trained).ways.points) == 3
    trained.snapshot = None
    assert resolve_scene(trained).ways is None
    trained.snapshot, trained.hover = 2, 30
    norm = trained.timeline.timelapse.norms[2, 30]
    assert resolve_scene(trained).labels[30] == f"position 30 · norm {norm:.3f}"


def test_a_snapshots_colours_span_its_range(trained):
    trained.change(color_span="range", snapshot=0)
    assert trained.shown_timeline is not None
    assert resolve_scene(trained).scale.limits == tuple(map(float, RANGE))


def test_model_is_shown_while_a_range_is_fitted(trained, controller):
    trained.snapshot = 2
    controller.request_positions(10, 30)
    assert trained.shown_timeline is None
    assert resolve_scene(trained).coordinates is trained.curve.coordinates
    controller.answers.ask("training", TrainingOf(trained.positions))
    assert trained.shown_timeline.positions == (10, 30)
    assert trained.snapshot == 2
    controller.request_positions(5, 7)
    controller.answers.ask("training", TrainingOf(trained.positions))
    result = trained.answers["training"].result
    assert result.helices is None
    assert "no shape" in result.no_helices
    assert trained.timeline.positions == (5, 7)


def test_another_model_is_shown_as_it_is(trained, controller, write_table):
    trained.snapshot, seen = 2, []

    def look() -> None:
        seen.append(resolve_scene(trained).coordinates is trained.curve.coordinates)

    trained.events.curve.connect(look)
    controller.open(str(write_table()))
    assert seen[0]  # at once: nobody is ever shown a mixture of two models
    assert all(seen)
    assert (trained.snapshot, trained.timeline, trained.history) == (None, None, None)


def test_a_history_with_more_steps_shows_the_nearest_one(trained, controller):
    trained.snapshot = 4  # step 300
    steps = [0, 50, 100, 200, 280, 400, 1000, 2000, 3000]
    more = in_memory("tiny", "nowhere", steps, growing(steps))
    controller.answers.ask("training", TrainingOf(trained.positions, more))
    assert trained.history is more
    assert trained.snapshot == steps.index(280)


@pytest.mark.parametrize(("step", "index"), [(0, 0), (1, 0), (9, 1), (150, 3), (10**9, 6)])
def test_the_nearest_step_on_a_logarithmic_axis(step, index):
    assert nearest_step(np.array(STEPS), step) == index


def test_a_curve_comes_before_its_helices(tmp_path, hand_jobs, monkeypatch):
    # Another test may have fitted the same points.
    monkeypatch.setattr("geometry.measures.shape._remembered", Recent(1000))
    session = Session()
    controller = Controller(session, InlineJobs())
    controller.open(str(write_trained(tmp_path / "tiny")))
    answers = Answers(session, hand_jobs)
    answers.ask("training", TrainingOf(session.positions))
    hand_jobs.drag_on("answer 0")
    found: list[Training] = []
    session.events.answers.connect(
        lambda told: found.append(told["training"].result) if told else None
    )
    hand_jobs.deliver("answer 0")
    partial, whole = next(one for one in found if one is not None), found[-1]
    assert partial.timelapse is whole.timelapse
    assert np.isnan(partial.helices.r2).any()
    assert not np.isnan(whole.helices.r2).any()
    assert session.timeline.timelapse is whole.timelapse
    answers.close()
    controller.close()


@pytest.mark.parametrize("basis", ["frozen", "aligned"])
def test_the_current_position_is_described_at_the_shown_step(trained, controller, basis):
    trained.basis = basis
    controller.select((7, 30))
    of_model, pair = trained.details, trained.pair
    assert of_model.position == 30
    assert pair is not None
    trained.change(snapshot=2, components=(2, 3, 1))
    table = trained.history.table(2)
    assert trained.details.norm == pytest.approx(np.linalg.norm(table[30]))
    assert trained.details.norm != pytest.approx(of_model.norm)
    np.testing.assert_array_equal(
        trained.details.coordinates, trained.timeline.coordinates[2, 30, [1, 2, 0]]
    )
    nearest = min(trained.details.nearest, key=lambda other: other.distance)
    assert nearest.distance == pytest.approx(np.linalg.norm(table[30] - table[nearest.position]))
    # The share outside the shown components follows from their lengths.
    first, last = RANGE
    mean = table[first : last + 1].mean(axis=0)
    if basis == "aligned":
        whole = float(np.square(table[30] - mean).sum())
        inside = float(np.square(trained.details.coordinates).sum())
        assert trained.details.residual == pytest.approx(np.sqrt(1 - inside / whole), abs=1e-3)
    assert trained.pair is None
    trained.change(snapshot=None, components=(1, 2, 3))
    assert trained.details.norm == of_model.norm
    assert trained.pair == pair
