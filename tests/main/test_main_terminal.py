"""The command line while it fetches: Ctrl+C ends it with status 130, and a terminal is told."""

import json
import signal
import threading

import pytest

from tests.command_line import (
    BODY,
    GPT2,
    add_large,
    assert_ended,
    assert_silent,
    norms_in,
    norms_of,
)
from tests.loopback.hub import Fault
from tests.stand_ins import positions_of


@pytest.mark.parametrize(
    ("fault", "path", "after"),
    [
        pytest.param(Fault.stall(), BODY, 0, id="before an answer"),
        pytest.param(Fault.stall(100), BODY, 0, id="in the index"),
        pytest.param(Fault.stall(10), "*/config.json", 0, id="in the configuration"),
        pytest.param(Fault.stall(100), BODY, 1, id="in the table"),
        pytest.param(Fault.status(503, {"Retry-After": "50"}), BODY, 1, id="in a wait"),
    ],
)
def test_ctrl_c(command, interrupted, loopback_hub, tmp_path, cache, fault, path, after):
    add_large(loopback_hub, positions_of(GPT2))
    playing = loopback_hub.fault(fault, path=path, times=None, after=after)
    out = tmp_path / "out.csv"
    assert_ended(interrupted(playing.reached.is_set, "export", GPT2, "--out", out))
    assert not out.exists()
    assert cache.usage() == 0
    loopback_hub.clear_faults()
    assert_silent(command("export", GPT2, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


@pytest.mark.slow
def test_ctrl_c_while_measuring(command, interrupted, loopback_hub, tmp_path):
    add_large(loopback_hub, positions_of(GPT2))
    playing = loopback_hub.fault(Fault.stall(100), path=BODY, times=None, after=2)
    out = tmp_path / "report"
    arguments = ("report", GPT2, "--out", out, "--no-figures")
    assert_ended(interrupted(playing.reached.is_set, *arguments))
    assert not out.exists()
    loopback_hub.clear_faults()
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv", "--offline"))
    assert_silent(command(*arguments, "--offline"))
    offline = json.loads((out / "report.json").read_text("utf-8"))
    assert offline["pca"] is not None
    assert offline["overlaps"]["W_Q_E"] is offline["capture"] is offline["spectrum"]["E"] is None
    assert "network may not be used" in offline["missing"]["capture"]
    assert "spectrum.stable_rank.E" in offline["missing"]
    assert_silent(command(*arguments))
    online = json.loads((out / "report.json").read_text("utf-8"))
    assert online["spectrum"]["E"] is not None
    assert "capture" not in online["missing"]


@pytest.mark.slow
def test_progress_and_success_on_a_terminal(on_terminal, loopback_hub, tmp_path):
    table = positions_of(GPT2)
    add_large(loopback_hub, table)
    loopback_hub.fault(Fault.status(503), path=BODY)
    gate = threading.Event()
    loopback_hub.fault(Fault.slow(2_000, gate), path=BODY, after=1)
    terminal = on_terminal("export", GPT2, "--out", tmp_path / "out.csv")
    terminal.until("503 Service Unavailable. Trying again in 1 second.")
    terminal.until("Downloading wpe.weight")
    terminal.until(f"2 kB of {table.nbytes / 1000:.0f} kB")
    gate.set()
    status, shown = terminal.end()
    assert status == 0
    (commit,) = {request.path.split("/")[4] for request in loopback_hub.requests[2:]}
    assert f"Wrote {tmp_path / 'out.csv'}: gpt2 at commit {commit[:7]}." in shown


def test_ctrl_c_on_a_terminal(on_terminal, loopback_hub, gpt2_commit, tmp_path):
    loopback_hub.fault(Fault.stall(100), path=BODY)
    terminal = on_terminal("export", GPT2, "--out", tmp_path / "out.csv")
    terminal.until("Downloading model.safetensors")
    terminal.process.send_signal(signal.SIGINT)
    status, shown = terminal.end()
    assert status == 130
    assert "Traceback" not in shown
    assert "helixscope:" not in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the bars are gone


@pytest.mark.slow
def test_much_is_announced(on_terminal, loopback_hub, tmp_path):
    table = positions_of(GPT2)
    add_large(loopback_hub, table, tokens=21_000_000 // table[0].nbytes)
    terminal = on_terminal("report", GPT2, "--out", tmp_path / "report", "--no-figures")
    terminal.until("The report reads 21.0 MB more of gpt2.")
    assert terminal.end()[0] == 0
