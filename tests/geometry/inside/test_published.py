"""Published numbers, beside ours."""

from types import SimpleNamespace

import numpy as np
import pytest

from geometry.inside import published
from geometry.inside.layers import measure_layer
from geometry.inside.published import KNOWN, KnownModel, as_published, compare, find_known
from geometry.inside.sums import Sums
from tests.geometry.inside.small_networks import add_windows
from tests.geometry.inside.test_layers import helix, streamed


def network(name, source, family, n_layers, d_model):
    config = SimpleNamespace(model_type=family)
    return SimpleNamespace(
        name=name, source=source, n_layers=n_layers + 1, d_model=d_model,
        module=SimpleNamespace(config=config),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "source", "family", "size", "known"),
    [
        ("gpt2", "openai-community/gpt2", "gpt2", (12, 768), "gpt2"),
        ("snapshot", "/models/gpt2/", "gpt2", (12, 768), "gpt2"),
        ("bert-base-uncased", "bert", "bert", (12, 768), "bert-base-uncased"),
        ("x", "meta-llama/Llama-2-7b-hf@main", "llama", (32, 4096), "Llama-2-7b-hf"),
        ("gpt2", "gpt2", "gpt2", (2, 128), None),
        ("gpt2", "gpt2", "bert", (12, 768), None),
        ("my-gpt2", "my-gpt2", "gpt2", (12, 768), None),
        ("gpt2-medium", "gpt2-medium", "gpt2", (24, 1024), None),
    ],
)
def test_a_model_is_recognised_by_name_family_and_size(name, source, family, size, known):
    found = find_known(network(name, source, family, *size))
    assert found is (None if known is None else KNOWN[known])


def test_the_numbers_are_those_of_the_paper():
    assert KNOWN["gpt2"].numbers["relative norm"][0] == 0.807
    assert KNOWN["gpt2"].numbers["stable rank"][-1] == 1.88
    assert all(len(values) == 6 for values in KNOWN["gpt2"].numbers.values())
    assert KNOWN["Llama-2-7b-hf"].numbers == {"stable rank": (52.23, 1.0)}


def test_as_published_is_the_stable_rank_of_the_plain_mean():
    """By numpy, from the residual stream itself."""
    random = np.random.default_rng(0)
    h = helix(60, 40) + random.normal(size=(400, 60, 40)) + 3
    sums = Sums.empty(1, 60, 40)
    for number in range(0, 400, 4):
        add_windows(sums, number // 4 % 2, h[number : number + 4])
    pos = h.mean(axis=0)[1:]
    pos = pos - pos.mean(axis=0)
    stable_rank, relative_norm = as_published(sums, 0)
    expected = (pos**2).sum() / np.linalg.norm(pos, 2) ** 2
    assert stable_rank == pytest.approx(expected, rel=1e-5)
    tokens = h[:, 4:].reshape(-1, 40)
    whole = np.linalg.norm(tokens - tokens.mean(axis=0), 2) / np.sqrt(len(tokens))
    expected = np.linalg.norm(pos, 2) / np.sqrt(len(pos)) / whole
    assert relative_norm == pytest.approx(expected, rel=0.05)


def test_noise_alone_has_a_large_stable_rank_as_published(monkeypatch):
    """Where there is no position, as in layer 0 of a rotary model: ours has no stable rank."""
    known = KnownModel("llama", 3, 40, {"stable rank": (52.23, 1.0), "relative norm": (0.5,)})
    monkeypatch.setattr(published, "KNOWN", {"some": known})
    sums = streamed(np.zeros((60, 40)), 40)
    layers = (measure_layer(sums, 0),)
    some = network("some", "some", "llama", 3, 40)
    rank, norm = compare(some, sums, layers)
    assert (rank.quantity, rank.layer, rank.published) == ("stable rank", 0, 52.23)
    assert rank.as_there > 10
    assert rank.ours is layers[0].stable_rank
    assert norm.ours == layers[0].relative_norm
    assert norm.as_there > norm.ours
    assert compare(network("other", "other", "llama", 3, 40), sums, layers) == ()
