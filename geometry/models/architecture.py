"""The family of a checkpoint, and the location of its position table.

Determined by ``config.json`` and tensor names alone; no tensor is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.config import first_int, flag, pair
from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.checkpoints.stores import FLOATS, TensorInfo, TensorStore
from geometry.models.alibi import find_alibi
from geometry.models.beside import beside
from geometry.models.families import BESIDE, FAMILIES, PARTS, turned_stack
from geometry.models.first_rows import EXAMPLES, rows_from
from geometry.models.gguf_settings import GGUF, HEADS, POSITIONS, STACKS
from geometry.models.lags import Lags, find_lags, find_windows
from geometry.models.left_out import LEFT_OUT
from geometry.models.recognition import Match, class_rows, endings, recognise, table_shape
from geometry.models.relative_tables import find_relative_tables
from geometry.models.rotary import Rotary, read_rotary
from geometry.models.stack import INSIDE, Stack
from geometry.models.without_table import (
    ADDED,
    ALIBI,
    INSIDE_TYPES,
    RELATIVE,
    RELATIVE_IN_TWO,
    RELATIVE_TABLE,
    ROTARY,
    WITHOUT_TABLE,
    inside_attention,
    why_no_table,
)

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

Index = Mapping[str, TensorInfo]

INSTEAD = (
    "Measure the positions inside it with “helixscope positions”, or open a model with learned "
    "absolute positions, such as GPT-2, BERT or OPT."
)

#: Rows of a tensor, as in Python: "wpe.weight[1:]", "[:-100]".
_ROWS = re.compile(r"(.+)\[(-?\d{1,9})?:(-?\d{1,9})?\]", re.DOTALL)

#: Settings with the number of attention heads.
N_HEADS = ("{side}_attention_heads", "n_head", "num_attention_heads", "n_heads", "num_heads",
           "attention_heads", "num_{side}_attention_heads")  # fmt: skip

#: Names under which codes nest the settings of the model itself.
_NESTED = ("model", "model_args", "model_config", "config")

#: What tables of positions are called, besides names with "pos".
_SHORT_NAMES = frozenset({"pe", "wpe"})

#: Rows before position 0 that families with a padding token have at most.
_MOST_FIRST = 3


class UnknownArchitecture(SourceError):
    """No known family fits; ``candidates`` are the tensors that could be the positions."""

    def __init__(self, message: str, candidates: tuple[TensorInfo, ...], advice: str = "") -> None:
        super().__init__(message, advice)
        self.candidates = candidates


class UnknownRows(UnknownArchitecture):
    """The names do not tell which row of the table is position 0, nor do its numbers.

    Parameters
    ----------
    table
        The table.
    first_rows
        The rows that may be position 0.
    """

    def __init__(self, table: TensorInfo, first_rows: tuple[int, ...]) -> None:
        rows = " or ".join(
            f"{row} ({EXAMPLES[row]})" if row in EXAMPLES else str(row) for row in first_rows
        )
        super().__init__(
            f"Position 0 may be row {rows} of {table.name}: without a config.json this is not "
            "known.",
            (table,),
            "Put the model's config.json beside the weights, or choose the rows: --table "
            f"'{rows_from(table.name, first_rows[-1])}' begins with row {first_rows[-1]}.",
        )
        self.first_rows = first_rows


class NoSuchTable(UnknownArchitecture):
    """What was chosen as the table is not in this checkpoint."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows in an order that is not position.

    Attributes
    ----------
    labels
        What each row stands for; empty if there are none.
    columns
        Columns to colour by, with a value for each row.
    """

    labels: tuple[str, ...]
    columns: tuple[PositionColumn, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """Location of a checkpoint's positions.

    Attributes
    ----------
    family
        transformers' ``model_type``; None for a bare table.
    stack
        Its row of the family table; None for a bare table.
    root
        Prefix of the tensor names in that row.
    table
        The tensor that holds P; "" where it is computed and not stored.
    config
        The configuration of this part of the model; empty without a ``config.json``.
    notes
        Sentences about what was assumed, and about positions that the model has besides.
    sides
        For a model with two tables, "decoder" and "encoder", or "text" and "vision"; otherwise
        empty.
    rotary
        How the model turns queries and keys, where it does so in place of a table.
    lags
        What the model has for each lag of query and key, in place of a table of positions.
    rows
        What the rows of a table stand for that are no positions.
    net
        Rows and columns of a picture's patches, where they are not in a configuration.
    turned
        The location of these queries and keys; None where there is a table, or they have unknown
        names.
    cut
        The stored rows that are positions, where they were chosen or are told by class tokens; None
        for those of the family.
    readings
        This and other families with the same names, whose position 0 is another row; empty if there
        is no doubt.
    lenient
        Whether the table counts where the configuration contradicts it.
    chosen
        The tensor, or rows such as "pe.weight[2:]", that was chosen as the table; "" for none.
    """

    family: str | None
    stack: Stack | None
    root: str
    table: str
    config: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    rotary: Rotary | None = None
    lags: Lags | None = None
    turned: Architecture | None = None
    rows: LabelledRows | None = None
    net: tuple[int, int] | None = None
    cut: slice | None = None
    readings: tuple[Architecture, ...] = ()
    lenient: bool = False
    chosen: str = ""

    def grid(self, n_positions: int) -> tuple[int, int] | None:
        """Return rows and columns of a picture's patches; None for a text, or if they are unknown.

        By the configuration, or those of a square.
        """
        if self.net is not None:
            return self.net
        if self.stack is None or not self.stack.patches or n_positions < 1:
            return None
        if (picture := self.picture) is not None and math.prod(picture) == n_positions:
            return picture
        side = math.isqrt(n_positions)
        return (side, side) if side * side == n_positions else None

    @property
    def grid_note(self) -> str:
        """A sentence about settings of the grid that cannot be used, or ""."""
        if self.net is None and self.stack is not None and self.stack.patches:
            try:
                pair(self.config, "image_size")
                pair(self.config, "patch_size")
            except SourceError as error:
                return f"{error} Rows and columns of patches are taken for those of a square."
        return ""

    @property
    def picture(self) -> tuple[int, int] | None:
        """Rows and columns of patches in its pictures; None where the settings do not give them."""
        with suppress(SourceError):  # which is one of the warnings
            picture = pair(self.config, "image_size")
            patch = pair(self.config, "patch_stride") or pair(self.config, "patch_size")
            if picture is not None and patch is not None:
                return picture[0] // patch[0], picture[1] // patch[1]
        return None

    @property
    def row_of_position_0(self) -> int:
        """The row of the table for position 0, of a chosen part as it was written."""
        if self.cut is not None:
            return self.cut.start or 0
        if self.stack is None:
            return 0
        if self.stack.rows_before is not None:
            return self._rows(self.stack.rows_before)
        if self.stack.row_of_position_0 is not None:
            return self.stack.row_of_position_0
        padding = first_int(self.config, ("pad_token_id",))
        # A model without padding starts at row 0.
        return max(0, (self.stack.padding if padding is None else padding) + 1)

    @property
    def rows_after(self) -> int:
        """The rows of the table after that of the last position; of a chosen part none."""
        if self.cut is not None:
            return 0
        return self._rows(self.stack.rows_after if self.stack is not None else None)

    def _rows(self, setting: tuple[str, int] | None) -> int:
        if setting is None:
            return 0
        key, default = setting
        count = first_int(self.config, (key,))
        return max(0, default if count is None else count)

    def rows_of_positions(self, n_rows: int) -> slice:
        """Return which of the stored rows are positions."""
        if self.cut is not None:
            return slice(*self.cut.indices(n_rows))
        return slice(self.row_of_position_0, max(n_rows - self.rows_after, 0))

    def expected_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the table's shape by the configuration, or ``shape`` where that does not say."""
        if self.stack is None:
            return shape
        factorised = ("embedding_size", "input_embedding_size") if self.stack.map_positions else ()
        keys = (*factorised, "n_embd", "hidden_size", "d_model", "dim")
        if self.stack.patches:
            keys = ("embed_dim", *keys)  # of the first stage, where there are several
        lengths = (
            "max_{side}_position_embeddings",
            "max_target_positions" if self.stack.side == "decoder" else "max_source_positions",
            "n_positions", "max_position_embeddings", "block_size",
        )  # fmt: skip
        rows, width = self.setting(*lengths), self.setting(*keys)
        if self.stack.patches:
            rows = None  # that setting is of the text beside the picture
        elif rows is not None and self.stack.row_of_position_0 == 2:
            rows += 2
        return (shape[0] if rows is None else rows, shape[1] if width is None else width)

    def setting(self, *keys: str, listed: bool = False) -> int | None:
        """Return an integer of the configuration; ``{side}`` in a key is this tower's.

        Like :func:`geometry.checkpoints.config.first_int`.
        """
        side = self.stack.side if self.stack else "decoder"
        return first_int(self.config, [key.format(side=side) for key in keys], listed=listed)


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
        A tensor to use as positions, perhaps with the rows that are positions, "wpe.weight[1:]"; or
        a side, such as "encoder", where a model has two; or None.
    stored
        Settings that a training code has put beside the tensors.

    Only names are used, and shapes only of possible tables and of the first layer of families
    without a configuration, so that no further files of a sharded index are read.

    Raises
    ------
    NoPositionalEmbeddings
        The family stores none.
    UnknownArchitecture
        No known family fits.
    NoSuchTable
        The checkpoint has no tensor or side ``table``.
    SourceError
        ``table`` names no usable tensor.
    """
    lenient = bool(stored) and not config
    if not config.get("model_type"):
        config = {**_of_model(stored), **config}
    try:
        found, reason = _towers(index, config)
    except SourceError:  # of a configuration, which a chosen tensor does not need
        if table is None or split_rows(index, table)[0] not in index:
            raise
        found, reason = [], ""
    sides = tuple(dict.fromkeys(tower.stack.side for tower in found if tower.stack is not None))
    if len(sides) > 1:
        found = [replace(tower, sides=sides) for tower in found]
    if table is not None:
        place = _asked_for(index, config, found, table)
        side = "" if place.stack is None else place.stack.side
        return place if table == side else replace(place, chosen=table)
    if found and (doubt := _doubt(found[0])):
        raise UnknownArchitecture(doubt, candidates(index), _offer(candidates(index)))
    if found:
        return _with_notes(index, found[0], found, lenient=lenient)
    if reason:
        what = "adds none of its" if reason.startswith(NOT_USED) else "stores no"
        raise NoPositionalEmbeddings(
            f"{config.get('model_type', 'This model')} {what} positional embeddings: {reason}.",
            INSTEAD,
        )
    options = candidates(index)
    if len(options) == 1 and not config.get("model_type"):
        return Architecture(None, None, "", options[0].name, config)
    raise _unknown(index, config, options)


def _of_model(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the model itself among those of its training."""
    own = dict(stored)
    for key in _NESTED:
        if isinstance(nested := stored.get(key), dict):
            own |= nested
    # A code's own names of models are no families of transformers.
    own.pop("model_type", None)
    return own


def split_rows(index: Index, table: str) -> tuple[str, slice | None]:
    """Return a tensor's name, and the rows that are chosen of it; None for all.

    A tensor whose name ends like a choice of rows is itself.
    """
    chosen = None if table in index else _ROWS.fullmatch(table)
    if chosen is None:
        return table, None
    start, stop = (int(end) if end else None for end in chosen.group(2, 3))
    return chosen[1], slice(start or 0, stop)


def _asked_for(
    index: Index, config: Mapping[str, Any], found: list[Architecture], table: str
) -> Architecture:
    name, rows = split_rows(index, table)
    for tower in found:
        if name == tower.table or (tower.stack is not None and name == tower.stack.side):
            return _with_notes(index, _with_rows(tower, rows), found, lenient=name == tower.table)
        if tower.lags is not None and tower.net is None and name in tower.lags.tensors:
            return replace(tower, table=name, lags=replace(tower.lags, tensor=name))
    if name not in index:
        options = candidates(index)
        raise NoSuchTable(f"The checkpoint has no tensor {name!r}.", options, _offer(options))
    info = index[name]
    if not _can_be_positions(info):
        raise SourceError(
            f"{name} cannot be a position table: expected a floating-point tensor of shape "
            f"(n_positions, d_model), got {info.dtype} {info.shape}.",
            _offer(candidates(index)),
        )
    own = (_match(index, config, str(config["model_type"]), row) for row in _rows(config))
    towers = [tower for tower in own if tower is not None and tower.table == name]
    towers = towers or _recognised(index, config, name) or [_bare(index, config, name)]
    return _with_notes(index, _with_rows(towers[0], rows), towers, lenient=True)


def settled(store: TensorStore, place: Architecture) -> Architecture:
    """Return the reading of a table that its numbers tell, where the names leave several.

    Families with a padding token have a row of zeros for it, which is never trained, and position 0
    in the next one.

    Raises
    ------
    UnknownRows
        The numbers do not tell either.
    """
    if not place.readings:
        return place
    info = store.tensors[place.table]
    first = store.read(place.table).reshape(table_shape(info))[:_MOST_FIRST]
    zero = np.flatnonzero(~first.any(axis=1))
    for reading in place.readings:
        if len(zero) == 1 and reading.cut is None and reading.row_of_position_0 == zero[0] + 1:
            return replace(
                reading, notes=place.notes, sides=place.sides, lenient=place.lenient,
                chosen=place.chosen,
            )  # fmt: skip
    raise UnknownRows(info, tuple(sorted(one.row_of_position_0 for one in place.readings)))


def _bare(index: Index, config: Mapping[str, Any], table: str) -> Architecture:
    """Return the location of a table of no known family."""
    bare = Architecture(None, None, "", table, config)
    options = class_rows(index, table)
    if options == (0,):
        return bare
    readings = tuple(_of_patches(bare, index, first) for first in options)
    return readings[0] if len(readings) == 1 else replace(readings[0], readings=readings)


def _of_patches(place: Architecture, index: Index, first: int) -> Architecture:
    """Return a table of patches after so many rows of class tokens, with its grid if a square."""
    count = table_shape(index[place.table])[0] - first
    side = math.isqrt(count)
    net = (side, side) if side * side == count else None
    return replace(place, cut=slice(first, None), net=net)


def _with_rows(tower: Architecture, rows: slice | None) -> Architecture:
    """Return a tower with the rows that were chosen."""
    if rows is None:
        return tower
    alike = [one for one in tower.readings if one.row_of_position_0 == rows.start]
    return replace((alike or [tower])[0], cut=rows, readings=())


def _with_notes(
    index: Index, tower: Architecture, found: list[Architecture], *, lenient: bool
) -> Architecture:
    """Return a tower with what there is to say of its choice among others."""
    notes = [*tower.notes, *_beside(index, tower, found)]
    if not tower.table or tower.lags is not None:
        return replace(tower, notes=tuple(notes))
    copies = _copies(index, tower, found)
    if copies:
        notes.append(
            f"{tower.table} is shown; the checkpoint has more tables of that name: "
            f"{', '.join(copies[:3])}{', …' if len(copies) > 3 else ''}."
        )
    shape = table_shape(index[tower.table])
    if lenient and len(shape) == 2 and (expected := tower.expected_shape(shape)) != shape:
        notes.append(
            f"The configuration gives {tower.table} the shape {expected}; that of the tensor, "
            f"{shape}, counts."
        )
    config = tower.config
    heads = tower.setting(*N_HEADS, listed=True) or 1
    if lenient and (heads < 1 or shape[1] % heads) and tower.stack is not None:
        notes.append(f"By the settings there are {heads} heads, which do not divide {shape[1]}.")
        own = {key.format(side=tower.stack.side) for key in N_HEADS}
        config = {key: value for key, value in config.items() if key not in own}
    return replace(tower, notes=tuple(notes), config=config, lenient=lenient)


def _copies(index: Index, tower: Architecture, found: list[Architecture]) -> list[str]:
    """Return the other tables of the same name and shape, such as that of averaged weights."""
    suffix = tower.table.removeprefix(tower.root)
    shown = {one.table for one in found}
    return [
        name
        for name in endings(index, suffix, vision="vision" in tower.table)
        if name not in shown and index[name].shape == index[tower.table].shape
    ]


def _offer(options: tuple[TensorInfo, ...]) -> str:
    if not options:
        return "It has no two-dimensional floating-point tensor."
    names = ", ".join(option.name for option in options[:4])
    return f"Choose one of its tables: {names}{', …' if len(options) > 4 else ''}."


def _unknown(
    index: Index, config: Mapping[str, Any], options: tuple[TensorInfo, ...]
) -> UnknownArchitecture:
    kind = config.get("model_type")
    what = f"The architecture {kind!r} is unknown" if kind else "The architecture is unknown"
    if isinstance(kind, str) and kind in LEFT_OUT:
        what = f"A {kind} model is not opened, since {LEFT_OUT[kind]}"
    elif isinstance(kind, str) and kind in FAMILIES:
        name = FAMILIES[kind][0].positions
        what = f"A {kind} model stores its positions in {name}, which this checkpoint lacks"
    if not options:
        return UnknownArchitecture(
            f"{what}, and no tensor is a floating-point matrix that could be a position "
            f"table{_instead(index)}.",
            (),
            INSTEAD,
        )
    return UnknownArchitecture(
        f"{what}; {len(options)} tensors could be its position table.",
        options,
        _offer(options),
    )


def _instead(index: Index) -> str:
    """Describe the content of a source without any floating-point matrix, if it is short."""
    if not 0 < len(index) <= 3:
        return ""
    shapes = ", ".join(f"{i.name} is {i.dtype} of shape {i.shape}" for i in index.values())
    return f" ({shapes})"


def candidates(index: Index) -> tuple[TensorInfo, ...]:
    """Return all floating-point matrices: first those named like positions, then in file order."""

    def rank(info: TensorInfo) -> int:
        name = info.name.lower()
        if "pos" in name or not _SHORT_NAMES.isdisjoint(name.split(".")):
            return 0
        return 1 if "embed" in name else 2

    return tuple(sorted(filter(_can_be_positions, index.values()), key=rank))


def _can_be_positions(info: TensorInfo) -> bool:
    shape = table_shape(info)
    return info.dtype in FLOATS and len(shape) == 2 and shape[0] > 0 and shape[1] > 0


def _towers(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return the towers with a table, best first, and the reason if there are none."""
    kind = config.get("model_type")
    if GGUF in config:
        if POSITIONS not in index:
            return _without_table(index, config)
        return [Architecture(str(kind), STACKS.get(str(kind)), "", POSITIONS, config)], ""
    if isinstance(kind, str) and kind in LEFT_OUT:
        return [], WITHOUT_TABLE.get(kind, "")
    if not isinstance(kind, str) or not kind:
        reason = why_no_table(index, config)
        # A bias of attention scores may stand beside a table, as in MPNet.
        tables = _recognised(index, config) if reason in ("", RELATIVE) else []
        inside, reason = _without_table(index, config) if reason else ([], "")
        return tables + inside, reason
    if kind in PARTS:
        return _parts(index, config, PARTS[kind])
    if kind in FAMILIES:
        if inside_attention(index, config):
            return _without_table(index, config)
        return _tables(index, config, kind, FAMILIES[kind])
    part, own = config.get("text_config"), first_int(config, ("hidden_size",))
    if isinstance(part, dict) and part.get("model_type") and own is None:
        found, reason = _parts(index, config, ("text_config",))  # of one for pictures and text
        return found + _pictures(index, config), reason
    return _without_table(index, config)


def _without_table(index: Index, config: Mapping[str, Any]) -> tuple[list[Architecture], str]:
    """Return what there is to see of a model without a table, or the reason why it has none."""
    reason = why_no_table(index, config)
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    if reason in LAGS:
        towers, other = _by_lag(index, config, reason), ""
        if reason != ALIBI and kind in BESIDE:
            more, other = _tables(index, config, str(kind), (BESIDE[str(kind)],))
            towers += more
        return towers, "" if towers else other or reason
    if reason != ROTARY:
        return [], reason
    rotary = read_rotary(config)
    stack = replace(INSIDE, causal=rotary.causal)
    turned = None
    rows = HEADS if GGUF in config else (turned_stack(family).for_config(config),)
    for heads in rows if rotary.alike else ():
        suffix = heads.query.format(layer=0)
        if names := endings(index, suffix):
            root = names[0].removesuffix(suffix)
            turned = Architecture(family, heads, root, "", config)
            break
    return [Architecture(family, stack, "", "", config, rotary=rotary, turned=turned)], ""


#: What finds the lags of a model, by the reason why it has no table.
LAGS: Mapping[str, Callable[[Index, Mapping[str, Any]], Iterable[Lags]]] = {
    ALIBI: lambda index, config: [find_alibi(index, config)],
    RELATIVE: find_lags,
    RELATIVE_TABLE: find_relative_tables,
    RELATIVE_IN_TWO: find_windows,
}


def _by_lag(index: Index, config: Mapping[str, Any], reason: str) -> list[Architecture]:
    """Return what a model has for each lag or offset, as towers."""
    kind = config.get("model_type")
    family = kind if isinstance(kind, str) else None
    towers = []
    for one in LAGS[reason](index, config):
        stack = replace(INSIDE, side=one.side, causal=one.side == "decoder")
        table = "" if one.kind == "alibi" else one.tensor
        towers.append(Architecture(family, stack, "", table, config, lags=one, net=one.net))
    return towers


def _tables(
    index: Index, config: Mapping[str, Any], kind: str, stacks: Iterable[Stack]
) -> tuple[list[Architecture], str]:
    """Return the towers of a family with a table, and why there are none, if that is known."""
    towers, reason = [], ""
    for stack in stacks:
        tower = _match(index, config, kind, stack)
        if tower is not None and stack.used_if and not _is_used(config, stack.used_if):
            reason = f"{NOT_USED} {tower.table} is stored, and {stack.used_if[0]} is not true"
        elif tower is not None:
            towers.append(tower)
    if kind == "mpnet":
        towers += _by_lag(index, config, RELATIVE)
    return towers, reason


def _is_used(config: Mapping[str, Any], setting: tuple[str, bool]) -> bool:
    key, default = setting
    return flag(config, key, default=default)


#: How the reason begins of a model whose table is stored and not added.
NOT_USED = "its table"


def _beside(index: Index, tower: Architecture, others: Iterable[Architecture]) -> tuple[str, ...]:
    """Return sentences about the positions that this part of a model has besides."""
    if tower.lags is not None:
        tables = [one.table for one in others if one.lags is None and one.family == tower.family]
        return tuple(f"It also adds a table of positions, which is not shown: {t}." for t in tables)
    if tower.rotary is not None:
        return ()
    names = [name for name in index if name.startswith(tower.root) and name != tower.table]
    return tuple(filter(None, (_doubt(tower), _unused(tower), *beside(tower.family, names))))


def _doubt(tower: Architecture) -> str:
    """Return why it is not known whether a stored table is added to tokens; "" if it is."""
    how = tower.config.get("position_embedding_type")
    if how in ADDED or how in INSIDE_TYPES or not tower.table or tower.lags is not None:
        return ""
    return (
        f"What a {tower.family} model adds to its tokens is not known where {how!r} is its "
        "position_embedding_type."
    )


def _rows(config: Mapping[str, Any]) -> tuple[Stack, ...]:
    """Return the rows of a configuration's family, also of tables that it may not add."""
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return ()
    return (*FAMILIES.get(kind, ()), *filter(None, (BESIDE.get(kind),)))


def _unused(tower: Architecture) -> str:
    """Return that a stored table, which was chosen, is not added to tokens; "" if it is."""
    how = tower.config.get("position_embedding_type")
    why = f"position_embedding_type is {how!r}" if how in INSIDE_TYPES else ""
    for row in _rows(tower.config):
        if row.used_if and row.positions and tower.table.endswith(row.positions):
            why = why if _is_used(tower.config, row.used_if) else f"{row.used_if[0]} is not true"
    return f"{tower.table} is stored, and not added, since {why}." if why and tower.table else ""


def _parts(
    index: Index, config: Mapping[str, Any], keys: tuple[str, ...]
) -> tuple[list[Architecture], str]:
    found: list[Architecture] = []
    reasons: list[str] = []
    for key in keys:
        part = config.get(key)
        part = part if isinstance(part, dict) else {}
        word = PLACES.get(key, f"{key}.")
        inside = tuple(name for name in index if f".{word}" in f".{name}")
        # In many models for pictures the text's tensors have no such part in their names.
        others = tuple(index) if key in ("text_config", "vlm_config") else ()
        if key == "vision_config":
            others = tuple(name for name in index if "vision" in name)
        names = _Subset(index, inside or others)
        kind = str(config.get("model_type")).replace("-", "_")
        other = f"{kind}_{key.removesuffix('_config')}_model" if key.endswith("_config") else None
        settings = {"model_type": other, **part}
        towers, reason = _towers(names, settings)
        found += towers
        reasons.append(reason)
    return found, "" if found else "".join(reasons[:1])


#: What the names of a part's tensors have in common, by the key of its configuration.
PLACES = {"text_config": "text_model.", "vision_config": "vision_model.",
          "image_config": "image_model.", "backbone_config": "backbone."}  # fmt: skip


def _pictures(index: Index, config: Mapping[str, Any]) -> list[Architecture]:
    """Return the tower for pictures of a model that reads text as well, if it has a table."""
    part = config.get("vision_config")
    kind = part.get("model_type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in FAMILIES or not FAMILIES[kind][0].patches:
        return []
    return _parts(index, config, ("vision_config",))[0]


class _Subset(Mapping[str, TensorInfo]):
    """Some tensors of an index whose shapes may be read lazily."""

    def __init__(self, index: Index, names: tuple[str, ...]) -> None:
        self._index = index
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> TensorInfo:
        if name not in self._names:
            raise KeyError(name)
        return self._index[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _match(
    index: Index, config: Mapping[str, Any], family: str, stack: Stack
) -> Architecture | None:
    """Find a row of the family table in the index; None if its table is missing."""
    stack = stack.for_config(config)
    if stack.positions:
        for name in endings(index, stack.positions, vision=stack.side == "vision"):
            return Architecture(family, stack, name.removesuffix(stack.positions), name, config)
    if stack.computed is None:
        return None
    for suffix in (stack.query.format(layer=0), *stack.tokens):
        for name in endings(index, suffix):
            return Architecture(family, stack, name.removesuffix(suffix), "", config)
    return None


def _recognised(
    index: Index, config: Mapping[str, Any], table: str | None = None
) -> list[Architecture]:
    """Return the towers of a checkpoint without a ``model_type``, by the names of its tensors."""
    towers: list[Architecture] = []
    for families in recognise(index, config, table):
        for match in families[0]:
            other = (one for family in families for one in family if one.table == match.table)
            towers.append(_of_match(index, config, match, list(other)))
    if len(towers) < 2:
        return towers
    rest = ", ".join(tower.table for tower in towers[1:])
    note = f"The checkpoint has two parts with positions: the other table is {rest}."
    return [replace(towers[0], notes=(*towers[0].notes, note)), *towers[1:]]


def _of_match(
    index: Index, config: Mapping[str, Any], match: Match, matches: list[Match]
) -> Architecture:
    """Return the location of a table, with all readings where families differ in position 0."""
    readings: dict[int, Architecture] = {}
    for one in (match, *matches):
        notes = _assumptions(one, matches, config)
        place = Architecture(one.kind, one.stack, one.root, one.table, config, notes)
        for reading in _readings(place, index):
            readings.setdefault(reading.row_of_position_0, reading)
    places = tuple(readings.values())
    return replace(places[0], readings=places) if len(places) > 1 else places[0]


def _readings(place: Architecture, index: Index) -> Iterator[Architecture]:
    """Yield a location of a known family with each row that may be position 0."""
    stack = place.stack
    assert stack is not None
    if stack.rows_after is not None:
        last = index[place.root + stack.marks[-1]]
        yield replace(place, config={**place.config, stack.rows_after[0]: last.shape[-2]})
    elif stack.patches:
        own = place.row_of_position_0
        counted = class_rows(index, place.table)
        # A family with class rows but without class tokens is in doubt.
        for first in counted if counted != (0,) else sorted({0, own}):
            yield place if first == own else replace(place, cut=slice(first, None))
    elif stack.row_of_position_0 is None and "pad_token_id" not in place.config:
        for padding in dict.fromkeys((stack.padding, *range(_MOST_FIRST - 1))):
            yield replace(place, config={**place.config, "pad_token_id": padding})
    else:
        yield place


def _assumptions(match: Match, matches: list[Match], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is taken for granted of a family that only names tell."""
    own = config.get("model_type")
    why = "No model_type in a config.json" if not own else f"The architecture {own!r} is unknown"
    note = f"{why}: assumed to be {match.kind} from its tensor names"
    if others := [one.kind for one in matches if one.kind != match.kind]:
        note += f", as {', '.join(others[:3])}{', …' if len(others) > 3 else ''} could be"
    keys = dict.fromkeys(key for one in (match, *matches) for key in one.stack.settings)
    if any(one.stack.fused != match.stack.fused for one in matches):
        keys["multi_query"] = None
    assumed = [key for key in keys if key not in config]
    return (f"{note}; usual settings assumed: {', '.join(assumed)}." if assumed else f"{note}.",)
