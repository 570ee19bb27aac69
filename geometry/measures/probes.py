"""Linear probes: the position of a row, and the order of two rows, read by a linear map.

The probes of Wang and Chen, "What Do Position Embeddings Learn?", 2020 (arXiv 2010.04903), with the
settings of their code; and three more numbers that papers give for tables of positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.measures.spectra import spectrum
from geometry.pca.components import Array, about_mean, check_table, read_only, row_norms
from geometry.pca.unit import in_unit

N_ROWS = 512
"""Rows that are probed: Wang and Chen's, who took the length of BERT's table for all models."""
FEWEST = 20
"""Rows below which a fifth of them has fewer than four, too few for a mean."""
FOLDS = 5
SHUFFLES = 5
"""Random splits into fifths: their mean has half the spread of one split."""
DRAWS = 8
"""Draws of pairs: one draw of GPT-2's has 7 to 17 errors in 512, the mean of eight a third of that
spread; more take longer than a second."""
LONGEST = 1e4
"""Longer rows are scaled down to this before order is probed: the penalty, which is of order 1,
decides nothing long before, and Newton's equations stay well conditioned."""
STEPS = 50
"""Newton steps at most; tables of real models need 8 to 12."""
HALVINGS = 30
CONVERGED = 1e-9
FLATTEST = 1e-10
"""Least curvature of the loss at a pair, so that pairs far on the right side stay in the system."""


@result
class Probe:
    """Errors of a probe on what it was not fitted to.

    Attributes
    ----------
    folds : (runs, 5) float64
        Mean error of each fifth of each run, as fitted to the other four.
    """

    folds: Array

    @property
    def error(self) -> float:
        """Mean over all."""
        return float(self.folds.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the runs' means: how far one random split may be off."""
        return float(self.folds.mean(axis=1).std())


def position_probe(rows: npt.ArrayLike) -> Probe:
    """Read the position of each row by a linear map, fitted to the others.

    Parameters
    ----------
    rows : (n, d)
        The table from position 0 on, at least 20 rows; the first 512 are probed.

    Returns
    -------
    Probe
        Mean absolute errors in positions, each prediction rounded to a whole position: 0 where
        position is linear in the rows, about n/4 for rows that hold nothing of it.

    Raises
    ------
    RangeError
        The table has fewer rows.
    ValueError
        ``rows`` is not a table of finite numbers.

    Notes
    -----
    Least squares with an intercept, of least norm where columns outnumber rows; shuffled fifths, of
    the seeds 0 to 4. Directions with less than some 3e-7 of the strongest are rounding in tables
    stored as float32, and left out.
    """
    X = _probed(rows)
    n = len(X)
    scale = np.abs(X).max()
    X = about_mean(X / scale if scale > 0 else X)
    gram, position = X @ X.T, np.arange(n, dtype=np.float64)
    found = np.empty((SHUFFLES, FOLDS))
    for seed in range(SHUFFLES):
        order = np.random.default_rng(seed).permutation(n)
        for fold, (train, test) in enumerate(_fifths(order)):
            guess = np.round(_least_squares(gram, position[train], train, test))
            found[seed, fold] = np.abs(guess - position[test]).mean()
    read_only(found)
    return Probe(found)


def order_probe(rows: npt.ArrayLike) -> Probe:
    """Tell which of two rows comes first, by a linear map of both, fitted to other pairs.

    Parameters
    ----------
    rows : (n, d)
        The table from position 0 on, at least 20 rows; the first 512 are probed.

    Returns
    -------
    Probe
        Errors in percent of the pairs; for rows that hold nothing of position 30 to 50, less than
        half where many columns let the map know rows again that other pairs share.

    Raises
    ------
    RangeError
        The table has fewer rows.
    ValueError
        ``rows`` is not a table of finite numbers.

    Notes
    -----
    Logistic regression on the 2d entries of an ordered pair of rows (i, j), whether j > i, with the
    penalty ½‖w‖² and a free intercept: scikit-learn's default. As many pairs as rows are drawn
    among all n² without replacement, in eight draws of the seeds 0 to 7; each fifth of a draw is
    predicted from the other four. The map is found in the pairs' span by Newton's method.
    """
    X = _probed(rows)
    n = len(X)
    X, unit = in_unit(X)
    longest = row_norms(X).max()
    X = X * (LONGEST / longest if longest > LONGEST / unit else unit)
    gram = X @ X.T
    found = np.empty((DRAWS, FOLDS))
    for seed in range(DRAWS):
        first, second = np.divmod(np.random.default_rng(seed).permutation(n * n)[:n], n)
        pairs = gram[np.ix_(first, first)] + gram[np.ix_(second, second)]
        later = np.where(second > first, 1.0, -1.0)
        for fold, (train, test) in enumerate(_fifths(np.arange(n))):
            weights, intercept = _logistic(pairs[np.ix_(train, train)], later[train])
            guess = pairs[np.ix_(test, train)] @ weights + intercept > 0
            found[seed, fold] = 100 * np.mean(guess != (later[test] > 0))
    read_only(found)
    return Probe(found)


def centred_stable_rank(rows: npt.ArrayLike) -> float:
    """‖X‖_F² / σ₁² of rows without their mean: an effective number of directions.

    Song and Zhong, "Uncovering hidden geometry in Transformers via disentangling position and
    context", 2023 (arXiv 2310.04861), for a model's positional basis.

    Parameters
    ----------
    rows : (n, d)
        Rows of a table.

    Returns
    -------
    float
        At least 1; 0 for rows that are all the same.

    Raises
    ------
    ValueError
        When it is no table.
    """
    X = check_table(rows)
    return spectrum(about_mean(in_unit(X)[0])).stable_rank


def neighbour_mean_r2(rows: npt.ArrayLike) -> float:
    """R² of the mean of a row's two neighbours as a prediction of the row, for every other row.

    Parameters
    ----------
    rows : (n, d)
        Consecutive rows, at least 5 of them.

    Returns
    -------
    float
        1 − SSE/SST over the second, fourth, … row; 1 for a straight line, about −½ for noise, 0 for
        rows that are all the same.

    Raises
    ------
    ValueError
        When it is no table, or has fewer rows.
    """
    X = check_table(rows)
    if len(X) < 5:
        raise ValueError(f"expected at least 5 rows, got {len(X)}")
    scale = np.abs(X).max()
    X = X / scale if scale > 0 else X
    between = X[1:-1:2]
    error = between - (X[:-2:2] + X[2::2]) / 2
    total = float(np.square(between - between.mean(axis=0)).sum())
    return 1 - float(np.square(error).sum()) / total if total > 0 else 0.0


def _probed(rows: npt.ArrayLike) -> Array:
    stored = np.asarray(rows)
    X = check_table(stored[:N_ROWS] if stored.ndim == 2 else stored)
    if len(X) < FEWEST:
        raise RangeError(f"a probe needs {FEWEST} positions, and this table has {len(X)}")
    return X


def _fifths(order: npt.NDArray[np.int_]) -> Iterator[tuple[npt.NDArray[np.int_], ...]]:
    """Yield each fifth with the others: (train, test)."""
    parts = np.array_split(order, FOLDS)
    for fold, test in enumerate(parts):
        yield np.concatenate(parts[:fold] + parts[fold + 1 :]), test


def _least_squares(
    gram: Array, values: Array, train: npt.NDArray[np.int_], test: npt.NDArray[np.int_]
) -> Array:
    """Predict the values of some rows from those of others, by the Gram matrix of all rows."""
    inner = gram[np.ix_(train, train)]
    means = inner.mean(axis=0)
    mean = means.mean()
    squares, vectors = np.linalg.eigh(inner - means - means[:, None] + mean)
    # Rounding leaves eigenvalues of about this size in directions that the rows do not have.
    held = squares > np.finfo(float).eps * len(train) * max(float(np.trace(inner)), 0.0)
    weights = vectors[:, held] @ (vectors[:, held].T @ (values - values.mean()) / squares[held])
    across = gram[np.ix_(test, train)]
    across = across - across.mean(axis=1, keepdims=True) - means + mean
    predicted: Array = across @ weights + values.mean()
    return predicted


def _logistic(gram: Array, labels: Array) -> tuple[Array, float]:
    """Penalised logistic regression of labels ±1: weights of the rows, and the intercept.

    They minimise Σ log(1 + exp(−y f)) + ½ aᵀGa for f = Ga + c.
    """
    from scipy.linalg import cho_factor, cho_solve

    def loss(weights: Array, intercept: float) -> tuple[float, Array]:
        inner = gram @ weights
        f = inner + intercept
        return float(np.logaddexp(0.0, -labels * f).sum() + weights @ inner / 2), f

    weights, intercept = np.zeros(len(gram)), 0.0
    now, f = loss(weights, intercept)
    for _ in range(STEPS):
        wrong = np.exp(-np.logaddexp(0.0, labels * f))
        curvature = np.maximum(wrong * (1 - wrong), FLATTEST)
        target = f + labels * wrong / curvature
        factor = cho_factor(gram + np.diag(1 / curvature), check_finite=False)
        of_target = cho_solve(factor, target, check_finite=False)
        of_ones = cho_solve(factor, np.ones_like(target), check_finite=False)
        towards = float(of_target.sum() / of_ones.sum())
        step, climb = of_target - towards * of_ones - weights, towards - intercept
        start, at, before = weights, intercept, now
        for halving in range(HALVINGS):
            weights, intercept = start + 0.5**halving * step, at + 0.5**halving * climb
            now, f = loss(weights, intercept)
            if now <= before:
                break
        if before - now <= CONVERGED * (1 + abs(now)):
            break
    return weights, intercept
