"""Two servers with different models of the same id: what one sent is never shown for the other."""

import numpy as np
import pytest

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.checkpoint import kept_models
from geometry.hub.client import Hub
from geometry.hub.keeping import wait_until_kept
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.hub.whole_model import fetch_model, list_model
from geometry.models.kept_directions import weights_identity
from geometry.models.sources import local_models, locating
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.hub_opening import network_of

SOURCE = "someone/model"


@pytest.fixture
def hubs(serve_hub, tmp_path, write_safetensors):
    """Two servers; the tables of their models of one id are 1 and 2 throughout."""
    found = serve_hub(), serve_hub()
    for number, hub in enumerate(found, start=1):
        table = number * np.ones((300, 16), np.float32)
        weights = tmp_path / f"{number}.safetensors"
        write_safetensors(weights, {"wpe.weight": table, "wte.weight": table[:200]})
        files = {"model.safetensors": weights.read_bytes(), "tokenizer.json": b"{}"}
        hub.add(SOURCE, {**files, "config.json": b'{"model_type": "gpt2"}'})
    return found


def value(model):
    return float(model.W_pos.mean()), float(model.W_E.mean())


def test_the_cache_tells_clients_of_two_servers_apart(hubs, cache):
    models = []
    for _ in range(2):
        for number, hub in enumerate(hubs, start=1):
            models.append(open_model(SOURCE, network=network_of(hub, cache)))
            assert value(models[-1]) == (number, number)
            wait_until_kept(cache)
    identities = [weights_identity(model) for model in models]
    assert identities[:2] == identities[2:]
    assert identities[0] != identities[1]


def test_another_endpoint_of_the_environment_shows_its_own(hubs, cache, monkeypatch):
    monkeypatch.setattr("geometry.hub.network.default_cache", lambda: TensorCache(cache))
    for number, hub in enumerate((*hubs, *hubs), start=0):
        monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/")
        assert value(open_model(SOURCE)) == (number % 2 + 1,) * 2
        wait_until_kept(cache)
        assert [one.repo for one in TensorCache(cache).commits()] == [SOURCE]
        assert len(list(kept_models(TensorCache(cache)))) == 1
    asked = [len(hub.requests) for hub in hubs]
    for hub in hubs:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        open_model(SOURCE)
    assert [len(hub.requests) for hub in hubs] == asked  # both are cached
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert TensorCache(cache).commits() == ()
    assert not locating.is_here(Source.parse(SOURCE))


def test_what_is_kept_of_the_usual_endpoint_has_its_old_name(tmp_path, monkeypatch):
    cache = TensorCache(tmp_path / "cache")
    for endpoint in ("", "https://huggingface.co", "https://huggingface.co/"):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        assert cache.server == ""
        cache.put("a/b", "c" * 40, "name", b"usual", core=True)
    (usual,) = (tmp_path / "cache").glob("a_b-*")
    monkeypatch.setenv("HF_ENDPOINT", "https://user:secret@mirror.example")
    assert cache.get("a/b", "c" * 40, "name") is None
    cache.put("a/b", "c" * 40, "name", b"other", core=True)
    cache.remember("a/b", "main", "c" * 40)
    assert cache.commit_of("a/b", "main") == "c" * 40
    (commit,) = cache.commits()
    assert (commit.repo, commit.revisions) == ("a/b", ("main",))
    assert not any("secret" in str(path) for path in (tmp_path / "cache").rglob("*"))
    assert cache.remove("a/b", "c" * 40) > 0
    monkeypatch.delenv("HF_ENDPOINT")
    assert cache.get("a/b", "c" * 40, "name").tobytes() == b"usual"
    assert [path.name for path in (tmp_path / "cache").glob("a_b*")] == [usual.name]
    assert cache.clear() > 0


def test_whole_models_in_the_hub_cache_are_of_the_endpoint_that_sent_them(hubs, cache):
    folder = local_models.hub_cache()
    network = Network(Hub(endpoint=hubs[0].url), TensorCache(cache), Transfer())
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HF_ENDPOINT", hubs[0].url)
        listed = list_model(HubAddress(SOURCE, "main"), network.hub, folder, Transfer())
        fetch_model(listed, network.hub, Transfer())
        assert local_models.locate(SOURCE) == listed.snapshot
        patched.setenv("HF_ENDPOINT", hubs[1].url)
        assert local_models.locate(SOURCE) is None
        assert value(open_model(SOURCE, network=network_of(hubs[1], cache))) == (2, 2)
