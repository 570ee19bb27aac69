"""Intervals over resampled texts.

Windows of one file have its subject and its words in common, so files are resampled, each with all
of its windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geometry.pca.components import Array

DRAWS = 2000
"""Resamplings of the texts for an interval."""
CONFIDENCE = 95.0
FEWEST_FILES = 8
"""Number of files below which windows are resampled instead, and intervals support no claim.

The percentiles for five files lie beyond what :data:`DRAWS` resamplings can show; those for eight
are at 0.6 %, and the mean of a skewed quantity (a lognormal of standard deviation 0.5) is then in
its interval in 92 % of experiments.
"""


class Resampling:
    """Resamplings of the texts, the same for all quantities, so that these can be compared.

    Parameters
    ----------
    files
        The file of each window, by name or number.
    seed
        Of the resampling.

    Attributes
    ----------
    n_files
        Number of different files.
    by_file
        Whether files are resampled; else windows, as there are too few files.
    """

    def __init__(self, files: Sequence[object], seed: int = 0) -> None:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(files))}
        self.n_files = len(numbers)
        self.by_file = self.n_files >= FEWEST_FILES
        own = np.array([numbers[name] for name in files], np.intp)
        self._group = own if self.by_file else np.arange(len(own))
        n = int(self._group.max()) + 1
        self._n_groups = n
        self._drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=DRAWS)

    def means(self, values: Array) -> Array:
        """Return the means over resampled texts, (:data:`DRAWS`,), of one number a window."""
        sums = np.bincount(self._group, values, self._n_groups)
        sizes = np.bincount(self._group, minlength=self._n_groups)
        means: Array = (self._drawn @ sums) / (self._drawn @ sizes)
        return means

    def interval(self, draws: Array) -> tuple[float, float]:
        """Return the interval of :data:`CONFIDENCE` per cent of a statistic's draws.

        Percentiles are moved outwards as Student's t is wider than the normal distribution, since a
        few files vary less among themselves than all texts do: the expanded percentile interval of
        Hesterberg (10.1080/00031305.2015.1089789).
        """
        from scipy.special import ndtr, stdtrit  # slow to import

        n = self._n_groups
        if n < 2:
            return float("nan"), float("nan")
        tail = (1 - CONFIDENCE / 100) / 2
        tail = float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, tail)))
        low, high = np.quantile(draws, (tail, 1 - tail))
        return float(low), float(high)

    def estimate(self, values: Array) -> tuple[float, float, float]:
        """Return the mean over windows, and its interval."""
        return float(values.mean()), *self.interval(self.means(values))
