"""How much LayerNorm mixes two counters, against closed forms and plain LayerNorm."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from geometry.inside import mixing
from geometry.inside.counted import Counting
from geometry.inside.mixing import interaction, measure_mixing, resolved_pairs, rotated
from geometry.inside.settings import SIZES
from geometry.inside.sums import Sums
from tests.geometry.inside.small_networks import add_windows

D_MODEL = 64


@pytest.fixture(scope="module")
def basis():
    """Orthonormal directions whose mean over d_model is 0, (8, d_model)."""
    drawn = np.random.default_rng(0).normal(size=(D_MODEL, 8))
    return np.linalg.qr(drawn - drawn.mean(axis=0))[0].T


def circle(n, radius=1.0):
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_orthogonal_hyperspheres_are_not_mixed(basis):
    a, b = circle(12) @ basis[1:3], circle(7, 0.6) @ basis[3:5]
    for size in (0, 0.3, 5):
        assert interaction(size * basis[0], a, b) < 1e-25
    # What LayerNorm removes by itself makes no difference.
    assert interaction(basis[0] + 3, a + 7, b - 2) < 1e-25


@pytest.mark.parametrize("change", ["norms", "directions", "mean"])
def test_what_breaks_a_condition_is_mixed(change, basis):
    a, b, mean = circle(12) @ basis[1:3], circle(7) @ basis[3:5], basis[0]
    if change == "norms":
        a = a * np.linspace(0.5, 2, 12)[:, None]
        b = b * np.linspace(0.5, 2, 7)[:, None]
    elif change == "directions":
        b = circle(7) @ basis[1:3]
    else:
        mean = basis[1] + basis[3]
    assert interaction(mean, a, b) > 0.01


@pytest.mark.parametrize(("alpha", "beta", "mean"), [(1, 1, 1), (0.2, 0.7, 1.5), (2, 1, 0.4)])
def test_two_values_each_along_one_line_in_closed_form(alpha, beta, mean, basis):
    """h = m v ± α u ± β u: the part along v depends on the product of the signs alone."""
    sums = np.array([alpha + beta, alpha - beta])
    along_v = mean / np.hypot(mean, sums)
    along_u = sums / np.hypot(mean, sums)
    mixed = ((along_v[0] - along_v[1]) / 2) ** 2
    main = ((along_u[0] + along_u[1]) / 2) ** 2 + ((along_u[0] - along_u[1]) / 2) ** 2
    signs = np.array([[-1.0], [1.0]])
    found = interaction(mean * basis[0], alpha * signs @ basis[1:2], beta * signs @ basis[1:2])
    assert found == pytest.approx(mixed / main, rel=1e-9)


def test_any_effects_against_the_layer_norm_of_torch():
    random = np.random.default_rng(1)
    mean, a, b = (random.normal(size=shape) for shape in (D_MODEL, (5, D_MODEL), (4, D_MODEL)))
    normed = torch.nn.functional.layer_norm(
        torch.from_numpy(mean + a[:, None] + b), (D_MODEL,), eps=0
    ).numpy()
    whole = normed.mean(axis=(0, 1))
    of_a, of_b = normed.mean(axis=1) - whole, normed.mean(axis=0) - whole
    rest = [
        np.square(normed[i, j] - of_a[i] - of_b[j] - whole).sum()
        for i in range(5)
        for j in range(4)
    ]
    main = np.square(of_a).sum() / 5 + np.square(of_b).sum() / 4
    assert interaction(mean, a, b) == pytest.approx(np.mean(rest) / main, rel=1e-9)


def test_no_effects_have_no_share(basis):
    nothing = np.zeros((3, D_MODEL))
    assert np.isnan(interaction(basis[0], nothing, nothing))
    assert np.isnan(interaction(0 * basis[0], nothing, nothing))


def test_turned_effects_keep_distances_in_other_directions(basis):
    a = circle(9) @ basis[1:3] + np.linspace(0, 1, 9)[:, None] * basis[5]
    into = rotated(a, np.random.default_rng(0))
    np.testing.assert_allclose(into @ into.T, a @ a.T, atol=1e-12)
    np.testing.assert_allclose(into.mean(axis=1), 0, atol=1e-12)
    assert np.linalg.norm(into @ a.T) < 0.5 * np.linalg.norm(a @ a.T)


@pytest.fixture(scope="module")
def planted(basis):
    """Word and brackets on circles in orthogonal planes, about a mean at right angles to both."""
    random = np.random.default_rng(0)
    sums = Sums.empty(1, 40, D_MODEL)
    names = list(SIZES)
    word = circle(SIZES["word"]) @ basis[1:3]
    brackets = circle(SIZES["brackets"]) @ basis[3:5]
    for number in range(40):
        labels = np.full((8, 40, len(SIZES)), -1, np.int16)
        at = random.integers(0, SIZES["word"], (8, 40)), random.integers(0, 6, (8, 40))
        labels[..., names.index("word")], labels[..., names.index("brackets")] = at
        h = 2 * basis[0] + word[at[0]] + brackets[at[1]] + 0.01 * random.normal(size=(8, 40, 64))
        add_windows(sums, number % 2, h, labels)
    return sums


def test_planted_counters_are_not_mixed_but_with_scrambled_norms(planted):
    counters = Counting(planted).counters(0, ("word", "brackets"))
    (found,) = measure_mixing(planted, 0, counters)
    assert found.counters == ("word", "brackets")
    assert found.mixed < 1e-4
    assert found.mixed < 0.1 * found.random_turn["p5"]
    assert found.mixed < 0.01 * found.scrambled_norms["p5"]
    for quantiles in (found.random_turn, found.scrambled_norms):
        assert 0 < quantiles["p5"] < quantiles["median"] < quantiles["p95"] < 0.5
    assert measure_mixing(planted, 0, counters) == [found], "the same with each run"
    assert measure_mixing(planted, 0, counters[:1]) == []


def test_many_values_are_measured_at_even_spaces(planted, monkeypatch):
    counters = Counting(planted).counters(0, ("word", "brackets"))
    seen = []
    monkeypatch.setattr(mixing, "interaction", lambda _, *effects: seen.append(effects) or 0.0)
    measure_mixing(planted, 0, counters)
    a, b = seen[0]
    assert (len(a), len(b)) == (mixing.VALUES, SIZES["brackets"])
    rows = np.linspace(0, SIZES["word"] - 1, mixing.VALUES).round().astype(int)
    effects = counters[0].halves.both[rows]
    np.testing.assert_allclose(a, effects - effects.mean(axis=0), atol=1e-12)


def test_pairs_of_noise_are_not_resolved():
    def pair(*names, mixed=0.1):
        return SimpleNamespace(counters=names, mixed=mixed)

    counters = [
        [SimpleNamespace(name=name, halves_cosine=cosine) for name, cosine in layer.items()]
        for layer in ({"word": 0.95, "line": 0.91, "sentence": 0.2}, {"word": 0.5, "line": 0.99})
    ]
    pairs = [
        [pair("word", "line"), pair("line", "sentence"), pair("word", "line", mixed=np.nan)],
        [pair("word", "line")],
    ]
    assert resolved_pairs(counters, pairs) == pairs[0][:1]
