"""The command line and a Hub on this machine.

Silence where nobody looks, and no request for what was fetched before.
"""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import main as command_line
from tests.command_line import (
    GPT2,
    Completed,
    add_large,
    assert_refused,
    assert_silent,
    norms_in,
    norms_of,
    without_progress,
)
from tests.loopback.hub import Fault
from tests.stand_ins import positions_of, write_stand_in

ALIAS = "stanford-crfm/alias-gpt2-small-x21"


def test_a_model_of_the_hub_and_again_offline(command, loopback_hub, gpt2_commit, tmp_path):
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    assert_silent(command("export", GPT2, "--out", first))
    assert norms_in(first) == pytest.approx(norms_of(GPT2))
    assert len(loopback_hub.requests) == 3
    with loopback_hub.unasked():
        loopback_hub.close()
        for words in (("--offline",), ()):
            assert_silent(command("export", GPT2, "--out", again, *words))
            assert again.read_bytes() == first.read_bytes()
        # By its short name, too; and where the environment says so.
        assert_silent(command("export", "gpt2", "--out", again, HF_HUB_OFFLINE="1"))


@pytest.mark.slow
def test_report_and_render(command, loopback_hub, gpt2_commit, tmp_path):
    out, picture = tmp_path / "report", tmp_path / "helix.png"
    assert_silent(command("report", GPT2, "--out", out, "--no-figures"))
    first = (out / "report.json").read_bytes()
    measured = json.loads(first)
    assert (measured["model"]["source"], measured["model"]["commit"]) == (GPT2, gpt2_commit)
    assert measured["missing"] == {}
    with loopback_hub.unasked():
        # The token embeddings and the weights that it needed are kept as well.
        assert_silent(command("report", GPT2, "--out", out, "--no-figures", "--offline"))
        assert (out / "report.json").read_bytes() == first
        assert_silent(command("render", GPT2, "--out", picture, "--size", "90x60", "--offline"))
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_branch_that_moves_on(command, loopback_hub, tmp_path):
    loopback_hub.add(ALIAS, write_stand_in(tmp_path / "served", GPT2))
    out = tmp_path / "out.csv"
    assert_silent(command("export", ALIAS, "--out", out))
    moved = write_stand_in(tmp_path / "served", GPT2, "checkpoint-0")
    loopback_hub.add(ALIAS, moved)
    assert_silent(command("export", ALIAS, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))
    assert_silent(command("export", ALIAS, "--out", out, "--fresh"))
    assert norms_in(out) == pytest.approx(norms_of(GPT2, "checkpoint-0"))
    assert command("export", ALIAS, "--out", out, "--fresh", "--offline").returncode == 2


def test_a_server_that_ignores_range(command, loopback_hub, gpt2_commit, tmp_path, cache):
    loopback_hub.fault(Fault.ignore_range(), times=None, path="*/model.safetensors")
    out = tmp_path / "out.csv"
    size = (tmp_path / "served" / GPT2.replace("/", "--") / "main" / "model.safetensors").stat()
    refused = command("export", GPT2, "--out", out)
    assert_refused(refused, f"all {size.st_size / 1000:.0f} kB of model.safetensors", "--whole")
    assert cache.usage() == 0
    assert_silent(command("export", GPT2, "--out", out, "--whole"))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


def test_the_model_of_an_adapter(command, loopback_hub, gpt2_commit, tmp_path):
    a, b = np.ones((2, 8), np.float32), np.ones((8, 2), np.float32)
    save_file({"h.0.mlp.lora_A.weight": a, "h.0.mlp.lora_B.weight": b},
              tmp_path / "adapter_model.safetensors")  # fmt: skip
    settings = {"peft_type": "LORA", "base_model_name_or_path": GPT2, "r": 2}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    out = tmp_path / "out.csv"
    assert_refused(command("export", tmp_path, "--out", out), f"an adapter of {GPT2}", "--whole")
    assert not loopback_hub.requests
    assert_silent(command("export", tmp_path, "--out", out, "--whole"))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


@pytest.mark.slow
def test_a_report_names_the_option_that_allows_a_whole_download(command, loopback_hub, tmp_path):
    add_large(loopback_hub, positions_of(GPT2))
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv"))
    loopback_hub.ranges = False
    report = ("report", GPT2, "--out", tmp_path / "report", "--no-figures")
    assert_refused(command(*report), "model.safetensors would have to be downloaded", "--whole")
    assert_silent(command(*report, "--whole"))
    # It was all kept.
    with loopback_hub.unasked():
        assert_silent(command(*report, "--offline"))


def rows_of(done: Completed) -> dict[str, str]:
    assert (done.returncode, without_progress(done)) == (0, "")
    return {line.split()[0]: line for line in done.stdout.splitlines()}


def test_models_tells_states_and_costs(command, loopback_hub, tmp_path):
    for revision in ("main", "checkpoint-0"):
        files = write_stand_in(tmp_path / "served", GPT2, revision)
        loopback_hub.add(GPT2, files, revision=revision)
    rows = rows_of(command("models"))
    assert " ".join(rows[GPT2].split()).endswith("online 3.1 MB")
    for source in (GPT2, f"{GPT2}@checkpoint-0"):
        assert_silent(command("export", source, "--out", tmp_path / "out.csv"))
    with loopback_hub.unasked():
        for words in ((), ("--offline",)):
            rows = rows_of(command("models", *words))
            assert rows[GPT2].split()[-1] == "cached"
            assert rows[f"{GPT2}@checkpoint-0"].split()[-1] == "cached"
            assert "6.6 MB" in rows["openai-community/gpt2-xl"]


def test_searching(command, loopback_hub, gpt2_commit, tmp_path):
    loopback_hub.add(ALIAS, write_stand_in(tmp_path / "served", ALIAS))
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv"))
    rows = rows_of(command("models", "--search", "gpt2"))
    assert set(rows) == {"Model", GPT2, ALIAS}
    assert rows[GPT2].split()[-1] == "cached"
    assert rows[ALIAS].split()[-1] == "online"
    nothing = command("models", "--search", "quite another")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "No model on the Hub has 'quite another' in its name.\n"
    refused = command("models", "--search", "gpt2", "--offline")
    assert_refused(refused, "The Hub cannot be reached", "omit --offline")


def test_the_window_does_not_wait_for_the_hub(monkeypatch, loopback_hub, gpt2_commit):
    import gui.commands.run_window

    calls = []

    def run_window(source, *more, beside, offline, table):
        calls.append((str(source), *more, *beside, offline, table, len(loopback_hub.requests)))
        return 0

    monkeypatch.setattr(gui.commands.run_window, "run_window", run_window)
    for words in ([GPT2], ["open", f"{GPT2}@v1", "--offline", "--positions", "5-5000"]):
        with pytest.raises(SystemExit) as stop:
            command_line.main(words)
        assert stop.value.code == 0
    assert calls == [
        (GPT2, None, None, False, None, 0),
        (f"{GPT2}@v1", (5, 5000), None, True, None, 0),
    ]


@pytest.mark.slow
def test_no_command_loads_what_it_does_not_need(
    command, environment, loopback_hub, gpt2_commit, tmp_path, monkeypatch, run_python
):
    np.save(tmp_path / "table.npy", positions_of(GPT2))
    assert_silent(command("report", GPT2, "--out", tmp_path / "report", "--no-figures"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    table, out = str(tmp_path / "table.npy"), str(tmp_path / "again.csv")
    report = ["--out", str(tmp_path / "report of a table"), "--rank", "3", "--no-figures"]
    heavy = {
        "matplotlib", "pyvista", "vtkmodules", "PySide6", "torch", "transformers",
        "huggingface_hub", "httpx2", "dask", "distributed", "pyarrow",
    }  # fmt: skip
    commands = [
        (["--help"], heavy | {"numpy", "scipy"}),
        (["export", table, "--out", out], heavy),
        (["report", table, *report], heavy),
        (["table", table], heavy),
        (["export", GPT2, "--out", out], heavy),
        (["report", GPT2, "--out", str(tmp_path / "report"), "--no-figures"], heavy),
    ]
    run_python(
        "import sys, main\n"
        f"for words, unwanted in {commands!r}:\n"
        "    try:\n"
        "        main.main(words)\n"
        "    except SystemExit as stop:\n"
        "        assert not stop.code, stop.code\n"
        "    loaded = unwanted & set(sys.modules)\n"
        "    assert not loaded, (words, loaded)\n"
    )
    assert [path.name for path in (tmp_path / "report of a table").iterdir()] == ["report.json"]
