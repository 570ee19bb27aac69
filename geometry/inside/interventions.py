"""Changes of positions, to measure how much the network loses by them.

Every change is a function of the rows alone: of a table of positions, or of pos(t) in a layer of
the residual stream. Outliers, such as position 0 of GPT-2, are unchanged unless the change
concerns them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.memo import cached_property
from geometry.inside.settings import InsideError
from geometry.measures.kernels import BLOCK, average_blocks
from geometry.measures.norms import norm_profile
from geometry.measures.shape import fit_shapes
from geometry.pca.components import Array

MIN_POSITIONS = 8
"""Minimum length of a table whose changes are meaningful."""
SPARE = 16
"""Default number of positions beyond a window, so that it can be shifted."""
LONGEST = 512
"""Maximum default length of a window, in tokens."""
MAX_COMPONENTS = 20
"""Maximum k of "top k" by default; any k can be requested."""


def usual_length(n_positions: int) -> int:
    """Return the default length of a window for a table, in tokens."""
    return min(max(n_positions - SPARE, MIN_POSITIONS), LONGEST)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of positions, with the data for its changes.

    Parameters
    ----------
    P : (n_positions, d_model) float64
        The rows.
    length
        Tokens of a window: only these rows are used.
    E : (d_vocab, d_model), optional
        Token embeddings.
    seed
        Seed of random changes.
    special
        Number of special tokens at the beginning, if the rows depend on them.
    sinks
        Positions of special tokens and attention sinks in a layer, with norms up to a thousand
        times the others'. Their rows are kept, and not moved to or averaged with other positions.
    """

    P: Array
    length: int
    E: npt.NDArray[np.floating] | None = None
    seed: int = 0
    special: int = 0
    sinks: tuple[int, ...] = ()

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """Positions of a window after the first, without outliers and sinks."""
        used = self.without_sinks()[: self.length]
        outliers = {*norm_profile(used).outliers, *self.sinks}
        return np.setdiff1d(np.arange(1, self.length), [*outliers])

    def without_sinks(self) -> Array:
        """Return a copy of the rows, with those of sinks replaced by the nearest others."""
        if not self.sinks:
            return self.P.copy()
        usual = np.setdiff1d(np.arange(len(self.P)), self.sinks)
        nearest = np.abs(np.arange(len(self.P))[:, None] - usual).argmin(axis=1)
        filled: Array = self.P[usual[nearest]]
        return filled

    def with_sinks(self, changed: Array) -> Array:
        """Return a changed table with the original rows of sinks."""
        sinks = [*self.sinks]
        changed[sinks] = self.P[sinks]
        return changed

    def components(self) -> tuple[Array, Array, Array]:
        """Return the mean of the rows, their coordinates (m, k), and components (k, d_model)."""
        mean, coordinates, V = self._components
        return mean, coordinates.copy(), V

    @cached_property
    def _components(self) -> tuple[Array, Array, Array]:
        kept = self.P[self.rows]
        mean = kept.mean(axis=0)
        U, s, V = np.linalg.svd(kept - mean, full_matrices=False)
        return mean, U * s, V

    def with_rows(self, rows: Array) -> Array:
        """Return the table with other rows in place of :attr:`rows`."""
        changed = self.P.copy()
        changed[self.rows] = rows
        return changed

    def random(self) -> np.random.Generator:
        """Return a generator of random numbers, the same for each change."""
        return np.random.default_rng(self.seed)


def identity(table: Table) -> Array:
    """Return the table as it is."""
    return table.P.copy()


def top(table: Table, k: int) -> Array:
    """Keep the mean and the first k components."""
    mean, coordinates, V = table.components()
    return table.with_rows(mean + coordinates[:, :k] @ V[:k])


def without(table: Table, first: int, last: int) -> Array:
    """Remove some of the components, from 1."""
    mean, coordinates, V = table.components()
    coordinates[:, first - 1 : last] = 0
    return table.with_rows(mean + coordinates @ V)


def fitted_helix(table: Table, radius: float = 1.0, pitch: float = 1.0) -> Array:
    """Replace the rows by the helix fitted to their first three components alone.

    ``radius`` and ``pitch`` are factors of those of the fitted helix.
    """
    mean, coordinates, V = table.components()
    helix = fit_shapes(coordinates[:, :3]).fits["helix"]
    axis = helix.frame[2]
    along = (helix.values - helix.centre) @ axis
    around = helix.values - helix.centre - along[:, None] * axis
    changed = helix.centre + radius * around + pitch * along[:, None] * axis
    return table.with_rows(mean + changed @ V[:3])


def equal_norms(table: Table) -> Array:
    """Give all rows their mean norm."""
    kept = table.P[table.rows]
    norms = np.linalg.norm(kept, axis=1, keepdims=True)
    return table.with_rows(kept * norms.mean() / np.where(norms > 0, norms, 1))


def scrambled_norms(table: Table) -> Array:
    """Vary the rows' norms about their mean, at random and by a third."""
    return table.with_rows(with_scrambled_norms(table.P[table.rows], table.random()))


def with_scrambled_norms(rows: Array, random: np.random.Generator) -> Array:
    """Return rows of random norms, which vary about the rows' mean norm by a third."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    factors = np.exp(random.normal(scale=1 / 3, size=norms.shape))
    scrambled: Array = rows * factors * norms.mean() / np.where(norms > 0, norms, 1)
    return scrambled


def random_turn(table: Table) -> Array:
    """Rotate the rows about their mean by a random rotation of the whole space."""
    mean, coordinates, V = table.components()
    d_model = table.P.shape[1]
    Q = np.linalg.qr(table.random().normal(size=(d_model, d_model)))[0]
    return table.with_rows(mean + coordinates @ V @ Q)


def into_tokens(table: Table) -> Array:
    """Rotate the rows about their mean so that their components lie along those of the tokens.

    This is the counterfactual to nearly orthogonal positions and tokens.
    """
    if table.E is None:
        raise InsideError("This model has no token embeddings, so nothing is turned into them.")
    mean, coordinates, _ = table.components()
    centred = table.E - table.E.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    leading = vectors[:, ::-1].T[: coordinates.shape[1]]
    return table.with_rows(mean + coordinates[:, : len(leading)] @ leading)


def blocks(table: Table, size: int = BLOCK) -> Array:
    """Replace every block of neighbouring rows by its mean."""
    return table.with_rows(average_blocks(table.without_sinks(), size)[table.rows])


def shifted(table: Table, by: int) -> Array:
    """Start at a later position, as if ``by`` tokens preceded (Sinha, 2210.12574)."""
    if by + table.length > len(table.P):
        raise InsideError(
            f"A shift by {by} needs {by + table.length} positions; there are {len(table.P)}.",
            "Use shorter windows.",
        )
    changed = table.without_sinks()
    changed[: table.length] = changed[by : by + table.length].copy()
    return table.with_sinks(changed)


def stretched(table: Table) -> Array:
    """Double the length: every second row is the mean of its neighbours (Chen, 2306.15595)."""
    half = np.arange(table.length) / 2
    low, share = np.floor(half).astype(np.intp), (half % 1)[:, None]
    changed = table.without_sinks()
    high = np.minimum(low + 1, len(table.P) - 1)
    changed[: table.length] = (1 - share) * changed[low] + share * changed[high]
    return table.with_sinks(changed)


def without_first(table: Table) -> Array:
    """Give position 0 the row of position 1."""
    if table.special:
        raise InsideError("Position 0 holds a special token, which stays as it is.")
    changed = table.P.copy()
    changed[0] = table.P[1]
    return changed


CHANGES: Mapping[str, Callable[[Table], Array]] = {
    "identity": identity,
    "fitted helix": fitted_helix,
    "equal norms": equal_norms,
    "scrambled norms": scrambled_norms,
    "random turn": random_turn,
    "into E": into_tokens,
    f"blocks of {BLOCK}": blocks,
    "stretched": stretched,
    "without position 0": without_first,
}
"""Changes by name, without those with numbers; see :func:`find_change`."""
USUAL = (
    *(f"top {k}" for k in (*range(MAX_COMPONENTS + 1),)),
    "without 1-3",
    *(name for name in CHANGES if name != "identity"),
    "shift 1",
    "shift 10",
)
_HELIX = re.compile(r"fitted helix radius (\d+\.?\d*) pitch (\d+\.?\d*)")
_WITH_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[str], float], Callable[..., Array]], ...] = (
    (re.compile(r"top (\d+)"), int, top),
    (re.compile(r"without (\d+)-(\d+)"), int, without),
    (re.compile(r"shift (\d+)"), int, shifted),
    (_HELIX, float, fitted_helix),
)
"""Changes with numbers: the pattern of their names, the type of the numbers, and the function."""


def helix_factors(change: str) -> tuple[float, float] | None:
    """Return the factors of radius and pitch of a fitted helix; None for another change."""
    if change == "fitted helix":
        return 1.0, 1.0
    match = _HELIX.fullmatch(change)
    return (float(match[1]), float(match[2])) if match else None


def helix_change(radius: float, pitch: float) -> str:
    """Return the name of a fitted helix with these factors, as read by :func:`helix_factors`."""
    named = f"fitted helix radius {radius:.2f} pitch {pitch:.2f}"
    return "fitted helix" if helix_factors(named) == (1.0, 1.0) else named


def find_change(name: str) -> Callable[[Table], Array]:
    """Return the change of a name: one of :data:`CHANGES`, or one with numbers.

    Examples with numbers are "top 3", "without 1-3", "shift 1", and "fitted helix radius 1.2 pitch
    0.8", with factors of the fitted helix.

    Raises InsideError: there is no such change.
    """
    if name in CHANGES:
        return CHANGES[name]
    for pattern, number, change in _WITH_NUMBERS:
        match = pattern.fullmatch(name)
        if match is None:
            continue
        numbers = [number(digits) for digits in match.groups()]
        if change is without and not 1 <= numbers[0] <= numbers[1]:
            break
        return lambda table: change(table, *numbers)
    raise InsideError(
        f"There is no change {name!r}.",
        f"Changes: top K, without A-B, shift N, fitted helix radius R pitch P, "
        f"{', '.join(CHANGES)}.",
    )
