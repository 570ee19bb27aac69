"""Commands that run a network, and models on the Hub: a question with the size, then the download.

The networks are tiny ones of transformers.
"""

import json
import shutil

import pytest

from tests.command_line import assert_ended, assert_refused
from tests.geometry.inside.conftest import write as write  # a fixture
from tests.loopback.hub import Fault

GPT2, LLAMA = "someone/tiny-gpt2", "someone/tiny-llama"
WEIGHTS = "*/model.safetensors"
ASKING = 2
"""Requests for the size: the list of files, and the configuration."""
NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")


@pytest.fixture
def served(loopback_hub, write):
    """A GPT-2 and a Llama on the Hub."""
    loopback_hub.redirect = True
    folders = {GPT2: write("gpt2", head=True), LLAMA: write("llama", head=True)}
    for name, folder in folders.items():
        loopback_hub.add(name, {file: folder / file for file in NEEDED})
    return folders


def size_of(folder):
    return f"{sum((folder / name).stat().st_size for name in NEEDED) / 1000:.0f} kB"


def commands(source, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text(" ".join(f"w{i * i * 7 % 59}" for i in range(2000)), "utf-8")
    sizes = ("--length", "20", "--texts-at-most", "4", "--texts", texts)
    return (
        ("positions", source, "--out", tmp_path / "inside", "--no-control", *sizes),
        ("intervene", source, "--changes", "top 0", "--out", tmp_path / "e.json", *sizes),
    )


def test_no_terminal_no_download(command, served, loopback_hub, tmp_path, hub_home):
    for words in commands(GPT2, tmp_path):
        loopback_hub.forget_requests()
        said = f"{GPT2} is not complete on this machine: {size_of(served[GPT2])} would be"
        assert_refused(command(*words), said, "allow it with --whole")
        listing, config = (one.path for one in loopback_hub.requests)
        assert listing == f"/api/models/{GPT2}/revision/main"
        assert config.endswith("/config.json")
    assert not (hub_home / "hub").exists()


@pytest.mark.parametrize("number", [0, 1])
def test_whole_agrees_and_then_it_is_here(command, served, loopback_hub, tmp_path, number):
    words = commands(GPT2, tmp_path)[number]
    assert command(*words, "--whole").returncode == 0
    with loopback_hub.unasked():
        loopback_hub.close()
        shutil.rmtree(tmp_path / "inside", ignore_errors=True)
        for other in commands(GPT2, tmp_path):
            assert command(*other, "--offline").returncode == 0
    about = json.loads((tmp_path / "inside" / "positions.json").read_text("utf-8"))
    assert len(about["layers"]) == 4
    (effect,) = json.loads((tmp_path / "e.json").read_text("utf-8"))["changes"]
    assert effect["delta"] is not None


def test_a_revision_of_the_same_files_is_not_asked_about(command, served, loopback_hub, tmp_path):
    words, other = (commands(source, tmp_path)[0] for source in (GPT2, f"{GPT2}@v2"))
    assert command(*words, "--whole").returncode == 0
    files = {name: served[GPT2] / name for name in NEEDED}
    loopback_hub.add(GPT2, files | {"README.md": b"More."}, revision="v2")
    loopback_hub.forget_requests()
    shutil.rmtree(tmp_path / "inside")
    assert command(*other).returncode == 0
    assert len(loopback_hub.requests) == ASKING


def test_offline_and_what_cannot_run(command, served, loopback_hub, tmp_path):
    with loopback_hub.unasked():
        offline = command(*commands(GPT2, tmp_path)[0], "--offline", "--whole")
        assert_refused(offline, "not complete on this machine, and Helixscope is offline",
                       "omit --offline")  # fmt: skip
        words = commands(GPT2, tmp_path)[1]
        for wrong in (("--changes", "top"), ("--texts", "nowhere")):
            assert command(*words, *wrong, "--whole").returncode == 1
    # A model without a table, which intervene cannot change, is refused before its weights come.
    done = command(*commands(LLAMA, tmp_path)[1], "--whole")
    assert_refused(done, "llama")
    assert not list(tmp_path.rglob("*.incomplete"))
    assert not list(tmp_path.rglob("model.safetensors"))
    assert command(*commands(LLAMA, tmp_path)[0], "--whole").returncode == 0


def test_ctrl_c_keeps_what_has_come(command, interrupted, served, loopback_hub, tmp_path):
    def has_come():
        """Return whether some bytes of the weights are on the disk; other files are smaller."""
        return any(path.stat().st_size > 8_000 for path in tmp_path.rglob("*.incomplete"))

    loopback_hub.fault(Fault.stall(9_000), path=WEIGHTS, host="storage", after=1)
    words = (*commands(GPT2, tmp_path)[0], "--whole")
    assert_ended(interrupted(has_come, *words))
    assert not (tmp_path / "inside").exists()
    (partial,) = tmp_path.rglob("*.incomplete")
    here = partial.stat().st_size
    assert here > 0
    loopback_hub.forget_requests()
    assert command(*words).returncode == 0
    last = (served[GPT2] / "model.safetensors").stat().st_size - 1
    asked = [one.range for one in loopback_hub.requests if one.host == "storage"]
    assert asked == ["bytes=0-0", f"bytes={here}-{last}"]


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["n", "", "yes"])
def test_a_terminal_is_asked(on_terminal, served, loopback_hub, tmp_path, answer):
    terminal = on_terminal(*commands(GPT2, tmp_path)[0])
    terminal.until(f"{size_of(served[GPT2])} of {GPT2} will be downloaded. Continue? [y/N] ")
    assert len(loopback_hub.requests) == ASKING
    terminal.type(answer)
    status, shown = terminal.end()
    if answer == "yes":
        assert status == 0, shown
        assert (tmp_path / "inside" / "positions.json").is_file()
    else:
        assert (status, len(loopback_hub.requests)) == (1, ASKING)
        assert f"helixscope: {GPT2} was not downloaded." in shown
