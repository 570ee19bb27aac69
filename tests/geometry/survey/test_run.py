"""Surveys on real Dask clusters: of this machine, and by a scheduler's address; killed ones too."""

import os
import random
import signal
from dataclasses import replace

import dask
import pytest
from pyarrow import parquet

from geometry.checkpoints.transfer import Transfer
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.survey import run
from geometry.survey.parts import SurveyError, SurveyFile
from geometry.survey.populations import Entry, expand
from geometry.survey.rows import Access, RowSettings, measure_entry
from geometry.survey.run import run_survey
from tests.geometry.survey.real_cluster import Cluster
from tests.geometry.survey.survey_stage import (
    always_kills,
    half_never_end,
    kills_once,
    never_ends,
    of_another_version,
    waits_for_a_file,
    write_runs,
)

HERE, USUAL = Access(offline=True), RowSettings()


@pytest.fixture
def entries(tmp_path):
    """Sixteen tiny checkpoints of four trainings."""
    network = Network(Hub(offline=True), TensorCache(tmp_path / "cache"), Transfer())
    return expand([str(write_runs(tmp_path / "runs", seeds=4))], network)


def survey(out, entries, settings=USUAL, access=HERE, **options):
    with SurveyFile(out, settings) as file:
        return run_survey(entries, file, access, **{"workers": 2, **options})


def rows(out):
    return parquet.read_table(out).to_pylist()


@pytest.mark.slow
def test_two_processes_write_the_rows_of_one(entries, tmp_path):
    out, told = tmp_path / "a.parquet", []
    end = survey(out, entries, tell=told.append)
    assert (end.done, end.total, end.failed, end.requests) == (16, 16, 0, 0)
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]
    assert max(one.workers for one in told) == 2
    assert [one.done for one in told] == sorted(one.done for one in told)
    # A second survey has nothing to do, and starts nothing.
    before = out.read_bytes()
    assert survey(out, entries, measure=None).done == 16
    assert out.read_bytes() == before


@pytest.mark.slow
def test_the_file_is_the_same_whatever_the_number_of_workers_and_the_order(entries, tmp_path):
    found, settings = set(), RowSettings(kept=3)
    for number, workers in enumerate((1, 2, 3)):
        out, shuffled = tmp_path / f"{number}.parquet", list(entries)
        random.Random(number).shuffle(shuffled)
        if number == 2:  # in two surveys
            survey(out, shuffled[:5], settings, workers=1)
        survey(out, shuffled, settings, workers=workers)
        found.add(out.read_bytes())
    assert len(found) == 1


@pytest.mark.slow
def test_a_killed_worker_costs_its_running_task_only(entries, tmp_path):
    out = tmp_path / "a.parquet"
    end = survey(out, entries, measure=kills_once)
    assert len([*(tmp_path / "runs").glob("killed-*")]) == 4
    assert (end.done, end.failed) == (16, 0)
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]


@pytest.mark.slow
def test_a_checkpoint_that_kills_its_worker_each_time_is_recorded(entries, tmp_path):
    out = tmp_path / "a.parquet"
    end = survey(out, entries, measure=always_kills)
    assert (end.done, end.failed) == (16, 1)
    (failed,) = [row for row in rows(out) if row["error"]]
    assert (failed["seed"], failed["step"], failed["temporary"]) == (0, 100, True)
    assert "may need more memory" in failed["error"]
    # The next survey tries it again.
    assert survey(out, entries).failed == 0
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]


@pytest.mark.slow
def test_what_takes_too_long_is_recorded_and_the_survey_goes_on(entries, tmp_path):
    out, short = tmp_path / "a.parquet", replace(HERE, limit_s=2.0)
    entries = entries[:12]  # of the first three seeds
    end = survey(out, entries, access=short, measure=never_ends)
    assert (end.done, end.failed) == (12, 3)
    late = [row for row in rows(out) if row["error"]]
    assert [(row["seed"], row["step"], row["temporary"]) for row in late] == [
        (0, 100, True), (1, 100, True), (2, 100, True),
    ]  # fmt: skip
    assert all("longer than 2 seconds" in row["error"] for row in late)
    # The same survey does not wait for them again; with more time, and without the fault, they are
    # measured.
    assert survey(out, entries, access=short, measure=None).failed == 3
    assert survey(out, entries).failed == 0
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]


@pytest.mark.slow
def test_what_only_waits_behind_slow_ones_is_measured(entries, tmp_path):
    """However many of those take too long, and end the worker that both were handed to."""
    out, short = tmp_path / "a.parquet", replace(HERE, limit_s=1.0)
    end = survey(out, entries[:4], access=short, workers=1, measure=half_never_end)
    assert (end.done, end.failed) == (4, 2)
    late = {row["step"]: row["error"] for row in rows(out) if row["error"]}
    assert late.keys() == {0, 400}
    assert all("longer than 1 second" in error for error in late.values())


@pytest.mark.slow
def test_a_worker_comes_back_however_long_that_takes(entries, tmp_path):
    out = tmp_path / "a.parquet"
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):
        end = survey(out, entries[:4], workers=1, measure=kills_once)
    assert (end.done, end.failed) == (4, 0)


@pytest.mark.slow
def test_a_disk_that_becomes_full_ends_the_survey_with_a_sentence(entries, tmp_path, monkeypatch):
    from geometry.checkpoints.errors import HelixscopeError
    from tools.campaigns.failing_disk import FailingDisk, failing

    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "a.parquet"
    survey(out, entries[:4])
    before = out.read_bytes()
    full = FailingDisk(tmp_path / "out", 8, failing(28), lasting=True)
    with pytest.raises(HelixscopeError, match="no space is left on the disk"), full:
        survey(out, entries)
    assert out.read_bytes() == before
    assert survey(out, entries).done == 16


@pytest.fixture
def cluster():
    started = Cluster()
    yield started
    started.close()


@pytest.mark.slow
def test_a_scheduler_reached_by_its_address(cluster, entries, tmp_path):
    for _ in range(2):
        cluster.add_worker()
    out, told = tmp_path / "a.parquet", []
    end = survey(out, entries, scheduler=cluster.address, workers=None, tell=told.append)
    assert (end.done, end.failed) == (16, 0)
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]
    assert cluster.scheduler.poll() is None


@pytest.mark.slow
def test_a_cluster_without_workers_is_waited_for(cluster, entries, tmp_path):
    def tell(now):
        if now.waiting == "There is no worker yet." and len(cluster.processes) == 1:
            cluster.add_worker()

    end = survey(tmp_path / "a.parquet", entries, scheduler=cluster.address, tell=tell)
    assert end.done == 16


@pytest.mark.slow
def test_a_killed_scheduler_costs_the_running_tasks_only(cluster, entries, tmp_path, monkeypatch):
    """What was measured is in the file, and the survey goes on with another scheduler."""
    monkeypatch.setattr(run, "CONNECT_S", 3)
    cluster.add_worker()
    out, told = tmp_path / "a.parquet", []

    def tell(now):
        told.append(now)
        if now.done == 4:
            os.kill(cluster.scheduler.pid, signal.SIGKILL)

    with pytest.raises(SurveyError, match=r"The connection to the scheduler at tcp://.* is lost"):
        survey(out, entries, scheduler=cluster.address, measure=waits_for_a_file, tell=tell)
    assert [row["seed"] for row in rows(out)] == [0] * 4
    another = Cluster()
    try:
        another.add_worker()
        assert survey(out, entries, scheduler=another.address).done == 16
    finally:
        another.close()
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]


@pytest.mark.slow
def test_a_scheduler_that_comes_back_is_gone_on_with(cluster, entries, tmp_path):
    out, again = tmp_path / "a.parquet", []
    cluster.add_worker()

    def tell(now):
        if now.done == 4 and not again:
            os.kill(cluster.scheduler.pid, signal.SIGKILL)
            cluster.scheduler.wait()
            again.append(Cluster(int(cluster.address.rpartition(":")[2])))
            again[0].add_worker()
            (tmp_path / "runs" / "go").touch()

    try:
        end = survey(out, entries, scheduler=cluster.address, measure=waits_for_a_file, tell=tell)
        assert (end.done, end.failed) == (16, 0)
    finally:
        again[0].close()
    assert rows(out) == [measure_entry(entry, USUAL, HERE).row for entry in entries]


@pytest.mark.slow
def test_workers_that_cannot_do_it(cluster, tmp_path):
    cluster.add_worker()
    out = tmp_path / "a.parquet"
    entries = [Entry(f"own/r@checkpoint-{step}", "own", step=step) for step in range(4)]
    with pytest.raises(SurveyError, match=r"have version 0\.0\.1 of Helixscope, not"):
        survey(out, entries, scheduler=cluster.address, measure=of_another_version)
    assert not out.exists()
