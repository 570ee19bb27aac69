"""The catalogue, and what of it is on this machine."""

import json
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.models.sources import locating
from geometry.models.sources import opening as sources
from geometry.models.sources.catalogue import (
    SAMPLE,
    SAMPLE_INSIDE,
    SAMPLE_PLAIN,
    find_entry,
    read_catalogue,
)
from geometry.models.sources.local_models import (
    HUB_CACHE_GROUP,
    cached_models,
    hub_cache,
    locate,
    state,
)
from geometry.models.sources.locating import is_here, local_path, may_ask_hub, tried
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    """An empty Hub cache."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    return cache


def put(hub: Path, name: str, files: dict[str, Path | str], revision: str = "main") -> Path:
    """Lay a model into the cache, as the Hub's client does."""
    commit = {"main": "a" * 40}.get(revision, "b" * 40)
    repo = hub / f"models--{name.replace('/', '--')}"
    snapshot = repo / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repo / "refs").mkdir(exist_ok=True)
    (repo / "refs" / revision).write_text(commit)
    for file, content in files.items():
        if isinstance(content, Path):
            (snapshot / file).symlink_to(content)
        else:
            (snapshot / file).write_text(content)
    return snapshot


@pytest.fixture
def gpt2_files(gpt2_folder) -> dict[str, Path | str]:
    return {path.name: path for path in gpt2_folder.iterdir()}


def test_the_catalogue_is_complete():
    entries = read_catalogue()
    ids = [entry.id for entry in entries]
    assert len(ids) == len(set(ids)) == 30
    assert ids[:2] == [SAMPLE, SAMPLE_PLAIN]
    assert sum("gpt2-small-x" in name for name in ids) == 5
    for entry in entries:
        assert entry.note.endswith((".", "?"))
        assert "\n" not in entry.note
        table = 0 if entry.index_only else 4 * entry.n_positions * entry.d_model
        assert entry.position_bytes == table
        if entry.checkpoint_bytes is not None:
            assert entry.checkpoint_bytes > 50 * entry.position_bytes
    sizes = {entry.id: entry.checkpoint_bytes for entry in entries}
    assert sizes["openai-community/gpt2"] == 548_105_171
    assert sizes["openai-community/gpt2-xl"] == 6_430_000_000
    gpt2 = find_entry("openai-community/gpt2")
    assert gpt2 is not None
    assert gpt2.position_bytes == 3_145_728


def test_the_catalogue_tells_the_true_shape(gpt2_folder, minilm_folder):
    for name, folder in (("gpt2", gpt2_folder), ("all-MiniLM-L6-v2", minilm_folder)):
        entry, model = find_entry(name), open_model(folder)
        assert (entry.n_positions, entry.d_model) == model.W_pos.shape


def test_installed(minilm_folder, hub):
    entry = find_entry("sentence-transformers/all-MiniLM-L6-v2")
    assert (locate(entry), state(entry)) == (minilm_folder, "installed")


def test_bundled(hub):
    entry, folder = find_entry(SAMPLE), locate(SAMPLE)
    assert (folder.parts[-2:], state(entry)) == (("resources", "sample"), "bundled")
    # What happens to lie at that path is another thing, and opens as ./sample.
    (Path.cwd() / "sample").mkdir()
    model = open_model(SAMPLE)
    assert (model.source.text, model.name) == (SAMPLE, SAMPLE)
    assert (entry.n_positions, entry.d_model) == model.W_pos.shape
    assert is_here(Source.parse(SAMPLE))
    assert not may_ask_hub(Source.parse(SAMPLE))


@pytest.mark.parametrize(("source", "layer"), [(SAMPLE_INSIDE, 0), (f"{SAMPLE_INSIDE}/layer 1", 1)])
def test_positions_inside_the_bundled_model(source, layer, hub):
    """An id of the Hub in form, and the name of a folder that may be here too."""
    (Path.cwd() / source).mkdir(parents=True)
    model = open_model(source)
    assert (model.source.text, model.table) == (source, f"layer {layer}")
    assert model.notes == open_model(SAMPLE).notes != (), "those of the model that was measured"
    assert local_path(Source.parse(source)).is_relative_to(locate(SAMPLE))
    assert local_path(Source.parse(f"./{source}")) == Path(f"./{source}")
    assert is_here(Source.parse(source))
    assert not may_ask_hub(Source.parse(source))
    assert tried(Source.parse(source)) == []


@pytest.mark.parametrize(
    "source", ["sample/insides", "sample/inside/layer", "sample/inside/../x", "sample/inside\n"]
)
def test_what_is_not_bundled(source):
    assert Source.parse(source).kind != "bundled"
    assert local_path(Source.parse(source)) == Path(source)


def test_a_layer_that_the_bundled_model_lacks(hub):
    with pytest.raises(SourceError, match="layers 0 to 2; there is no layer 3"):
        open_model(f"{SAMPLE_INSIDE}/layer 3")


@pytest.mark.parametrize("source", [SAMPLE, SAMPLE_INSIDE])
def test_where_nothing_is_bundled(source, monkeypatch):
    monkeypatch.setattr(sources, "locate", lambda *_: None)
    monkeypatch.setattr(locating, "locate", lambda *_: None)
    with pytest.raises(SourceError, match="The bundled model is missing"):
        open_model(source)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai-community/gpt2", "gpt2"])
def test_cached(name, hub, gpt2_files):
    entry = find_entry("gpt2")
    assert (locate(entry), state(entry)) == (None, "online")
    snapshot = put(hub, name, gpt2_files)
    assert (locate(entry), state(entry)) == (snapshot, "cached")
    for source in ("gpt2", "openai-community/gpt2", snapshot, snapshot.parents[1]):
        model = open_model(source)
        assert (model.name, model.n_positions) == ("gpt2", 1024)
        assert model.tokenize("Hello").ids == (50256, 15496)


def test_revision_and_half_a_download(hub, gpt2_files):
    put(hub, "stanford-crfm/alias-gpt2-small-x21", gpt2_files, "checkpoint-100")
    assert locate("stanford-crfm/alias-gpt2-small-x21") is None
    model = open_model("stanford-crfm/alias-gpt2-small-x21@checkpoint-100")
    assert model.name == "alias-gpt2-small-x21@checkpoint-100"
    put(hub, "openai-community/gpt2", {"config.json": gpt2_files["config.json"]})
    assert locate("gpt2") is None


def test_other_models_of_the_cache(hub, gpt2_files):
    assert cached_models() == ()
    put(hub, "someone/her-model", gpt2_files)
    put(hub, "openai-community/gpt2", gpt2_files)
    weights = {"model.safetensors": "x"}
    put(hub, "someone/mamba", {"config.json": json.dumps({"model_type": "mamba"}), **weights})
    put(hub, "someone/broken", {"config.json": "{", **weights})
    put(hub, "someone/list", {"config.json": '{"model_type": []}', **weights})
    (entry,) = cached_models()
    assert (entry.id, entry.title, entry.group) == (
        "someone/her-model",
        "her-model",
        HUB_CACHE_GROUP,
    )
    assert (entry.n_positions, entry.d_model) == (1024, 768)
    assert state(entry) == "cached"
    assert open_model(entry.id).n_positions == 1024


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "{home}/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HOME": "/h"}, "/h/hub"),
        ({"HF_HOME": "/h", "HF_HUB_CACHE": "/c"}, "/c"),
        ({"HF_HOME": "~/h"}, "{home}/h/hub"),
    ],
)
def test_the_cache_is_found_as_the_client_finds_it(variables, expected, tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert hub_cache() == Path(expected.format(home=tmp_path))


@pytest.mark.parametrize(
    "revision", [None, "main", "v1", "refs/pr/3", "a" * 40, "b" * 40, "c" * 40, "a" * 7, "nothing"]
)
@pytest.mark.parametrize("name", ["someone/model", "model", "nobody/nothing"])
def test_the_cache_is_read_as_the_hubs_client_reads_it(hub, name, revision):
    from huggingface_hub import try_to_load_from_cache

    files: dict[str, Path | str] = {"config.json": "{}", "model.safetensors": "x"}
    for known in ("someone/model", "model"):
        snapshot = put(hub, known, files)
        (snapshot.parents[1] / "refs" / "refs" / "pr").mkdir(parents=True)
        put(hub, known, files, "v1")
        (snapshot.parents[1] / "refs" / "refs" / "pr" / "3").write_text("b" * 40)
    theirs = try_to_load_from_cache(name, "config.json", cache_dir=hub, revision=revision)
    expected = Path(theirs).parent if isinstance(theirs, str) else None
    assert locate(name, revision) == expected


@pytest.mark.parametrize(
    "content", ["", "..", ".", "../../../elsewhere", "a" * 39, "\xff", "a" * 40 + "\n"]
)
def test_what_names_no_commit_leads_nowhere(hub, content):
    snapshot = put(hub, "someone/model", {"config.json": "{}", "model.safetensors": "x"})
    (snapshot.parents[1] / "refs" / "main").write_text(content, "latin-1")
    assert locate("someone/model") == (snapshot if content.strip() == "a" * 40 else None)


def test_listing_the_models_does_not_load_the_hubs_client(hub, write_safetensors, run_python):
    config: dict[str, Path | str] = {"config.json": json.dumps({"model_type": "gpt2"})}
    for name in ("someone/model", "openai-community/gpt2"):
        folder = put(hub, name, config)
        write_safetensors(folder / "model.safetensors", {"wpe.weight": np.eye(8, 4)})
    code = (
        "import sys; from gui.services.loading import list_models; rows = list_models();"
        "print(*(row.entry.id for row in rows if row.state == 'cached'));"
        "print(*({'huggingface_hub', 'httpx2', 'torch'} & set(sys.modules)))"
    )
    listed, loaded = run_python(code).split("\n")[:2]
    assert {"someone/model", "openai-community/gpt2"} <= set(listed.split())
    assert loaded == ""
