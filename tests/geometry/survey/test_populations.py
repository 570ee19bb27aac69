"""Which checkpoints sources stand for: ids, patterns, folders, lists, named populations."""

import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.client import Hub
from geometry.hub.faults import NotOnHub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.catalogue import read_catalogue
from geometry.survey.populations import Entry, expand, file_order, read_populations
from geometry.survey.rows import Access, RowSettings, measure_entry
from tests.geometry.history_stage import growing, write_checkpoint, write_record
from tests.geometry.models.test_layer_tables import METADATA, tensors
from tests.stand_ins import STANFORD, write_stand_in

ALIAS, EXPANSE = STANFORD[0], STANFORD[-1]


@pytest.fixture
def network(tmp_path, hub_home):
    return Network(Hub(), TensorCache(tmp_path / "kept"), Transfer())


@pytest.fixture
def offline(tmp_path):
    return Network(Hub(offline=True), TensorCache(tmp_path / "kept"), Transfer())


def test_revisions_by_a_pattern(loopback_hub, network, tmp_path):
    commits = {}
    for name in (ALIAS, EXPANSE):
        for branch in ("main", "checkpoint-0", "checkpoint-1000", "checkpoint-400"):
            files = write_stand_in(tmp_path / "served", name, branch)
            commits[name, branch] = loopback_hub.add(name, files, revision=branch)
    loopback_hub.add("somebody/alias-gpt2-small-x21", files)
    found = expand(["stanford-crfm/*-gpt2-small-*@checkpoint-*"], network)
    assert [(one.seed, one.step) for one in found] == [
        (seed, step) for seed in (21, 777) for step in (0, 400, 1000)
    ]
    assert found[1] == Entry(
        f"{ALIAS}@checkpoint-400", "Stanford's GPT-2 small", 21, 400,
        tokens=400 * 512 * 1024, commit=commits[ALIAS, "checkpoint-400"],
    )  # fmt: skip
    # The search, and the branches of each model found.
    assert len([one for one in loopback_hub.requests if one.path.startswith("/api/models")]) == 3
    assert expand([f"{ALIAS}@checkpoint-?"], network) == found[:1]
    assert [one.source for one in expand(["stanford-crfm/expanse*"], network)] == [EXPANSE]


def test_a_population_by_its_name_is_what_its_patterns_are(loopback_hub, network, tmp_path):
    for name in ("multiberts-seed_0", "multiberts-seed_12", "multiberts-seed_0-step_20k"):
        loopback_hub.add(f"google/{name}", {"config.json": b"{}"})
    found = expand(["multiberts", "multiberts-steps"], network)
    assert [(one.group, one.seed, one.step, one.tokens) for one in found] == [
        ("MultiBERTs", 0, 20_000, 20_000 * 131_072),
        ("MultiBERTs", 0, 2_000_000, 2_000_000 * 131_072),
        ("MultiBERTs", 12, 2_000_000, 2_000_000 * 131_072),
    ]


def test_populations_without_patterns_need_no_request(offline):
    nine = expand(["nine-gpt2"], offline)
    assert len(nine) == 9
    assert [one.seed for one in nine] == [None] * 4 + [21, 49, 81, 343, 777]
    assert {one.group for one in nine} == {"OpenAI's GPT-2", "Stanford's GPT-2 small"}
    everything = expand(["catalogue"], offline)
    assert {one.source for one in everything} == {one.id for one in read_catalogue()}
    assert len({one.name for one in read_populations()}) == len(read_populations()) == 5


def test_ids_and_computed_tables(offline):
    found = expand(
        ["sinusoidal:64x32", "gpt2", "sample", "own/model-seed_3@v1", "own/runs-x7@step2000"],
        offline,
    )
    assert {one.source: (one.seed, one.step) for one in found} == {
        "sinusoidal:64x32": (None, None),
        "openai-community/gpt2": (None, None),
        "sample": (None, None),
        "own/model-seed_3@v1": (3, None),
        "own/runs-x7@step2000": (7, 2000),
    }
    with pytest.raises(SourceError, match="no pattern of models"):
        expand(["no model at all@*"], offline)


def test_offline_the_cache_is_searched(offline):
    cache, commit = offline.cache, "a" * 40
    cache.put(ALIAS, commit, "complete", b"", core=True)
    cache.remember(ALIAS, "checkpoint-7", commit)
    assert expand(["stanford-crfm/alias*@*"], offline) == expand([f"{ALIAS}@check*"], offline)
    (entry,) = expand([f"{ALIAS}@checkpoint-*"], offline)
    assert (entry.step, entry.commit) == (7, commit)
    with pytest.raises(SourceError, match="There is no checkpoint in"):
        expand([f"{EXPANSE}@checkpoint-*"], offline)


def test_a_model_that_the_hub_does_not_have(loopback_hub, network):
    with pytest.raises(NotOnHub, match="nobody/nothing"):
        expand(["nobody/nothing@checkpoint-*"], network)
    assert HubAddress("nobody/nothing").short == "nothing"


def test_every_checkpoint_below_a_folder(offline, tmp_path):
    top = tmp_path / "runs"
    (table,) = growing([1000])
    for path in ("seed-1/checkpoint-100", "seed-1/checkpoint-20", "seed-2/checkpoint-20", "alone",
                 ".hidden/checkpoint-5"):  # fmt: skip
        write_checkpoint(top / path, table)
    np.save(top / "bare.npy", table)
    save_file({"state": table}, top / "seed-1" / "checkpoint-20" / "optimizer.safetensors")
    (top / "notes.md").write_text("nothing of this is a checkpoint", "utf-8")
    found = expand([str(top)], offline)
    assert [(one.group, one.seed, one.step, one.source) for one in found] == [
        ("alone", None, None, str(top / "alone")),
        ("runs", None, None, str(top / "bare.npy")),
        ("seed-1", 1, 20, str(top / "seed-1/checkpoint-20")),
        ("seed-1", 1, 100, str(top / "seed-1/checkpoint-100")),
        ("seed-2", 2, 20, str(top / "seed-2/checkpoint-20")),
    ]
    inside = expand([str(top / "seed-1")], offline)
    assert [(one.group, one.seed, one.step) for one in inside] == [
        ("seed-1", 1, 20), ("seed-1", 1, 100),
    ]  # fmt: skip
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"There is no checkpoint in .*empty"):
        expand([str(tmp_path / "empty")], offline)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("config", [True, False])
def test_folder_in_place_of_weights_is_an_error_entry(offline, tmp_path, name, config):
    broken = tmp_path / "runs" / "checkpoint-5"
    (broken / name).mkdir(parents=True)
    if config:
        (broken / "config.json").write_text("{}", "utf-8")
    write_checkpoint(tmp_path / "runs" / "checkpoint-10", growing([100])[0])
    first, second = expand([str(tmp_path / "runs")], offline)
    assert (first.source, first.step, second.step) == (str(broken), 5, 10)
    row = measure_entry(first, RowSettings(), Access(offline=True)).row
    assert f"{name} is a folder" in row["error"]


def test_names_that_are_no_text(offline, tmp_path):
    """Below a folder, and in a list: each is one that can be opened."""
    odd = tmp_path / "runs" / os.fsdecode(b"caf\xe9")
    write_checkpoint(odd, growing([100])[0])
    (found,) = expand([str(tmp_path / "runs")], offline)
    assert (found.source, found.group) == (str(odd), odd.name)
    (tmp_path / "sources.txt").write_bytes(os.fsencode(odd) + b"\n")
    (listed,) = expand([str(tmp_path / "sources.txt")], offline)
    assert listed.source == found.source
    row = measure_entry(listed, RowSettings(), Access(offline=True)).row
    assert row["error"] is None


def test_steps_of_a_history_and_layers_of_a_run(offline, tmp_path):
    trained, measured = tmp_path / "trained-x5", tmp_path / "measured"
    write_checkpoint(trained, growing([100])[0])
    write_record(trained / "history.safetensors", [0, 10, 100])
    measured.mkdir()
    save_file(tensors(), measured / "positions.safetensors", metadata=METADATA)
    found = expand([str(trained), str(measured)], offline)
    assert [(one.group, one.seed, one.step, one.layer, one.tokens) for one in found] == [
        *(("measured", None, None, layer, None) for layer in range(4)),
        *(("trained-x5", 5, step, None, 100 * step) for step in (0, 10, 100)),
        ("trained-x5", 5, None, None, None),
    ]
    assert found[2].source == f"{measured}/layer 2"
    assert found[-2] == Entry(
        f"{trained}/step 100", "trained-x5", 5, 100, tokens=10_000,
        history=str(trained / "history.safetensors"),
    )  # fmt: skip
    assert expand([str(measured / "positions.safetensors")], offline) == found[:4]


def test_a_list_of_sources_in_a_text_file(offline, tmp_path):
    write_checkpoint(tmp_path / "one", growing([100])[0])
    listed = tmp_path / "sources.txt"
    listed.write_text("# a comment\n\none\nnine-gpt2\n  gpt2  \n", "utf-8")
    found = expand([str(listed)], offline)
    assert len(found) == 10
    assert found[-1].source == str(tmp_path / "one")
    listed.write_text("table:pe[2:];family=bert,one\ntable:family=gpt2,sample\n", "utf-8")
    found = [entry.source for entry in expand([str(listed)], offline)]
    assert found == ["table:family=gpt2,sample", f"table:pe[2:];family=bert,{tmp_path / 'one'}"]
    listed.write_text("sources.txt\n", "utf-8")
    with pytest.raises(SourceError, match=r"sources\.txt lists itself"):
        expand([str(listed)], offline)
    listed.write_text("# nothing\n", "utf-8")
    with pytest.raises(SourceError, match="There is no checkpoint"):
        expand([str(listed)], offline)


def test_the_order_is_the_same_however_they_are_named(offline, tmp_path):
    names = ["gpt2-xl", "sample", "sinusoidal", "gpt2"]
    assert expand(names, offline) == expand([*reversed(names), "gpt2"], offline)


def test_the_final_model_follows_the_steps_and_comes_before_its_layers():
    rows = [(None, None), (10, None), (0, None), (None, 1), (None, 0)]
    ordered = sorted(rows, key=lambda row: file_order("run", None, *row, "source"))
    assert ordered == [(0, None), (10, None), (None, None), (None, 0), (None, 1)]
