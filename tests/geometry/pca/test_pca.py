"""PCA of a range: the published numbers, the closed forms, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.pca.pca import fit_pca, off_subspace_residual, procrustes_rotation


def random_table(seed, n, d, decay=0.8):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)) * decay ** np.arange(d) + random.standard_normal(d)


def random_rotation(seed, d):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def line_up(coordinates, reference):
    """Take the signs of the reference: they are conventional and not what is compared."""
    return coordinates * np.sign((coordinates * reference).sum(axis=0))


def test_gpt2_and_minilm(gpt2_table, minilm_table):
    ratio = fit_pca(gpt2_table, (1, 1023)).explained_variance_ratio
    assert np.round(100 * ratio[:3], 2).tolist() == [33.69, 32.61, 24.75]
    assert round(100 * ratio[:3].sum(), 2) == 91.06
    later = fit_pca(gpt2_table, (100, 1023)).explained_variance_ratio
    assert round(100 * later[:3].sum(), 2) == 95.11
    residual = off_subspace_residual(gpt2_table, fit_pca(gpt2_table, (1, 1022)))
    assert residual.shape == (1024,)
    assert round(float(np.median(residual[1:1023])), 3) == 0.230
    assert round(float(residual[1]), 3) == 0.885
    ratio = fit_pca(minilm_table, (1, 511)).explained_variance_ratio
    assert len(ratio) == 10
    assert round(100 * ratio[:3].sum(), 1) == 36.3


@pytest.mark.parametrize(
    "positions", [(1, 1023), (100, 400), (0, 255), (3, 90), (0, 12), (7, 7), (0, 1023)]
)
def test_as_numpy_decomposes(gpt2_table, positions):
    pca = fit_pca(gpt2_table, positions)
    rows = gpt2_table[positions[0] : positions[1] + 1]
    U, S, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    k = min(10, len(rows))
    assert pca.exact
    assert pca.positions == positions
    np.testing.assert_allclose(pca.mean, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(pca.singular_values, S[:k], rtol=1e-9, atol=1e-12 * S[0])
    np.testing.assert_allclose(pca.components @ pca.components.T, np.eye(k), atol=1e-9)
    # Signs are such that the largest entry is positive.
    assert (pca.components[np.arange(k), np.abs(pca.components).argmax(axis=1)] > 0).all()
    strong = S[:k] > 1e-9 * S[0]
    np.testing.assert_allclose(
        line_up(pca.project(rows), U[:, :k] * S[:k])[:, strong],
        (U[:, :k] * S[:k])[:, strong],
        atol=1e-7 * max(S[0], 1.0),
    )


def test_a_short_range_has_fewer_components_that_explain_all():
    pca = fit_pca(random_table(0, 30, 20), (4, 8))
    assert pca.components.shape == (5, 20)
    assert pca.explained_variance_ratio.sum() == pytest.approx(1.0)
    assert pca.explained_variance_ratio[-1] == pytest.approx(0.0, abs=1e-15)
    narrow = fit_pca(random_table(0, 30, 2), (0, 29), 10)
    assert narrow.components.shape == (2, 2)
    assert narrow.explained_variance_ratio.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 300])
def test_what_does_not_vary_explains_nothing(n):
    pca = fit_pca(np.ones((n, 280)), (0, n - 1), 3)
    assert pca.explained_variance_ratio.tolist() == [0.0] * min(n, 3)
    assert pca.singular_values.tolist() == [0.0] * min(n, 3)
    assert np.isfinite(pca.components).all()
    assert off_subspace_residual(np.ones((n, 280)), pca).tolist() == [0.0] * n


def test_helix_in_three_of_many_dimensions():
    i = np.arange(1000)
    radius, climb, turns = 2.0, 0.004, 5
    phase = 2 * np.pi * turns * i / 1000
    helix = np.column_stack([radius * np.cos(phase), radius * np.sin(phase), climb * i])
    directions = random_rotation(0, 300)[:3]
    pca = fit_pca(helix @ directions + 3.0, (0, 999))
    assert pca.explained_variance_ratio[:3].sum() == pytest.approx(1.0)
    assert pca.explained_variance_ratio[3:].max() < 1e-20
    np.testing.assert_allclose(pca.components[:3] @ directions.T @ directions, pca.components[:3])
    residual = off_subspace_residual(helix @ directions + 3.0, pca)
    assert residual.max() < 1e-12
    scatter = np.linalg.eigvalsh(np.cov(helix.T, bias=True) * 1000)[::-1]
    np.testing.assert_allclose(pca.singular_values[:3] ** 2, scatter)


def test_line():
    line = np.outer(np.arange(400.0), [3.0, 0.0, 4.0])
    pca = fit_pca(line, (0, 399), 3)
    np.testing.assert_allclose(pca.components[0], [0.6, 0.0, 0.8], atol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_ratio, [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(np.diff(pca.project(line)[:, 0]), 5.0)


tables = st.tuples(
    st.integers(0, 99), st.sampled_from([(40, 12), (12, 40), (400, 300), (300, 400)])
)


@settings(max_examples=25)
@given(tables, st.floats(0.01, 100.0), st.floats(-50.0, 50.0))
def test_moved_scaled_and_turned(table, scale, shift):
    seed, (n, d) = table
    rows = random_table(seed, n, d)
    rotation = random_rotation(seed, d)
    before = fit_pca(rows, (1, n - 2), 4)
    after = fit_pca((rows @ rotation.T) * scale + shift, (1, n - 2), 4)
    np.testing.assert_allclose(after.singular_values, scale * before.singular_values, rtol=1e-9)
    np.testing.assert_allclose(
        after.explained_variance_ratio, before.explained_variance_ratio, rtol=1e-9
    )
    was, now = before.project(rows), after.project((rows @ rotation.T) * scale + shift)
    np.testing.assert_allclose(
        line_up(now, was), scale * was, atol=1e-7 * scale * np.abs(was).max()
    )
    np.testing.assert_allclose(
        off_subspace_residual((rows @ rotation.T) * scale + shift, after),
        off_subspace_residual(rows, before),
        atol=1e-7,
    )


@settings(max_examples=25)
@given(tables)
def test_columns_in_another_order(table):
    seed, (n, d) = table
    rows, order = random_table(seed, n, d), np.random.default_rng(seed).permutation(d)
    before, after = fit_pca(rows, (0, n - 1), 4), fit_pca(rows[:, order], (0, n - 1), 4)
    np.testing.assert_allclose(after.components, before.components[:, order], atol=1e-8)


def test_results_are_read_only_and_repeatable(gpt2_table):
    pca, again = fit_pca(gpt2_table, (1, 1023)), fit_pca(gpt2_table, (1, 1023))
    for name in ("mean", "components", "singular_values", "explained_variance_ratio"):
        assert not getattr(pca, name).flags.writeable
        assert np.array_equal(getattr(pca, name), getattr(again, name))


def test_what_cannot_be_fitted_is_refused():
    rows = random_table(0, 10, 5)
    for positions in [(0, 10), (-1, 3), (5, 4)]:
        with pytest.raises(RangeError, match="0–9"):
            fit_pca(rows, positions)
    with pytest.raises(RangeError, match="0 components"):
        fit_pca(rows, (0, 9), 0)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        fit_pca(np.ones(3), (0, 0))
    with pytest.raises(ValueError, match=r"\(m, 5\), got \(3, 4\)"):
        fit_pca(rows, (0, 9)).project(np.ones((3, 4)))


def test_residual_of_chosen_components():
    rows = random_table(3, 20, 6)
    pca = fit_pca(rows, (0, 19), 6)
    centred = rows - rows.mean(axis=0)
    kept = pca.project(rows)[:, [1, 4]]
    expected = np.sqrt(1 - (kept**2).sum(axis=1) / (centred**2).sum(axis=1))
    np.testing.assert_allclose(off_subspace_residual(rows, pca, (2, 5)), expected)
    assert off_subspace_residual(rows, pca, range(1, 7)).max() < 1e-12
    with pytest.raises(RangeError, match="below 1"):
        off_subspace_residual(rows, pca, (0, 1))


def test_procrustes_finds_the_turn_and_is_orthogonal_whatever_it_gets():
    random = np.random.default_rng(0)
    source, rotation = random.standard_normal((50, 3)), random_rotation(1, 3)
    np.testing.assert_allclose(procrustes_rotation(source, source @ rotation.T), rotation)
    for m in (1, 9):
        rotation = procrustes_rotation(*random.standard_normal((2, m, 3)))
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.array_equal(procrustes_rotation(np.zeros((4, 3)), np.zeros((4, 3))), np.eye(3))
    with pytest.raises(ValueError, match=r"\(4, 3\) and \(5, 3\)"):
        procrustes_rotation(np.zeros((4, 3)), np.zeros((5, 3)))
