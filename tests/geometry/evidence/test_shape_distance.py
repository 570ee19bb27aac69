"""The distance between two tables' shapes."""

import numpy as np
import pytest
from scipy.spatial import procrustes

from geometry.claims.report import report
from geometry.evidence.shape_distance import shape_distance
from geometry.models.sources.opening import open_model
from tools.study_intervals import Case

CASE = Case(128, 16, turns=3, correlation=0.5, noise=0.3)


def test_it_is_the_angle_of_procrustes():
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((2, 40, 6))
    expected = np.degrees(np.arcsin(np.sqrt(procrustes(X, Y)[2])))
    assert shape_distance(X, Y).degrees == pytest.approx(expected)
    Z = random.standard_normal((40, 6))
    assert (
        shape_distance(X, Z).degrees <= shape_distance(X, Y).degrees + shape_distance(Y, Z).degrees
    )


def test_it_ignores_position_size_axes_and_width():
    random = np.random.default_rng(1)
    X = CASE.draw(random)
    turned = 5 * X @ np.linalg.qr(random.standard_normal((20, 20)))[0][:16] + 3
    found = shape_distance(X, turned, draws=20)
    assert found.degrees == pytest.approx(0, abs=1e-5)


def test_two_draws_of_one_curve_are_as_far_as_expected():
    random = np.random.default_rng(2)
    same = shape_distance(CASE.draw(random), CASE.draw(random))
    assert same.interval[0] <= same.degrees <= same.interval[1]
    assert same.same_curve == pytest.approx(same.degrees, rel=0.25)
    other = Case(128, 16, turns=4, correlation=0.5, noise=0.3).draw(random)
    apart = shape_distance(CASE.draw(random), other)
    assert apart.interval[0] > 2 * apart.same_curve


def test_tables_without_a_known_curve():
    noise = np.random.default_rng(3).standard_normal((2, 64, 8))
    found = shape_distance(*noise)
    assert (found.interval, found.same_curve) == (None, None)
    assert 0 < found.degrees <= 90
    with pytest.raises(ValueError, match="rows"):
        shape_distance(noise[0], noise[1][:20])
    with pytest.raises(ValueError, match="equal"):
        shape_distance(noise[0], np.ones((64, 8)))


def test_a_report_beside_others():
    others = [open_model("sinusoidal:256x32"), open_model("synthetic:circle")]
    found = report(open_model("sample"), nulls=False, beside=others)["distances"]
    assert [one["source"] for one in found] == [other.source.text for other in others]
    assert all(0 < one["degrees"] <= 90 for one in found)
    assert found[0]["positions"] == [1, 254]
