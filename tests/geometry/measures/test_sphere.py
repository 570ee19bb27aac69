"""Where a sphere around the origin meets the shown subspace."""

import numpy as np
import pytest

from geometry.measures.sphere import sphere_section


def orthonormal(k, d, seed):
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, k)))
    return basis.T


def surface(section, seed=0):
    u = np.random.default_rng(seed).normal(size=(200, len(section.centre)))
    return section.centre + (u / np.linalg.norm(u, axis=1, keepdims=True)) @ section.axes.T


def norms(points, *, centred):
    rows = points - points.mean(axis=1, keepdims=True) if centred else points
    return np.linalg.norm(rows, axis=1)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("k", "d"), [(3, 12), (2, 5), (3, 4), (1, 8)])
def test_every_point_of_the_surface_has_the_norm(k, d, centred):
    C = orthonormal(k, d, seed=d)
    mean = np.random.default_rng(1).normal(size=d)
    section = sphere_section(mean, C, 10.0, centred=centred)
    np.testing.assert_allclose(norms(mean + surface(section) @ C, centred=centred), 10.0)


def test_closed_form_of_the_plain_sphere():
    C, mean = np.eye(4)[:3], [1.0, -2.0, 0.5, 3.0]
    section = sphere_section(mean, C, 5.0)
    np.testing.assert_allclose(section.centre, [-1.0, 2.0, -0.5])
    np.testing.assert_allclose(section.axes, 4.0 * np.eye(3), atol=1e-12)
    assert section.distance == pytest.approx(3.0)
    assert section.radii == pytest.approx((4.0, 4.0, 4.0))
    # A subspace beyond the norm has no surface.
    beyond = sphere_section(mean, C, 2.9)
    assert (beyond.axes, beyond.radii) == (None, ())
    assert beyond.distance == pytest.approx(3.0)
    assert sphere_section([0.0, 0.0, 0.0, 3.0], C, 3.0).radii == (0.0, 0.0, 0.0)
    for wrong in ((np.zeros(3), 1.0), (np.zeros(4), -1.0)):
        with pytest.raises(ValueError, match="expected"):
            sphere_section(wrong[0], C, wrong[1])


@pytest.mark.parametrize("centred", [False, True])
def test_the_distance_is_the_least_norm_and_the_centre_where_it_is(centred):
    C, mean = orthonormal(3, 9, seed=4), np.random.default_rng(5).normal(size=9)
    section = sphere_section(mean, C, 1e-3, centred=centred)
    J = np.eye(9) - centred / 9
    best, *_ = np.linalg.lstsq(J @ C.T, -J @ mean, rcond=None)
    np.testing.assert_allclose(section.centre, best, atol=1e-12)
    assert section.distance == pytest.approx(np.linalg.norm(J @ (mean + C.T @ best)))


def test_along_the_direction_that_centring_takes_away_there_is_no_end():
    C = np.vstack([np.full(4, 0.5), [0.5, -0.5, 0.5, -0.5], [0.5, 0.5, -0.5, -0.5]])
    assert sphere_section(np.zeros(4), C, 1.0).axes is not None
    assert sphere_section(np.zeros(4), C, 1.0, centred=True).axes is None


def test_row_centred_sphere_is_an_ellipsoid():
    C = orthonormal(3, 6, seed=7)
    section = sphere_section(np.zeros(6), C, 1.0, centred=True)
    ones = C.sum(axis=1) / np.sqrt(6)
    assert section.radii[0] == pytest.approx(1 / np.sqrt(1 - ones @ ones))
    assert section.radii[1:] == pytest.approx((1.0, 1.0))
