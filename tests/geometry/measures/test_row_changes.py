"""How far rows moved between two versions of a table."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.row_changes import row_changes

OLD = np.random.default_rng(0).normal(size=(20, 6))


def test_rows_that_moved_and_rows_that_did_not():
    after = OLD.copy()
    after[3] *= 1.5
    after[7] += [0, 0, 3, 0, 4, 0]
    changes = row_changes(OLD, after)
    assert np.flatnonzero(~changes.unchanged).tolist() == [3, 7]
    assert changes.relative[3] == pytest.approx(0.5)
    assert changes.moved[7] == pytest.approx(5)
    assert changes.relative[7] == pytest.approx(5 / np.linalg.norm(OLD[7]))
    assert (changes.moved > 0).sum() == (changes.relative > 0).sum() == 2
    assert (changes.n_before, changes.n_after, len(changes.new)) == (20, 20, 0)


def test_new_rows_are_apart():
    new = np.stack([OLD[4], 2 * OLD[4], np.zeros(6)])
    changes = row_changes(OLD, np.concatenate([OLD, new]))
    assert changes.unchanged.all()
    assert changes.new[0] == 0
    nearest = np.linalg.norm(OLD - new[1], axis=1).min()
    assert changes.new[1] == pytest.approx(nearest / np.linalg.norm(new[1]))
    assert changes.new[2] == 0
    many = np.random.default_rng(1).normal(size=(1200, 6))
    apart = row_changes(OLD, np.concatenate([OLD, many])).new
    expected = np.linalg.norm(many[:, None] - OLD, axis=2).min(axis=1) / np.linalg.norm(
        many, axis=1
    )
    np.testing.assert_allclose(apart, expected)


def test_rows_that_are_gone():
    changes = row_changes(OLD, OLD[:5])
    assert (len(changes.moved), changes.n_before, changes.n_after) == (5, 20, 5)


@pytest.mark.parametrize("zero", [1, 20])
@pytest.mark.parametrize("left", [0, 1e-7])
def test_rows_of_nearly_zeros_have_changes_of_the_others_size(zero, left):
    """GPT-2's last position, which no training text reaches, is such a row."""
    before = OLD.copy()
    before[:zero] *= left if zero == 1 else 0
    changes = row_changes(before, OLD)
    assert np.isfinite(changes.relative).all()
    scale = np.linalg.norm(before, axis=1).mean() or np.linalg.norm(OLD[0])
    assert changes.relative[0] == pytest.approx(np.linalg.norm(OLD[0]) / scale)


@pytest.mark.parametrize("other", [OLD[:, :5], OLD[0], OLD[None]])
def test_other_shapes_are_refused(other):
    with pytest.raises(RangeError):
        row_changes(other, OLD)
