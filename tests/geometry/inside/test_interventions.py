"""Changes of a table, against what each of them is meant to keep and to change."""

import numpy as np
import pytest

from geometry.inside.interventions import CHANGES, USUAL, Table, find_change
from geometry.inside.settings import InsideError
from tests.geometry.inside.test_layers import helix

N, D_MODEL = 64, 24


@pytest.fixture
def table():
    """A noisy helix about a mean, with an outlier at position 0."""
    random = np.random.default_rng(3)
    P = 2 * helix(N, D_MODEL) + 0.02 * random.normal(size=(N, D_MODEL)) + 1.5
    P[0] *= 6
    E = random.normal(size=(300, D_MODEL)) * np.linspace(2, 0.1, D_MODEL)
    return Table(P, N, E, seed=1)


def changed(name, table):
    return find_change(name)(table)


def about(rows):
    return rows - rows.mean(axis=0)


def test_changes_that_change_nothing(table):
    for name in ("identity", f"top {D_MODEL}", "top 999", "shift 0"):
        np.testing.assert_allclose(changed(name, table), table.P, atol=1e-12)


@pytest.mark.parametrize("name", [*USUAL, "identity"])
def test_every_change_keeps_the_shape_and_the_table_itself(name, table):
    short = Table(table.P, N - 12, table.E, seed=1)
    before = table.P.copy()
    after = changed(name, short)
    assert after.shape == table.P.shape
    assert np.isfinite(after).all()
    np.testing.assert_array_equal(table.P, before)
    if not name.startswith(("shift", "without position", "stretched")):
        np.testing.assert_array_equal(after[0], table.P[0])
        np.testing.assert_array_equal(after[N - 12 :], table.P[N - 12 :])
    np.testing.assert_array_equal(changed(name, short), after)


@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_top_k_has_k_components_and_the_same_mean(k, table):
    kept = changed(f"top {k}", table)[table.rows]
    assert np.linalg.matrix_rank(about(kept), tol=1e-9) == k
    np.testing.assert_allclose(kept.mean(axis=0), table.P[table.rows].mean(axis=0))
    removed = changed(f"without 1-{k}", table)[table.rows] if k else table.P[table.rows]
    np.testing.assert_allclose(about(kept) + about(removed), about(table.P[table.rows]), atol=1e-9)


def test_the_fitted_helix_is_near_the_rows_and_in_three_dimensions(table):
    rows = changed("fitted helix", table)[table.rows]
    assert np.linalg.matrix_rank(about(rows), tol=1e-9) == 3
    error = np.linalg.norm(rows - table.P[table.rows]) / np.linalg.norm(about(rows))
    assert error < 0.15
    fitted = CHANGES["fitted helix"]
    wide = about(fitted(table, radius=2.0, pitch=1.0)[table.rows])
    assert np.linalg.norm(wide) > 1.4 * np.linalg.norm(about(rows))
    flat = about(fitted(table, radius=1.0, pitch=0.0)[table.rows])
    assert np.linalg.svd(flat, compute_uv=False)[2] < 1e-9 * np.linalg.norm(flat)


def test_norms(table):
    before = np.linalg.norm(table.P[table.rows], axis=1)
    equal = np.linalg.norm(changed("equal norms", table)[table.rows], axis=1)
    np.testing.assert_allclose(equal, before.mean())
    scrambled = changed("scrambled norms", table)[table.rows]
    norms = np.linalg.norm(scrambled, axis=1)
    assert 0.2 < norms.std() / norms.mean() < 0.5
    cosines = (scrambled * table.P[table.rows]).sum(axis=1) / norms / before
    np.testing.assert_allclose(cosines, 1)


def test_turns_keep_all_distances(table):
    rows = table.P[table.rows]
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    for name in ("random turn", "into E"):
        turned = changed(name, table)[table.rows]
        np.testing.assert_allclose(
            np.linalg.norm(turned[:, None] - turned[None], axis=2), distances, atol=1e-8
        )
        np.testing.assert_allclose(turned.mean(axis=0), rows.mean(axis=0), atol=1e-9)
        assert np.linalg.norm(turned - rows) > 0.3 * np.linalg.norm(about(rows))
    into = about(changed("into E", table)[table.rows])
    E = about(table.E)
    leading = np.linalg.svd(E, full_matrices=False)[2][:3]
    share = np.linalg.norm(into @ leading.T) / np.linalg.norm(into)
    assert share > 0.98, "the helix lies in the tokens' first three directions"
    with pytest.raises(InsideError, match="no token embeddings"):
        changed("into E", Table(table.P, N))


def test_norms_vary_as_much_but_smoothly(table):
    logs = [
        np.log(np.linalg.norm(changed(name, table)[table.rows], axis=1))
        for name in ("scrambled norms", "smooth norms")
    ]
    spread = [one.std() for one in logs]
    assert spread == pytest.approx([1 / 3, 1 / 3], rel=0.25)
    jumps = [np.diff(one).std() / one.std() for one in logs]
    assert jumps[0] > 1.2
    assert jumps[1] < 0.3


def test_signs_of_the_directions_of_tokens_are_drawn(table):
    """Each direction is the same but for its sign, of which both occur."""
    one, *others = (
        about(find_change("into E")(table.drawn(draw))[table.rows]) for draw in range(6)
    )
    leading = np.linalg.svd(about(table.E), full_matrices=False)[2][0]
    signs = [np.sign((one @ leading) @ (other @ leading)) for other in others]
    assert set(signs) == {-1, 1}
    for other in others:
        np.testing.assert_allclose(np.abs(other @ leading), np.abs(one @ leading), atol=1e-9)


@pytest.mark.parametrize(("name", "order"), [("polynomial", 3), ("cosines", 4)])
def test_curves_of_as_few_numbers_by_least_squares(name, order, table):
    rows, t = table.P[table.rows], table.rows.astype(float)
    mean, coordinates, V = table.components()
    own = coordinates[:, :3]
    share = (t - t[0]) / (t[-1] - t[0])
    basis = [share**j if name == "polynomial" else np.cos(np.pi * j * share)
             for j in range(order + 1)]  # fmt: skip
    fitted = np.stack(basis, axis=1) @ np.linalg.pinv(np.stack(basis, axis=1)) @ own
    found = changed(f"{name} {order}", table)[table.rows]
    np.testing.assert_allclose(found, mean + fitted @ V[:3], atol=1e-8)
    assert np.linalg.norm(changed(f"{name} 999", table)[table.rows] - rows) < np.linalg.norm(
        found - rows
    )


@pytest.mark.parametrize("name", ["polynomial", "cosines"])
def test_the_simplest_curve_as_close_as_the_helix(name, table):
    def missed(change):
        return np.linalg.norm((changed(change, table) - changed("top 3", table))[table.rows])

    helix, close = missed("fitted helix"), missed(f"{name} as close")
    orders = [order for order in range(1, 60) if missed(f"{name} {order}") <= helix]
    assert close == pytest.approx(missed(f"{name} {orders[0]}"))
    assert close <= helix < missed(f"{name} {orders[0] - 1}")


def test_blocks_shifts_and_stretches_by_hand():
    i = np.arange(40.0)
    P = np.stack([i + 100, 50 * np.cos(i), 50 * np.sin(i)], axis=1)  # without outliers
    table = Table(P, 20)
    blocks = changed("blocks of 10", table)
    assert blocks[1:10, 0].tolist() == [104.5] * 9
    assert blocks[10:20, 0].tolist() == [114.5] * 10
    assert changed("shift 3", table)[:3, 0].tolist() == [103, 104, 105]
    assert changed("stretched", table)[:4, 0].tolist() == [100, 100.5, 101, 101.5]
    assert changed("without position 0", table)[0, 0] == 101
    with pytest.raises(InsideError, match="A shift by 30 needs 50 positions; there are 40"):
        changed("shift 30", table)


@pytest.mark.parametrize("name", ["", "top", "top -1", "without 3-1", "without 0-2", "bottom 3"])
def test_an_unknown_change_is_a_sentence(name):
    with pytest.raises(InsideError, match="There is no change") as caught:
        find_change(name)
    assert "top K" in caught.value.advice
