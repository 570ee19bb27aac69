"""Controls of changes: displacements of the same size that leave alone what a change is about.

Whatever moves rows costs something. What a change costs beyond such a control is the effect of what
it changes, and not of how far it moves the rows. Every control moves each row as far as the change
does, but for directions that it draws at random:

- *random directions*: all displacements turned by one random rotation of the whole space. The
  angles between them, and so their spectrum over the positions, stay. Most of such a displacement
  is in directions in which the rows are not;
- *same directions*: all displacements mapped by one random matrix into the directions in which they
  are, with as much in each of these on average. They are as smooth over the positions, and as
  likely to be where the network reads positions;
- *same directions by row*: each row's displacement is a random mixture of all of them. They are as
  long, but not smooth;
- *norms kept*, *norms kept by row*: the latter two along the sphere of each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from geometry.inside.interventions import random_frame
from geometry.pca.components import Array


def random_directions(rows: Array, changed: Array, random: np.random.Generator) -> Array:
    """Displace rows as far and as smoothly, in random directions of the whole space."""
    _, R = np.linalg.qr((changed - rows).T)
    moved: Array = rows + R.T @ random_frame(rows.shape[1], len(R), random).T
    return moved


def same_directions(rows: Array, changed: Array, random: np.random.Generator) -> Array:
    """Displace rows as far and as smoothly, in the directions in which the change moves them."""
    return rows + _as_long(_mapped(changed - rows, random), changed - rows)


def same_directions_by_row(rows: Array, changed: Array, random: np.random.Generator) -> Array:
    """Displace each row as far, in those directions, but independently of the others."""
    return rows + _as_long(_mixed(changed - rows, random), changed - rows)


def norms_kept(rows: Array, changed: Array, random: np.random.Generator) -> Array:
    """Turn rows about the origin until they are displaced as far, and as smoothly."""
    return _along_spheres(rows, changed, _mapped(changed - rows, random))


def norms_kept_by_row(rows: Array, changed: Array, random: np.random.Generator) -> Array:
    """Turn each row about the origin until it is displaced as far, independently of the others."""
    return _along_spheres(rows, changed, _mixed(changed - rows, random))


def _mapped(displacements: Array, random: np.random.Generator) -> Array:
    """Return displacements U s Vᵀ after a random linear map: U s Z s Vᵀ, with Z = Vᵀ A U."""
    A = random.normal(size=displacements.T.shape)
    mapped: Array = displacements @ (A @ displacements)
    return mapped


def _mixed(displacements: Array, random: np.random.Generator) -> Array:
    """Return random mixtures of displacements, one for each row."""
    mixed: Array = random.normal(size=2 * (len(displacements),)) @ displacements
    return mixed


def _as_long(directions: Array, displacements: Array) -> Array:
    """Return vectors in these directions, as long as the displacements."""
    lengths = np.linalg.norm(displacements, axis=1, keepdims=True)
    scaled: Array = lengths * _units(directions)
    return scaled


def _units(vectors: Array) -> Array:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Array = vectors / np.where(norms > 0, norms, 1)
    return units


def _along_spheres(rows: Array, changed: Array, directions: Array) -> Array:
    """Move rows of norm r on their spheres by chords, of length 2r at most, in these directions."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    chords = np.linalg.norm(changed - rows, axis=1, keepdims=True)
    units = _units(rows)
    tangents = _units(directions - (directions * units).sum(axis=1, keepdims=True) * units)
    angles = 2 * np.arcsin(np.minimum(chords / np.where(norms > 0, 2 * norms, np.inf), 1))
    moved: Array = norms * (np.cos(angles) * units + np.sin(angles) * tangents)
    return np.where(chords > 0, moved, rows)


CONTROLS: Mapping[str, Callable[[Array, Array, np.random.Generator], Array]] = {
    "random directions": random_directions,
    "same directions": same_directions,
    "same directions by row": same_directions_by_row,
    "norms kept": norms_kept,
    "norms kept by row": norms_kept_by_row,
}
"""Controls by name, as functions of the rows before and after a change."""


def controls_of(change: str) -> tuple[str, ...]:
    """Return the controls of a change: keys of :data:`CONTROLS`, or names of other changes.

    Norms are kept if the change is about norms. If it is about directions, as of some components,
    the displacement is in random ones, which leaves the rows' own alone. A turn onto E has random
    turns, and the fitted helix also has curves that are as close to the rows.
    """
    if change == "identity":
        return ()
    if change == "into E":
        return ("random turn",)
    if change in ("equal norms", "scrambled norms", "smooth norms"):
        return "norms kept", "norms kept by row"
    if re.fullmatch(r"top \d+|without .*|random turn", change):
        return ("random directions",)
    if change.startswith(("polynomial", "cosines")):
        return ("same directions",)
    more = ("polynomial as close", "cosines as close") * (change == "fitted helix")
    return "same directions", "same directions by row", *more
