"""Controls of changes: what they keep of a displacement, and what they leave alone."""

import numpy as np
import pytest

from geometry.inside.controls import CONTROLS, controls_of
from geometry.inside.interventions import USUAL, Table, find_change
from tests.geometry.inside.test_layers import helix

N, D_MODEL = 80, 40
SMOOTH = [name for name in CONTROLS if not name.endswith("by row")]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    P = 2 * helix(N, D_MODEL) + 0.02 * random.normal(size=(N, D_MODEL)) + 0.3
    return Table(P, N, random.normal(size=(300, D_MODEL)), seed=1)


def moved(control, change, table, seed=0):
    changed = find_change(change)(table)
    found = CONTROLS[control](table.P, changed, np.random.default_rng(seed))
    return found, changed


def roughness(displacements):
    """Energy of the steps from row to row, over that of the rows."""
    return np.square(np.diff(displacements, axis=0)).sum() / np.square(displacements).sum()


@pytest.mark.parametrize("change", ["scrambled norms", "top 1", "blocks of 10", "shift 1"])
@pytest.mark.parametrize("control", CONTROLS)
def test_each_row_is_displaced_as_far_and_the_draw_is_another_one(control, change, table):
    short = Table(table.P, N - 5, table.E, seed=1)
    found, changed = moved(control, change, short)
    lengths = np.linalg.norm(changed - short.P, axis=1)
    np.testing.assert_allclose(np.linalg.norm(found - short.P, axis=1), lengths, atol=1e-9)
    np.testing.assert_array_equal(found[lengths == 0], short.P[lengths == 0])
    again, _ = moved(control, change, short, seed=1)
    assert not np.allclose(again, found)
    if control.startswith("norms kept"):
        norms = np.linalg.norm(short.P, axis=1)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), norms, rtol=1e-9)


def test_random_directions_keep_the_spectrum_over_positions_and_leave_the_rows_alone(table):
    found, changed = moved("random directions", "top 2", table)
    own, other = changed - table.P, found - table.P
    np.testing.assert_allclose(other @ other.T, own @ own.T, atol=1e-9)
    third = table.components()[2][2]  # the component that the change removes
    shares = [np.linalg.norm(one @ third) / np.linalg.norm(one) for one in (own, other)]
    assert shares[0] > 0.9
    assert shares[1] < 0.5


@pytest.mark.parametrize("change", ["smooth norms", "fitted helix radius 0.5 pitch 1"])
@pytest.mark.parametrize("control", SMOOTH)
def test_what_is_smooth_stays_smooth_but_by_row(control, change, table):
    found, changed = moved(control, change, table)
    own = roughness(changed[1:] - table.P[1:])
    smooth = roughness((found - table.P)[1:])
    assert smooth < 4 * own + 0.1
    if control != "random directions":
        rough, _ = moved(f"{control} by row", change, table)
        assert roughness((rough - table.P)[1:]) > 4 * smooth


@pytest.mark.parametrize("control", ["same directions", "same directions by row", "norms kept"])
def test_displacements_are_in_the_directions_of_the_rows(control, table):
    """A table in a few directions, as the network reads them, stays in these."""
    mean, coordinates, V = table.components()
    flat = Table(table.with_rows(mean + coordinates[:, :3] @ V[:3]), N, seed=1)
    span = np.linalg.svd(flat.P[flat.rows], full_matrices=False)[2][:4]
    found, changed = moved(control, "scrambled norms", flat)
    outside = found[flat.rows] - found[flat.rows] @ span.T @ span
    assert np.linalg.norm(outside) < 1e-9 * np.linalg.norm(found)
    assert np.linalg.norm(changed - flat.P) > 0.1 * np.linalg.norm(flat.P)


def test_each_usual_change_has_a_control_which_can_be_made(table):
    assert controls_of("identity") == ()
    for change in USUAL:
        assert controls_of(change)
        for control in controls_of(change):
            assert control in CONTROLS or find_change(control)(table).shape == table.P.shape
