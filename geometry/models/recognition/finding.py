"""The family of a checkpoint, and the location of its position table.

They are determined by ``config.json``, or stored settings, and tensor names; rows of a table are
read only if these are ambiguous.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError, TensorUnavailable
from geometry.checkpoints.plain_text import some_of
from geometry.checkpoints.stores import TensorInfo, TensorStore
from geometry.models.families.left_out import LEFT_OUT
from geometry.models.recognition.architecture import N_HEADS, Architecture
from geometry.models.recognition.beside import beside
from geometry.models.recognition.candidates import (
    NoSuchTable,
    UnknownArchitecture,
    UnknownRows,
    can_be_positions,
    candidates,
    named_like_positions,
    offer,
)
from geometry.models.recognition.choice import Choice, family_named
from geometry.models.recognition.chosen_family import (
    stacks_of,
    tower_with_table,
    towers_of_family,
)
from geometry.models.recognition.code_settings import of_codes
from geometry.models.recognition.first_rows import EXAMPLES
from geometry.models.recognition.names_and_shapes import (
    Index,
    class_rows,
    endings,
    of_pictures,
    rows_and_width,
    table_shape,
)
from geometry.models.recognition.towers import (
    MAX_FIRST_ROWS,
    NOT_USED,
    flag_of,
    match_row,
    recognised,
    rows_of_family,
    towers_of,
)
from geometry.models.recognition.without_table import ADDED, INSIDE_TYPES, SHOWN_BY_SETTINGS

INSTEAD = (
    "Measure the positions inside it with “helixscope positions”, or open a model with learned "
    "absolute positions, such as GPT-2, BERT or OPT."
)

WITH_SETTINGS = "Put the model's config.json beside the weights to see them."

_ROWS = re.compile(r"(.+)\[(-?\d{1,9})?:(-?\d{1,9})?\]", re.DOTALL)
"""Rows of a tensor, in Python's notation: "wpe.weight[1:]", "[:-100]"."""

BARE_NAMES = ("pos", "position", "positions", "pe", "wpe")
"""Names of tables of positions beside a few other matrices, all of whose rows are positions."""
MAX_BARE = 4
"""Maximum number of such matrices, including the table."""

ROUND = 64
"""Numbers of positions are multiples of this: a table with one or two rows more may have these
before position 0."""

_NESTED = ("model", "model_args", "model_config", "config")
"""Names under which training codes nest the settings of the model."""


def find_architecture(
    index: Index,
    config: Mapping[str, Any],
    table: str | None,
    stored: Mapping[str, Any] = MappingProxyType({}),
) -> Architecture:
    """Find the position table of a checkpoint.

    Parameters
    ----------
    index
        The checkpoint's tensors.
    config
        ``config.json``, or empty.
    table
        What was chosen, see :class:`geometry.models.recognition.choice.Choice`: a tensor to use as
        positions, optionally with the rows that are positions, "wpe.weight[1:]"; or a side of a
        model with two, such as "encoder"; the family; the rows before position 0. Or None.
    stored
        Settings that a training code has stored with the tensors.

    Raises
    ------
    NoPositionalEmbeddings
        The family stores no positions.
    UnknownArchitecture
        No known family fits.
    NoSuchTable
        The checkpoint has no tensor or side ``table``.
    SourceError
        ``table`` is not a usable tensor.

    Notes
    -----
    Only names are used, and shapes only of possible tables and of the first layer of families
    without a configuration, so that no further files of a sharded index are read.
    """
    lenient = bool(stored) and not config
    notes = tuple[str, ...]()
    if not config.get("model_type"):
        config = of_codes(index, {**_of_model(stored), **config})
        if kind := config.get("model_type"):
            notes = (
                f"No model_type in a config.json: assumed to be {kind} from its tensor names.",
            )
    choice = Choice(table or "") if not table or table in index else Choice.parse(table)
    kind = family_named(choice.family) if choice.family else ""
    try:
        towers, reason = towers_of_family(index, config, kind) if kind else towers_of(index, config)
    except SourceError:  # in the configuration, which a chosen tensor does not need
        if split_rows(index, choice.table)[0] not in index:
            raise
        towers, reason = [], ""
    sides = tuple(dict.fromkeys(tower.stack.side for tower in towers if tower.stack is not None))
    more = sides if len(sides) > 1 else ()
    towers = [
        replace(tower, sides=more or tower.sides, notes=(*tower.notes, *notes)) for tower in towers
    ]
    if table is not None:
        place = _chosen(index, config, towers, choice, kind, reason)
        side = "" if place.stack is None else place.stack.side
        return place if table == side else replace(place, chosen=table)
    return _found(index, config, towers, reason, lenient=lenient)


def _found(
    index: Index,
    config: Mapping[str, Any],
    towers: list[Architecture],
    reason: str,
    *,
    lenient: bool,
) -> Architecture:
    """Return the location of the table that was found, if it is the only possible one."""
    if towers and (doubt := _doubt(towers[0])):
        raise UnknownArchitecture(doubt, candidates(index), offer(candidates(index)))
    if towers:
        return _with_notes(index, towers[0], towers, lenient=lenient)
    if reason:
        verb = "adds none of its" if reason.startswith(NOT_USED) else "stores no"
        kind = config.get("model_type")
        raise NoPositionalEmbeddings(
            f"{kind or 'This model'} {verb} positional embeddings: {reason}.",
            WITH_SETTINGS if not kind and reason in SHOWN_BY_SETTINGS else INSTEAD,
        )
    options = candidates(index)
    alone = len(options) == 1 and not config.get("model_type")
    if alone and (named_like_positions(options[0].name) or len(index) <= MAX_BARE):
        name = options[0].name
        note = f"{name} is the only matrix here, and so taken for the table of positions."
        notes = () if named_like_positions(name) else (note,)
        return Architecture(None, None, "", name, config, notes)
    named = [option.name for option in options if option.name in BARE_NAMES]
    if len(named) == 1 and len(options) <= MAX_BARE and not config.get("model_type"):
        note = f"{named[0]} is taken for the table of positions by its name."
        return Architecture(None, None, "", named[0], config, (note,))
    raise _unknown(index, config, options)


def _of_model(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the model among those of its training."""
    own = dict(stored)
    for key in _NESTED:
        if isinstance(nested := stored.get(key), dict):
            own |= nested
    # Names of models in other codes are not families of transformers.
    own.pop("model_type", None)
    return own


def split_rows(index: Index, table: str) -> tuple[str, slice | None]:
    """Return a tensor's name, and its chosen rows; None for all.

    A tensor whose name ends like a choice of rows is taken as a whole.
    """
    chosen = None if table in index else _ROWS.fullmatch(table)
    if chosen is None:
        return table, None
    start, stop = (int(end) if end else None for end in chosen.group(2, 3))
    return chosen[1], slice(start or 0, stop)


def _chosen(
    index: Index,
    config: Mapping[str, Any],
    towers: list[Architecture],
    choice: Choice,
    kind: str,
    reason: str,
) -> Architecture:
    """Return the location of what was chosen: a table, a family, the rows before position 0."""
    table, notes = choice.table, tuple[str, ...]()
    own, config = config, {**config, "model_type": kind} if kind else config
    if kind and not (table or towers or reason):
        table = _only_one(index)
        notes = (f"{table} is taken for its table of positions.",)
    if table:
        place = _requested(index, own, towers, table, kind)
        place = replace(place, notes=(*place.notes, *notes))
        if place not in towers and not (kind and stacks_of(kind)):
            place = replace(place, notes=(*place.notes, *_against(config, towers, place, reason)))
    else:
        try:
            place = _found(index, config, towers, reason, lenient=True)
        except UnknownArchitecture as error:
            if not kind:
                raise
            raise NoSuchTable(str(error), error.candidates, error.advice) from error
    if choice.first_rows is None:
        return _asked(index, place) if table and not kind else place
    if split_rows(index, table)[1] is not None:
        raise SourceError(
            f"The first rows are chosen twice: by {table!r} and as {choice.first_rows}.",
            "Choose them once.",
        )
    return _from_row(index, place, choice.first_rows)


def _asked(index: Index, place: Architecture) -> Architecture:
    """Return a chosen table of an unknown model, to be asked for its first rows by their number."""
    known = place.stack is not None or place.cut is not None or place.readings
    if known or not place.table or len(index) <= MAX_BARE:
        return place
    n_rows = rows_and_width(index[place.table])[0]
    first = [rows for rows in EXAMPLES if n_rows > rows and not (n_rows - rows) % ROUND]
    if not first or 0 in first:
        return place
    cuts = (replace(place, cut=slice(rows, None)) for rows in first)
    return replace(place, readings=(place, *cuts))


def _only_one(index: Index) -> str:
    """Return the only matrix, or the only one named like positions; "" if there are several."""
    options = candidates(index)
    named = [option for option in options if named_like_positions(option.name)] or options
    return named[0].name if len(named) == 1 else ""


def _against(
    config: Mapping[str, Any], towers: list[Architecture], place: Architecture, reason: str
) -> tuple[str, ...]:
    """Return a sentence about a configuration that has another table than the chosen one."""
    kind, names = config.get("model_type"), [tower.table for tower in towers if tower.table]
    if not kind or place.table in names:
        return ()
    inside = next((tower for tower in towers if not tower.table), None)
    if names:
        other = f"whose positions are {names[0]}"
    elif reason or inside is not None:
        other = f"whose positions are no table{f': {reason}' if reason else ''}"
    else:
        return ()
    return (f"{place.table} was chosen, though the model is {kind}, {other}.",)


def _from_row(index: Index, place: Architecture, first: int) -> Architecture:
    """Return a table with position 0 in a row that was chosen."""
    if not place.table or place.lags is not None:
        raise SourceError(
            f"{place.family or 'This'} has no table of positions, and so no first rows of one.",
            "Open it without them.",
        )
    for reading in (place, *place.readings):
        if reading.row_of_position_0 == first:
            return replace(reading, readings=(), notes=place.notes)
    n_rows = rows_and_width(index[place.table])[0]
    if first >= n_rows - place.rows_after:
        raise SourceError(
            f"{place.table} has {n_rows} rows: none are left after the first {first}.",
            "Choose fewer first rows.",
        )
    if place.stack is None and of_pictures(index):
        return replace(_of_patches(place, index, first), readings=())
    cut = slice(first, n_rows - place.rows_after)
    return replace(place, cut=cut, readings=(), part=False, net=None)


def _requested(
    index: Index,
    config: Mapping[str, Any],
    towers: list[Architecture],
    table: str,
    kind: str = "",
) -> Architecture:
    name, rows = split_rows(index, table)
    for tower in towers:
        if name == tower.table or (tower.stack is not None and name == tower.stack.side):
            chosen = _with_rows(index, tower, rows)
            return _with_notes(index, chosen, towers, lenient=name == tower.table)
        if tower.lags is not None and tower.net is None and name in tower.lags.tensors:
            first = index[tower.lags.tensor]
            if index[name].shape != first.shape:
                raise SourceError(
                    f"{name} has the shape {index[name].shape}, and {first.name}, which has the "
                    f"same for another layer, {first.shape}.",
                    "Choose the table of another layer.",
                )
            return replace(tower, table=name, lags=replace(tower.lags, tensor=name))
    if name not in index:
        options = candidates(index)
        raise NoSuchTable(f"The checkpoint has no tensor {name!r}.", options, offer(options))
    info = index[name]
    if not can_be_positions(info):
        raise SourceError(
            f"{name} cannot be a position table: expected a floating-point tensor of shape "
            f"(n_positions, d_model), got {info.dtype} {info.shape}.",
            offer(candidates(index)),
        )
    if kind and (read := tower_with_table(index, config, kind, name)):
        return _with_notes(index, _with_rows(index, read, rows), [read], lenient=True)
    config = {**config, "model_type": kind} if kind else config
    own = (
        match_row(index, config, str(config["model_type"]), row) for row in rows_of_family(config)
    )
    towers = [tower for tower in own if tower is not None and tower.table == name]
    towers = towers or recognised(index, config, name) or [_bare(index, config, name)]
    return _with_notes(index, _with_rows(index, towers[0], rows), towers, lenient=True)


def settled(store: TensorStore, place: Architecture) -> Architecture:
    """Return the reading of a table that fits its numbers, if its names are ambiguous.

    Families with a padding token have an untrained row of zeros for it, and position 0 in the next
    row. Where all other readings are of such families, a table without a row of zeros, and with a
    round number of rows, has position 0 in its first row: a few families, such as Nystromformer's,
    have two more rows, and no padding.

    Raises
    ------
    UnknownRows
        Several readings fit its numbers.
    SourceError
        The numbers cannot be read.
    """
    if not place.readings:
        return place
    info = store.tensors[place.table]
    n_rows, width = rows_and_width(info)
    try:
        first = store.read(place.table).reshape(n_rows, width)[:MAX_FIRST_ROWS]
    except TensorUnavailable as error:
        raise SourceError(str(error), error.advice) from error
    zero = np.flatnonzero(~first.any(axis=1))
    rows = {reading.row_of_position_0: reading for reading in reversed(place.readings)}
    padded = all(reading.has_padding for row, reading in rows.items() if row)
    at, notes = int(zero[0]) + 1 if len(zero) == 1 else -1, place.notes
    if not len(zero) and padded and not n_rows % ROUND:
        at = 0
        notes += (f"{place.table} has no row of zeros for padding: position 0 is its first row.",)
    if at not in rows or rows[at].cut is not None:
        raise UnknownRows(info, tuple(sorted(rows)))
    return replace(
        rows[at],
        notes=notes,
        sides=place.sides,
        lenient=place.lenient,
        chosen=place.chosen,
    )


def _bare(index: Index, config: Mapping[str, Any], table: str) -> Architecture:
    """Return the location of a table of an unknown family."""
    bare = Architecture(None, None, "", table, config)
    options = class_rows(index, table) if of_pictures(index) else (0,)
    if options == (0,):
        return bare
    readings = tuple(_of_patches(bare, index, first) for first in options)
    return readings[0] if len(readings) == 1 else replace(readings[0], readings=readings)


def _of_patches(place: Architecture, index: Index, first: int) -> Architecture:
    """Return a table of patches after ``first`` rows of class tokens, with its square grid."""
    count = table_shape(index[place.table])[0] - first
    side = math.isqrt(count)
    net = (side, side) if side * side == count else None
    return replace(place, cut=slice(first, None), net=net)


def _with_rows(index: Index, tower: Architecture, rows: slice | None) -> Architecture:
    """Return a tower with the chosen rows."""
    if rows is None:
        return tower
    n_rows, _ = rows_and_width(index[tower.table])
    start, stop, _ = rows.indices(n_rows)
    alike = [reading for reading in (tower, *tower.readings) if reading.row_of_position_0 == start]
    part = stop < n_rows - tower.rows_after or not alike
    tower = alike[0] if alike else tower
    return replace(
        tower, cut=slice(start, stop), readings=(), part=part, net=None if part else tower.net
    )


def _with_notes(
    index: Index, tower: Architecture, towers: list[Architecture], *, lenient: bool
) -> Architecture:
    """Return a tower with notes about its choice among ``towers``."""
    notes = [*tower.notes, *_beside(index, tower, towers)]
    if not tower.table or tower.lags is not None:
        return replace(tower, notes=tuple(notes))
    copies = _copies(index, tower, towers)
    if copies:
        notes.append(
            f"{tower.table} is shown; the checkpoint has more tables of that name: "
            f"{some_of(copies, 3)}."
        )
    shape = rows_and_width(index[tower.table])
    if tower.stack is not None and tower.stack.divided:
        notes.append(f"Its rows are divided by √{shape[1]}, as {tower.family} does.")
    if tower.stack is not None and tower.stack.patches and tower.cut is None:
        tokens = class_rows(index, tower.table)
        if len(tokens) == 1 and tokens[0] not in (0, tower.row_of_position_0):
            notes.append(
                f"There are {tokens[0]} class tokens beside {tower.table}, and in {tower.family} "
                f"models {tower.row_of_position_0}, as many as rows are left out."
            )
    if lenient and (expected := tower.expected_shape(shape)) != shape:
        notes.append(
            f"The configuration gives {tower.table} the shape {expected}; that of the tensor, "
            f"{shape}, counts."
        )
    config = tower.config
    if lenient and tower.stack is not None:
        heads = tower.setting(*N_HEADS, listed=True) or 1
        if heads < 1 or shape[1] % heads:
            notes.append(
                f"By the settings there are {heads} heads, which do not divide {shape[1]}."
            )
            own = {key.format(side=tower.stack.side) for key in N_HEADS}
            config = {key: value for key, value in config.items() if key not in own}
    return replace(tower, notes=tuple(notes), config=config, lenient=lenient)


def _copies(index: Index, tower: Architecture, towers: list[Architecture]) -> list[str]:
    """Return other tables of the same name and shape, such as those of averaged weights."""
    suffix = tower.table.removeprefix(tower.root)
    shown = {shown_tower.table for shown_tower in towers}
    return [
        name
        for name in endings(index, suffix, vision="vision" in tower.table)
        if name not in shown and index[name].shape == index[tower.table].shape
    ]


def _beside(index: Index, tower: Architecture, towers: Iterable[Architecture]) -> tuple[str, ...]:
    """Return sentences about other positions of this part of a model."""
    if tower.lags is not None:
        tables = [t.table for t in towers if t.lags is None and t.family == tower.family]
        return tuple(f"It also adds a table of positions, which is not shown: {t}." for t in tables)
    if tower.rotary is not None:
        return ()
    names = [name for name in index if name.startswith(tower.root) and name != tower.table]
    return tuple(filter(None, (_doubt(tower), _unused(tower), *beside(tower.family, names))))


def _doubt(tower: Architecture) -> str:
    """Return why it is unknown whether a stored table is added to tokens; "" if it is known."""
    how = tower.config.get("position_embedding_type")
    if how in ADDED or how in INSIDE_TYPES or not tower.table or tower.lags is not None:
        return ""
    return (
        f"What a {tower.family} model adds to its tokens is not known where {how!r} is its "
        "position_embedding_type."
    )


def _unused(tower: Architecture) -> str:
    """Return a sentence that a chosen table is not added to tokens; "" if it is added."""
    how = tower.config.get("position_embedding_type")
    why = f"position_embedding_type is {how!r}" if how in INSIDE_TYPES else ""
    for row in rows_of_family(tower.config):
        if row.used_if and row.positions and tower.table.endswith(row.positions):
            why = why if flag_of(tower.config, row.used_if) else f"{row.used_if[0]} is not true"
    return f"{tower.table} is stored, and not added, since {why}." if why and tower.table else ""


def _unknown(
    index: Index, config: Mapping[str, Any], options: tuple[TensorInfo, ...]
) -> UnknownArchitecture:
    kind = config.get("model_type")
    problem = f"The architecture {kind!r} is unknown" if kind else "The architecture is unknown"
    if isinstance(kind, str) and kind in LEFT_OUT:
        problem = f"The family {kind} is not opened, since {LEFT_OUT[kind]}"
    elif isinstance(kind, str) and (rows := stacks_of(kind)):
        name = rows[0].positions
        problem = f"A {kind} model stores its positions in {name}, which this checkpoint lacks"
    if not options:
        return UnknownArchitecture(
            f"{problem}, and no tensor is a floating-point matrix that could be a position "
            f"table{_instead(index)}.",
            (),
            INSTEAD,
        )
    return UnknownArchitecture(
        f"{problem}; {len(options)} tensor{'s' * (len(options) > 1)} could be its position table.",
        options,
        offer(options),
    )


def _instead(index: Index) -> str:
    """Describe the content of a source without any floating-point matrix, if it is short."""
    if not 0 < len(index) <= 3:
        return ""
    shapes = ", ".join(f"{i.name} is {i.dtype} of shape {i.shape}" for i in index.values())
    return f" ({shapes})"
