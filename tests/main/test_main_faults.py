"""The command line and a Hub that plays every fault: one sentence on standard error, status 1."""

import pytest

from geometry.models.model import PositionalModel
from tests.command_line import (
    BODY,
    GPT2,
    add_large,
    assert_refused,
    assert_silent,
    norms_in,
    norms_of,
    run,
)
from tests.loopback.hub import Fault
from tests.stand_ins import positions_of, write_stand_in


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "times", "path", "words"),
    [
        pytest.param(Fault.status(429, {"Retry-After": "3600"}), 1, "*", "60 minutes", id="429"),
        pytest.param(Fault.status(503), None, "*", "503 Service Unavailable", id="503"),
        pytest.param(Fault.stall(), None, "*", "did not answer in time", id="time-out"),
        pytest.param(Fault.refuse(), None, "*", "The connection to 127.0.0.1", id="no answer"),
        pytest.param(Fault.cut(9), None, BODY, "The connection to 127.0.0.1", id="cut"),
        pytest.param(Fault.wrong_length(-1), None, BODY, "model.safetensors", id="wrong length"),
        pytest.param(Fault.garble_content_range(), 1, BODY, "the wrong part", id="the wrong part"),
    ],
)
def test_faults(
    command, loopback_hub, gpt2_commit, tmp_path, cache, monkeypatch, fault, times, path, words
):
    loopback_hub.fault(fault, times=times, path=path)
    out = tmp_path / "out.csv"
    if fault.is_silent:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    assert_refused(command("export", GPT2, "--out", out), words)
    assert not out.exists()
    assert cache.usage() == 0


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("http://helixscope.invalid", "The name helixscope.invalid could not be looked up"),
        ("http://127.0.0.1:9", "127.0.0.1:9 refuses connections"),
        ("huggingface", "HF_ENDPOINT is not a web address"),
    ],
)
def test_no_hub_at_the_address(command, tmp_path, endpoint, words):
    for arguments in (["export", GPT2, "--out", tmp_path / "out.csv"], ["models", "--search", "x"]):
        assert_refused(command(*arguments, HF_ENDPOINT=endpoint), words)


def test_what_is_not_there(command, loopback_hub, gpt2_commit, tmp_path):
    out = tmp_path / "out.csv"
    missing = command("export", "nobody/nothing", "--out", out)
    assert_refused(missing, "no file or folder 'nobody/nothing' here", "no model nobody/nothing")
    missing = command("report", f"{GPT2}@never", "--out", tmp_path / "report")
    assert_refused(missing, "has no revision 'never'")
    assert not (tmp_path / "report").exists()
    missing = command("render", GPT2, "--out", tmp_path / "x.png", "--offline")
    assert_refused(missing, f"{GPT2} is not on this machine", "omit --offline")
    missing = command("export", GPT2, "--out", out, HF_HUB_OFFLINE="1")
    assert_refused(missing, f"{GPT2} is not on this machine", "unset HF_HUB_OFFLINE")
    assert len(loopback_hub.requests) == 2


def test_wrong_bytes_that_show(command, loopback_hub, tmp_path, cache):
    table = positions_of(GPT2)
    table[-1, -1] = 2.0**96  # one flipped bit of its exponent away from infinity
    content = add_large(loopback_hub, table)
    loopback_hub.fault(Fault.flip(content.index(table[-1].tobytes()) + table[-1].nbytes - 1))
    out = tmp_path / "out.csv"
    assert_refused(command("export", GPT2, "--out", out), "wpe.weight", "finite")
    assert not out.exists()
    assert cache.usage() == 0
    assert_refused(command("export", GPT2, "--out", out, "--offline"), "is not on this machine")
    assert_silent(command("export", GPT2, "--out", out))


def test_a_cache_that_cannot_be_written(command, loopback_hub, gpt2_commit, tmp_path):
    (tmp_path / "helixscope").write_text("in the way")
    out = tmp_path / "out.csv"
    assert_silent(command("export", GPT2, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))
    (log,) = (tmp_path / "state").rglob("helixscope.log")
    assert "Could not write" in log.read_text("utf-8")


def test_a_file_written_again_while_its_report_is_made(tmp_path, monkeypatch, capsys):
    """Its positions were read from the old version, and its tokens would be from the new one."""
    folder = write_stand_in(tmp_path / "files", GPT2)["config.json"].parent
    real, path = PositionalModel.__init__, folder / "model.safetensors"

    def disturbed(self, *arguments, **options):
        real(self, *arguments, **options)
        (folder / "new").write_bytes(path.read_bytes())
        (folder / "new").replace(path)

    monkeypatch.setattr(PositionalModel, "__init__", disturbed)
    out = tmp_path / "report"
    assert run("report", folder, "--out", out, "--no-figures", "--rank", "3") == 1
    printed = capsys.readouterr()
    said = "helixscope: model.safetensors has changed since it was opened; open it again.\n"
    assert printed.err == said
    assert not (out / "report.json").exists()
