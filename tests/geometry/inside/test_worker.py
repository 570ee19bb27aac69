"""Measurements in a process of their own: the same results, progress, stopping, and failures."""

import json
import os
import signal
import sys
from contextlib import closing
from dataclasses import asdict

import pytest

from geometry.checkpoints import children
from geometry.checkpoints.errors import FileChanged
from geometry.inside import worker
from geometry.inside.intervene import intervene
from geometry.inside.settings import InsideError, PositionsSettings
from geometry.inside.worker import WorkerProgress, run_in_subprocess
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT
from tests.geometry.inside.small_networks import outcome

SIZES = {"length": 40, "texts_at_most": 6, "seed": 3}
CHANGES = ["top 1", "fitted helix", "shift 900"]


def effects(texts, **more):
    given = {"fingerprint": open_model("sample").fingerprint, **SIZES, **more}
    return run_in_subprocess("effects", source="sample", texts=str(texts), changes=CHANGES, **given)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    place = tmp_path_factory.mktemp("texts")
    sentence = "Positions lie on a curve, and each of them is told from the others by its place. "
    for i in range(4):
        (place / f"{i}.txt").write_text(sentence[i:] * 30)
    return place


@pytest.mark.slow
def test_effects_are_those_of_this_process_and_known_in_part_before(texts):
    told, result = outcome(effects(texts))
    here = asdict(intervene("sample", texts, CHANGES, **SIZES))
    assert json.dumps(result) == json.dumps(here)
    partial = [one.found for one in told if one.found is not None]
    assert [one["windows"] for one in partial] == sorted({one["windows"] for one in partial})
    assert all([e["name"] for e in one["effects"]] == CHANGES for one in partial)
    first = next(one for one in told if one.what == "as it is")
    # Each batch as it is, and with two changes and five controls.
    assert (first.done, first.total % 8) == (0, 0)


@pytest.mark.slow
def test_effects_of_chosen_rows_are_those_of_the_model_that_has_them(texts):
    choice = f"{open_model('sample').table}[:100]"
    fingerprint = open_model("sample", table=choice).fingerprint
    result = outcome(effects(texts, fingerprint=fingerprint, table=choice))[1]
    assert result["fingerprint"] == fingerprint
    with pytest.raises(FileChanged):  # all rows are not those that the window shows
        outcome(effects(texts, fingerprint=fingerprint))


@pytest.mark.slow
def test_positions_are_measured_and_progress_is_told(texts, tmp_path):
    settings = PositionsSettings("sample", str(texts), 40, 8, ("position", "word"), control=False)
    telling = run_in_subprocess(
        "positions", settings=asdict(settings), out=str(tmp_path / "o"), device="cpu"
    )
    told, result = outcome(telling)
    assert result == str(tmp_path / "o")
    assert {"Starting", "Loading the network", "Running sample"} <= {one.what for one in told}
    assert WorkerProgress("Running sample", 8, 8) in told
    assert (tmp_path / "o" / "positions.safetensors").is_file()


@pytest.mark.slow
def test_a_stop_keeps_what_was_summed_and_the_next_run_goes_on(texts, tmp_path):
    settings = asdict(PositionsSettings("sample", str(texts), 40, 60, ("position",), control=False))
    request = {"settings": settings, "out": str(tmp_path / "o"), "device": "cpu"}
    with closing(run_in_subprocess("positions", **request)) as telling:
        for one in telling:
            if one.done >= 8:
                break
    sums = tmp_path / "o" / "unfinished" / "trained.safetensors"
    assert sums.is_file()
    told, _ = outcome(run_in_subprocess("positions", **request))
    done = [one.done for one in told if one.what == "Running sample"]
    assert min(done) >= 8


@pytest.mark.slow
def test_errors_are_those_of_the_measurement(texts, tmp_path):
    with pytest.raises(InsideError, match="contains no text") as raised:
        outcome(effects(tmp_path))
    assert raised.value.advice
    with pytest.raises(FileChanged, match="has changed since it was opened"):
        outcome(effects(texts, fingerprint="another"))


@pytest.fixture
def started(monkeypatch):
    """The processes that are started."""
    started, start = [], worker._start
    monkeypatch.setattr(worker, "_start", lambda: started.append(start()) or started[-1])
    return started


def test_a_killed_process_is_one_sentence(texts, started):
    telling = effects(texts)
    next(telling)
    os.kill(started[0].pid, signal.SIGKILL)
    with pytest.raises(InsideError, match="was ended by signal 9"):
        outcome(telling)


@pytest.mark.slow
def test_a_process_does_not_outlive_who_waits_for_it(texts, started):
    """Its input ends with the window, even when that is killed."""
    with closing(effects(texts)) as telling:
        next(telling)
    assert started[0].poll() is not None


def test_what_a_process_printed_is_the_reason_of_its_error(texts, monkeypatch):
    monkeypatch.setitem(os.environ, "PYTHONPATH", "")
    with pytest.raises(InsideError, match="ended with status 1") as raised:
        outcome(run_in_subprocess("no such measurement"))
    assert "KeyError: 'no such measurement'" in str(raised.value.__cause__)


def test_a_frozen_application_is_its_own_interpreter(tmp_path, monkeypatch):
    """It takes the command line's arguments, and no option of Python's."""
    program = tmp_path / "Helixscope"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "main.py"}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(InsideError, match="ended with status 1") as raised:
        outcome(run_in_subprocess("no such measurement"))
    assert "KeyError: 'no such measurement'" in str(raised.value.__cause__)


def test_no_console_window_opens(monkeypatch):
    """The flag is Windows' own; elsewhere Python refuses it."""
    monkeypatch.setattr(children, "UNSEEN", 0x08000000)
    with pytest.raises(ValueError, match="creationflags"):
        outcome(run_in_subprocess("no such measurement"))
