"""A history that grows while it is open: only what is new is read, and the result is the same."""

import os

import numpy as np
import pytest

from geometry.checkpoints.errors import NoStepYet
from geometry.checkpoints.formats.position_log import HEADER, LOG_NAME, read_log
from geometry.checkpoints.identity import identity_of
from geometry.history.going_on import LoggedEnd, progress_of
from geometry.history.helices import fit_helices, grow_helices
from geometry.history.here import history_here
from geometry.history.history import History
from geometry.history.last_position import last_position, last_rows
from geometry.history.origins import find_history
from geometry.history.position_log import PositionLog
from geometry.history.record import read_history
from geometry.history.sparse_directions import sparse_directions
from geometry.history.timelapse import Timelapse, make_timelapse
from geometry.models.sources.opening import open_model
from tests.geometry.history_stage import growing, write_checkpoint, write_record

RANGE = (1, 46)
LAPSE = ("frozen", "aligned", "explained_variance_ratio", "frozen_variance_ratio", "norms")


def append(log: PositionLog, steps: list[int]) -> None:
    for step, table in zip(steps, growing(steps), strict=True):
        log(step, table, loss=5.0)


def counted(history: History) -> tuple[History, list[int]]:
    """A history, and the snapshots whose tables have been read from it so far."""
    read, tables = [], history._read

    def note(index: int) -> np.ndarray:
        read.append(index)
        return tables(index)

    object.__setattr__(history, "_read", note)
    return history, read


def assert_same(lapse: Timelapse, expected: Timelapse, names=LAPSE) -> None:
    for name in names:
        np.testing.assert_allclose(
            getattr(lapse, name), getattr(expected, name), atol=2e-6, err_msg=name
        )


# ---- the log --------------------------------------------------------------------------------


def test_a_log_in_use_is_read_on_as_one_that_is_read_anew(tmp_path):
    """Whatever a training does to its log between two looks, both ways see the same."""
    random, kept = np.random.default_rng(0), None
    log, step = PositionLog(tmp_path, max_records=12), 0
    for turn in range(60):
        deed = random.integers(5)
        if deed == 0 and log.file.exists():  # killed in the middle of a record
            size = log.file.stat().st_size
            os.truncate(log.file, max(size - int(random.integers(1, 700)), HEADER.itemsize))
            log = PositionLog(tmp_path, max_records=12)
        elif deed == 1:  # starts again from an earlier step
            log.close()
            log, step = PositionLog(tmp_path, max_records=12), max(0, step - 3)
        for _ in range(int(random.integers(1, 4))):
            log(step, random.standard_normal((24, 8)))
            step += 1
        fresh = tmp_path / f"as read anew {turn}"
        os.link(log.file, fresh)
        kept, expected = read_log(log.file), read_log(fresh)
        assert kept.records.tobytes() == expected.records.tobytes()
        assert (kept.at == expected.at).all()
        assert (kept.written, kept.ended) == (expected.written, expected.ended)
        np.testing.assert_array_equal(kept.table(len(kept.at) - 1), expected.table(-1))


def test_only_new_records_of_a_log_in_use_are_read(tmp_path):
    log = PositionLog(tmp_path)
    append(log, [0, 10, 20])
    before = read_log(log.file)
    append(log, [30])
    with log.file.open("r+b") as file:  # what has been read is not looked at again
        file.seek(HEADER.itemsize)
        file.write(bytes(8))
    after = read_log(log.file)
    assert before.records["step"].tolist() == [0, 10, 20]
    assert after.records["step"].tolist() == [0, 10, 20, 30]


def test_an_untouched_log_is_only_looked_at(tmp_path):
    log = PositionLog(tmp_path)
    append(log, [0, 10])
    hour_ago = log.file.stat().st_mtime - 3600
    os.utime(log.file, (hour_ago, hour_ago))
    before = read_log(log.file)
    assert read_log(log.file) is before


def test_how_far_a_training_has_come(tmp_path):
    with PositionLog(tmp_path / "logged") as log:
        append(log, [0, 10])
        origin = find_history(open_model(tmp_path / "logged"))
        end = progress_of(origin)
        assert isinstance(end, LoggedEnd)
        assert (end.step, end.ended) == (10, False)
    assert progress_of(origin) == end  # the same record
    assert progress_of(origin).ended
    append(log, [20])
    assert progress_of(origin) != end
    log.file.unlink()
    write_checkpoint(tmp_path / "trained", growing([10])[0])
    record = write_record(tmp_path / "trained" / "history.safetensors", [0, 10])
    origin = find_history(open_model(tmp_path / "trained"))
    assert progress_of(origin) == identity_of(record)
    record.unlink()
    assert progress_of(origin) is None


def test_a_folder_of_checkpoints_has_come_further_with_each(tmp_path):
    for step in (100, 200):
        write_checkpoint(tmp_path / f"checkpoint-{step}", growing([step])[0])
    origin = find_history(open_model(tmp_path))
    before = progress_of(origin)
    assert progress_of(origin) == before
    write_checkpoint(tmp_path / "checkpoint-300", growing([300])[0])
    assert progress_of(origin) != before


@pytest.mark.parametrize("content", [None, b"", b"HXPOSLOG"])
def test_a_training_without_a_step_has_not_begun(content, tmp_path):
    if content is not None:
        (tmp_path / LOG_NAME).write_bytes(content)
    with pytest.raises(NoStepYet):
        open_model(tmp_path)
    with PositionLog(tmp_path) as log:
        append(log, [0])
    os.truncate(log.file, HEADER.itemsize)
    with pytest.raises(NoStepYet, match="no step yet"):
        open_model(tmp_path)


def test_a_training_of_ours_without_a_step_has_not_begun(tmp_path):
    (tmp_path / "training.json").write_text("{}", "utf-8")
    (tmp_path / "unfinished").mkdir()
    np.save(tmp_path / "unfinished" / "tokens.npy", np.zeros(9, np.uint16))
    with pytest.raises(NoStepYet):
        open_model(tmp_path)


# ---- what is measured by step -------------------------------------------------------------------


def test_a_timelapse_goes_on_in_its_basis(tmp_path):
    log = PositionLog(tmp_path)
    append(log, [200, 400, 800])
    earlier = read_history(log.file)
    before = make_timelapse(earlier, RANGE)
    append(log, [1600, 3200])
    history, read = counted(read_history(log.file))
    found = make_timelapse(history, RANGE, earlier=(earlier, before))
    assert read == [3, 4]
    assert found.basis_step == 800
    assert found.steps.tolist() == [200, 400, 800, 1600, 3200]
    expected = make_timelapse(history, RANGE)
    assert_same(found, expected, ("explained_variance_ratio", "norms", "mean_norms"))
    for index in range(5):
        projected = before.pca.project(history.table(index))
        np.testing.assert_allclose(found.frozen[index], projected, atol=1e-6)
    np.testing.assert_array_equal(found.aligned[:3], before.aligned)
    moved = np.linalg.norm(np.diff(found.aligned, axis=0), axis=2)
    moved_anew = np.linalg.norm(np.diff(expected.aligned, axis=0), axis=2)
    np.testing.assert_allclose(moved, moved_anew, atol=1e-5)  # up to one rotation of all


def test_a_basis_of_noise_is_replaced(tmp_path):
    """A training is opened at its first step, whose components say nothing about the last one."""
    log = PositionLog(tmp_path)
    append(log, [0])
    earlier = read_history(log.file)
    lapse = make_timelapse(earlier, RANGE)
    assert lapse.basis_step == 0
    for step in (1000, 2000, 3000, 4000):
        append(log, [step])
        history = read_history(log.file)
        lapse, earlier = make_timelapse(history, RANGE, earlier=(earlier, lapse)), history
    assert lapse.basis_step == 1000
    assert lapse.frozen_variance_ratio[-1] > 0.9


@pytest.mark.parametrize("span", [RANGE, (0, 30)])
def test_another_range_is_computed_anew(span, tmp_path):
    log = PositionLog(tmp_path)
    append(log, [0, 500])
    earlier = read_history(log.file)
    before = make_timelapse(earlier, (1, 40))
    append(log, [1000])
    history = read_history(log.file)
    assert_same(
        make_timelapse(history, span, earlier=(earlier, before)), make_timelapse(history, span)
    )


@pytest.mark.parametrize(
    ("first", "steps", "basis", "read"),
    [
        ([*range(100, 800, 100)], [100, 200, 300, 700, 1200], 700, [4]),
        # The step of the basis is left out: all are computed anew, from the last one.
        (
            [*range(100, 1000, 100)],
            [100, 200, 400, 600, 1000, 1100, 1200],
            1200,
            [*range(6, -1, -1)],
        ),
    ],
)
def test_a_thinned_log_goes_on(first, steps, basis, read, tmp_path):
    log = PositionLog(tmp_path, max_records=10)
    append(log, first)
    earlier = read_history(log.file)
    before = make_timelapse(earlier, RANGE)
    append(log, [1000, 1100, 1200])
    history, tables = counted(read_history(log.file))
    assert history.steps.tolist() == steps
    found = make_timelapse(history, RANGE, earlier=(earlier, before))
    assert found.basis_step == basis
    assert tables == read
    assert_same(found, make_timelapse(history, RANGE), ("explained_variance_ratio", "norms"))


def test_a_step_that_is_logged_again_is_read_again(tmp_path):
    append(PositionLog(tmp_path), [100, 200, 300])
    earlier = read_history(tmp_path / LOG_NAME)
    before = make_timelapse(earlier, RANGE)
    PositionLog(tmp_path)(200, growing([50])[0])
    history = read_history(tmp_path / LOG_NAME)
    assert history.known_from(earlier).tolist() == [0, -1]
    found = make_timelapse(history, RANGE, earlier=(earlier, before))
    assert found.basis_step == 200  # that of step 300 is gone
    assert_same(found, make_timelapse(history, RANGE))


def test_fits_directions_and_the_last_position_go_on(tmp_path):
    log = PositionLog(tmp_path)
    append(log, [0, 500, 1000])
    earlier = read_history(log.file)
    lapse = make_timelapse(earlier, RANGE)
    helices, sparse = fit_helices(lapse), sparse_directions(earlier)
    rows = last_rows(earlier)
    append(log, [1500, 2000])
    history, read = counted(read_history(log.file))
    known = history.known_from(earlier)
    assert known.tolist() == [0, 1, 2, -1, -1]
    found = sparse_directions(history, earlier=(earlier, sparse))
    more = last_rows(history, (earlier, rows))
    assert read == [3, 4, 3, 4]
    np.testing.assert_array_equal(found.mass, sparse_directions(history).mass)
    assert found.turned is sparse.turned
    expected = last_position(history)
    np.testing.assert_array_equal(last_position(history, more).departures, expected.departures)
    lapse = make_timelapse(history, RANGE, earlier=(earlier, lapse))
    grown = [*grow_helices(lapse, helices.taken(known))]
    assert len(grown) == 2
    anew = fit_helices(lapse)
    np.testing.assert_allclose(grown[-1].r2, anew.r2, atol=1e-9)
    np.testing.assert_allclose(grown[-1].turns, anew.turns, atol=1e-9)
    assert grown[-1].best == anew.best
    assert [*grow_helices(lapse, grown[-1])] == [grown[-1]]


def test_histories_that_have_nothing_in_common(tmp_path):
    model = open_model(write_checkpoint(tmp_path, growing([10])[0]))
    write_record(tmp_path / "history.safetensors", [0, 10])
    history = history_here(model)
    assert history.known_from(None).tolist() == [-1, -1]
    assert history.known_from(history).tolist() == [-1, -1]  # nothing tells its versions
    log = PositionLog(tmp_path / "run")
    append(log, [0, 10])
    assert read_history(log.file).known_from(history).tolist() == [-1, -1]
