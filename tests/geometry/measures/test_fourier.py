"""Frequencies over position, and phase shifts of heads: closed forms, invariances, real GPT-2."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import RangeError
from geometry.measures.directions import singular_directions
from geometry.measures.fourier import column_spectra, fourier, phase_shifts
from geometry.measures.heads import HeadProjections
from geometry.models.head_projections import project_heads
from geometry.models.sources.opening import open_model

M = 240


def waves(cycles, phase=0.0, m=M):
    """Cosine and sine of a frequency, (m, 2), behind by a phase in positions."""
    angle = 2 * np.pi * cycles / m * (np.arange(m) - phase)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def heads(queries, keys):
    """Heads of a layer, from one pair or several."""
    return HeadProjections(0, np.array(queries), np.array(keys), 1.0, True)


@pytest.mark.parametrize("m", [240, 241])
def test_the_amplitude_of_a_wave_is_its_height(m):
    table = 5.0 + np.column_stack([3 * waves(7, 2.5, m)[:, 0], 2 * waves(11, m=m)[:, 1]])
    found = column_spectra(table, (0, m - 1))
    assert len(found.frequency) == m // 2
    expected = np.zeros((m // 2, 2))
    expected[6, 0], expected[10, 1] = 3, 2
    np.testing.assert_allclose(found.amplitudes, expected, atol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean(axis=1), atol=1e-12)
    nyquist = np.where(np.arange(10) % 2, -4.0, 4.0)[:, None]
    assert column_spectra(nyquist, (0, 9)).amplitudes[-1, 0] == pytest.approx(4.0)


@given(seed=st.integers(0, 10_000), m=st.integers(2, 60), shift=st.floats(-5, 5))
def test_amplitudes_hold_the_variance_and_do_not_see_the_mean(seed, m, shift):
    table = np.random.default_rng(seed).normal(size=(m, 3))
    found = column_spectra(table, (0, m - 1)).amplitudes
    squares = found**2 / 2
    if m % 2 == 0:
        squares[-1] *= 2
    np.testing.assert_allclose(squares.sum(axis=0), table.var(axis=0), rtol=1e-9, atol=1e-12)
    moved = column_spectra(table + shift, (0, m - 1)).amplitudes
    np.testing.assert_allclose(moved, found, atol=1e-9)


def test_quartiles_are_over_the_columns():
    table = np.column_stack([height * waves(5)[:, 0] for height in range(1, 10)])
    found = column_spectra(table, (0, M - 1))
    assert found.quantile(0.25)[4] == pytest.approx(3)
    assert found.quantile(0.75)[4] == pytest.approx(7)


@pytest.mark.parametrize("positions", [(3, 3), (0, M), (5, 2)])
def test_a_range_without_frequencies(positions):
    with pytest.raises(RangeError):
        column_spectra(waves(3), positions)


def test_too_few_positions_for_a_wave_and_a_table_of_zeros():
    with pytest.raises(RangeError):
        phase_shifts(heads([waves(5)], [waves(5)]), (4, 6))
    table = np.zeros((20, 4))
    with pytest.raises(RangeError, match="zero"):
        fourier(table, singular_directions(table), (0, 19))


@pytest.mark.parametrize(("cycles", "tokens"), [(4, 2.5), (4, -7.0), (20, 3.0), (9, 0.0)])
def test_the_shift_between_two_waves(cycles, tokens):
    found = phase_shifts(heads([waves(cycles, tokens)], [waves(cycles)]), (0, M - 1))
    assert found.tokens[0] == pytest.approx(tokens, abs=1e-6)
    assert found.cycles[0] == pytest.approx(cycles, abs=1e-4)
    assert found.r2[0] == pytest.approx(1.0)


def test_between_frequencies_the_shift_is_nearly_right():
    found = phase_shifts(heads([waves(7.3, 2.5)], [waves(7.3)]), (0, M - 1))
    assert found.cycles[0] == pytest.approx(7.3, abs=0.02)
    assert found.tokens[0] == pytest.approx(2.5, abs=0.15)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
def test_turning_scaling_and_moving_a_head_changes_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    Q = np.pad(waves(6, 4.0), ((0, 0), (0, 4))) @ basis * scale + rng.normal(size=6)
    K = np.pad(waves(6), ((0, 0), (0, 4))) @ basis + rng.normal(size=6)
    found = phase_shifts(heads([Q], [K]), (0, M - 1))
    assert found.tokens[0] == pytest.approx(4.0, abs=1e-4)


def test_each_head_has_its_own_and_a_constant_one_has_none():
    queries = [waves(5, 1.0), np.ones((M, 2)), waves(12, -2.0)]
    found = phase_shifts(heads(queries, [waves(5), waves(5), waves(12)]), (0, M - 1))
    np.testing.assert_allclose(found.tokens, [1.0, np.nan, -2.0], atol=1e-6)


def test_directions_of_two_waves_are_found_with_their_frequencies():
    table = np.hstack([4 * waves(3), waves(17)]) @ np.linalg.qr(np.ones((4, 4)) + np.eye(4))[0]
    found = fourier(table, singular_directions(table), (0, M - 1))
    np.testing.assert_allclose(found.waves.cycles, [3, 3, 17, 17], atol=1e-4)
    np.testing.assert_allclose(found.waves.r2, 1.0)
    np.testing.assert_allclose(found.directions.T @ found.directions, np.eye(4), atol=1e-9)
    numbers = json.loads(json.dumps(found.as_numbers(), allow_nan=False))
    assert numbers["phase_shift_tokens"] is None
    assert [round(one["cycles"]) for one in numbers["directions"]] == [3, 3, 17, 17]


def test_heads_without_a_shift_are_none_in_json():
    made = heads([waves(5, 1.0), np.ones((M, 2))], [waves(5), waves(5)])
    table = waves(5)
    numbers = fourier(table, singular_directions(table), (0, M - 1), made).as_numbers()
    assert numbers["phase_shift_tokens"] == [pytest.approx(1.0, abs=1e-6), None]


def test_gpt2(gpt2_folder):
    model = open_model(gpt2_folder)
    P = singular_directions(model.W_pos)
    found = fourier(model.W_pos, P, (1, 1023), project_heads(model))
    np.testing.assert_allclose(found.waves.cycles[:2], [1.93, 1.78], atol=0.01)
    np.testing.assert_allclose(found.waves.r2[:2], [0.83, 0.82], atol=0.01)
    assert int(found.spectra.mean.argmax()) == 1  # two cycles
    assert found.shifts.tokens[0] == pytest.approx(-105, abs=1)
    assert found.shifts.tokens[5] == pytest.approx(66, abs=1)
