"""Large tables in parts, on several threads."""

import threading

import numpy as np
import pytest

from geometry.checkpoints import threads
from geometry.checkpoints.threads import for_each_part
from geometry.measures.norms import norm_profile
from geometry.pca.first_look import first_look


@pytest.fixture
def several(monkeypatch):
    """Parts of 300 rows of 64 numbers, on three threads."""
    monkeypatch.setattr(threads, "NUMBERS_AT_ONCE", 300 * 64)
    monkeypatch.setattr(threads, "cores", lambda: 3)


def test_each_part_is_computed_once_and_results_are_in_order(several):
    rows = np.arange(1000 * 64, dtype=np.float32).reshape(1000, 64)
    together = threading.Barrier(3, timeout=30)  # passed by three threads only

    def first_and_length(few: np.ndarray, room: np.ndarray) -> tuple[float, int]:
        assert (room.shape, room.dtype) == (few.shape, np.float64)
        if len(few) == 300:
            together.wait()
        return float(few[0, 0]), len(few)

    expected = [(300.0 * 64 * part, 300 if part < 3 else 100) for part in range(4)]
    assert for_each_part(first_and_length, rows, np.float64) == expected


def test_an_error_in_a_part_is_raised_under_the_callers_settings(several):
    rows = np.full((1000, 64), 1e30, dtype=np.float32)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        for_each_part(lambda few, room: np.multiply(few, few, out=room), rows, np.float32)


def test_parts_change_no_result(monkeypatch):
    random = np.random.default_rng(0)
    angles = np.linspace(0, 12, 2000)
    table = 0.01 * random.standard_normal((2000, 384))
    table[:, :3] += np.stack([3 * np.cos(angles), 2 * np.sin(angles), angles], axis=1)
    table[7] = 0.0

    def measured():
        norms = [norm_profile(table, centred=centred) for centred in (False, True)]
        return *norms, first_look(table, (1, 1998))

    *whole, look = measured()
    monkeypatch.setattr(threads, "NUMBERS_AT_ONCE", 300 * 384)
    *parts, look_in_parts = measured()
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-13)
        np.testing.assert_allclose(one.about_mean, other.about_mean, rtol=1e-13)
        assert one.outliers == other.outliers == (7,)
    assert not look_in_parts.pca.exact
    np.testing.assert_allclose(look_in_parts.coordinates, look.coordinates, atol=1e-4)
