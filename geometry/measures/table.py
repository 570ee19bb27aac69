"""The numbers behind the curve, written as a table."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.number_files import write_numbers
from geometry.checkpoints.result import result
from geometry.pca.components import Array, PositionPCA, row_norms, rows_of_range
from geometry.pca.pca import fit_pca, off_subspace_residual


@result
class PositionTable:
    """Coordinates, norms and residuals of the positions of a range.

    Attributes
    ----------
    positions : (m,) int64
        All positions of the range.
    norms : (m,) float64
        ‖P_i‖₂, raw.
    residuals : (m,) float64
        Off-subspace residual of the first three components.
    coordinates : (m, k) float64
        Coordinates in the true principal components of the range, PC 1 first.
    pca
        The components, their mean and variances.
    """

    positions: npt.NDArray[np.int64]
    norms: Array
    residuals: Array
    coordinates: Array
    pca: PositionPCA


def tabulate(
    W_pos: npt.ArrayLike, positions: tuple[int, int], n_components: int = 10
) -> PositionTable:
    """Table of an inclusive range, from its exact PCA.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table of positions.
    positions
        First and last position.
    n_components
        Columns of coordinates; fewer where the range has fewer rows.

    Raises
    ------
    RangeError
        When the range leaves the table.
    """
    rows, (first, last) = rows_of_range(W_pos, positions)
    pca = fit_pca(W_pos, positions, n_components)
    return PositionTable(
        np.arange(first, last + 1),
        row_norms(rows),
        off_subspace_residual(rows, pca),
        pca.project(rows),
        pca,
    )


def write_table(table: PositionTable, path: Path) -> None:
    """Write a table in the format given by the file's suffix.

    ``.csv``: one line for each position, with the columns position, norm, residual, pc_1, pc_2,
    …, in full precision. ``.npz``: the arrays positions, norms, residuals, coordinates, and of
    the basis mean, components, singular_values, explained_variance_ratio.

    Raises
    ------
    HelixscopeError
        The suffix is another one, or the file cannot be written.
    """
    by_position: dict[str, np.ndarray] = {
        "position": table.positions,
        "norm": table.norms,
        "residual": table.residuals,
        "pc": table.coordinates,
    }
    arrays: dict[str, np.ndarray] = {
        "positions": table.positions,
        "norms": table.norms,
        "residuals": table.residuals,
        "coordinates": table.coordinates,
        "mean": table.pca.mean,
        "components": table.pca.components,
        "singular_values": table.pca.singular_values,
        "explained_variance_ratio": table.pca.explained_variance_ratio,
    }
    write_numbers(by_position if path.suffix.lower() == ".csv" else arrays, path)
