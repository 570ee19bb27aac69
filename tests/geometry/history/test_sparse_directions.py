"""The sparsity of the leading directions by step of a training."""

import numpy as np
import pytest

from geometry.claims.claim_spaces import heaviest, turned_heaviest
from geometry.claims.claims import CLAIMS
from geometry.claims.measurements import Measurements
from geometry.history.sparse_directions import sparse_directions
from tests.geometry.history_stage import history_of

D = 128


def flat_table(held: int, strengths: tuple[float, ...] = (3.0, 2.0, 1.0)) -> np.ndarray:
    """Rows along directions with equal entries, up to sign, in the first ``held`` columns."""
    table = np.zeros((20, D), "f4")
    for row, strength in enumerate(strengths):
        signs = np.where((np.arange(held) >> row) % 2, -1.0, 1.0)
        table[row, :held] = strength * signs / np.sqrt(held)
    return table


def test_the_mass_of_40_of_m_equal_entries_is_40_over_m():
    told: list[tuple[float, str]] = []
    history = history_of([0, 10, 2000], [flat_table(128), flat_table(64), flat_table(32)])
    found = sparse_directions(history, lambda *words: told.append(words))
    np.testing.assert_allclose(found.mass, [40 / 128, 40 / 64, 1.0], atol=1e-6)
    assert found.steps.tolist() == [0, 10, 2000]
    assert not found.mass.flags.writeable
    assert [share for share, _ in told] == pytest.approx([1 / 3, 2 / 3, 1])
    assert told[-1][1] == "Directions at step 2,000"


def test_directions_that_a_table_does_not_have_are_left_out():
    """The second and third direction of a table of rank 1 are any."""
    tables = [flat_table(128, (1.0,)), np.zeros((20, D), "f4"), flat_table(64, (1.0, 0.5))]
    mass = sparse_directions(history_of([1, 2, 3], tables)).mass
    np.testing.assert_allclose(mass, [40 / 128, np.nan, 40 / 64], atol=1e-6)


def test_noise_is_as_sparse_as_directions_turned_at_random():
    rng = np.random.default_rng(3)
    tables = [rng.standard_normal((60, D)).astype("f4") for _ in range(40)]
    found = sparse_directions(history_of(list(range(40)), tables))
    low, middle, high = found.turned.band
    inside = (found.mass >= low) & (found.mass <= high)
    assert 32 <= inside.sum() <= 40
    assert abs(np.median(found.mass) - middle) < (high - low) / 2


def test_the_last_step_has_the_number_of_the_claim_about_the_model(open_array):
    table = np.random.default_rng(4).standard_normal((60, D)) * np.geomspace(2, 0.1, D)
    found = sparse_directions(history_of([1], [table.astype("f4")]))
    (claim,) = [one for one in CLAIMS if one.id == "directions.sparse"]
    measured = Measurements(open_array(table.astype("f4")))
    assert found.mass[-1] == pytest.approx(heaviest(measured), abs=1e-9)
    random = turned_heaviest(claim, measured, 99)
    np.testing.assert_allclose(found.turned.band, random.band, atol=0.02)
