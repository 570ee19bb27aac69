"""The single numbers of a position table: closed forms, the functions they come from, GPT-2's."""

from unittest.mock import Mock

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.scalar_results import QUANTITIES, scalar_results
from geometry.evidence.turning_share import turning_share
from geometry.measures.norms import norm_profile
from geometry.measures.roughness import roughness
from geometry.measures.shape import fit_shapes
from geometry.measures.spectra import spectrum
from geometry.pca.pca import fit_pca, off_subspace_residual

VERDICTS = {"drifting_helix": "drifting helix", "none": "none of these"}


def values(model, *arguments, **options):
    return {one.quantity.key: one.value for one in scalar_results(model, *arguments, **options)}


def reasons(model, *arguments):
    return {one.quantity.key: one.why for one in scalar_results(model, *arguments) if one.why}


def helix(m=300, turns=4.0, radius=2.0, climb=1.5, d=12):
    t = np.linspace(0, 1, m)
    curve = np.zeros((m, d))
    angle = 2 * np.pi * turns * t
    curve[:, :3] = np.column_stack(
        [radius * np.cos(angle), radius * np.sin(angle), climb * turns * t]
    )
    basis, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(d, d)))
    return curve @ basis


def test_a_helix_is_told_by_its_own_numbers(open_array):
    found = values(open_array(helix()), (0, 299))
    assert found["n_positions"] == 300
    assert found["d_model"] == 12
    assert found["variance_3"] == pytest.approx(1, abs=1e-12)
    assert found["verdict"] == "helix"
    assert found["helix_r2"] == pytest.approx(1, abs=1e-9)
    assert found["turns"] == pytest.approx(4, rel=1e-6)
    assert found["radius"] == pytest.approx(2, rel=1e-6)
    assert found["climb"] == pytest.approx(1.5, rel=1e-4)
    assert found["drift"] == pytest.approx(0, abs=1e-6)
    assert found["loops"] == pytest.approx(4, abs=0.15)
    assert found["period"] == pytest.approx(299 / 4, rel=1e-4)
    assert found["turning_angle"] == pytest.approx(360 * 4 / 299, rel=0.01)
    assert found["high_frequency"] < 1e-3


def test_they_are_what_the_functions_give(open_array):
    table = np.random.default_rng(1).normal(size=(150, 16)).cumsum(axis=0)
    model, span, axes = open_array(table), (7, 140), (2, 1, 4)
    found = values(model, span, axes)
    rows, pca = table[7:141], fit_pca(table, span, 10)
    points = pca.project(rows)[:, [1, 0, 3]]
    shapes, rough = fit_shapes(points, turning_share(rows, points)), roughness(points)
    norms, sizes = norm_profile(table), spectrum(table)
    expected = {
        "variance_3": pca.explained_variance_ratio[:3].sum(),
        "variance_6": pca.explained_variance_ratio[:6].sum(),
        "residual": np.median(off_subspace_residual(rows, pca)),
        "stable_rank": sizes.stable_rank,
        "energy_30": sizes.energy_top30,
        "turning_share": shapes.evidence.b,
        "norm_mean": norms.mean,
        "norm_cv": norms.cv,
        "outliers": len(norms.outliers),
        "turning_angle": rough.turning_angle,
        "high_frequency": rough.high_frequency_energy,
        "high_frequency_rows": roughness(rows).high_frequency_energy,
        "loops": rough.loops,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9), name
    assert found["verdict"] == VERDICTS.get(shapes.best, shapes.best)
    for name in ("helix_r2", "turns", "radius", "drift", "climb"):  # of no helix
        assert found[name] is None
    noise = open_array(np.random.default_rng(1).normal(size=(150, 16)))
    assert values(noise)["verdict"] == VERDICTS["none"]


def test_components_beyond_the_first_ten_are_fitted_too(open_array):
    table = np.random.default_rng(2).normal(size=(80, 16))
    found = values(open_array(table), (0, 79), (1, 2, 13))
    points = fit_pca(table, (0, 79), 13).project(table)[:, [0, 1, 12]]
    assert found["turning_angle"] == pytest.approx(roughness(points).turning_angle)


def test_what_a_short_range_has_not_says_why(open_array):
    model = open_array(helix())
    why = reasons(model, (10, 12))
    assert why["verdict"] == why["turning_angle"] == "too few positions are shown"
    assert values(model, (10, 12))["turns"] is None
    assert "stable_rank" not in why
    assert "variance_3" not in why


def test_what_a_narrow_table_has_not_says_why(open_array):
    why = reasons(open_array(np.random.default_rng(4).normal(size=(50, 2))))
    assert why["turns"] == why["loops"] == why["period"] == "this table has 2 columns"
    assert "norm_cv" not in why


def test_tables_of_equal_directions_and_of_nothing(open_array):
    found = values(open_array(2.5 * np.eye(40)[:, :20]), (0, 39))
    for name in ("stable_rank", "effective_rank", "participation"):
        assert found[name] == pytest.approx(20, rel=1e-9), name
    assert found["energy_30"] == pytest.approx(1)
    nothing = scalar_results(open_array(np.zeros((40, 8))))
    assert tuple(one.quantity for one in nothing) == QUANTITIES
    assert all(one.value is None for one in nothing if one.why)
    assert {one.quantity.key: one.value for one in nothing}["stable_rank"] == 0


def test_the_quantities_are_named_and_told():
    keys = [quantity.key for quantity in QUANTITIES]
    assert len(set(keys)) == len(keys)
    assert all(quantity.meaning.endswith(".") for quantity in QUANTITIES)


def test_it_is_refused_off_the_table_and_can_be_given_up(open_array):
    with pytest.raises(RangeError):
        scalar_results(open_array(helix()), (0, 300))
    with pytest.raises(Cancelled):
        scalar_results(open_array(helix()), check=Mock(side_effect=[None, None, Cancelled]))
