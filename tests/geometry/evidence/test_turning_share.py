"""The balanced turning share and its nulls: closed forms, real models, drawn tables."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from geometry.evidence.turning_nulls import MEANINGS, rule_null, turning_nulls
from geometry.evidence.turning_share import balanced_turning, turn_counts, turning_share, waves
from geometry.models.sources.opening import open_model
from geometry.pca.pca import fit_pca
from tests.geometry.evidence.rates import ROWS, families, process, rate, walk


def curve(turns, *, radius=1.0, climb=0.0, m=1000, d=8, ratio=1.0):
    t = np.linspace(0, 1, m)
    made = np.zeros((m, d))
    made[:, 0] = radius * np.cos(2 * np.pi * turns * t)
    made[:, 1] = ratio * radius * np.sin(2 * np.pi * turns * t)
    made[:, 2] = climb * t
    return made


def test_waves_are_orthonormal_and_free_of_constants_and_the_ramp():
    m, counts = 200, turn_counts(200)
    assert counts[-1] < m / 4
    for plane in waves(m, counts):
        against = np.vstack([plane, np.ones(m), np.arange(m)])
        products = plane @ against.T
        np.testing.assert_allclose(products[:, :2], np.eye(2), atol=1e-12)
        np.testing.assert_allclose(products[:, 2:], 0.0, atol=1e-9)


@pytest.mark.parametrize("turns", [2, 3, 5, 12, 40])
def test_circle_loses_only_its_part_of_the_ramp(turns):
    """The sine's share of the ramp is 6/(πw)², with w the turns."""
    found = turning_share(curve(turns))
    assert found.turns == pytest.approx(turns)
    assert found.b == pytest.approx(1 - 6 / (np.pi * turns) ** 2, abs=5e-3)
    assert (found.tier, found.kind) == (2, "circle")
    assert found.climb_ratio is None


def test_a_climb_takes_its_share_of_b_and_nothing_of_b_prime():
    flat, steep = (turning_share(curve(5, climb=climb)) for climb in (0.0, 8.0))
    assert steep.b < 0.3 < flat.b
    assert steep.b_prime == pytest.approx(flat.b_prime, abs=0.01)
    assert (steep.tier, steep.kind, steep.climb_ratio) == (2, "helix", np.inf)


def test_an_ellipse_has_twice_the_square_of_its_smaller_axis():
    found = turning_share(curve(20, ratio=0.5))
    assert found.b == pytest.approx(2 * 0.25 / 1.25, rel=0.01)
    assert found.remarkable is False


@pytest.mark.parametrize(
    ("rows", "b", "remarkable"),
    [
        (curve(0, climb=1.0), 0.0, False),
        (curve(0.25), 0.001, None),
        (curve(0.5), 0.024, None),
        (curve(0.75), 0.126, None),
        (curve(1.0), 0.39, None),
        (curve(1.25), 0.79, True),
        (np.outer(np.linspace(-1, 1, 500) ** 2, [1.0, 0.0, 0.0]), 0.0, False),
        (np.random.default_rng(0).normal(size=(600, 100)), 0.0, False),
        (np.random.default_rng(0).normal(size=(600, 1)), 0.0, False),
        (np.ones((20, 3)), 0.0, False),
    ],
    ids=["line", "arc ¼", "arc ½", "arc ¾", "one turn", "1¼ turns", "parabola", "noise",
         "one column", "equal rows"],
)  # fmt: skip
def test_what_there_is_to_tell(rows, b, remarkable):
    found = turning_share(rows)
    assert found.b == pytest.approx(b, abs=0.006)
    assert found.remarkable is remarkable
    assert (found.kind is None) == (not remarkable)


def test_scores_with_their_share_tell_b_as_whole_rows_do():
    rows = curve(3, climb=1.0, m=200, d=20) + 0.05 * np.random.default_rng(0).normal(size=(200, 20))
    pca = fit_pca(rows, (0, 199), 5)
    scores, whole = pca.project(rows)[:, :3], turning_share(rows)
    alone = turning_share(scores, share=float(pca.explained_variance_ratio[:3].sum()))
    assert (alone.b, alone.turns) == pytest.approx((whole.b, whole.turns))
    assert turning_share(rows, scores).b == pytest.approx(whole.b)
    assert turning_share(rows, pca.project(rows)[:, 2:5]).b < 0.05


def test_two_tables_that_cannot_be_measured():
    for rows in (np.zeros((7, 3)), np.zeros((9, 0))):
        with pytest.raises(ValueError, match="at least 8 rows"):
            turning_share(rows)


@pytest.mark.slow
@given(st.integers(0, 2**31), st.floats(1.3, 9), st.floats(0, 2), st.floats(0.01, 100))
def test_it_does_not_depend_on_frame_place_scale_or_direction(seed, turns, climb, scale):
    rng = np.random.default_rng(seed)
    rows = curve(turns, climb=climb, m=120, d=6) + 0.05 * rng.normal(size=(120, 6))
    found = turning_share(rows)
    turned = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for other in (
        scale * rows @ turned + rng.normal(size=6),
        rows[::-1],
        np.pad(rows, ((0, 0), (0, 9))),
    ):
        again = turning_share(other)
        assert again.b == pytest.approx(found.b, rel=1e-6)
        assert again.b_prime == pytest.approx(found.b_prime, rel=1e-6)
        assert again.kind == found.kind


def test_curves_together_are_as_each_alone():
    rng = np.random.default_rng(2)
    curves, counts = rng.normal(size=(5, 90, 3)).cumsum(axis=1), turn_counts(90)
    together = balanced_turning(curves, counts)
    for number, one in enumerate(curves):
        alone = balanced_turning(one[None], counts)
        np.testing.assert_allclose([together[0][number], together[1][number]], np.ravel(alone))


def test_long_tables_take_bounded_memory_and_give_the_same(monkeypatch):
    rows = curve(7, climb=1.0, m=400)
    whole = turning_share(rows)
    monkeypatch.setattr("geometry.evidence.turning_share.BLOCK", 4000)
    assert turning_share(rows).b == pytest.approx(whole.b, rel=1e-12)


def test_gpt2_turns_more_than_any_smooth_curve(gpt2_table):
    found, later = turning_share(gpt2_table[1:1023]), turning_share(gpt2_table[100:1023])
    assert (found.b, found.b_prime) == pytest.approx((0.564, 0.753), abs=5e-4)
    assert (later.b, later.b_prime) == pytest.approx((0.693, 0.897), abs=5e-4)
    assert (found.climb_ratio, later.climb_ratio) == pytest.approx((6.51, 10.35), abs=5e-3)
    assert (found.tier, later.tier, found.kind, later.kind) == (1, 2, "helix", "helix")
    shuffled = np.random.default_rng(0).permutation(gpt2_table[1:1023])
    assert turning_share(shuffled).remarkable is False


def test_the_bundled_model_is_a_helix_of_more_turns_than_gpt2():
    found = turning_share(open_model("sample").W_pos[1:255])
    assert (found.b, found.b_prime) == pytest.approx((0.577, 0.877), abs=5e-4)
    assert found.turns == pytest.approx(2.15, abs=0.05)
    assert (found.tier, found.kind) == (2, "helix")


def test_the_sinusoidal_table_does_not():
    found = turning_share(open_model("sinusoidal").W_pos[1:1023])
    assert found.b == pytest.approx(0.108, abs=5e-4)
    assert found.remarkable is False


def test_minilm_does_not(minilm_table):
    found = turning_share(minilm_table[1:511])
    assert found.b < 5e-4
    assert found.remarkable is False


@pytest.mark.slow
def test_rates_of_a_few_draws():
    """The whole table is that of `rates.py`."""
    wanted = {
        "squared-exponential, length 150": False, "Matérn-3/2, length 150": False,
        "random walk": False, "helix of 1.5 turns, noise 0.2": True,
        "helix of 30 turns, noise 0.2": True,
    }  # fmt: skip
    found = {name: rate(draw, 100, 10) for name, draw, _ in families() if name in wanted}
    assert found == {name: float(is_helix) for name, is_helix in wanted.items()}


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 100])
def test_they_are_those_of_whole_tables(d):
    """Drawn from the kernel's few eigenvectors, they are as from every row and column."""
    nulls = turning_nulls(walk(np.random.default_rng(0), d), 400)
    tables = [walk(np.random.default_rng(number), d) for number in range(60)]
    found = [turning_share(table).b for table in tables]
    assert ks_2samp(found, nulls["walk"].values).pvalue > 0.05
    # Of the lengths, that which turns most is not known beforehand.
    draw = process("squared-exponential", 0.15 * ROWS)
    found = [turning_share(draw(np.random.default_rng(number), d)).b for number in range(60)]
    assert np.median(found) == pytest.approx(nulls["process"].band[1], abs=0.05)


@pytest.mark.slow
def test_the_published_bounds_hold_for_every_width():
    for d in (3, 30, 768):
        nulls = turning_nulls(np.random.default_rng(1).normal(size=(300, d)).cumsum(axis=0), 400)
        assert list(nulls) == list(MEANINGS)
        assert max(nulls[name].band[2] for name in ("process", "matern", "walk")) < 0.5
        assert 0.5 < nulls["band"].band[2] < 0.62
        # B′ of steep curves counts as well, and does not reach its bound more often.
        rule = rule_null(d, 400)
        assert nulls["process"].band[2] / 0.5 <= rule.band[2] < 1.0
        assert rule.p_value(1.0) <= 0.05


@pytest.mark.slow
def test_the_rule_is_drawn_as_it_is_asked_of_whole_tables():
    draw = process("squared-exponential", 0.15 * ROWS)
    found = [turning_share(draw(np.random.default_rng(number), 3)) for number in range(60)]
    asked = [max(one.b / 0.5, (one.b_prime or 0.0) / 0.8) for one in found]
    assert np.median(asked) == pytest.approx(rule_null(3).band[1], abs=0.1)


def test_phases_drawn_anew_make_gpt2_unremarkable(gpt2_table):
    P = gpt2_table[1:1023]
    found = turning_nulls(P, 400)["phase"]
    assert found.share_from(turning_share(P).b) < 0.08


def test_they_are_seeded_and_can_be_stopped():
    rows = np.random.default_rng(0).normal(size=(60, 20)).cumsum(axis=0)
    one, again, other = (turning_nulls(rows, 20, seed) for seed in (3, 3, 4))
    for name, null in one.items():
        np.testing.assert_array_equal(null.values, again[name].values)
        assert (null.values != other[name].values).any()
        assert not null.values.flags.writeable
    with pytest.raises(InterruptedError):
        turning_nulls(rows, 20, check=Mock(side_effect=[None, None, InterruptedError]))


@pytest.mark.parametrize("shape", [(8, 1), (9, 2), (40, 3), (5000, 4)])
def test_small_and_long_tables_have_them_too(shape):
    nulls = turning_nulls(np.random.default_rng(0).normal(size=shape).cumsum(axis=0), 20)
    for null in nulls.values():
        assert np.isfinite(null.values).all()
        assert ((null.values >= 0) & (null.values <= 1 + 1e-9)).all()
