"""A training that goes on while its model is open, without a window: steps come, the view stays."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import FileChanged
from geometry.checkpoints.formats.position_log import LOG_NAME
from geometry.history.going_on import LoggedEnd
from geometry.history.position_log import PositionLog
from gui.panels.training.question import TrainingOf
from gui.services.changed_files import ATTEMPTS
from gui.services.lessons.findings import has_history
from gui.services.origins import training_state
from gui.services.questions import Progress
from gui.state.session import Session
from tests.geometry.history_stage import D, growing, write_checkpoint, write_record
from tests.gui.training_stage import write_trained

RANGE = (5, 40)


class Run:
    """A training that logs its positions to a folder."""

    def __init__(self, folder: Path, **options: int) -> None:
        self.folder, self.log = folder, PositionLog(folder, **options)

    def reach(self, *steps: int) -> None:
        for step, table in zip(steps, growing([*steps]), strict=True):
            self.log(step, table, loss=5 - step / 1000)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run(tmp_path / "run")
    made.reach(0, 100, 200)
    return made


@pytest.fixture
def watched(run, session, controller) -> Session:
    """A session with the training's model, of whose history the panel has asked."""
    controller.open(str(run.folder))
    session.positions = RANGE
    ask(controller)
    assert session.model.name == "run · step 200"
    return session


def ask(controller) -> None:
    controller.answers.ask("training", TrainingOf(controller.session.positions))


def other_of(session: Session) -> Session:
    (other,) = session.others
    return other.session


# ---- steps come -----------------------------------------------------------------------------


def test_a_later_step_is_shown_in_the_same_view(run, watched, controller):
    first, notices = watched.model, []
    watched.events.notice.connect(notices.append)
    watched.change(components=(2, 1, 3), selection=(7, 30))
    run.reach(300)
    controller.watch()
    assert watched.model.name == "run · step 300"
    np.testing.assert_allclose(watched.model.W_pos, growing([300])[0], atol=1e-3)
    assert watched.positions == watched.curve.pca.positions == RANGE
    assert watched.components == watched.curve.components == (2, 1, 3)
    assert watched.selection == (7, 30)
    assert watched.first_model is first
    assert watched.open_models[0].name == "run · step 300"
    assert watched.training_state == "step 300, running"
    assert notices == []
    model = watched.model
    controller.watch()
    assert watched.model is model


def test_the_history_grows_with_its_numbers(run, watched, controller):
    run.reach(300, 400)
    controller.watch()
    assert watched.timeline.n_snapshots == 3  # until the panel has asked again
    ask(controller)
    training = watched.answers["training"].result
    assert watched.history.steps.tolist() == [0, 100, 200, 300, 400]
    np.testing.assert_allclose(watched.history.losses, [5, 4.9, 4.8, 4.7, 4.6])
    assert watched.timeline.positions == RANGE
    assert np.isfinite(training.helices.turns).all()
    assert len(training.riddle.norms) == len(training.sparse.mass) == 5


def test_only_new_steps_are_measured(run, watched, controller):
    before = watched.answers["training"].result
    run.reach(300)
    with run.log.file.open("r+b") as file:  # no table of before could be read
        file.seek(64 + 64)
        file.write(bytes(64))
    controller.watch()
    ask(controller)
    training = watched.answers["training"].result
    assert watched.history.steps.tolist() == [0, 100, 200, 300]
    np.testing.assert_array_equal(training.timelapse.frozen[:3], before.timelapse.frozen)
    np.testing.assert_array_equal(training.helices.r2[:3], before.helices.r2)


@pytest.mark.parametrize(("at", "then"), [(0, 0), (1, 100), (2, 400), (None, None)])
def test_the_step_looked_at_stays_and_the_last_one_goes_along(at, then, run, watched, controller):
    watched.snapshot = at
    run.reach(300, 400)
    controller.watch()
    assert watched.snapshot == at
    assert watched.shown_timeline is (None if at is None else watched.timeline)
    ask(controller)
    steps = watched.history.steps
    assert (None if watched.snapshot is None else steps[watched.snapshot]) == then


def test_a_thinned_log_keeps_the_step_looked_at(tmp_path, session, controller):
    run = Run(tmp_path / "run", max_records=10)
    run.reach(*range(100, 1000, 100))
    controller.open(str(run.folder))
    ask(controller)
    session.snapshot = 3
    run.reach(1000, 1100)
    controller.watch()
    ask(controller)
    steps = session.history.steps.tolist()
    assert (400 in steps, steps[-1], len(steps) < 10) == (True, 1100, True)
    assert steps[session.snapshot] == 400


def test_a_torn_record_is_nothing_new(run, watched, controller):
    model, size = watched.model, run.log.file.stat().st_size
    run.reach(300)
    whole = run.log.file.read_bytes()
    run.log.file.write_bytes(whole[: size + 500])
    controller.watch()
    assert watched.model is model
    assert watched.training_state == "step 200, running"
    run.log.file.write_bytes(whole)
    controller.watch()
    assert watched.model.name == "run · step 300"


def test_a_training_that_starts_again_is_followed(run, watched, controller):
    again = Run(run.folder)
    again.reach(100, 150)
    controller.watch()
    ask(controller)
    assert watched.model.name == "run · step 150"
    assert watched.history.steps.tolist() == [0, 100, 150]


def test_tables_of_another_shape_are_opened_anew(run, watched, controller):
    shutil.rmtree(run.folder)
    log = PositionLog(run.folder)
    log(7, growing([700], n=24)[0])
    controller.watch()
    assert watched.model.n_positions == 24
    assert watched.positions == (5, 23)
    assert watched.first_model is watched.model
    assert watched.timeline is None


def test_a_removed_log_leaves_what_is_shown(run, watched, controller):
    model = watched.model
    shutil.rmtree(run.folder)
    controller.watch()
    assert watched.model is model
    assert watched.notice is None


def test_a_model_beside_is_followed_too(run, session, controller, write_table):
    controller.open(str(write_table()))
    controller.comparing.add(str(run.folder), RANGE)
    run.reach(300)
    controller.watch()
    other = other_of(session)
    assert other.model.name == session.others[0].name == "run · step 300"
    assert other.positions == RANGE
    assert other.training_state == "step 300, running"
    assert session.training_state == ""


def test_following_is_no_step_to_undo(run, watched, controller):
    steps = []
    controller.comparing.on_step = lambda name, *_: steps.append(name)
    shown = watched.shown
    run.reach(300)
    controller.watch()
    assert steps == []
    assert watched.shown == shown


# ---- when it does not follow -------------------------------------------------------------------


@pytest.fixture
def watched_by_hand(run, by_hand, hand_jobs) -> Session:
    """The same, with jobs whose results the test delivers."""
    by_hand.open(str(run.folder))
    hand_jobs.deliver_all()
    run.reach(300)
    by_hand.watch()
    hand_jobs.deliver("changed files")
    assert "follow" in hand_jobs.waiting
    return by_hand.session


def test_another_model_opened_meanwhile_stays(watched_by_hand, by_hand, hand_jobs, write_table):
    by_hand.open(str(write_table()))
    hand_jobs.deliver("open")
    hand_jobs.deliver("follow")
    assert watched_by_hand.model.name == "helix"


def test_a_range_chosen_meanwhile_stays(watched_by_hand, by_hand, hand_jobs):
    watched_by_hand.positions = (3, 20)
    hand_jobs.deliver("follow")
    assert watched_by_hand.positions == (3, 20)
    by_hand.watch()
    hand_jobs.deliver("changed files")
    hand_jobs.deliver("follow")
    assert watched_by_hand.positions == watched_by_hand.curve.pca.positions == (3, 20)
    assert watched_by_hand.model.name == "run · step 300"


def test_not_while_a_range_is_dragged(watched_by_hand, by_hand, hand_jobs):
    watched_by_hand.dragging = True
    hand_jobs.deliver("follow")
    assert watched_by_hand.model.name == "run · step 200"
    by_hand.watch()
    hand_jobs.deliver("changed files")
    assert "follow" not in hand_jobs.waiting


def test_a_disk_that_does_not_answer_is_asked_once(watched_by_hand, by_hand, hand_jobs, run):
    before = len(hand_jobs.started)
    by_hand.watch()
    hand_jobs.deliver("changed files")  # the step is still being opened
    by_hand.watch()
    by_hand.watch()
    assert hand_jobs.started[before:] == ["changed files", "changed files"]


def test_panels_answer_first(run, by_hand, hand_jobs):
    by_hand.open(str(run.folder))
    hand_jobs.deliver_all()
    ask(by_hand)
    run.reach(300)
    for _ in range(2):
        by_hand.watch()
        hand_jobs.deliver("changed files")
    assert "follow" not in hand_jobs.waiting
    assert by_hand.session.training_state == "step 300, running"
    hand_jobs.deliver("answer 0")
    by_hand.watch()
    hand_jobs.deliver("changed files")
    assert "follow" in hand_jobs.waiting


def test_a_later_step_does_not_wait_for_what_resumes(run, by_hand, hand_jobs, monkeypatch):
    """Fits that were made are kept: see :func:`test_only_new_steps_are_measured`."""
    by_hand.open(str(run.folder))
    hand_jobs.deliver_all()
    ask(by_hand)
    assert by_hand.answers.busy
    hand_jobs.tell("answer 0", Progress(0.5, so_far=object()))
    assert not by_hand.answers.busy
    monkeypatch.setattr(TrainingOf, "resumes", False)
    assert by_hand.answers.busy


def test_nothing_is_asked_without_a_training(by_hand, hand_jobs, write_table):
    by_hand.watch()
    by_hand.open(str(write_table()))
    hand_jobs.deliver_all()
    before = len(hand_jobs.started)
    by_hand.watch()
    by_hand.open("sample")
    hand_jobs.deliver_all()
    by_hand.watch()
    assert "changed files" not in hand_jobs.started[before:]


# ---- the state of a training ------------------------------------------------------------------


def test_the_end_of_a_log_is_shown(run, watched, controller):
    model = watched.model
    run.log.close()
    controller.watch()
    assert watched.training_state == "step 200, ended"
    assert watched.model is model
    run.reach(300)  # which opens the log again
    controller.watch()
    assert watched.training_state == "step 300, running"


@pytest.mark.parametrize(
    ("seconds", "ended", "text"),
    [
        (-50, False, "running"),
        (599, False, "running"),
        (600, False, "no record for 10 min"),
        (7199, False, "no record for 119 min"),
        (7200, False, "no record for 2 h"),
        (7200, True, "ended"),
    ],
)
def test_states(seconds, ended, text):
    state = training_state(LoggedEnd(1234, 1e9, ended), 1e9 + seconds)
    assert state == f"step 1\N{THIN SPACE}234, {text}"


# ---- before the first step ----------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True])
def test_it_waits_for_the_first_step(begun, tmp_path, session, controller):
    folder = tmp_path / "run"
    folder.mkdir()
    if begun:
        (folder / LOG_NAME).write_bytes(b"")
    controller.open(str(folder))
    for _ in range(2):
        assert session.status.startswith("Waiting for the first step of ")
        assert session.opening.name == "run"
        assert session.notice is None
        controller.watch()
    Run(folder).reach(0)
    controller.watch()
    assert session.model.name == "run · step 0"
    assert (session.opening, session.status) == (None, "Ready")


@pytest.mark.parametrize("logs", ["runs", "lightning_logs", "wandb"])
def test_it_waits_beside_the_logs_of_a_trainer(logs, tmp_path, session, controller):
    (tmp_path / "out" / logs / "Nov29").mkdir(parents=True)
    (tmp_path / "out" / logs / "Nov29" / "events.out.tfevents.1").write_bytes(b"events")
    controller.open(str(tmp_path / "out"))
    assert "Waiting" in session.status
    (tmp_path / "out" / "checkpoint-100").mkdir()
    controller.watch()
    assert session.model is None
    write_checkpoint(tmp_path / "out" / "checkpoint-100", growing([100])[0])
    controller.watch()
    np.testing.assert_array_equal(session.model.W_pos, growing([100])[0])


def test_a_log_can_be_waited_for_from_its_beginning(tmp_path, session, controller):
    log = PositionLog(tmp_path / "runs" / "1")
    controller.open(str(tmp_path / "runs" / "1"))
    log(0, growing([0])[0])
    controller.watch()
    assert session.model.name == "1 · step 0"


def test_waiting_ends_with_another_model_or_on_request(tmp_path, session, controller, write_table):
    folder = tmp_path / "run"
    folder.mkdir()
    controller.open(str(folder))
    assert controller.cancel()
    assert session.opening is None
    controller.open(str(folder))
    controller.open(str(write_table()))
    Run(folder).reach(0)
    controller.watch()
    assert session.model.name == "helix"


def test_what_comes_may_be_something_else(tmp_path, session, controller):
    folder = tmp_path / "run"
    folder.mkdir()
    controller.open(str(folder))
    (folder / "notes.txt").write_text("no model", "utf-8")
    controller.watch()
    assert session.opening is None
    assert "run" in session.notice.text


# ---- other trainings --------------------------------------------------------------------------


def test_a_model_with_its_history_beside_it_is_followed(tmp_path, session, controller):
    folder = write_trained(tmp_path / "tiny", [0, 100])
    controller.open(str(folder))
    ask(controller)
    session.snapshot = 1
    steps = [0, 100, 1000]
    write_record(folder / "history.safetensors", steps)
    controller.watch()
    ask(controller)
    assert session.history.steps.tolist() == steps
    assert session.snapshot == 2
    write_checkpoint(folder, growing([1000])[0])
    controller.watch()
    np.testing.assert_array_equal(session.model.W_pos, growing([1000])[0])
    assert session.notice is None


def test_a_training_of_ours_says_when_it_is_finished(tmp_path, session, controller):
    folder, notes = write_trained(tmp_path / "tiny", [0, 100]), tmp_path / "tiny" / "training.json"
    notes.write_text('{"finished": false}', "utf-8")
    controller.open(str(folder))
    assert session.training_state == "step 100, running"
    write_record(folder / "history.safetensors", [0, 100, 200])
    controller.watch()
    assert session.training_state == "step 200, running"
    model = session.model
    notes.write_text('{"finished": true}', "utf-8")
    controller.watch()
    assert session.training_state == "step 200, ended"
    assert session.model is model


def test_the_bundled_model_is_no_training_that_goes_on(session, controller):
    controller.open("sample")
    assert session.training_state == ""


@pytest.mark.parametrize("notes", ["[]", "{", '{"finished": "no"}', "{}"])
def test_notes_of_another_program_say_nothing(notes, tmp_path, session, controller):
    folder = write_trained(tmp_path / "tiny", [0, 100])
    (folder / "training.json").write_text(notes, "utf-8")
    controller.open(str(folder))
    assert session.training_state == ""


def test_checkpoints_that_appear_are_shown(tmp_path, session, controller):
    for step in (100, 200):
        write_checkpoint(tmp_path / f"checkpoint-{step}", growing([step])[0])
    controller.open(str(tmp_path))
    (tmp_path / "checkpoint-300").mkdir()  # its files come later
    controller.watch()
    np.testing.assert_array_equal(session.model.W_pos, growing([200])[0])
    assert session.notice.text.startswith("checkpoint-200 is shown, of 2 steps ")
    write_checkpoint(tmp_path / "checkpoint-300", growing([300])[0])
    controller.watch()
    np.testing.assert_array_equal(session.model.W_pos, growing([300])[0])
    assert session.notice.text.startswith("checkpoint-300 is shown, of 3 steps ")
    ask(controller)
    assert session.history.steps.tolist() == [100, 200, 300]


def test_one_of_several_checkpoints_stays_what_it_is(tmp_path, session, controller):
    for step in (100, 200):
        write_checkpoint(tmp_path / f"checkpoint-{step}", growing([step])[0])
    controller.open(str(tmp_path / "checkpoint-100"))
    model = session.model
    write_checkpoint(tmp_path / "checkpoint-300", growing([300])[0])
    controller.watch()
    assert session.model is model


# ---- a checkpoint that is rewritten -------------------------------------------------------------


def rewrite(file: Path, step: int, name: str = "iter_num", **more: object) -> None:
    """Write a checkpoint as nanoGPT does, in place."""
    tables = {
        "transformer.wte.weight": torch.zeros(8, D),
        "transformer.wpe.weight": torch.from_numpy(growing([step])[0]),
    }
    file.parent.mkdir(exist_ok=True)
    torch.save({"model": tables, name: step, **more}, file)


@pytest.mark.parametrize("opened", ["ckpt.pt", "."])
@pytest.mark.parametrize("name", ["iter_num", "global_step", "epoch"])
def test_each_version_of_a_checkpoint_is_a_step(name, opened, tmp_path, session, controller):
    file = tmp_path / "out" / "ckpt.pt"
    rewrite(file, 100, name)
    controller.open(str(file.parent / opened))
    assert not has_history(session.model)
    assert session.training_state == ""  # it may be an old one
    session.notice = None
    session.change(positions=RANGE, selection=(7, 30))
    for step in (200, 300):
        rewrite(file, step, name)
        controller.watch()
        np.testing.assert_array_equal(session.model.W_pos, growing([step])[0])
        assert session.training_state == f"step {step}, running"
    assert session.positions == RANGE
    assert session.selection == (7, 30)
    assert session.notice is None
    ask(controller)
    history = session.history
    assert history.steps.tolist() == [100, 200, 300]
    for snapshot, table in enumerate(growing([100, 200, 300])):
        np.testing.assert_array_equal(history.table(snapshot), table)


def test_a_version_that_is_being_written_is_waited_for(tmp_path, session, controller):
    file = tmp_path / "ckpt.pt"
    rewrite(file, 100)
    controller.open(str(file))
    model, session.notice = session.model, None
    rewrite(file, 200)
    whole = file.read_bytes()
    for nbytes in (0, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:nbytes])
        controller.watch()
        controller.changed_files.look(FileChanged("ckpt.pt"))  # a panel has read from it
        assert (session.model, session.notice) == (model, None)
    file.write_bytes(whole)
    controller.watch()
    assert session.training_state == "step 200, running"
    ask(controller)
    assert session.history.steps.tolist() == [100, 200]


def test_a_version_that_stays_damaged_is_reported(tmp_path, session, controller):
    file = tmp_path / "ckpt.pt"
    rewrite(file, 100)
    controller.open(str(file))
    session.notice = None
    file.write_bytes(file.read_bytes()[:-100])
    for _ in range(ATTEMPTS):
        assert session.notice is None
        controller.watch()
    assert session.notice.text == "ckpt.pt has changed since it was opened."
    rewrite(file, 200)
    controller.watch()
    assert session.training_state == "step 200, running"
    assert session.notice.text == " ".join(session.model.warnings)


def test_a_training_that_begins_again_replaces_its_later_steps(tmp_path, session, controller):
    file = tmp_path / "ckpt.pt"
    rewrite(file, 100)
    controller.open(str(file))
    for step in (200, 300, 200, 250):
        rewrite(file, step)
        controller.watch()
    ask(controller)
    assert session.history.steps.tolist() == [100, 200, 250]


@pytest.mark.parametrize("step", [None, "last", True, -1, 0.5])
def test_a_file_without_a_step_is_reported(step, tmp_path, session, controller):
    file = tmp_path / "model.pt"
    rewrite(file, 100, "note", iter_num=step)
    controller.open(str(file))
    rewrite(file, 200, "note", iter_num=step)
    controller.watch()
    controller.changed_files.look()
    assert session.notice.text == "model.pt has changed since it was opened."
    assert not has_history(session.model)
