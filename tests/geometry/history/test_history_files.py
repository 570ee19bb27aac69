"""Histories on this machine: a file beside a model, a folder of checkpoints; which are chosen."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import FileChanged, RangeError, SourceError
from geometry.checkpoints.stores import LocalFile
from geometry.history.gathering import Gathering, coarse_first
from geometry.history.here import ATTEMPTS, NoHistory, history_here, of_one_version
from geometry.history.history import History, in_memory
from geometry.history.origins import Snapshot, find_history, list_snapshots
from geometry.history.plan import BESIDE_BYTES, log_spaced, plan_history
from geometry.history.record import read_history
from geometry.history.timelapse import make_timelapse
from geometry.history.trainer_log import read_log
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.history_stage import D, N, decays_of, growing, write_checkpoint, write_record

STEPS = [0, 10, 100, 1000]


def test_a_record_says_what_was_written(tmp_path):
    history = read_history(write_record(tmp_path / "history.safetensors", STEPS))
    assert (history.n_snapshots, history.n_positions, history.d_model) == (4, N, D)
    assert history.steps.tolist() == STEPS
    assert history.tokens.tolist() == [0, 1000, 10000, 100000]
    np.testing.assert_array_equal(history.losses, np.linspace(7, 3, 4, dtype=np.float32))
    np.testing.assert_array_equal(history.decays, decays_of(STEPS))
    for i, table in enumerate(growing(STEPS)):
        found = history.table(i)
        assert found.dtype == np.float32
        assert not found.flags.writeable
        np.testing.assert_array_equal(found, table.astype(np.float16))
    np.testing.assert_array_equal(history.last(), history.table(3))
    with pytest.raises(SourceError, match="the history of another model"):
        read_history(tmp_path / "history.safetensors", shape=(N, D + 1))
    # It may hold no more than tables.
    bare = write_record(tmp_path / "bare", STEPS, tokens=None, losses=None, decays=None)
    history = read_history(bare)
    assert history.tokens is history.losses is history.decays is None


def test_of_a_record_only_the_row_that_is_asked_for_is_read(tmp_path, monkeypatch):
    history = read_history(write_record(tmp_path / "history.safetensors", STEPS))
    read: list[int] = []
    read_at = LocalFile.read_at

    def counted(file: LocalFile, offset: int, nbytes: int) -> np.ndarray:
        read.append(nbytes)
        return read_at(file, offset, nbytes)

    monkeypatch.setattr(LocalFile, "read_at", counted)
    history.table(2)
    assert read == [2 * N * D]


@pytest.mark.parametrize(
    ("change", "metadata", "said"),
    [
        ({"steps": None}, None, "lacks the tensors steps and positions"),
        ({"positions": None}, None, "lacks the tensors steps and positions"),
        ({"steps": np.array([0, 10, 10, 20])}, None, "are not increasing"),
        ({"steps": np.array([0.0, 1.0, 2.0, 3.0])}, None, "should be I64"),
        ({"losses": np.zeros(3, np.float32)}, None, "4 steps"),
        ({"positions": np.zeros((3, N, D), np.float16)}, None, "(4, n_positions, d_model)"),
        ({"positions": np.zeros((4, N, D), np.int64)}, None, "only floating-point"),
        ({}, {"format": "pt"}, "not a training history"),
        ({}, {"format": "helixscope-history", "version": "2"}, "version '2'"),
    ],
)
def test_what_is_no_record_is_refused(change, metadata, said, tmp_path):
    path = write_record(tmp_path / "history.safetensors", STEPS, metadata, **change)
    with pytest.raises(SourceError) as caught:
        read_history(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("steps", [[*STEPS, 2000], [0, 20, 200, 2000]], ids=["grown", "another"])
def test_a_record_that_is_written_again_meanwhile_is_not_read_on(steps, tmp_path):
    path = tmp_path / "history.safetensors"
    history = read_history(write_record(path, STEPS))
    history.table(0)
    later(path, steps)
    with pytest.raises(FileChanged, match=r"^history\.safetensors has changed since it was opened"):
        history.table(1)


def later(path: Path, steps: list[int]) -> None:
    """Write a record as a training run does: a new file takes the place of the old one."""
    write_record(path.with_name("new"), steps).replace(path)


def test_growing_record_is_measured_as_one_version(tmp_path, monkeypatch):
    path = write_record(tmp_path / "history.safetensors", STEPS)
    versions = [[*STEPS, 2000], [*STEPS, 2000, 3000]]
    real = History.table

    def disturbed(history: History, snapshot: int) -> np.ndarray:
        found = real(history, snapshot)
        if snapshot == 2 and versions:
            later(path, versions.pop(0))
        return found

    monkeypatch.setattr(History, "table", disturbed)
    lapse = of_one_version(lambda: read_history(path), make_timelapse)
    assert lapse.steps.tolist() == [*STEPS, 2000, 3000]
    for i, table in enumerate(growing([*STEPS, 2000, 3000])):
        half = table.astype(np.float16).astype(np.float32)
        np.testing.assert_allclose(lapse.norms[i], np.linalg.norm(half, axis=1), rtol=1e-5)


def test_a_record_that_is_written_all_the_time_is_given_up(tmp_path):
    path, read = write_record(tmp_path / "history.safetensors", STEPS), []

    def measure(history: History) -> None:
        read.append(history)
        later(path, STEPS)
        history.table(0)

    with pytest.raises(FileChanged):
        of_one_version(lambda: read_history(path), measure)
    assert len(read) == ATTEMPTS


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_table_that_is_not_finite_is_named(bad, tmp_path):
    tables = np.array(growing(STEPS), np.float16)
    tables[2, 5, 3] = bad
    history = read_history(write_record(tmp_path / "history.safetensors", STEPS, positions=tables))
    history.table(1)
    with pytest.raises(SourceError, match="step 100 "):
        history.table(2)


def test_snapshots_count_from_both_ends():
    history = in_memory("a", "b", [5, 1], [np.ones((2, 3), np.float32), np.zeros((2, 3), "f2")])
    assert history.steps.tolist() == [1, 5]
    assert history.table(-1).sum() == 6
    for outside in (2, -3):
        with pytest.raises(RangeError):
            history.table(outside)
    with pytest.raises(SourceError, match="one shape"):
        in_memory("a", "b", [1, 2], [np.ones((2, 3)), np.ones((3, 2))])
    with pytest.raises(SourceError, match="are not increasing"):
        History("a", "b", np.array([], np.int64), (1, 1), lambda i: np.zeros((1, 1)))


def test_a_model_with_a_record_beside_it(tmp_path):
    folder = write_checkpoint(tmp_path / "model", growing(STEPS)[-1])
    assert find_history(open_model(folder)) is None
    with pytest.raises(NoHistory, match="no training history"):
        history_here(open_model(folder))
    path = write_record(folder / "history.safetensors", STEPS)
    for source in (folder, folder / "model.safetensors"):
        origin = find_history(open_model(source))
        assert (origin.kind, origin.source, origin.shape) == ("file", str(path), (N, D))
        with pytest.raises(ValueError, match="read_history"):
            list_snapshots(origin)
    assert history_here(open_model(folder)).steps.tolist() == STEPS


def test_a_bare_table_has_no_history(tmp_path):
    np.save(tmp_path / "table.npy", growing([0])[0])
    write_record(tmp_path / "history.safetensors", STEPS)
    assert find_history(open_model(tmp_path / "table.npy")) is None


def gathering_of(source: Path) -> Gathering:
    """All checkpoints of a model."""
    origin = find_history(open_model(source))
    return Gathering(plan_history(origin, list_snapshots(origin)))


@pytest.fixture
def run(tmp_path) -> Path:
    """A folder with a model, and checkpoints on the way to it."""
    folder = write_checkpoint(tmp_path / "run", growing([2000])[0])
    for step, table in zip(STEPS, growing(STEPS), strict=True):
        write_checkpoint(folder / f"checkpoint-{step}", table)
    (folder / "checkpoint-best").mkdir()
    (folder / "checkpoint-7").write_text("not a folder")
    return folder


@pytest.mark.parametrize("opened", [".", "checkpoint-100"])
def test_a_folder_of_checkpoints(opened, run):
    origin = find_history(open_model(run / opened))
    assert (origin.kind, Path(origin.source)) == ("folder", run)
    snapshots = list_snapshots(origin)
    assert [one.step for one in snapshots] == STEPS
    assert all(one.here for one in snapshots)
    plan = plan_history(origin, snapshots)
    assert plan.bytes_to_fetch == 0
    history = Gathering(plan).run()
    assert history.steps.tolist() == STEPS
    for i, table in enumerate(growing(STEPS)):
        np.testing.assert_array_equal(history.table(i), table)
    assert history.losses is None


def test_a_folder_of_nothing_but_checkpoints_opens_as_the_last_one(run):
    for name in ("config.json", "model.safetensors"):
        (run / name).unlink()
    (run / "training_args.bin").write_bytes(b"beside")
    write_record(run / "history.safetensors", STEPS)  # no weights either
    model = open_model(run)
    assert model.name == "run"
    np.testing.assert_array_equal(model.W_pos, growing([1000])[0])
    origin = find_history(model)
    assert (origin.kind, Path(origin.source)) == ("folder", run)
    (run / "checkpoint-1000" / "model.safetensors").unlink()
    with pytest.raises(SourceError, match="checkpoint-1000 has no weights"):
        open_model(run)


def test_the_record_beside_a_model_is_no_second_model(run):
    (run / "model.safetensors").rename(run / "mine.safetensors")
    write_record(run / "history.safetensors", STEPS)
    np.testing.assert_array_equal(open_model(run).W_pos, growing([2000])[0])


def test_checkpoints_that_cannot_be_used_are_named(run):
    (run / "checkpoint-10" / "model.safetensors").unlink()
    write_checkpoint(run / "checkpoint-50", np.ones((N + 1, D), np.float32))
    gathering = gathering_of(run)
    assert gathering.history is None
    history = gathering.run()
    assert history.steps.tolist() == [0, 100, 1000]
    assert [one.step for one in gathering.skipped] == [10, 50]
    assert "has no weights" in gathering.skipped[0].why
    assert gathering.skipped[1].why == f"Its table is {N + 1} × {D}, not {N} × {D}."
    assert gathering.missing == ()
    for step in (0, 50, 100, 1000):
        (run / f"checkpoint-{step}" / "model.safetensors").unlink()
    with pytest.raises(SourceError, match="None of the 5 checkpoints"):
        gathering_of(run).run()


def rerun(run: Path, step: int, table: np.ndarray) -> None:
    """Write a checkpoint again, as another run into the same folder does."""
    new = write_checkpoint(run / f"new-{step}-{table[0, 0]}", table) / "model.safetensors"
    new.replace(run / f"checkpoint-{step}" / "model.safetensors")


def test_checkpoints_written_again_while_they_are_gathered_are_of_one_run(run, monkeypatch):
    first, second = growing(STEPS), growing(STEPS, seed=2)
    gathering, real = gathering_of(run), Gathering.keep
    kept: list[int] = []

    def disturbed(gathering: Gathering, snapshot: Snapshot, model: PositionalModel) -> None:
        real(gathering, snapshot, model)
        kept.append(snapshot.step)
        if len(kept) == len(STEPS):
            for step, table in zip(STEPS, second, strict=True):
                rerun(run, step, table)

    monkeypatch.setattr(Gathering, "keep", disturbed)
    history = gathering.run()
    assert sorted(kept) == sorted(2 * STEPS)
    for i, table in enumerate(second):
        np.testing.assert_array_equal(history.table(i), table)
        assert (table != first[i]).any()


def test_checkpoint_still_written_is_left_out(run, monkeypatch):
    gathering, real = gathering_of(run), Gathering.keep

    def disturbed(gathering: Gathering, snapshot: Snapshot, model: PositionalModel) -> None:
        real(gathering, snapshot, model)
        if snapshot.step == 100:
            seed = int(model.W_pos[0, 0] * 1e6) % 1000 + 3
            rerun(run, 100, growing([100], seed=seed)[0])

    monkeypatch.setattr(Gathering, "keep", disturbed)
    assert gathering.run().steps.tolist() == [0, 10, 1000]
    (skipped,) = gathering.skipped
    assert skipped.step == 100
    assert skipped.passing
    assert skipped.why == "model.safetensors has changed since it was opened."
    monkeypatch.setattr(Gathering, "keep", real)
    assert gathering.run().steps.tolist() == STEPS
    assert gathering.skipped == ()


def test_what_the_trainer_logged(run):
    def log(step: int, entries: list) -> None:
        state = json.dumps({"log_history": entries})
        (run / f"checkpoint-{step}" / "trainer_state.json").write_text(state, "utf-8")

    folders = [run / f"checkpoint-{step}" for step in STEPS]
    assert read_log(folders, STEPS) == (None, None)
    log(10, [{"step": 5, "loss": 9.0}])
    entries: list = [
        {"step": 10, "loss": 6.0}, {"step": 5, "loss": 7}, {"step": 90, "loss": 5.0},
        {"step": 95, "eval_loss": 1.0}, {"step": 100, "loss": 4.0}, "odd", {"loss": 1.0},
        {"step": 1000, "loss": True},
    ]  # fmt: skip
    log(1000, entries)
    tokens, losses = read_log(folders, STEPS)
    assert tokens is None
    np.testing.assert_array_equal(losses, [np.nan, 6, 4, 4])
    log(1000, [{**one, "num_input_tokens_seen": 32 * one["step"]} for one in entries[:3]])
    assert read_log(folders, [5, 10, 1000])[0].tolist() == [160, 320, 2880]
    (run / "checkpoint-1000" / "trainer_state.json").write_text("{", "utf-8")
    assert read_log(folders, [10])[1].tolist() == [9]


#: As Stanford saved them.
STANFORD = [
    *range(0, 50, 10), *range(50, 2000, 50), *range(2000, 20000, 100), *range(20000, 400001, 1000),
]  # fmt: skip


@given(st.sets(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 70))
def test_exactly_as_many_as_asked_for(found, count):
    steps = sorted(found)
    chosen = log_spaced(steps, count)
    assert len(chosen) == min(count, len(steps))
    assert list(chosen) == sorted(set(chosen))
    assert chosen[-1] == len(steps) - 1
    assert count == 1 or chosen[0] == 0


def test_steps_are_spaced_by_their_logarithms():
    steps = [STANFORD[i] for i in log_spaced(STANFORD, 40)]
    assert steps[:5] == [0, 10, 20, 30, 40]  # early ones are all wanted
    late = np.array([step for step in steps if step >= 1000])
    ratios = late[1:] / late[:-1]
    assert ratios.max() < 1.5
    powers = [2**k for k in range(17)]
    assert set(np.diff(log_spaced(powers, 9))) <= {1, 2, 3}


def test_a_plan_says_what_it_costs():
    from geometry.history.origins import Origin

    origin = Origin("hub", "someone/model", "model", (1024, 768))
    snapshots = [
        Snapshot(step, Source.parse(f"a@checkpoint-{step}"), "c", here=step < 100)
        for step in STANFORD
    ]
    plan = plan_history(origin, snapshots, 40)
    assert (len(plan.snapshots), plan.n_available) == (40, len(STANFORD))
    fetched = sum(one.step >= 100 for one in plan.snapshots)
    assert len(plan.to_fetch) == fetched
    assert plan.bytes_to_fetch == fetched * (1024 * 768 * 4 + BESIDE_BYTES)
    part = plan_history(origin, snapshots, 5, (1000, 2000))
    assert (part.snapshots[0].step, part.snapshots[-1].step) == (1000, 2000)
    for nothing in ([], snapshots[:2]):
        with pytest.raises(RangeError, match="no checkpoints at steps"):
            plan_history(origin, nothing, 5, (1000, 2000))
    with pytest.raises(RangeError, match="0 checkpoints"):
        plan_history(origin, snapshots, 0)


@given(st.integers(0, 70))
def test_what_comes_first_spans_the_whole(n):
    snapshots = tuple(Snapshot(step, Source.parse("a")) for step in range(n))
    order = coarse_first(snapshots)
    assert sorted(order, key=lambda one: one.step) == list(snapshots)
    if n > 8:
        assert order[0].step == n - 1
        early = sorted(one.step for one in order[: n // 2])
        assert max(np.diff([-1, *early])) <= 8
