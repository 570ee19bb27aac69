"""Tables of coordinates in files."""

import csv

import numpy as np
import pytest

from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.measures.table import tabulate, write_table
from geometry.pca.pca import fit_pca, off_subspace_residual

TABLE = np.random.default_rng(0).standard_normal((50, 8)).cumsum(axis=0)


def test_columns_are_what_the_pca_says():
    table = tabulate(TABLE, (3, 40), 4)
    pca = fit_pca(TABLE, (3, 40), 4)
    assert table.positions.tolist() == list(range(3, 41))
    np.testing.assert_array_equal(table.coordinates, pca.project(TABLE[3:41]))
    np.testing.assert_allclose(table.norms, np.linalg.norm(TABLE[3:41], axis=1))
    np.testing.assert_array_equal(table.residuals, off_subspace_residual(TABLE[3:41], pca))


def test_csv_holds_every_digit(tmp_path):
    table = tabulate(TABLE, (3, 40), 4)
    write_table(table, tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["position", "norm", "residual", "pc_1", "pc_2", "pc_3", "pc_4"]
    numbers = np.array(lines, dtype=float)
    assert numbers[:, 0].tolist() == list(range(3, 41))
    assert lines[0][0] == "3"
    np.testing.assert_array_equal(numbers[:, 3:], table.coordinates)


@pytest.mark.parametrize("name", ["curve.npz", "CURVE.NPZ"])
def test_npz_holds_the_basis_too(tmp_path, name):
    table = tabulate(TABLE, (3, 40), 4)
    write_table(table, tmp_path / name)
    with np.load(tmp_path / name) as arrays:
        assert set(arrays) == {
            "positions", "norms", "residuals", "coordinates", "mean", "components",
            "singular_values", "explained_variance_ratio",
        }  # fmt: skip
        np.testing.assert_allclose(
            (TABLE[3:41] - arrays["mean"]) @ arrays["components"].T, arrays["coordinates"]
        )


def test_what_cannot_be_written(tmp_path):
    table = tabulate(TABLE, (0, 49))
    with pytest.raises(HelixscopeError, match=r"curve\.txt has \.txt.*\.csv or \.npz"):
        write_table(table, tmp_path / "curve.txt")
    with pytest.raises(HelixscopeError, match="No such file or directory"):
        write_table(table, tmp_path / "nowhere" / "curve.csv")
    with pytest.raises(RangeError):
        tabulate(TABLE, (0, 50))
