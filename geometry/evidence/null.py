"""A null distribution: what a quantity is where there is nothing to find."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from geometry.pca.components import Array


@dataclass(frozen=True, eq=False, slots=True)
class Null:
    """Draws of a quantity from tables that have nothing but what is named.

    Attributes
    ----------
    name
        "process", "matern", "walk", "band", "phase", …
    meaning
        What the tables were, for a caption.
    values : (draws,) float64
        The quantity of each, rising.
    """

    name: str
    meaning: str
    values: Array

    @property
    def draws(self) -> int:
        """Number of tables drawn."""
        return len(self.values)

    @property
    def band(self) -> tuple[float, float, float]:
        """5th, 50th and 95th percentile."""
        low, middle, high = np.percentile(self.values, (5, 50, 95))
        return float(low), float(middle), float(high)

    def share_from(self, value: float) -> float:
        """Return the share of draws that reach a value."""
        return float(np.mean(self.values >= value))

    def interval_from(self, value: float) -> tuple[float, float]:
        """Return the 95 % interval of that share, by Clopper and Pearson."""
        n, k = self.draws, int((self.values >= value).sum())
        low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
        high = float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0
        return low, high


def null_of(name: str, meaning: str, values: Array) -> Null:
    """Return the null distribution of some draws, sorted and read-only."""
    found = np.sort(np.asarray(values, dtype=np.float64))
    found.flags.writeable = False
    return Null(name, meaning, found)
