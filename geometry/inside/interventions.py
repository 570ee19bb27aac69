"""Changes of positions, to measure how much the network loses by them.

Every change is a function of the rows alone: of a table of positions, or of pos(t) in a layer of
the residual stream. Outliers, such as position 0 of GPT-2, are unchanged unless the change
concerns them.

A change moves rows, and any displacement of rows costs something. So each change has controls:
displacements of the same length that leave alone what the change is about, in
:mod:`geometry.inside.controls`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

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
WAVES = 4
"""Waves of norms that vary smoothly, of one to this many half periods."""
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
    draw
        Number of the draw of random changes, which is part of their seed; None for a single one.
    """

    P: Array
    length: int
    E: npt.NDArray[np.floating] | None = None
    seed: int = 0
    special: int = 0
    sinks: tuple[int, ...] = ()
    draw: int | None = None

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
        return np.random.default_rng(self.seed if self.draw is None else (self.seed, self.draw))

    def drawn(self, draw: int) -> Table:
        """Return the same table, whose random changes are another draw."""
        other = replace(self, draw=draw)
        other.__dict__["_components"] = self._components
        return other


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


def fitted_curve(table: Table, order: int, kind: Literal["polynomial", "cosines"]) -> Array:
    """Replace the rows by a curve fitted to their first three components alone.

    Parameters
    ----------
    order, kind
        A polynomial of the position of this degree, or a series of cosines of up to ``order`` half
        periods: 3 · (order + 1) numbers.
    """
    mean, coordinates, V = table.components()
    return table.with_rows(mean + _curve(table.rows, coordinates[:, :3], kind, order) @ V[:3])


def curve_as_close(table: Table, kind: Literal["polynomial", "cosines"]) -> Array:
    """Replace the rows by the simplest such curve that is as close to them as the fitted helix."""
    mean, coordinates, V = table.components()
    own = coordinates[:, :3]
    helix = fit_shapes(own).fits["helix"].values
    near = np.square(helix - own).sum()
    order, curve = 0, np.zeros_like(own)
    while np.square(curve - own).sum() > near and order < len(own) - 1:
        order += 1
        curve = _curve(table.rows, own, kind, order)
    return table.with_rows(mean + curve @ V[:3])


def _curve(rows: npt.NDArray[np.int64], values: Array, kind: str, order: int) -> Array:
    """Return the curve of an order that is fitted by least squares, (m, 3)."""
    share = (rows - rows[0]) / max(rows[-1] - rows[0], 1)
    orders = np.arange(min(order, len(rows) - 1) + 1)
    if kind == "polynomial":
        basis = np.polynomial.legendre.legvander(2 * share - 1, int(orders[-1]))
    else:
        basis = np.cos(np.pi * orders * share[:, None])
    fitted: Array = basis @ np.linalg.lstsq(basis, values)[0]
    return fitted


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
    return _with_norms(rows, random.normal(size=len(rows)))


def smooth_norms(table: Table) -> Array:
    """Vary the rows' norms about their mean by a third, at random but smoothly.

    The logarithm of a norm is a sum of :data:`WAVES` waves over the positions.
    """
    kept = table.P[table.rows]
    waves = np.cos(np.pi * np.arange(1, WAVES + 1) * np.linspace(0, 1, len(kept))[:, None])
    logs = waves @ table.random().normal(size=WAVES)
    return table.with_rows(_with_norms(kept, (logs - logs.mean()) / (logs.std() or 1)))


def _with_norms(rows: Array, logs: Array) -> Array:
    """Return rows whose norms are their mean times exp(logs / 3)."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    changed: Array = rows * np.exp(logs[:, None] / 3) * norms.mean() / np.where(norms > 0, norms, 1)
    return changed


def random_turn(table: Table) -> Array:
    """Rotate the rows about their mean by a random rotation of the whole space."""
    mean, coordinates, _ = table.components()
    frame = random_frame(table.P.shape[1], coordinates.shape[1], table.random())
    return table.with_rows(mean + coordinates @ frame.T)


def random_frame(d_model: int, size: int, random: np.random.Generator) -> Array:
    """Return random orthonormal columns, (d_model, size)."""
    Q, R = np.linalg.qr(random.normal(size=(d_model, size)))
    frame: Array = Q * np.sign(np.diagonal(R))
    return frame


def into_tokens(table: Table) -> Array:
    """Rotate the rows about their mean so that their components lie along those of the tokens.

    This is the counterfactual to nearly orthogonal positions and tokens. The signs of the tokens'
    components mean nothing, and are drawn at random.
    """
    if table.E is None:
        raise InsideError("This model has no token embeddings, so nothing is turned into them.")
    mean, coordinates, _ = table.components()
    centred = table.E - table.E.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    leading = vectors[:, ::-1].T[: coordinates.shape[1]]
    signs = table.random().choice([-1.0, 1.0], size=len(leading))
    return table.with_rows(mean + coordinates[:, : len(leading)] * signs @ leading)


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
    "polynomial as close": partial(curve_as_close, kind="polynomial"),
    "cosines as close": partial(curve_as_close, kind="cosines"),
    "equal norms": equal_norms,
    "scrambled norms": scrambled_norms,
    "smooth norms": smooth_norms,
    "random turn": random_turn,
    "into E": into_tokens,
    f"blocks of {BLOCK}": blocks,
    "stretched": stretched,
    "without position 0": without_first,
}
"""Changes by name, without those with numbers; see :func:`find_change`."""
RANDOM = ("scrambled norms", "smooth norms", "random turn", "into E")
"""Changes that are drawn at random."""
USUAL = (
    *(f"top {k}" for k in (*range(MAX_COMPONENTS + 1),)),
    "without 1-3",
    "fitted helix",
    "polynomial 2",
    "cosines 2",
    *(name for name in CHANGES if name not in ("identity", "fitted helix")),
    "shift 1",
    "shift 10",
)
"""The changes measured by default.

A helix has nine numbers in its three directions: its centre, the direction of its axis, radius,
pitch, frequency and phase. A polynomial and a series of cosines of order 2 have nine as well.
"""
_SHIFT = re.compile(r"shift (\d+)")
_HELIX = re.compile(r"fitted helix radius (\d+\.?\d*) pitch (\d+\.?\d*)")
_WITH_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[str], float], Callable[..., Array]], ...] = (
    (re.compile(r"top (\d+)"), int, top),
    (re.compile(r"without (\d+)-(\d+)"), int, without),
    (_SHIFT, int, shifted),
    (re.compile(r"polynomial (\d+)"), int, partial(fitted_curve, kind="polynomial")),
    (re.compile(r"cosines (\d+)"), int, partial(fitted_curve, kind="cosines")),
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


def shift_of(change: str) -> int:
    """Return by how many positions a change shifts the rows."""
    match = _SHIFT.fullmatch(change)
    return int(match[1]) if match else 0


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
        f"Changes: top K, without A-B, shift N, polynomial K, cosines K, fitted helix radius R "
        f"pitch P, "
        f"{', '.join(CHANGES)}.",
    )
