"""LayerNorm's two approximations, and what it is fed: sums and cosines of tokens and positions."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.interference import BLOCK_PAIRS, MEASURES, interference, random_pairs
from geometry.measures.layernorm import layernorm_errors, token_position_cosines
from geometry.models.sources.opening import open_model


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 16)).astype(np.float32), 0.5 * rng.standard_normal((12, 16)) + 1


def layernorm(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return np.sqrt(x.shape[-1]) * x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("type_row", [None, np.linspace(-1, 1, 16)])
def test_errors_are_those_of_the_formulas(tables, type_row):
    E, P = tables
    found = layernorm_errors(E, P, (2, 9), type_row=type_row)
    E = E.astype(np.float64) + (0 if type_row is None else type_row)
    assert found.tokens.tolist() == list(range(40))
    assert found.orthogonal.shape == found.constant_norm.shape == (40, 8)
    p = P[2:10]
    centred_E, centred_p = (a - a.mean(axis=1, keepdims=True) for a in (E, p))
    norms = np.linalg.norm(centred_p, axis=1)
    assert found.mean_norm == pytest.approx(norms.mean())
    for t, i in ((0, 0), (7, 3), (39, 7)):
        x = centred_E[t] + centred_p[i]
        exact = layernorm(E[t] + p[i])
        square = centred_E[t] @ centred_E[t]
        for errors, denominator in (
            (found.orthogonal, np.sqrt(square + norms[i] ** 2)),
            (found.constant_norm, np.sqrt(square + norms.mean() ** 2)),
        ):
            approximate = np.sqrt(16) * x / denominator
            error = np.linalg.norm(approximate - exact) / np.linalg.norm(exact)
            assert errors[t, i] == pytest.approx(error, abs=1e-12)


def test_tokens_count_as_they_are_scaled(tables):
    E, P = tables
    found, expected = (
        layernorm_errors(E, P, (0, 11), token_scale=4),
        layernorm_errors(4 * E, P, (0, 11)),
    )
    np.testing.assert_allclose(found.orthogonal, expected.orthogonal)
    np.testing.assert_allclose(found.constant_norm, expected.constant_norm)
    assert np.abs(found.orthogonal - layernorm_errors(E, P, (0, 11)).orthogonal).max() > 0.01


def test_orthogonal_embeddings_have_no_error():
    E, P = np.zeros((3, 8)), np.zeros((5, 8))
    E[:, :2], P[:, 4:6] = [1, -1], [2, -2]  # centred, and in different entries
    found = layernorm_errors(E, P, (0, 4))
    np.testing.assert_allclose(found.orthogonal, 0, atol=1e-12)
    np.testing.assert_allclose(found.constant_norm, 0, atol=1e-12)


def test_samples_are_seeded(tables):
    E, P = tables
    one, same, other = (layernorm_errors(E, P, (0, 3), sample=9, seed=s).tokens for s in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    assert len(set(one.tolist())) == 9
    one, same, other = (random_pairs(E, P, sample=50, seed=seed) for seed in (1, 1, 2))
    assert one.tokens.tolist() == same.tokens.tolist() != other.tokens.tolist()
    assert one.likeness.distance.tolist() == same.likeness.distance.tolist()
    assert (one.seed, other.seed) == (1, 2)


def test_intervals_of_samples_only(tables):
    E, P = tables
    assert layernorm_errors(E, P, (0, 11)).intervals("orthogonal") is None
    assert layernorm_errors(E, P, (0, 11), sample=40).intervals("constant_norm") is None
    sampled = layernorm_errors(E, P, (0, 11), sample=20)
    for version in ("orthogonal", "constant_norm"):
        found = sampled.intervals(version)
        assert found == sampled.intervals(version) != sampled.intervals(version, seed=1)
        median, p95 = np.percentile(getattr(sampled, version), (50, 95))
        for (low, high), value in ((found.median, median), (found.p95, p95)):
            assert 0 <= low < value < high
    nearly_all = layernorm_errors(E, P, (0, 11), sample=39)
    narrow, wide = (np.ptp(one.intervals("orthogonal").median) for one in (nearly_all, sampled))
    assert narrow < wide / 2


@pytest.mark.slow
def test_95_of_100_intervals_have_the_error_of_the_whole_vocabulary():
    """The errors of a token are alike, so intervals over pairs would be much too narrow."""
    rng = np.random.default_rng(5)
    E = rng.standard_normal((1200, 24)) * np.exp(0.5 * rng.standard_normal((1200, 1)))
    P = 0.4 * rng.standard_normal((1, 24)) + 0.05 * rng.standard_normal((30, 24))
    whole = layernorm_errors(E, P, (0, 29), sample=1200)
    truth = np.percentile(whole.orthogonal, (50, 95))
    hits, widths, estimates = [], [], []
    for seed in range(100):
        found = layernorm_errors(E, P, (0, 29), sample=300, seed=seed)
        intervals = found.intervals("orthogonal", seed)
        both = np.array([intervals.median, intervals.p95])
        hits.append((both[:, 0] <= truth) & (truth <= both[:, 1]))
        widths.append(np.ptp(both, axis=1))
        estimates.append(np.percentile(found.orthogonal, (50, 95)))
    covered = np.mean(hits, axis=0)
    assert (covered >= 0.86).all()
    # No wider than need be: of other samples' errors, 95 % lie in 3.92 standard deviations.
    spread = 3.92 * np.std(estimates, axis=0)
    np.testing.assert_allclose(np.mean(widths, axis=0) / spread, 1.0, atol=0.25)


def test_an_interval_of_many_positions_is_that_of_all_of_them():
    """It is drawn from 128 of them, and lies about the errors at all."""
    rng = np.random.default_rng(6)
    E, P = rng.standard_normal((400, 16)), 0.3 * rng.standard_normal((1000, 16)) + 0.2
    found = layernorm_errors(E, P, (0, 999), sample=200)
    (low, high), median = found.intervals("orthogonal").median, np.median(found.orthogonal)
    assert low < median < high
    few = layernorm_errors(E, P[::8], (0, 124), sample=200).intervals("orthogonal").median
    assert (high - low) / (few[1] - few[0]) == pytest.approx(1.0, abs=0.4)


def test_cosines_are_those_of_the_rows(tables):
    E, P = tables
    found = token_position_cosines(E, P, bins=50)
    units = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (E.astype(np.float64), P)]
    cosines = np.abs(units[0] @ units[1].T)
    np.testing.assert_allclose(found.largest, cosines.max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(found.position, cosines.argmax(axis=1))
    assert found.histogram.sum() == cosines.size
    assert np.abs(found.histogram - np.histogram(cosines, 50, (0, 1))[0]).sum() <= 4
    token, position = np.unravel_index(cosines.argmax(), cosines.shape)
    first, second = found.most_alike(2)
    assert (first.token, first.position) == (token, position)
    assert first.value >= second.value


def test_cosines_of_many_tokens_are_made_in_blocks():
    rng = np.random.default_rng(0)
    E, P = rng.standard_normal((5000, 6)), rng.standard_normal((3, 6))
    E[4321] = -7 * P[2]
    first = token_position_cosines(E, P).most_alike(1)[0]
    assert (first.token, first.position) == (4321, 2)
    assert first.value == pytest.approx(1)


def test_minilm_most_alike_is_a_special_token(minilm_folder):
    model = open_model(minilm_folder)
    most = token_position_cosines(model.W_E, model.W_pos).most_alike(1)[0]
    assert (model.token_text(most.token), most.position) == ("[CLS]", 0)
    assert model.token_type.shape == (384,)


def test_other_widths_and_ranges_are_refused(tables):
    E, P = tables
    for measure in (
        token_position_cosines,
        random_pairs,
        lambda E, P: layernorm_errors(E, P, (0, 1)),
        lambda E, P: interference(E, P, (0, 0), (1, 1)),
    ):
        with pytest.raises(ValueError, match=r"\(d_vocab, 16\)"):
            measure(E[:, :5], P)
    with pytest.raises(RangeError):
        layernorm_errors(E, P, (0, 12))


def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


@pytest.mark.parametrize("type_row", [None, np.linspace(-1, 2, 16)])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_measures_are_those_of_the_formulas(tables, type_row, scale):
    E, P = tables
    found = interference(E, P, (3, 1), (8, 5), token_scale=scale, type_row=type_row)
    added = 0 if type_row is None else type_row
    x, y = scale * E[3].astype(float) + added + P[1], scale * E[8].astype(float) + added + P[5]
    assert found.distance == pytest.approx(np.linalg.norm(x - y))
    assert found.cosine == pytest.approx(cosine(x, y))
    assert found.layernorm_cosine == pytest.approx(cosine(layernorm(x), layernorm(y)))
    assert found.layernorm_distance == pytest.approx(np.linalg.norm(layernorm(x) - layernorm(y)))
    apart = np.linalg.norm(E[3].astype(float) - E[8])
    assert found.token_distance == pytest.approx(scale * apart)
    assert found.position_distance == pytest.approx(np.linalg.norm(P[1] - P[5]))
    assert (found.one, found.other) == ((3, 1), (8, 5))


def test_one_token_leaves_the_positions_and_one_position_the_tokens(tables):
    E, P = tables
    among = random_pairs(E, P)
    places = interference(E, P, (7, 2), (7, 9), among=among)
    assert places.distance == pytest.approx(np.linalg.norm(P[2] - P[9]), rel=1e-6)
    assert places.token_distance == 0.0
    tokens = interference(E, P, (7, 2), (11, 2), among=among)
    assert tokens.distance == pytest.approx(np.linalg.norm(E[7].astype(float) - E[11]))
    assert tokens.position_distance == 0.0


def test_layernorm_knows_neither_length_nor_mean():
    """y = 3x + 5 is another sum, and the same after LayerNorm."""
    x = np.random.default_rng(1).standard_normal(8)
    E, P = np.stack([x, 3 * x]), np.stack([np.zeros(8), np.full(8, 5.0)])
    found = interference(E, P, (0, 0), (1, 1))
    assert found.distance > 10
    assert found.cosine < 0.999
    assert found.layernorm_cosine == pytest.approx(1)
    assert found.layernorm_distance == pytest.approx(0, abs=1e-7)


def test_a_sum_of_nothing_has_no_direction():
    E, P = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[-1.0, 2.0], [1.0, 1.0]])
    found = interference(E, P, (0, 0), (1, 1))
    assert found.cosine == found.layernorm_cosine == 0.0
    assert found.layernorm_distance == pytest.approx(np.sqrt(2))


def test_the_rank_is_the_share_that_is_farther_apart(tables):
    E, P = tables
    among = random_pairs(E, P, sample=500, seed=3)
    assert len(among) == 500
    found = interference(E, P, (3, 1), (8, 5), among=among)
    for measure in MEASURES:
        drawn = among.likeness.of(measure)
        beyond = [v > found.of(measure) for v in drawn]
        if measure.endswith("cosine"):
            beyond = [v < found.of(measure) for v in drawn]
        assert found.closer_than(measure) == pytest.approx(np.mean(beyond))
        assert 0.05 < found.closer_than(measure) < 0.95
    same = interference(E, P, (3, 1), (3, 1), among=among)
    apart = float((among.likeness.distance > 0).mean())
    assert same.closer_than("distance") == apart > 0.99


def test_random_pairs_are_what_they_say(tables):
    """More pairs than are compared at a time, and each is that of its own tokens and positions."""
    E, P = tables
    among = random_pairs(E, P, sample=2 * BLOCK_PAIRS + 7, seed=1)
    for pair in (0, BLOCK_PAIRS, len(among) - 1):
        (a, b), (i, j) = among.tokens[pair], among.positions[pair]
        found = interference(E, P, (int(a), int(i)), (int(b), int(j)), among=among)
        for measure in MEASURES:
            assert among.likeness.of(measure)[pair] == pytest.approx(found.of(measure), abs=1e-12)
    assert set(among.tokens.ravel()) == set(range(40))
    assert set(among.positions.ravel()) == set(range(12))
    assert not among.likeness.cosine.flags.writeable


@pytest.mark.parametrize("sums", [((40, 0), (0, 0)), ((0, 12), (0, 0)), ((0, 0), (-1, 0))])
def test_rows_that_are_not_there_are_refused(tables, sums):
    """A negative row would be one from the end."""
    with pytest.raises(RangeError, match="does not exist in this model, which has 0–"):
        interference(*tables, *sums)
