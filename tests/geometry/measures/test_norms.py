"""Lengths of rows and of the steps between them, their stability, and the outliers by the rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.measures import row_lengths as module
from geometry.measures.norms import norm_profile
from geometry.measures.row_lengths import row_lengths
from geometry.measures.stretches import AFTER, measure_stretch
from geometry.models.sources.opening import open_model
from geometry.pca.components import row_norms
from geometry.pca.norm_rule import log_ratios, outlyingness


def random_table(seed, n=40, d=6):
    return np.random.default_rng(seed).lognormal(size=(n, d))


def test_gpt2(gpt2_table):
    profile = norm_profile(gpt2_table)
    some = profile.values[[0, 1, 2, 10, 100, 500, 1022, 1023]]
    expected = [9.876, 5.192, 4.585, 3.773, 3.358, 3.384, 3.858, 0.118]
    assert np.round(some, 3).tolist() == expected
    assert (round(profile.mean, 3), round(profile.std, 3)) == (3.376, 0.097)
    assert round(100 * profile.cv, 1) == 2.9
    assert profile.outliers == profile.outliers_raw == profile.outliers_about_mean == (0, 1023)
    assert profile.outlyingness[[0, 1023]].min() > 2
    assert np.delete(profile.outlyingness, [0, 1023]).max() < 1
    assert not profile.values.flags.writeable
    steps = row_lengths(gpt2_table).steps
    assert len(steps) == 1023
    assert steps[:10].mean() > 3 * steps[100:1022].mean()


def test_minilm(minilm_table):
    profile = norm_profile(minilm_table)
    assert np.round(profile.values[[0, 1, 511]], 3).tolist() == [2.362, 0.491, 0.970]
    assert profile.outliers == profile.outliers_about_mean == (0, 127, 510, 511)


def test_the_bundled_model():
    assert norm_profile(open_model("sample").W_pos).outliers == (0, 255)


def test_centred_rows_lose_their_mean():
    table = random_table(0) + 5
    centred = norm_profile(table, centred=True)
    np.testing.assert_allclose(centred.values, np.sqrt(table.var(axis=1) * 6))
    assert centred.centred


def test_stability_leaves_out_the_last_position():
    norms = np.array([9.0, 9.0, 1.0, 3.0, 100.0])
    profile = norm_profile(norms[:, None], after=2)
    assert (profile.mean, profile.std, profile.cv) == (2.0, 1.0, 0.5)


def outliers_by_definition(norms, bound=0.3):
    found = []
    for i in range(len(norms)):
        others = sorted((abs(i - j), j) for j in range(len(norms)) if j != i)[:8]
        typical = np.median([norms[j] for _, j in others])
        if abs(np.log(norms[i] / typical)) > bound:
            found.append(i)
    return tuple(found)


def beyond(ratios, bound=0.3):
    return tuple(np.flatnonzero(ratios > bound).tolist())


@given(st.lists(st.floats(0.1, 10.0), min_size=2, max_size=40))
def test_outliers_by_definition(norms):
    assert beyond(log_ratios(np.array(norms))) == outliers_by_definition(norms)


def test_outliers_of_zeros():
    norms = np.ones(20)
    norms[7] = 0.0
    assert beyond(log_ratios(norms)) == (7,)
    assert beyond(log_ratios(np.zeros(20))) == ()
    assert beyond(log_ratios(np.ones(1))) == ()
    zeros = np.zeros(20)
    zeros[3] = 1.0
    assert beyond(log_ratios(zeros)) == (3,)
    assert np.isfinite(log_ratios(zeros)).all()


@given(st.integers(0, 99))
def test_outliers_are_those_of_both_rules(seed):
    table = random_table(seed)
    profile = norm_profile(table)
    about = np.linalg.norm(table - table.mean(axis=0), axis=1)
    np.testing.assert_allclose(profile.about_mean, about)
    assert profile.outliers_raw == outliers_by_definition(profile.values)
    assert profile.outliers_about_mean == outliers_by_definition(about, 0.4)
    assert set(profile.outliers) == {*profile.outliers_raw, *profile.outliers_about_mean}
    assert profile.outliers == beyond(profile.outlyingness, 1.0)
    np.testing.assert_array_equal(outlyingness(table), profile.outlyingness)


def with_outliers(seed):
    """Rows on a circle far from the origin's scale of rounding, two of them out."""
    random = np.random.default_rng(seed)
    angles = np.arange(60)[:, None] / 9 + [0.0, np.pi / 2]
    table = np.hstack([np.cos(angles), 0.02 * random.standard_normal((60, 4))])
    table[[0, 30]] *= [[4.0], [0.1]]
    return table


@given(st.integers(0, 99), st.floats(-9.0, 9.0), st.integers(0, 99))
def test_an_added_vector_and_a_rotation_hide_no_outlier(seed, magnitude, direction):
    table, random = with_outliers(seed), np.random.default_rng(direction)
    added = 10.0**magnitude * random.standard_normal(6)
    rotation = np.linalg.qr(random.standard_normal((6, 6)))[0]
    found = norm_profile(table)
    assert found.outliers == found.outliers_about_mean == (0, 30)
    moved, turned = norm_profile(table + added), norm_profile(table @ rotation)
    assert moved.outliers_about_mean == turned.outliers_about_mean == (0, 30)
    rounding = 1e-14 * np.linalg.norm(added)
    np.testing.assert_allclose(moved.about_mean, found.about_mean, rtol=1e-9, atol=rounding)
    np.testing.assert_allclose(turned.outlyingness, found.outlyingness, atol=1e-9)
    if magnitude > 3:
        assert moved.outliers == (0, 30)  # the norms themselves show none


@pytest.mark.parametrize("size", [0.1, 3.0, 100.0, 1e6, 1e10])
def test_an_added_vector_of_any_size_hides_no_outlier_of_gpt2(gpt2_table, size):
    W_pos = gpt2_table.astype(np.float64)
    added = np.random.default_rng(7).standard_normal(768)
    found = norm_profile(W_pos + size * added / np.linalg.norm(added))
    assert found.outliers_about_mean == (0, 1023)
    assert set(found.outliers) == {0, 1023}


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_rounding_errors_of_equal_rows_are_no_outliers(size):
    rows = size * np.random.default_rng(3).standard_normal(8)
    table = np.tile(rows, (50, 1))
    table[::3] *= 1 + np.finfo(np.float64).eps
    assert norm_profile(table).outliers == ()


@given(st.integers(0, 99), st.floats(0.01, 100.0))
def test_turned_scaled_and_permuted(seed, scale):
    table = random_table(seed)
    random = np.random.default_rng(seed)
    rotation = np.linalg.qr(random.standard_normal((6, 6)))[0]
    profile = norm_profile(table, after=5)
    for changed in (table @ rotation, table[:, random.permutation(6)]):
        np.testing.assert_allclose(norm_profile(changed, after=5).values, profile.values)
    scaled = norm_profile(table * scale, after=5)
    np.testing.assert_allclose(scaled.values, profile.values * scale)
    assert scaled.cv == pytest.approx(profile.cv)
    assert scaled.outliers == profile.outliers


def test_numbers_whose_squares_leave_the_range():
    rows = np.array([[3e-200, 4e-200], [0.0, 0.0]])
    np.testing.assert_allclose(row_norms(rows), [5e-200, 0.0])
    np.testing.assert_allclose(row_norms(np.array([[3e200, 4e200]])), [5e200])


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (lambda: norm_profile(np.ones((4, 4)), after=-1), "got -1"),
        (lambda: norm_profile(np.ones((0, 3))), r"\(0, 3\)"),
        (lambda: measure_stretch(np.ones(5), -1), "at least 0"),
        (lambda: measure_stretch(np.ones(0)), r"\(n,\)"),
        (lambda: measure_stretch(np.ones((2, 2))), r"\(n,\)"),
        (lambda: row_lengths(np.zeros(4)), "table"),
    ],
)
def test_what_cannot_be_measured_is_said(measure, words):
    with pytest.raises(ValueError, match=words):
        measure()


@pytest.mark.parametrize("after", [1, 7, 38])
def test_a_stretch_ends_with_the_last_but_one(after):
    values = np.random.default_rng(after).lognormal(size=40)
    found = measure_stretch(values, after)
    part = values[after:39]
    assert (found.first, found.last, found.whole) == (after, 38, False)
    assert found.mean == pytest.approx(part.mean())
    assert found.std == pytest.approx(np.sqrt(np.mean((part - part.mean()) ** 2)))
    assert found.cv == pytest.approx(found.std / found.mean)
    assert found.early == pytest.approx(values[:after].mean())


def test_from_the_start_there_is_nothing_before_and_zeros_vary_by_nothing():
    found = measure_stretch(np.array([2.0, 4.0, 9.0]), 0)
    assert (found.mean, found.std, found.early) == (3.0, 1.0, None)
    assert measure_stretch(np.zeros(5), 1).cv == 0.0
    zero = norm_profile(np.zeros((200, 3)))
    assert (zero.mean, zero.std, zero.cv, zero.outliers) == (0.0, 0.0, 0.0, ())


@pytest.mark.parametrize("after", [39, 40, 1000])
def test_too_few_values_are_measured_whole(after):
    values = np.random.default_rng(0).lognormal(size=40)
    found = measure_stretch(values, after)
    assert (found.first, found.last, found.whole, found.early) == (0, 39, True, None)
    assert found.mean == pytest.approx(values.mean())


def test_a_profile_measured_from_elsewhere_is_the_profile_of_that(gpt2_table):
    first = norm_profile(gpt2_table)
    assert first.after == AFTER
    for after in (0, 3, 500, 1022, 1023, 4000):
        moved, fresh = first.measured_from(after), norm_profile(gpt2_table, after=after)
        assert moved.values is first.values
        assert moved.about_mean is first.about_mean
        assert moved.outliers == fresh.outliers
        assert (moved.after, moved.mean, moved.std, moved.cv) == (
            fresh.after, fresh.mean, fresh.std, fresh.cv,
        )  # fmt: skip
    assert first.measured_from(0).cv > 2 * first.measured_from(500).cv


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 30])
def test_lengths_are_what_they_say_whatever_the_blocks(n, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 10)
    table = np.random.default_rng(n).normal(size=(n, 6)) + 2
    found = row_lengths(table)
    centred = table - table.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.of("norm", centred=False), np.linalg.norm(table, axis=1))
    np.testing.assert_allclose(found.of("norm", centred=True), np.linalg.norm(centred, axis=1))
    for rows, which in ((table, False), (centred, True)):
        steps = np.linalg.norm(rows[1:] - rows[:-1], axis=1)
        np.testing.assert_allclose(found.of("step", centred=which), steps)
    assert not found.steps.flags.writeable


def test_steps_of_a_known_walk():
    table = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [4.0, 5.0]])
    found = row_lengths(table)
    np.testing.assert_allclose(found.steps, [5.0, 0.0, np.sqrt(2)])
    # Both entries alike: nothing of the last step is left without its mean.
    np.testing.assert_allclose(found.centred_steps, [np.sqrt(0.5), 0.0, 0.0], atol=1e-12)
