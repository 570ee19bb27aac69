"""LayerNorm's two approximations, and cosines of tokens and positions, against plain formulas."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.layernorm import layernorm_errors, token_position_cosines
from geometry.models.sources import open_source


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


def test_the_sample_is_seeded(tables):
    E, P = tables
    one, same, other = (layernorm_errors(E, P, (0, 3), sample=9, seed=s).tokens for s in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    assert len(set(one.tolist())) == 9


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
    model = open_source(minilm_folder)
    most = token_position_cosines(model.W_E, model.W_pos).most_alike(1)[0]
    assert (model.token_text(most.token), most.position) == ("[CLS]", 0)
    assert model.token_type is not None
    assert model.token_type.shape == (384,)


def test_other_widths_and_ranges_are_refused(tables):
    E, P = tables
    for function in (token_position_cosines, lambda E, P: layernorm_errors(E, P, (0, 1))):
        with pytest.raises(ValueError, match=r"\(d_vocab, 16\)"):
            function(E[:, :5], P)
    with pytest.raises(RangeError):
        layernorm_errors(E, P, (0, 12))
