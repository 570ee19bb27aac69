"""Histories as moving curves: bases, alignment, what is measured by step; helices by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.evidence.turning_share import turning_share
from geometry.history.helices import APART, MANY, fit_helices, grow_helices, snapshots_apart
from geometry.history.timelapse import Timelapse, make_timelapse
from geometry.measures.shape import fit_shapes
from geometry.pca.pca import fit_pca
from tests.geometry.history_stage import D, N, growing, helix, history_of

STEPS = [0, 100, 300, 1000, 3000, 10000]
RANGE = (1, N - 2)


@pytest.fixture(scope="module")
def timelapse() -> Timelapse:
    return make_timelapse(history_of(STEPS), RANGE)


def in_range(points: np.ndarray) -> np.ndarray:
    return points[RANGE[0] : RANGE[1] + 1]


def test_frozen_is_one_map_for_all(timelapse):
    pca = fit_pca(growing(STEPS)[-1], RANGE, 3)
    np.testing.assert_allclose(timelapse.pca.components, pca.components, atol=1e-9)
    assert timelapse.frozen.shape == (len(STEPS), N, 3)
    assert timelapse.frozen.dtype == np.float32
    for i, table in enumerate(growing(STEPS)):
        np.testing.assert_allclose(timelapse.frozen[i], pca.project(table), atol=1e-6)
    assert timelapse.coordinates("frozen") is timelapse.frozen
    assert timelapse.coordinates("aligned") is timelapse.aligned


def test_aligned_is_each_ones_own_pca_turned(timelapse):
    np.testing.assert_array_equal(timelapse.aligned[-1], timelapse.frozen[-1])
    for i, table in enumerate(growing(STEPS)):
        own = fit_pca(table, RANGE, 3)
        expected, found = own.project(table), timelapse.aligned[i].astype(np.float64)
        # The same up to an orthogonal map about the range's mean: all distances are the same.
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)
        np.testing.assert_allclose(
            timelapse.explained_variance_ratio[i], own.explained_variance_ratio, atol=1e-9
        )
        np.testing.assert_allclose(in_range(found).mean(axis=0), 0, atol=1e-6)


def test_variance_in_the_frozen_basis(timelapse):
    for i, table in enumerate(growing(STEPS)):
        rows = in_range(table.astype(np.float64))
        held = in_range(timelapse.pca.project(table)).var(axis=0).sum() / rows.var(axis=0).sum()
        assert timelapse.frozen_variance_ratio[i] == pytest.approx(held)
        assert timelapse.frozen_variance_ratio[i] <= timelapse.top3[i] + 1e-9
    assert timelapse.frozen_variance_ratio[-1] == pytest.approx(timelapse.top3[-1])
    assert (np.diff(timelapse.top3) > -1e-3).all()


def test_norms_by_step(timelapse):
    for i, table in enumerate(growing(STEPS)):
        norms = np.linalg.norm(table.astype(np.float64), axis=1)
        np.testing.assert_allclose(timelapse.norms[i], norms, rtol=1e-6)
        assert timelapse.mean_norms[i] == pytest.approx(in_range(norms).mean(), rel=1e-6)
    assert timelapse.steps.tolist() == STEPS
    assert not any(a.flags.writeable for a in (timelapse.frozen, timelapse.aligned,
                                               timelapse.norms, timelapse.mean_norms))  # fmt: skip


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([(40, 12), (30, 60), (20, 3), (60, 20)]))
def test_a_curve_that_only_turns_does_not_move_when_aligned(seed, shape):
    """Rotated, mirrored and moved copies of one table are the same aligned curve."""
    random = np.random.default_rng(seed)
    table = random.standard_normal(shape) * np.geomspace(3, 0.1, shape[1])
    turned = [
        table @ np.linalg.qr(random.standard_normal((shape[1],) * 2))[0] + random.normal(size=1)
        for _ in range(4)
    ]
    history = history_of([1, 2, 3, 4], [one.astype(np.float32) for one in turned])
    found = make_timelapse(history).aligned
    scale = np.abs(found).max()
    for one in found[:-1]:
        np.testing.assert_allclose(one, found[-1], atol=2e-4 * scale)


def test_nothing_jumps_when_aligned():
    """Of a curve that changes little from step to step no point moves much, whatever the signs."""
    tables = [helix() + 0.002 * i * helix(seed=5) for i in range(30)]
    found = make_timelapse(history_of(list(range(30)), tables)).aligned
    moved = np.linalg.norm(np.diff(found, axis=0), axis=2).max()
    assert moved < 0.01
    # Unaligned it would: where the strength of two components crosses, they change places.
    crossing = [helix() * np.linspace(1, 1.5, D) for _ in range(2)]
    crossing[1][:, :6] *= 1.5
    apart = [fit_pca(one, (1, N - 1), 3).project(one) for one in crossing]
    aligned = make_timelapse(history_of([1, 2], [one.astype("f4") for one in crossing])).aligned
    assert np.abs(np.diff(aligned, axis=0)).max() <= np.abs(apart[1] - apart[0]).max() + 1e-5


@pytest.mark.parametrize(
    ("shape", "span"),
    [((1, 5), (0, 0)), ((2, 5), (1, 1)), ((5, 2), (1, 4)), ((4, 1), (0, 3)), ((30, 8), (28, 29))],
)
def test_ranges_without_three_components(shape, span):
    tables = [np.random.default_rng(i).standard_normal(shape).astype("f4") for i in range(3)]
    history = history_of([1, 2, 3], tables)
    found = make_timelapse(history, span)
    assert found.frozen.shape == found.aligned.shape == (3, shape[0], 3)
    assert np.isfinite(found.frozen).all()
    assert np.isfinite(found.aligned).all()
    assert ((found.top3 >= 0) & (found.top3 <= 1 + 1e-9)).all()
    with pytest.raises(RangeError, match="no shape"):
        fit_helices(found)


def test_tables_that_do_not_vary_and_noise():
    found = make_timelapse(history_of([1, 2], [np.ones((20, 16), "f4")] * 2))
    np.testing.assert_allclose(found.aligned[:, 1:], 0, atol=1e-5)
    np.testing.assert_array_equal(found.top3, 0)
    random = np.random.default_rng(0)
    noise = [random.standard_normal((60, 10)).astype("f4") for _ in range(2)]
    helices = fit_helices(make_timelapse(history_of([1, 2], noise)))
    assert helices.best == ("none", "none")
    assert helices.first_helix is None


def test_the_usual_range_and_a_wrong_one():
    history = history_of(STEPS)
    assert make_timelapse(history).positions == (1, N - 1)
    assert make_timelapse(history_of([1], [np.ones((1, 4), "f4")])).positions == (0, 0)
    with pytest.raises(RangeError):
        make_timelapse(history, (3, N))


def test_it_tells_and_can_be_ended():
    said: list[tuple[float, str]] = []
    timelapse = make_timelapse(history_of(STEPS), RANGE, lambda *words: said.append(words))
    assert said[0] == (1 / 6, "Step 10,000")
    assert [share for share, _ in said] == pytest.approx([(i + 1) / 6 for i in range(6)])

    def give_up(share: float, words: str) -> None:
        raise KeyError(words)

    for work in (lambda: make_timelapse(history_of(STEPS), RANGE, give_up),
                 lambda: fit_helices(timelapse, give_up)):  # fmt: skip
        with pytest.raises(KeyError):
            work()


def test_helices_by_step(timelapse):
    found = fit_helices(timelapse)
    for i, table in enumerate(growing(STEPS)):
        pca = fit_pca(table, RANGE, 3)
        points, share = in_range(pca.project(table)), pca.explained_variance_ratio.sum()
        shapes = fit_shapes(points, turning_share(points, share=share, columns=table.shape[1]))
        better = max(shapes.fits["helix"].r2, shapes.fits["drifting_helix"].r2)
        assert found.r2[i] == pytest.approx(better, abs=1e-4)
        assert found.best[i] == shapes.best
    assert found.r2[-1] > 0.999
    assert found.turns[-1] == pytest.approx(3 * (RANGE[1] - RANGE[0]) / (N - 1), abs=0.02)
    first = found.first_helix
    assert first > 0
    assert found.best[first - 1] not in ("helix", "drifting_helix")


def test_helices_come_one_by_one(timelapse):
    grown = list(grow_helices(timelapse))
    assert [int(np.isnan(one.r2).sum()) for one in grown] == [5, 4, 3, 2, 1, 0]
    assert grown[0].best[:-1] == (None,) * 5
    assert grown[0].first_helix == 5
    np.testing.assert_array_equal(grown[-1].r2, fit_helices(timelapse).r2)


@pytest.mark.parametrize("n", [1, MANY, MANY + 1, 1000, 5000])
@pytest.mark.parametrize("every", [1, 100])
def test_of_many_snapshots_those_are_fitted_that_a_plot_tells_apart(n, every):
    steps = every * np.arange(n)
    chosen = snapshots_apart(steps)
    assert chosen[-1] == n - 1
    if n <= MANY:
        assert chosen == [*range(n)]
        return
    beyond = steps[chosen[MANY - 1 : -1]]
    assert (beyond[1:] >= APART * beyond[:-1]).all()
    assert (beyond[1:] < APART * beyond[:-1] + every).all()
    # Of a training that goes on, only new ones are fitted.
    later = snapshots_apart(every * np.arange(n + 500))
    assert set(chosen[:-1]) <= set(later)


def test_only_chosen_snapshots_are_fitted():
    timelapse = make_timelapse(history_of([0, 100, 200, 300]))
    all_of_them = fit_helices(timelapse)
    *_, some = grow_helices(timelapse, snapshots=[1, 3])
    assert some.fitted.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(some.r2[[1, 3]], all_of_them.r2[[1, 3]])
    assert np.isnan(some.turns[[0, 2]]).all()
    *_, more = grow_helices(timelapse, some)
    np.testing.assert_array_equal(more.r2, all_of_them.r2)
