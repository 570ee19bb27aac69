"""Directions and overlaps against closed forms, invariances and the real GPT-2."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.measures.directions import BLOCK_ROWS, Directions, singular_directions
from geometry.measures.overlaps import (
    capture,
    corner_contrast,
    random_directions,
    sparsity,
    squared_overlaps,
    top3,
)
from geometry.models.residual_stream import ResidualStream, Subject
from geometry.models.sources.opening import open_model

seeds = st.integers(0, 2**32 - 1)


def orthogonal(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def matrix(n: int, d: int, values: list[float], seed: int = 0) -> np.ndarray:
    """A matrix of known singular values, its right singular vectors those of `orthogonal(d, 1)`."""
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, len(values))))[0]
    return (U * values) @ orthogonal(d, 1)[: len(values)]


@pytest.mark.parametrize("n", [5, 12, 40, 2 * BLOCK_ROWS + 3])
def test_singular_values_and_vectors_by_both_ways(n):
    """Short matrices are decomposed themselves, tall ones through their Gram matrix."""
    values = [9.0, 4.0, 1.0, 0.5, 0.1]
    found = singular_directions(matrix(n, 12, values))
    np.testing.assert_allclose(found.singular_values[:5], values, rtol=1e-9)
    expected = orthogonal(12, 1)[:5]
    np.testing.assert_allclose(np.abs(found.vectors[:5] @ expected.T), np.eye(5), atol=1e-7)
    assert len(found.vectors) == min(n, 12)


def test_what_is_written_is_on_the_left():
    W_O = matrix(6, 30, [5.0, 2.0, 1.0])
    found = singular_directions(W_O, "output")
    assert found.vectors.shape == (6, 6)
    np.testing.assert_allclose(np.linalg.norm(found.vectors[:3] @ W_O, axis=1), [5, 2, 1])


def test_signs_are_fixed():
    vectors = singular_directions(np.random.default_rng(0).standard_normal((8, 6))).vectors
    assert (vectors[np.arange(6), np.abs(vectors).argmax(axis=1)] > 0).all()


def test_single_precision_keeps_the_weakest_directions():
    values = np.geomspace(100, 0.01, 24)
    A = matrix(5000, 24, values.tolist()).astype(np.float32)
    found = singular_directions(A)
    exact = np.linalg.svd(A.astype(np.float64), full_matrices=False)[2]
    np.testing.assert_allclose(squared_overlaps(found, Directions(values, exact)), np.eye(24),
                               atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.zeros(4), np.zeros((2, 3, 4))])
def test_what_is_no_matrix_is_refused(bad):
    with pytest.raises(ValueError, match="expected a matrix"):
        singular_directions(bad)


@given(seeds, st.integers(2, 9))
def test_overlaps_do_not_depend_on_the_basis(seed, d):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((d + 3, d)), rng.standard_normal((d, d))
    turned = orthogonal(d, seed % 1000)
    plain = squared_overlaps(singular_directions(A), singular_directions(B))
    after = squared_overlaps(singular_directions(A @ turned), singular_directions(B @ turned))
    np.testing.assert_allclose(plain, after, atol=1e-6)
    # Both have all d directions: every row and every column sums to one.
    np.testing.assert_allclose(plain.sum(axis=0), 1)
    np.testing.assert_allclose(plain.sum(axis=1), 1)


def test_capture_is_the_overlap_with_the_strongest():
    axes = Directions(np.array([3.0, 2.0, 1.0]), np.eye(3))
    diagonal = Directions(np.ones(1), np.array([[0.6, 0.8, 0.0]]))
    np.testing.assert_allclose(capture(axes, diagonal, 1), [0.36])
    np.testing.assert_allclose(capture(axes, diagonal, 2), [1.0])
    with pytest.raises(RangeError, match="3 directions"):
        capture(axes, diagonal, 4)
    with pytest.raises(ValueError, match="one space"):
        squared_overlaps(axes, Directions(np.ones(1), np.ones((1, 2))))


def test_corners_and_their_names():
    overlaps = np.zeros((6, 8))
    overlaps[0, -1], overlaps[-1, 0] = 0.5, 0.25  # strong rows × weak columns; weak × strong
    contrast = corner_contrast(overlaps, chance=0.125, corner=2)
    assert (contrast.TL, contrast.TR, contrast.BL, contrast.BR) == (0, 1, 0.5, 0)
    assert contrast.chance == 0.125
    assert corner_contrast(overlaps, 0.125).corner == 6
    assert top3(np.ones((5, 5))) == 9


def test_sparsity_of_known_directions():
    one, four = np.zeros(100), np.zeros(100)
    one[7], four[[7, 20, 21, 22]] = 1.0, 0.5
    found = sparsity(np.array([one, four]))
    assert found.above_0_1 == (1, 4)
    assert found.above_0_1_union.tolist() == [7, 20, 21, 22]
    assert found.participation_ratio == pytest.approx((1, 4))
    assert found.mass_top40 == pytest.approx((1, 1))


def test_random_directions_are_orthonormal_and_not_sparse():
    vectors = random_directions(5, 768)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(5), atol=1e-12)
    assert min(sparsity(vectors).participation_ratio) > 200
    assert max(sparsity(vectors).mass_top40) < 0.35


@pytest.mark.slow
def test_gpt2(gpt2_folder):
    """Its queries and keys read the top of positions, whose directions are sparse."""
    gpt2 = ResidualStream(open_model(gpt2_folder))
    found = {name: top3(gpt2.overlaps(Subject(name), Subject("P"))) for name in ("W_Q", "W_K")}
    assert {name: round(value, 2) for name, value in found.items()} == {"W_Q": 1.65, "W_K": 2.76}
    contrast = corner_contrast(gpt2.overlaps(Subject("W_Q"), Subject("P")), 1 / 768)
    corners = (contrast.TL, contrast.TR, contrast.BL, contrast.BR)
    assert [round(value, 1) for value in corners] == [2.5, 2.4, 1.9, 0.6]
    # Folding the gain in changes the answer.
    folded = gpt2.overlaps(Subject("W_Q", fold_ln=True), Subject("P", fold_ln=True))
    assert round(top3(folded), 4) == 0.0004
    sparse = sparsity(gpt2.directions(Subject("P")).vectors[:5])
    assert sparse.above_0_1 == (20, 25, 22, 20, 27)
    assert len(sparse.above_0_1_union) == 58
    assert [round(mass, 3) for mass in sparse.mass_top40[:3]] == [0.978, 0.977, 0.974]


def test_heads_are_parts_of_their_weights(minilm_folder):
    model = open_model(minilm_folder)
    stream = ResidualStream(model)
    for name in ("W_Q", "W_K", "W_V"):
        parts = [stream.matrix(Subject(name, head=head)) for head in range(model.n_heads)]
        np.testing.assert_array_equal(np.vstack(parts), model.weight(name))
    parts = [stream.matrix(Subject("W_O", head=head)) for head in range(model.n_heads)]
    np.testing.assert_array_equal(np.hstack(parts), model.weight("W_O"))
    with pytest.raises(TensorUnavailable, match="heads 0–11"):
        stream.matrix(Subject("W_Q", head=12))
    with pytest.raises(TensorUnavailable, match="no heads"):
        stream.matrix(Subject("W_in", head=0))
    # A matrix is decomposed once.
    assert stream.directions(Subject("W_Q")) is stream.directions(Subject("W_Q"))
    assert stream.directions(Subject("W_Q")) is not stream.directions(Subject("W_Q", fold_ln=True))
    centred = stream.matrix(Subject("P", centred=True))
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("shape", [(12, 8), (40, 8), (8, 12)])
@pytest.mark.parametrize(("small", "expected"), [(8, 1), (7, 0)])
def test_what_is_small_is_decomposed_on_one_thread(monkeypatch, shape, small, expected):
    entered = []

    @contextmanager
    def one_thread():
        entered.append(True)
        yield

    monkeypatch.setattr("geometry.measures.directions.one_thread", one_thread)
    monkeypatch.setattr("geometry.measures.directions.SMALL", small)
    singular_directions(np.random.default_rng(0).standard_normal(shape))
    assert len(entered) == expected
