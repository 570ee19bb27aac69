"""Synthetic lines, circles and helices, and what LayerNorm leaves of them, in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.measures.line_or_helix import (
    distances,
    line_or_helix,
    look_back_r2,
    normalised,
    survival,
)
from geometry.measures.shape import fit_shapes
from geometry.measures.synthetic import (
    DIRECTIONS,
    KINDS,
    NOISE_DIRECTIONS,
    SyntheticCurve,
    curve_like,
    mean_free_directions,
)
from geometry.pca.pca import fit_pca

CURVES = st.builds(
    SyntheticCurve,
    st.sampled_from(KINDS),
    st.integers(4, 120),
    st.integers(6, 40),
    st.floats(0.01, 10),
    st.floats(0.2, 1.5),
    st.floats(0, 1),
    st.floats(0, 5),
)


def made(kind="helix", **fields):
    given = {"n_positions": 201, "d_model": 32, "spacing": 0.1, "turns": 1.9, "climb": 0.4}
    return SyntheticCurve(kind, **{**given, **fields})


def by_hand(rows):
    """LayerNorm as it is written down."""
    x = rows - rows.mean(axis=1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True))


@given(CURVES)
def test_neighbours_have_the_spacing_and_the_mean_square_is_in_closed_form(curve):
    rows = curve.coordinates()
    assert rows.shape == (curve.n_positions, DIRECTIONS)
    steps = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    np.testing.assert_allclose(steps, curve.spacing, rtol=1e-6)
    assert (rows**2).sum(axis=1).mean() == pytest.approx(float(curve.mean_square()), rel=1e-9)


@given(CURVES)
def test_the_table_is_the_same_curve_in_directions_without_a_mean(curve):
    rows, table = curve.coordinates(), curve.table()
    assert table.shape == (curve.n_positions, curve.d_model)
    scale = np.abs(rows).max()
    np.testing.assert_allclose(table @ table.T, rows @ rows.T, atol=1e-9 * scale**2)
    np.testing.assert_allclose(table.mean(axis=1), 0, atol=1e-9 * scale)
    np.testing.assert_array_equal(table, curve.table())


@pytest.mark.parametrize("turns", [0.3, 1.0, 1.85, 7.5])
@pytest.mark.parametrize("climb", [0.2, 0.9])
def test_the_helix_is_the_one_that_is_fitted_to_it(turns, climb):
    curve = made(turns=turns, climb=climb)
    fit = fit_shapes(curve.coordinates()[:, :3]).fits["helix"]
    assert fit.r2 == pytest.approx(1, abs=1e-9)
    assert (fit.turns, fit.radius, fit.climb) == pytest.approx(
        (turns, curve.radius, curve.rise), rel=1e-3
    )


def test_noise_is_as_long_as_it_says_and_seeded():
    plain = made(n_positions=2000, d_model=200)
    noisy = replace(plain, noise=0.5)
    rows = noisy.coordinates()
    assert rows.shape == (2000, NOISE_DIRECTIONS)
    apart = rows.copy()
    apart[:, :DIRECTIONS] -= plain.coordinates()
    assert np.sqrt((apart**2).sum(axis=1).mean()) == pytest.approx(0.5 * 0.1, rel=0.01)
    np.testing.assert_array_equal(rows, noisy.coordinates())
    assert (rows != replace(noisy, seed=1).coordinates()).any()
    assert made(d_model=12, noise=1.0).coordinates().shape == (201, 11)


@pytest.mark.parametrize(
    ("field", "value"),
    [("n_positions", 3), ("d_model", 5), ("spacing", 0.0), ("turns", 0.0), ("turns", 101.0),
     ("climb", 1.1), ("climb", -0.1), ("offset", -1.0), ("noise", -1.0), ("noise", np.nan)],
)  # fmt: skip
def test_what_is_out_of_bounds_is_said(field, value):
    with pytest.raises(ValueError, match=f"expected {field} between"):
        made(**{field: value})


def test_directions_are_orthonormal_and_have_no_mean():
    directions = mean_free_directions(9, 12, seed=3)
    np.testing.assert_allclose(directions @ directions.T, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(directions.sum(axis=1), 0, atol=1e-12)
    assert (directions != mean_free_directions(9, 12, seed=4)).any()


def test_a_helix_lies_between_a_circle_and_a_line():
    for kind, climb in (("circle", 0.0), ("line", 1.0)):
        expected = made(kind).coordinates()
        np.testing.assert_allclose(made(climb=climb).coordinates(), expected, atol=1e-12)


@given(CURVES, st.sampled_from([0.0, 0.7, 30.0]))
def test_layernorm_in_few_coordinates_is_layernorm_of_the_table(curve, token_norm):
    rows = curve.coordinates()
    if not np.linalg.norm(rows, axis=1).min() + token_norm > 1e-9:
        return  # a row of zeros has no direction
    directions = mean_free_directions(DIRECTIONS + 1, curve.d_model, curve.seed)
    whole = by_hand(rows @ directions[:DIRECTIONS] + token_norm * directions[DIRECTIONS])
    short = normalised(rows, curve.d_model, token_norm)
    np.testing.assert_allclose(short @ short.T, whole @ whole.T, atol=1e-7 * curve.d_model)
    np.testing.assert_allclose((short**2).sum(axis=1), curve.d_model, rtol=1e-9)


def test_of_a_line_through_the_origin_two_points_are_left():
    found = survival(made("line", n_positions=200))
    after = normalised(found.curve.coordinates(), 32)
    assert len(np.unique(after.round(9), axis=0)) == 2
    assert np.count_nonzero(found.after.steps > 1e-9) == 1
    assert found.after.steps.max() == pytest.approx(2 * np.sqrt(32))
    assert found.after.evenness == pytest.approx(0, abs=1e-9)
    assert found.after.alike == 200
    assert found.before.alike == 0
    assert found.before.nearest_other == pytest.approx(2)


def test_offset_line_becomes_an_arc_crowded_at_its_ends():
    curve = made("line", offset=3.0)
    found = survival(curve, token_norm=4.0)
    s = curve.spacing * (np.arange(201) - 100)
    angles = np.arctan2(s, 5.0)  # √(3² + 4²) from the origin
    steps = 2 * np.sqrt(32) * np.sin(np.diff(angles) / 2)
    np.testing.assert_allclose(found.after.steps, steps, rtol=1e-9)
    np.testing.assert_allclose(found.kept, steps / steps.mean(), rtol=1e-9)
    assert found.after.steps.argmin() in (0, 199)


@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("token_norm", [0.0, 5.0])
def test_a_circle_is_only_scaled(offset, token_norm):
    curve = made("circle", turns=0.8, offset=offset)
    found = survival(curve, token_norm, lag=20)
    scale = np.sqrt(32 / (curve.radius**2 + offset**2 + token_norm**2))
    np.testing.assert_allclose(found.after.steps, scale * curve.spacing, rtol=1e-9)
    np.testing.assert_allclose(found.drawn_after[:, :3], scale * found.drawn_before[:, :3])
    np.testing.assert_allclose(found.drawn_after[:, 3], scale * np.hypot(offset, token_norm))
    np.testing.assert_allclose(found.kept, 1)
    assert found.after.evenness == pytest.approx(1)
    assert found.after.alike == 0
    assert found.look_back_after == pytest.approx(1)


@pytest.mark.parametrize(
    ("kind", "turns", "alike"), [("circle", 0.9, 0), ("circle", 2.0, 201), ("helix", 2.0, 0)]
)
def test_a_circle_that_comes_round_again_cannot_tell_its_positions_apart(kind, turns, alike):
    found = survival(made(kind, turns=turns))
    assert found.before.alike == found.after.alike == alike
    if alike:
        assert found.after.nearest_other == pytest.approx(0, abs=1e-6)


@given(st.integers(20, 300), st.floats(2, 6), st.floats(0, 4))
def test_circle_of_two_turns_has_neighbours(n, turns, away):
    curve = made("circle", n_positions=n, turns=min(turns, (n - 1) / 8), offset=away)
    found = survival(curve)
    if curve.turns >= 2:
        assert found.after.alike == found.before.alike == n


@given(CURVES, st.integers(1, 12))
def test_before_layernorm_looking_back_is_a_screw_for_all_of_them(curve, lag):
    r2 = look_back_r2(curve.coordinates(), lag)
    if lag > curve.n_positions - 8:
        assert r2 is None
    elif curve.n_positions > 3 * lag + 20 and curve.turns > 0.5:
        assert r2 == pytest.approx(1, abs=1e-5)


def test_after_layernorm_of_circle_helix_and_line():
    found = line_or_helix(made(n_positions=601, climb=0.3), token_norm=1.0, lag=30)
    after = {kind: one.look_back_after for kind, one in found.items()}
    assert after["circle"] == pytest.approx(1)
    assert 0.8 < after["helix"] < 1
    assert after["line"] < 0.5
    assert list(found) == list(KINDS)


@given(st.integers(4, 60), st.integers(0, 99))
def test_both_ways_to_the_nearest_other_row_are_the_plain_one(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4)).round(1)  # some coincide
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    apart[np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < 2] = np.inf
    for wide in (rows, np.column_stack([rows, np.zeros((n, 20))])):
        np.testing.assert_allclose(distances(wide).others, apart.min(axis=1), atol=1e-6)


def test_rows_that_are_one_point_have_no_distances():
    found = distances(np.zeros((5, 4)))
    assert (found.mean_step, found.evenness, found.nearest_other, found.alike) == (0, 0, 0, 5)


def test_price_of_a_line_is_quadratic_a_circles_is_not():
    n = np.array([101, 201, 401])
    line, circle, helix = (made(kind).mean_square(n) for kind in KINDS)
    np.testing.assert_allclose(line, 0.1**2 * (n**2 - 1) / 12)
    np.testing.assert_allclose(circle, made("circle").radius ** 2)
    np.testing.assert_allclose(helix - made().radius ** 2, 0.4**2 * line)
    longer = made(n_positions=401, turns=1.9 * 400 / 200)  # the same curve, gone on
    assert longer.radius == pytest.approx(made().radius)
    assert float(longer.mean_square()) == pytest.approx(helix[2])


@given(CURVES)
def test_a_circle_is_never_dearer_than_a_helix_nor_that_than_a_line(curve):
    # The same way around once or more: of an arc that is nearly straight this need not hold.
    curve = replace(curve, turns=max(1.0, curve.turns))
    line, circle, helix = (float(curve.of_kind(kind).mean_square()) for kind in KINDS)
    assert circle <= helix * (1 + 1e-9)
    assert helix <= line * (1 + 1e-9)


def test_a_curve_like_a_table_finds_the_curve_that_the_table_is():
    curve = made(turns=2.3, offset=1.7, n_positions=300)
    fit = fit_shapes(curve.coordinates()[:, :3]).fits["helix"]
    found = curve_like(curve.table(), fit)
    for field in ("n_positions", "d_model", "spacing", "turns", "climb", "offset"):
        # Of turns that are not whole the mean is a little beside the axis.
        assert getattr(found, field) == pytest.approx(getattr(curve, field), rel=0.01), field
    assert found.noise == 0


def test_without_a_helix_it_has_the_rows_own_spacing():
    found = curve_like(made("line").table())
    assert (found.spacing, found.turns, found.climb) == pytest.approx((0.1, 2.0, 0.5))
    short = curve_like(np.arange(8.0).reshape(4, 2))
    assert (short.n_positions, short.d_model, short.turns) == (4, 6, 1.5)
    assert curve_like(np.ones((5, 3))).spacing == 1.0


def test_gpt2s_own_helix(gpt2_table):
    rows = gpt2_table[1:1023]
    points = fit_pca(gpt2_table, (1, 1022), 3).project(rows)
    fits = fit_shapes(points).fits
    curve = curve_like(rows, fits["helix"])
    assert curve.turns == pytest.approx(1.85, abs=0.02)
    found = line_or_helix(curve, token_norm=4.0, lag=100)
    assert found["line"].mean_square > 3 * found["helix"].mean_square
    assert found["helix"].after.alike == 0
