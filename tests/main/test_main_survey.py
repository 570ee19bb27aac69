"""The command `survey`: a file of rows, gone on with after Ctrl+C and kills; a Hub with faults."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise

import pytest
from pyarrow import parquet

from geometry.claims.scalar_results import scalar_results
from geometry.models.sources.opening import open_model
from geometry.survey import run
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry, read_populations
from geometry.survey.rows import RowSettings
from tests.command_line import (
    ROOT,
    assert_ended,
    assert_refused,
    assert_silent,
    without_progress,
)
from tests.command_line import run as run_here
from tests.geometry.survey.survey_stage import STEPS, made_row, write_runs
from tests.loopback.hub import Fault
from tests.stand_ins import STANFORD, write_stand_in

PATTERN = "stanford-crfm/*-gpt2-small-*@checkpoint-*"


def rows(out):
    return parquet.read_table(out).to_pylist()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "survey.parquet"


def test_it_writes_a_row_for_each_checkpoint_below_a_folder(command, tmp_path, out):
    runs = write_runs(tmp_path / "runs", seeds=1)
    (tmp_path / "torn.npy").write_bytes(b"torn")
    words = ("survey", runs, tmp_path / "torn.npy", "--out", out, "--workers", 1)
    done = command(*words, "--positions", "1-40", "--offline")
    assert (done.returncode, done.stdout) == (0, "")
    sentence = "1 of 5 checkpoints could not be measured: the column error says why.\n"
    assert without_progress(done) == sentence
    found = rows(out)
    assert [row["step"] for row in found] == [*STEPS, None]
    for row in found[:-1]:
        told = {one.quantity.key: one.value for one in
                scalar_results(open_model(row["source"]), (1, 40))}  # fmt: skip
        assert {key: row[key] for key in told} == told
    assert "torn.npy" in found[-1]["error"]
    # There is nothing left to measure.
    before = out.read_bytes()
    assert without_progress(command(*words, "--positions", "1-40", "--offline")) == sentence
    assert out.read_bytes() == before
    assert_refused(command(*words, "--offline"), "measured with other settings")


def test_what_is_wrong_is_said(command, tmp_path, out, monkeypatch):
    assert command("survey", "sample", "--out", tmp_path / "a.csv").returncode == 2
    assert command("survey", "--out", out).returncode == 2
    both = ("--scheduler", "tcp://127.0.0.1:9", "--workers", 2)
    assert "its own workers" in command("survey", "sample", "--out", out, *both).stderr
    (tmp_path / "empty").mkdir()
    assert_refused(command("survey", tmp_path / "empty", "--out", out), "no checkpoint in")
    out.write_bytes(b"something else")
    done = command("survey", "sample", "--out", out, "--workers", 1)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "was damaged, and is survey.parquet.damaged now" in done.stderr
    monkeypatch.setattr(run, "find_spec", lambda _: None)
    assert_refused(command("survey", "sample", "--out", out), "distributed and pyarrow", "[survey]")


def test_its_help_names_all_populations(command):
    said = " ".join(command("survey", "--help").stdout.split())
    assert f"Populations: {', '.join(one.name for one in read_populations())}." in said


@pytest.fixture
def many(tmp_path):
    """A list of a hundred computed tables, each of which takes some time."""
    listed = tmp_path / "many.txt"
    listed.write_text("".join(f"sinusoidal:{n}x32\n" for n in range(100, 200)), "utf-8")
    return listed


def is_running(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl+C", "killed"])
def test_a_survey_that_is_stopped_goes_on(command, environment, many, out, tmp_path, stop):
    """Ctrl+C leaves a file of all rows so far; a kill loses what came in the last second."""
    parts = out.with_name(out.name + ".parts")
    with subprocess.Popen(
        [sys.executable, "main.py", "survey", many, "--out", out, "--workers", "2"], cwd=ROOT,
        env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        while not [*parts.glob("*.parquet")]:
            assert process.poll() is None
            time.sleep(0.01)  # it needs the cores
        if stop == signal.SIGINT:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all processes
            assert process.communicate(timeout=60) == (b"", b"")
            assert process.returncode == 130
            assert 0 < len(rows(out)) < 100
            assert not parts.exists()
        else:
            process.kill()
            process.communicate(timeout=60)
            assert not out.exists()
    while is_running(process.pid):  # until the last worker has noticed
        time.sleep(0.01)
    assert_silent(command("survey", many, "--out", out, "--workers", 2))
    again = tmp_path / "again.parquet"
    assert_silent(command("survey", many, "--out", again, "--workers", 1))
    assert out.read_bytes() == again.read_bytes()
    assert len(rows(out)) == 100


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_row(interrupted, many, out):
    parts = out.with_name(out.name + ".parts")
    assert_ended(interrupted(parts.exists, "survey", many, "--out", out, "--workers", 2))
    assert not out.exists()
    # What is left, if it was just being made or written, is in no later survey's way.
    assert {path.name for path in parts.glob("[!.]*")} <= {"lock"}


@pytest.mark.slow
def test_on_a_terminal_it_shows_its_progress(on_terminal, many, out):
    terminal = on_terminal("survey", many, "--out", out, "--workers", 2)
    terminal.until("Measuring on 2 workers")
    status, shown = terminal.end()
    assert status == 0
    assert "100 checkpoints." in " ".join(shown.split())


@pytest.fixture
def times(loopback_hub, monkeypatch):
    """When each request came."""
    found, note = [], loopback_hub.note

    def timed(record):
        found.append((time.monotonic(), record.path))
        note(record)

    monkeypatch.setattr(loopback_hub, "note", timed)
    return found


def serve(hub, folder, names=STANFORD[:2], steps=range(0, 600, 100)):
    for name in names:
        for step in steps:
            files = write_stand_in(folder, name, f"checkpoint-{step}")
            hub.add(name, files, revision=f"checkpoint-{step}")
        hub.add(name, write_stand_in(folder, name))


def files_asked_for(hub):
    return [one for one in hub.requests if "/resolve/" in one.path]


@pytest.mark.slow
def test_a_pattern_of_revisions(command, loopback_hub, tmp_path, out):
    serve(loopback_hub, tmp_path / "served")
    words = ("survey", PATTERN, "--out", out, "--workers", 2, "--requests", 1000)
    assert_silent(command(*words))
    found = rows(out)
    assert [(row["seed"], row["step"]) for row in found] == [
        (seed, step) for seed in (21, 49) for step in range(0, 600, 100)
    ]
    assert [row["verdict"] for row in found].count("helix") == 10
    loopback_hub.forget_requests()
    assert_silent(command(*words))
    assert not files_asked_for(loopback_hub)  # the search and the two lists of branches
    # Of a branch that has moved, and of no other, the row is measured again.
    moved = write_stand_in(tmp_path / "moved", STANFORD[0], "checkpoint-100")
    moved["README.md"].write_text("Another one.", "utf-8")
    commit = loopback_hub.add(STANFORD[0], moved, revision="checkpoint-100")
    assert_silent(command(*words))
    assert {one.path.split("/")[4] for one in files_asked_for(loopback_hub)} <= {
        "checkpoint-100", commit}  # fmt: skip
    assert rows(out)[1]["commit"] == commit
    # What is in the cache is measured offline.
    again = tmp_path / "again.parquet"
    with loopback_hub.unasked():
        assert_silent(command("survey", PATTERN, "--out", again, "--workers", 2, "--offline"))
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.slow
def test_requests_stay_within_the_bound(command, loopback_hub, times, tmp_path, out):
    serve(loopback_hub, tmp_path / "served")
    rate = 12
    words = ("survey", PATTERN, "--out", out, "--workers", 2, "--requests", rate)
    assert_silent(command(*words))
    assert len(rows(out)) == 12
    sent = [at for at, path in times if "/api/models" not in path or "/revision/" in path]
    assert len(sent) > 40
    for start in sent:
        for seconds in (1, 2, 3):
            within = sum(start <= at < start + seconds for at in sent)
            assert within <= (seconds + 1) * rate + 4 * 5
    assert sent[-1] - sent[0] >= (len(sent) - 4 * 5) / rate - 1


@pytest.mark.slow
def test_a_wait_that_the_hub_asks_for_is_waited_by_all(command, loopback_hub, times, tmp_path, out):
    serve(loopback_hub, tmp_path / "served")
    busy = loopback_hub.fault(Fault.status(429, {"Retry-After": "3"}), path="*/resolve/*", after=15)
    words = ("survey", PATTERN, "--out", out, "--workers", 2, "--requests", 1000)
    assert_silent(command(*words))
    assert busy.played == 1
    found = rows(out)
    assert [row["error"] for row in found] == [None] * 12
    sent = [at for at, _ in times]
    gap, at = max((after - before, before) for before, after in pairwise(sent))
    assert gap > 2
    # After the refusal only the tasks that were handed out already send requests.
    assert len([one for one in sent if one <= at]) <= 3 + 16 + 2 * 2 * 5


@pytest.mark.slow
def test_passing_and_lasting_faults(command, loopback_hub, tmp_path, out):
    serve(loopback_hub, tmp_path / "served")
    first, second = STANFORD[:2]
    for fault in (Fault.status(500), Fault.status(503), Fault.refuse(), Fault.cut(10),
                  Fault.wrong_length(-3), Fault.other_etag()):  # fmt: skip
        loopback_hub.fault(fault, path=f"*{first}/resolve/*")
    gone = loopback_hub.fault(Fault.status(410), path=f"*{second}/resolve/checkpoint-100/*",
                              times=None)  # fmt: skip
    gated = loopback_hub.fault(
        Fault.status(403, error_code="GatedRepo"), path=f"*{second}/resolve/checkpoint-300/*",
        times=None,
    )  # fmt: skip
    broken = loopback_hub.fault(Fault.status(500), path=f"*{second}/resolve/checkpoint-200/*",
                                times=None)  # fmt: skip
    words = ("survey", PATTERN, f"{second}@checkpoint-7", "--out", out, "--workers", 2,
             "--requests", 1000)  # fmt: skip
    done = command(*words)
    assert done.returncode == 0
    assert done.stderr.startswith("4 of 13 checkpoints could not be measured")
    failed = {row["step"]: (row["temporary"], row["error"]) for row in rows(out) if row["error"]}
    assert {step: temporary for step, (temporary, _) in failed.items()} == {
        7: False, 100: False, 200: True, 300: False,
    }  # fmt: skip
    assert "checkpoint-7" in failed[7][1]
    # Lasting ones are asked for once, passing ones four times.
    assert (gone.played, gated.played, broken.played) == (1, 1, 4)
    # The next survey tries the passing one alone.
    loopback_hub.clear_faults()
    loopback_hub.forget_requests()
    command(*words)
    asked = Counter(one.path.split("/")[4] for one in files_asked_for(loopback_hub))
    assert asked.keys() - {row["commit"] for row in rows(out)} == {"checkpoint-200"}
    assert {row["step"] for row in rows(out) if row["error"]} == {7, 100, 300}


@pytest.mark.slow
def test_lost_hub_ends_the_survey(command, loopback_hub, times, tmp_path, out, monkeypatch):
    from geometry.survey import dispatch

    monkeypatch.setattr(dispatch, "MAX_WAITS", 2)
    serve(loopback_hub, tmp_path / "served")
    loopback_hub.fault(Fault.status(503), path="*/resolve/*", times=None, after=20)
    words = ("survey", PATTERN, "--out", out, "--workers", 2, "--requests", 1000)
    assert_refused(command(*words), "start the survey again later", status=75)
    known = len(rows(out))
    assert 0 < known < 12
    loopback_hub.clear_faults()
    assert_silent(command(*words))
    assert [row["error"] for row in rows(out)] == [None] * 12


def test_survey_opens_in_the_window_or_is_refused(tmp_path, monkeypatch, capsys):
    import gui.commands.run_window

    opened = []

    def run_window(source, *_, **__):
        opened.append(str(source))
        return 0

    monkeypatch.setattr(gui.commands.run_window, "run_window", run_window)
    path = tmp_path / "own.parquet"
    with SurveyFile(path, RowSettings()) as file:
        file.add(made_row(Entry("own/model", "own")))
        file.flush()
        assert run_here(file.parts) == 0
    assert run_here("open", path) == 0
    assert opened == [f"{path}.parts", str(path)]
    path.write_bytes(b"PAR1")
    assert run_here(path) == 1
    assert capsys.readouterr().err.startswith("helixscope: own.parquet is damaged;")
    assert len(opened) == 2
