"""The measures of the claims about tokens, weights and the spaces they share with positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.claims.claim import CannotTell, ModelClaim, NotApplicable, check_positions
from geometry.claims.measured_model import DEFAULT_RANK, Captured
from geometry.claims.measurements import Measurements
from geometry.evidence.drawn_tables import drawn_tables
from geometry.evidence.null import Null, null_of
from geometry.evidence.random_frames import DRAWS, MEANING, random_frame, shared_energy
from geometry.measures.layernorm import Version, layernorm_errors, token_rows
from geometry.measures.overlaps import OverlapSums, along_diagonal, sparsity, sparsity_nulls
from geometry.models.addable_tokens import addable_tokens
from geometry.models.residual_stream import Name, Subject
from geometry.pca.components import Array, unit_rows
from geometry.pca.unit import unit_of

LAYER = 0
"""The articles speak of the first layer's weights, as they are: without LayerNorm's gain."""
TURNED = "the positions, randomly rotated in the space of the embedding"
MAX_TOKENS, MAX_POSITIONS = 4096, 128
"""Tokens and positions of the draws, evenly spaced, so that one takes milliseconds."""
READ_BACK = 64
"""Tokens that are added to positions, to be read back."""
PERMUTED = "the same directions, one matrix's with its entries in random order"
TURNED_ENTRIES = 399
LEADING = 5
MIN_DIRECTIONS = 3
"""Directions of a matrix below which it has no subspace that claims are about."""

Which = Literal["TL", "TR", "BL", "BR"]


# ---- tokens and positions as they are added ---


def largest_cosine(measured: Measurements) -> float:
    """Largest |cosine| of a token and a position."""
    _not_zero(measured.model.W_pos)
    return float(measured.cosines.largest.max())


def _not_zero(rows: Array) -> None:
    if not rows.any():
        raise CannotTell("all numbers of these rows are zero")


def error(measured: Measurements, which: Version) -> float:
    """Median relative error of an approximation of LayerNorm."""
    _not_zero(measured.rows)
    return float(np.median(getattr(measured.layernorm, which)))


def turned_cosine(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw the largest |cosine| of tokens with positions that are turned at random."""
    tokens = unit_rows(_tokens(measured))

    def largest(positions: Array) -> float:
        return float(np.abs(tokens @ unit_rows(positions).T).max())

    return _turned(_evenly(measured.model.W_pos, MAX_POSITIONS), largest, draws)


def turned_error(claim: ModelClaim, measured: Measurements, draws: int, which: Version) -> Null:
    """Draw :func:`error` for positions that are turned at random."""
    model, tokens = measured.model, addable_tokens(measured.model)

    def median(positions: Array) -> float:
        found = layernorm_errors(
            tokens,
            positions,
            (0, len(positions) - 1),
            sample=256,
            token_scale=model.token_scale,
            type_row=model.token_type,
        )
        return float(np.median(getattr(found, which)))

    return _turned(_evenly(measured.rows, MAX_POSITIONS), median, draws)


def _turned(rows: Array, measure: Callable[[Array], float], draws: int) -> Null:
    """Draw a quantity of rows that are turned at random."""
    return null_of("turned", TURNED, [measure(one) for one in drawn_tables(rows, "turned", draws)])


def _tokens(measured: Measurements) -> Array:
    """Return some tokens as the model adds them, evenly spaced in the vocabulary."""
    model, tokens = measured.model, addable_tokens(measured.model)
    chosen = _places(len(tokens), MAX_TOKENS)
    return token_rows(tokens, chosen, model.token_scale, model.token_type)


def position_read_back(measured: Measurements) -> float:
    """Share of sums of a token and a position that are nearest to that position's row."""
    _not_zero(measured.rows)
    tokens = _tokens(measured)
    check_positions(len(measured.rows), 2)
    return _read_back(measured.rows, tokens, MAX_POSITIONS)


def token_read_back(measured: Measurements) -> float:
    """Share of sums of a token and a position that are nearest to that token's row."""
    _not_zero(measured.rows)
    return _read_back(_tokens(measured), measured.rows, READ_BACK)


def turned_position(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`position_read_back` for positions that are turned at random."""
    tokens = _tokens(measured)
    return _turned(measured.rows, lambda rows: _read_back(rows, tokens, MAX_POSITIONS), draws)


def _read_back(rows: Array, others: Array, most: int) -> float:
    """Read rows from their sums with others: the nearest to what is left without the mean other.

    At most so many rows, evenly spaced, each with :data:`READ_BACK` others; the share that is
    read right.
    """
    unit = unit_of(rows, others)
    rows, others = rows / unit, others / unit
    asked = _places(len(rows), most)
    some = _evenly(others, READ_BACK) - others.mean(axis=0)
    # ‖p_i + e − p_j‖² = … − 2 (p_i + e)·p_j + ‖p_j‖², the rest the same for all j.
    of_rows, squares = rows[asked] @ rows.T, np.square(rows).sum(axis=1)
    right = 0
    for other in some @ rows.T:
        right += int(((squares - 2 * (other + of_rows)).argmin(axis=1) == asked).sum())
    return right / (len(some) * len(asked))


def _evenly(rows: Array, most: int) -> Array:
    return rows[_places(len(rows), most)]


def _places(n: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(most, n)).astype(np.int64))


# ---- directions in common ---


def _subjects(measured: Measurements, rows: Name, columns: Name) -> tuple[Subject, Subject]:
    """Return two matrices; CannotTell if one of them has too few directions for a subspace."""
    pair = Subject(rows, LAYER), Subject(columns, LAYER)
    counts = measured.once(
        ("clear", *pair), lambda: [found.clear for found in measured.stream.pair(*pair)]
    )
    for name, count in zip((rows, columns), counts, strict=True):
        if count < MIN_DIRECTIONS:
            raise CannotTell(f"{name} has only {count} directions")
    return pair


def _sums(measured: Measurements, rows: Name, columns: Name) -> OverlapSums:
    return measured.overlap_sums(*_subjects(measured, rows, columns))


def corner(measured: Measurements, rows: Name, columns: Name, which: Which) -> float:
    """Corner of squared overlaps, relative to chance."""
    sums = _sums(measured, rows, columns)
    if sums.contrast.corner == sums.dimensions:
        raise NotApplicable("the corner contains all directions, which is chance")
    return sums.parts[which] / sums.of_corner


def random_corner(
    claim: ModelClaim,
    measured: Measurements,
    draws: int,
    rows: Name,
    columns: Name,
    which: Which,
) -> tuple[Null, Null]:
    """Draw :func:`corner` for directions that have nothing to do with each other."""
    sums = _sums(measured, rows, columns)
    m = sums.contrast.corner
    down, across = (slice(None, m) if end in "TL" else slice(-m, None) for end in which)
    u, v = _vectors(measured, rows, columns)
    return (
        shared_energy(m, m, sums.dimensions, max(DRAWS, draws)).scaled(1, sums.of_corner),
        _permuted(u[down], v[across], draws).scaled(1, sums.of_corner),
    )


def _vectors(measured: Measurements, rows: Name, columns: Name) -> tuple[Array, Array]:
    one, other = measured.stream.pair(*_subjects(measured, rows, columns))
    return one.vectors, other.vectors


def _permuted(
    u: Array, v: Array, draws: int, measure: Callable[[Array], float] | None = None
) -> Null:
    """Draw the sum of the squared overlaps of u and v, or another number of these.

    The entries of u are put in random order: its directions stay as concentrated on few entries as
    they are, which makes large overlaps likelier than among random directions.
    """
    rng = np.random.default_rng((0, *u.shape, len(v)))
    measure = measure or (lambda squares: float(squares.sum()))
    drawn = [measure(np.square(u[:, rng.permutation(u.shape[1])] @ v.T)) for _ in range(draws)]
    return null_of("permuted", PERMUTED, drawn)


def reach_of_corner(measured: Measurements, rows: Name, columns: Name, bound: float) -> None:
    """Check that a corner can reach a bound: that there are enough dimensions."""
    sums = _sums(measured, rows, columns)
    m = sums.contrast.corner
    if m / sums.of_corner < bound:
        raise NotApplicable(
            f"{m:g} of {sums.dimensions:g} directions overlap at most "
            f"{m / sums.of_corner:.3g} times chance"
        )


def top3_overlap(measured: Measurements, rows: Name, columns: Name) -> float:
    """Overlap of the first three directions, without folding the gain."""
    return _sums(measured, rows, columns).top3


def random_top3(
    claim: ModelClaim, measured: Measurements, draws: int, rows: Name, columns: Name
) -> tuple[Null, Null]:
    """Draw :func:`top3_overlap` for unrelated directions."""
    sums = _sums(measured, rows, columns)
    u, v = _vectors(measured, rows, columns)
    return (
        shared_energy(min(3, sums.rows), min(3, sums.columns), sums.dimensions, max(DRAWS, draws)),
        _permuted(u[:3], v[:3], draws),
    )


def along(
    measured: Measurements, rows: Name, columns: Name, which: Literal["diagonal", "antidiagonal"]
) -> float:
    """Share of squared overlaps along a diagonal."""
    return _sums(measured, rows, columns).parts[which]


def random_along(
    claim: ModelClaim,
    measured: Measurements,
    draws: int,
    rows: Name,
    columns: Name,
    which: Literal["diagonal", "antidiagonal"],
) -> tuple[Null, Null]:
    """Draw :func:`along` for unrelated directions: of at most 128 of each."""
    u, v = (_evenly(some, MAX_POSITIONS) for some in _vectors(measured, rows, columns))
    stripe, d = along_diagonal(len(u), len(v)), u.shape[1]
    if which == "antidiagonal":
        stripe = stripe[:, ::-1]

    def share(squares: Array) -> float:
        return float(squares[stripe].sum() / squares.sum())

    rng = np.random.default_rng(0)
    frames = [share(np.square(random_frame(len(u), d, rng) @ v.T)) for _ in range(draws)]
    return null_of("frames", MEANING, frames), _permuted(u, v, draws, share)


# ---- E's directions in P's leading ones ---


def _captured(measured: Measurements) -> Captured:
    """Return the capture of E's directions by P's leading thirty."""
    _subjects(measured, "P", "E")
    return measured.captured(DEFAULT_RANK)


def _part(values: Array, first: float, last: float) -> Array:
    return values[int(first * len(values)) : max(int(last * len(values)), 1)]


def captured(measured: Measurements, first: float, last: float) -> float:
    """Mean capture of a part of E's directions (shares of their number), over chance."""
    found = _captured(measured)
    if found.chance == 1.0:
        raise NotApplicable("P's leading directions are all directions, which capture everything")
    return float(_part(found.values, first, last).mean() / found.chance)


def random_capture(
    claim: ModelClaim, measured: Measurements, draws: int, first: float, last: float
) -> tuple[Null, Null]:
    """Draw :func:`captured` for unrelated directions."""
    captured = _captured(measured)
    P, E = _vectors(measured, "P", "E")
    some = _part(E, first, last)
    d, q, p = captured.dimensions, captured.rank, len(some)
    return (
        shared_energy(p, q, d, max(DRAWS, draws)).scaled(d, p * q),
        _permuted(P[:q], some, draws).scaled(d, p * q),
    )


def reach_of_capture(measured: Measurements, bound: float) -> None:
    """Check that a capture can reach a bound: that there are enough dimensions."""
    most = 1.0 / _captured(measured).chance
    if most < bound:
        raise NotApplicable(f"complete capture is only {most:.3g} times chance")


def first_without_mean(measured: Measurements) -> float:
    """Capture of E's first direction by P about its mean row, over that by P as it is."""
    E = measured.directions("E")
    if E.vectors.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions have different widths")
    as_it_is = _captured(measured).values
    centred = measured.stream.directions(Subject("P", centred=True))
    rank = min(DEFAULT_RANK, len(centred.vectors))
    return float(np.square(centred.vectors[:rank] @ E.vectors[0]).sum() / as_it_is[0])


def without_another(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw the same for P without a random direction of its leading ones, in place of its mean."""
    P, E = _vectors(measured, "P", "E")
    leading = P[: _captured(measured).rank] @ E[0]
    rng = np.random.default_rng(0)
    others = unit_rows(rng.standard_normal((max(draws, TURNED_ENTRIES), len(leading))))
    left = 1.0 - np.square(others @ leading) / (leading @ leading)
    return null_of("directions", "P without a random one of its leading directions", left)


# ---- entries ---


def heaviest(measured: Measurements) -> float:
    """Mass of the 40 largest entries, mean of P's first three directions."""
    return float(np.mean(sparsity(_leading(measured, 3)).mass_top40))


def _leading(measured: Measurements, count: int = LEADING) -> Array:
    """Return P's first directions, (count, d)."""
    found = measured.directions("P")
    if found.clear < count:
        raise CannotTell(f"P has only {found.clear} directions")
    return found.vectors[:count]


def turned_heaviest(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`heaviest` for directions that are turned at random."""
    d, most = measured.model.d_model, max(TURNED_ENTRIES, draws)
    nulls = measured.once(("turned", most), lambda: sparsity_nulls(min(3, d), d, most))
    return nulls.mean_mass_top40


def entries_used(measured: Measurements) -> float:
    """Share of the entries that hold 90 % of the mass of P's first five directions."""
    return _entries_for(_leading(measured))


def turned_entries(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`entries_used` for directions that are turned at random."""
    return _random_entries(claim, measured, draws, _entries_for)


def _entries_for(vectors: Array) -> float:
    mass = np.sort(np.square(vectors).sum(axis=0))[::-1]
    held = np.cumsum(mass) / mass.sum()
    return float((int((held < 0.9 - 1e-12).sum()) + 1) / vectors.shape[1])


def _random_entries(
    claim: ModelClaim, measured: Measurements, draws: int, measure: Callable[[Array], float]
) -> Null:
    d, most = measured.model.d_model, max(TURNED_ENTRIES, draws)

    def drawn() -> Null:
        rng, k = np.random.default_rng(0), min(LEADING, d)
        return null_of("turned", TURNED, [measure(random_frame(k, d, rng)) for _ in range(most)])

    return measured.once(("turned", claim.id, most), drawn)


def tokens_there(measured: Measurements) -> float:
    """E's energy in the entries above 0.1 of P's directions, over that in an average one."""
    energy, columns = _energy(measured), sparsity(_leading(measured)).above_0_1_union
    if not len(columns):
        raise CannotTell("no entry of P's leading directions is above 0.1")
    return float(energy[list(columns)].mean() / energy.mean())


def other_entries(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`tokens_there` for as many entries at random."""
    energy, k = _energy(measured), len(measured.sparsity.above_0_1_union)
    rng = np.random.default_rng(0)
    drawn = [
        float(rng.choice(energy, k, replace=False).mean() / energy.mean())
        for _ in range(max(TURNED_ENTRIES, draws))
    ]
    return null_of("entries", "as many entries chosen at random", drawn)


def shared_entries(measured: Measurements) -> float:
    """Mass that P's first five directions and E have in the same entries: 0 to 1."""
    return _shared(np.square(_leading(measured)).sum(axis=0), _energy(measured))


def turned_shared(claim: ModelClaim, measured: Measurements, draws: int) -> Null:
    """Draw :func:`shared_entries` for directions that are turned at random."""
    energy = _energy(measured)
    return _random_entries(
        claim, measured, draws, lambda frame: _shared(np.square(frame).sum(axis=0), energy)
    )


def _shared(one: Array, other: Array) -> float:
    return float(np.minimum(one / one.sum(), other / other.sum()).sum())


def _energy(measured: Measurements) -> Array:
    """Return E's energy in each entry."""
    tokens = measured.model.W_E
    if tokens.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions have different widths")

    def find() -> Array:
        energy: Array = np.einsum("ij,ij->j", tokens, tokens, dtype=np.float64)
        return energy

    return measured.once("energy of entries", find)
