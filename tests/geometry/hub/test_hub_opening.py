"""Models opened from a Hub by range: how little is asked for, and that it is the same model."""

import json
import operator

import numpy as np
import pytest
import transformers

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.transfer import Transfer, TransferProgress
from geometry.hub.faults import AccessDenied, HubError, NotOnHub
from geometry.hub.hub_files import TAIL_BYTES
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES
from tests.geometry.hub_kinds import write_model
from tests.geometry.hub_opening import ALLOWANCE, asked, assert_same, kept, network_of, serve
from tests.geometry.models.test_families import built
from tests.loopback.hub import RIGHT_TOKEN
from tests.marks import slow_but
from tests.stand_ins import NINE, OPENAI, STANFORD, positions_of, write_stand_in
from tests.true_sizes import SHAPES, true_positions, write_true_size

GPT2, ALIAS = OPENAI[0], STANFORD[0]


@pytest.mark.parametrize("name", NINE)
def test_the_nine_open_by_range_as_from_their_folders(name, loopback_hub, stand_in, opened):
    commit, folder = stand_in(name)
    loopback_hub.redirect = redirect = NINE.index(name) % 2 == 1
    model = opened(name)
    if name in OPENAI:
        assert len(loopback_hub.requests) <= 3 + redirect
        assert loopback_hub.bytes_sent <= positions_of(name).nbytes + ALLOWANCE
    np.testing.assert_array_equal(model.W_pos, positions_of(name))
    assert model.commit == commit
    assert (model.name, model.source.text) == (name.rsplit("/", 1)[-1], name)
    assert_same(model, open_model(folder))


@pytest.mark.parametrize("name", [name for name in SHAPES if name in OPENAI])
def test_three_megabytes_of_half_a_gigabyte(name, loopback_hub, tmp_path, opened):
    loopback_hub.add(name, write_true_size(tmp_path / "files", name))
    loopback_hub.redirect = True
    model = opened(name)
    table = true_positions(name)
    np.testing.assert_array_equal(model.W_pos, table)
    assert len(loopback_hub.requests) <= 4
    assert loopback_hub.bytes_sent <= table.nbytes + ALLOWANCE
    layers, width = SHAPES[name]
    assert (model.n_layers, model.bytes_to_fetch("W_E")) == (layers, 4 * 50257 * width)


def test_three_megabytes_of_a_torch_file(loopback_hub, tmp_path, opened):
    """As an early torch wrote it: its offsets cannot be worked out, and no header is asked for."""
    files = write_true_size(tmp_path / "files", ALIAS)
    loopback_hub.add(ALIAS, files)
    model = opened(ALIAS)
    table = true_positions(ALIAS)
    np.testing.assert_array_equal(model.W_pos, table)
    assert asked(loopback_hub) == [
        "model.safetensors", "main", "pytorch_model.bin", "pytorch_model.bin", "config.json",
        "pytorch_model.bin",
    ]  # fmt: skip
    assert loopback_hub.bytes_sent <= table.nbytes + ALLOWANCE + TAIL_BYTES
    assert_same(model, open_model(files["config.json"].parent))


def test_a_header_that_is_longer_than_the_first_request(loopback_hub, tmp_path, offer, opened):
    table = np.arange(8 * 1000, dtype=np.float32).reshape(8, 1000)
    tensors = {f"layers.{i}.some.rather.long.name.weight": np.ones(1, "f4") for i in range(3000)}
    files = {"model.safetensors": {**tensors, "wpe.weight": table},
             "config.json": {"model_type": "gpt2"}}  # fmt: skip
    offer(files)
    model = opened()
    np.testing.assert_array_equal(model.W_pos, table)
    assert len(model.store.tensors) == 3001
    assert len(loopback_hub.requests) == 4
    header = (tmp_path / "files" / "model.safetensors").stat().st_size - 4 * 3000 - table.nbytes
    assert header > 2 * 98_304
    assert loopback_hub.bytes_sent <= header + table.nbytes + 1000


def test_a_model_that_has_got_a_new_name(loopback_hub, stand_in, opened):
    commit, _ = stand_in(OPENAI[1])
    loopback_hub.rename("someone/gpt2", OPENAI[1])
    for left in (4, 0):
        loopback_hub.forget_requests()
        model = opened("someone/gpt2")
        assert (model.commit, model.name) == (commit, "gpt2")
        assert len(loopback_hub.requests) == left


@pytest.mark.parametrize("access", ["gated", "private"])
def test_a_model_for_those_with_a_token(access, loopback_hub, tmp_path, cache, monkeypatch, opened):
    files = write_stand_in(tmp_path / "files", GPT2)
    loopback_hub.add(GPT2, files, **{access: True})
    loopback_hub.redirect = True
    with pytest.raises(HubError) as error:
        opened(GPT2)
    assert isinstance(error.value, AccessDenied if access == "gated" else NotOnHub)
    assert "HF_TOKEN" in error.value.advice
    assert not kept(cache)
    monkeypatch.setenv("HF_TOKEN", RIGHT_TOKEN)
    model = opened(GPT2)
    assert_same(model, open_model(files["config.json"].parent))
    # Once it is here, it opens without.
    monkeypatch.delenv("HF_TOKEN")
    with loopback_hub.unasked():
        opened(GPT2)
    assert RIGHT_TOKEN.encode() not in b"".join(kept(cache).values())


@pytest.mark.parametrize(
    "revision", ["main", "feature/x", "v1.0", "refs/pr/3", "commit", "short commit"]
)
def test_any_revision(revision, loopback_hub, tmp_path, cache, stand_in):
    stand_in(ALIAS)
    wanted = write_stand_in(tmp_path / "wanted", ALIAS, "checkpoint-1000")
    branch = {"v1.0": "refs/tags/v1.0", "commit": "x", "short commit": "x"}.get(revision, revision)
    commit = loopback_hub.add(ALIAS, wanted, revision=branch)
    name = {"commit": commit, "short commit": commit[:8]}.get(revision, revision)
    network = network_of(loopback_hub, cache)
    for _ in range(2):
        model = open_model(f"{ALIAS}@{name}", network=network)
        np.testing.assert_array_equal(model.W_pos, positions_of(ALIAS, "checkpoint-1000"))
        assert model.commit == commit
        shown = {"main": "", "commit": f"@{commit[:7]}"}.get(revision, f"@{name}")
        assert model.name == f"alias-gpt2-small-x21{shown}"
        last = len(loopback_hub.requests)
    assert last == len(loopback_hub.requests) > 0
    # The same commit under another name is not fetched twice.
    with loopback_hub.unasked():
        assert open_model(f"{ALIAS}@{commit}", network=network).fingerprint == model.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "{url}/openai-community/gpt2", "{url}/openai-community/gpt2/tree/main", "GPT2", "gpt2",
        "hf://openai-community/gpt2", "openai-community/gpt2@main", "https://huggingface.co/gpt2",
        "{url}/openai-community/gpt2/blob/main/model.safetensors",
    ],
)  # fmt: skip
def test_any_way_of_writing_an_id(text, loopback_hub, stand_in, opened):
    stand_in(GPT2)
    source = text.format(url=loopback_hub.url)
    model = opened(source)
    assert (model.name.lower(), model.source.text) == ("gpt2", source)
    with loopback_hub.unasked():
        opened(GPT2)


def test_a_branch_that_moves_during_the_opening(loopback_hub, tmp_path, cache):
    """All of it is of the commit that the first answer named."""
    first = loopback_hub.add(ALIAS, write_stand_in(tmp_path / "1", ALIAS, "checkpoint-1000"))
    second = loopback_hub.add(ALIAS, write_stand_in(tmp_path / "2", ALIAS, "checkpoint-0"))
    loopback_hub.move(ALIAS, "main", first)

    def on_progress(progress: TransferProgress) -> None:
        if progress.what == "pytorch_model.bin":
            loopback_hub.move(ALIAS, "main", second)

    network = network_of(loopback_hub, cache, transfer=Transfer(on_progress))
    model = open_model(ALIAS, network=network)
    assert model.commit == first
    np.testing.assert_array_equal(model.W_pos, positions_of(ALIAS, "checkpoint-1000"))


def test_a_fresh_look_follows_a_branch(loopback_hub, tmp_path, stand_in, opened):
    first, _ = stand_in(GPT2)
    assert opened(GPT2).commit == first
    loopback_hub.forget_requests()
    assert opened(GPT2, fresh=True).commit == first
    assert asked(loopback_hub) == ["model.safetensors"]

    files = write_stand_in(tmp_path / "2", GPT2)
    config = json.loads(files["config.json"].read_text("utf-8"))
    files["config.json"].write_text(json.dumps({**config, "n_head": 4}), "utf-8")
    second = loopback_hub.add(GPT2, files)
    assert opened(GPT2).commit == first
    model = opened(GPT2, fresh=True)
    assert (model.commit, model.n_heads) == (second, 4)
    with loopback_hub.unasked():
        assert opened(GPT2).commit == second
        old = opened(f"{GPT2}@{first}", fresh=True)
        assert (old.commit, old.n_heads) == (first, 2)


@pytest.mark.parametrize("kind", ["shards", "bin shards"])
def test_of_shards_only_the_one_with_the_positions_is_read(kind, loopback_hub, tmp_path, opened):
    folder = tmp_path / "files"
    write_model(folder, kind)
    shards = {path.name for path in folder.glob("*-of-*")}
    assert len(shards) == 3
    serve(loopback_hub, folder)
    model = opened()
    local = open_model(folder)
    np.testing.assert_array_equal(model.W_pos, local.W_pos)
    assert model.fingerprint == local.fingerprint
    assert set(model.missing) == set(local.missing)
    first = set(asked(loopback_hub)) & shards
    assert len(first) == 1
    # Another matrix is in another one.
    assert model.bytes_to_fetch("W_Q") > 0
    np.testing.assert_array_equal(model.weight("W_Q"), local.weight("W_Q"))
    assert len(set(asked(loopback_hub)) & shards - first) == 1
    assert_same(model, local)
    assert set(asked(loopback_hub)) >= shards

    with loopback_hub.unasked():
        assert_same(opened(), local)


def test_a_shard_that_lacks_what_the_index_promises(loopback_hub, tmp_path, cache, opened):
    folder = tmp_path / "files"
    write_model(folder, "shards")
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text("utf-8"))
    places = index["weight_map"]
    here = places["wpe.weight"]
    places["wpe.weight"] = next(shard for shard in places.values() if shard != here)
    path.write_text(json.dumps(index))
    serve(loopback_hub, folder)
    with pytest.raises(SourceError, match="which lacks it"):
        opened()
    assert not kept(cache)


#: One of each way in which families keep their tables and weights.
KINDS = {
    (case.table, case.computed, case.query == case.key, bool(case.tokens), case.causal): case
    for case in CASES
}


@pytest.mark.parametrize(
    "case", slow_but([*KINDS.values()][::3], KINDS.values()), ids=operator.attrgetter("id")
)
def test_every_kind_of_family_opens_as_from_its_folder(case, loopback_hub, tmp_path, opened):
    built(case).save_pretrained(tmp_path / "files")
    serve(loopback_hub, tmp_path / "files")
    local = open_model(tmp_path / "files", table=case.table)
    model = opened(table=case.table)
    assert len(loopback_hub.requests) <= 3
    assert_same(model, local)
    for layer in range(2 if case.query else 0):
        for reader in ("attention", "mlp"):
            gain, expected = (one.layers.norm_gain(reader, layer) for one in (model, local))
            np.testing.assert_array_equal(gain, expected)


def test_both_tables_of_a_model_and_the_index_once(loopback_hub, tmp_path, cache):
    config = transformers.BartConfig(
        vocab_size=40, d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24,
        max_position_embeddings=512,
    )  # fmt: skip
    transformers.BartModel(config).save_pretrained(tmp_path / "files")
    serve(loopback_hub, tmp_path / "files")
    network = network_of(loopback_hub, cache)
    decoder = open_model("someone/model", network=network)
    loopback_hub.forget_requests()
    encoder = open_model("someone/model", table="encoder", network=network)
    assert encoder.side == "encoder"
    assert asked(loopback_hub) == ["model.safetensors"] * 2
    assert loopback_hub.bytes_sent == 514 * 64 * 4 + 1
    assert encoder.fingerprint != decoder.fingerprint
