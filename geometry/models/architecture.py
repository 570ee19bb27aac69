"""The family of a checkpoint, and the location of its position table.

Determined by ``config.json`` and tensor names alone; no tensor is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.config import first_int, pair
from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.checkpoints.stores import FLOATS, TensorInfo
from geometry.models.families import FAMILIES, PARTS, turned_stack
from geometry.models.gguf_settings import GGUF, HEADS, POSITIONS, STACKS
from geometry.models.lags import Lags, find_alibi, find_lags, find_windows
from geometry.models.left_out import LEFT_OUT
from geometry.models.rotary import Rotary, read_rotary
from geometry.models.stack import INSIDE, Stack
from geometry.models.without_table import (
    ALIBI,
    RELATIVE,
    RELATIVE_IN_TWO,
    ROTARY,
    WITHOUT_TABLE,
    why_no_table,
)

if TYPE_CHECKING:
    from geometry.checkpoints.column_files import PositionColumn

Index = Mapping[str, TensorInfo]

INSTEAD = (
    "Measure the positions inside it with “helixscope positions”, or open a model with learned "
    "absolute positions, such as GPT-2, BERT or OPT."
)

#: The name of XLM's table, with which those of many families end.
AMBIGUOUS = "position_embeddings.weight"

#: The name of a table that has rows and columns of patches as two axes, as in SAM.
PICTURE = "pos_embed"


class UnknownArchitecture(SourceError):
    """No known family fits; ``candidates`` are the tensors that could be the positions."""

    def __init__(self, message: str, candidates: tuple[TensorInfo, ...], advice: str = "") -> None:
        super().__init__(message, advice)
        self.candidates = candidates


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
    note
        A sentence about guesses, or "".
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
    """

    family: str | None
    stack: Stack | None
    root: str
    table: str
    config: Mapping[str, Any]
    note: str = ""
    sides: tuple[str, ...] = ()
    rotary: Rotary | None = None
    lags: Lags | None = None
    turned: Architecture | None = None
    rows: LabelledRows | None = None
    net: tuple[int, int] | None = None

    def grid(self, n_positions: int) -> tuple[int, int] | None:
        """Return rows and columns of a picture's patches; None for a text, or if they are unknown.

        By the configuration, or those of a square.
        """
        if self.net is not None:
            return self.net
        if self.stack is None or not self.stack.patches or n_positions < 1:
            return None
        picture, patch = pair(self.config.get("image_size")), pair(self.config.get("patch_size"))
        if picture is not None and patch is not None:
            rows, columns = picture[0] // patch[0], picture[1] // patch[1]
            if rows * columns == n_positions:
                return rows, columns
        side = math.isqrt(n_positions)
        return (side, side) if side * side == n_positions else None

    @property
    def row_of_position_0(self) -> int:
        """The row of the table for position 0."""
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
        """The rows of the table after that of the last position."""
        return self._rows(self.stack.rows_after if self.stack is not None else None)

    def _rows(self, setting: tuple[str, int] | None) -> int:
        if setting is None:
            return 0
        key, default = setting
        count = first_int(self.config, (key,))
        return max(0, default if count is None else count)

    def setting(self, *keys: str) -> int | None:
        """Return an integer of the configuration; ``{side}`` in a key is this tower's."""
        side = self.stack.side if self.stack else "decoder"
        return first_int(self.config, [key.format(side=side) for key in keys])


def find_architecture(index: Index, config: Mapping[str, Any], table: str | None) -> Architecture:
    """Find the position table of a checkpoint.

    Parameters
    ----------
    index
        The checkpoint's tensors.
    config
        ``config.json``, or empty.
    table
        A tensor to use as positions; or a side, such as "encoder", where a model has two; or None.

    Only names are used, and shapes only of possible tables, so that no further files of a sharded
    index are read.

    Raises
    ------
    NoPositionalEmbeddings
        The family stores none.
    UnknownArchitecture
        No known family fits.
    SourceError
        ``table`` names no usable tensor.
    """
    try:
        found, reason = _towers(index, config)
    except SourceError:  # of a configuration, which a chosen tensor does not need
        if table is None or table not in index:
            raise
        found, reason = [], ""
    sides = tuple(dict.fromkeys(tower.stack.side for tower in found if tower.stack is not None))
    if len(sides) > 1:
        found = [replace(tower, sides=sides) for tower in found]
    if table is not None:
        return _asked_for(index, config, found, table)
    if found:
        return found[0]
    if reason:
        raise NoPositionalEmbeddings(
            f"{config.get('model_type', 'This model')} stores no positional embeddings: {reason}.",
            INSTEAD,
        )
    options = candidates(index)
    if len(options) == 1 and not config.get("model_type"):
        return Architecture(None, None, "", options[0].name, config)
    raise _unknown(index, config, options)


def _asked_for(
    index: Index, config: Mapping[str, Any], found: list[Architecture], table: str
) -> Architecture:
    for tower in found:
        if table == tower.table or (tower.stack is not None and table == tower.stack.side):
            return tower
    if table not in index:
        raise SourceError(f"The checkpoint has no tensor {table!r}.", _offer(candidates(index)))
    info = index[table]
    if not _can_be_positions(info):
        raise SourceError(
            f"{table} cannot be a position table: expected a floating-point tensor of shape "
            f"(n_positions, d_model), got {info.dtype} {info.shape}.",
            _offer(candidates(index)),
        )
    return Architecture(None, None, "", table, config)


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


def table_shape(info: TensorInfo) -> tuple[int, ...]:
    """Return the shape as rows and columns, without a leading batch axis, as in vision models."""
    shape = info.shape
    if len(shape) == 4 and shape[0] == 1 and info.name.endswith(PICTURE):
        return (shape[1] * shape[2], shape[3])  # rows and columns of patches
    return shape[1:] if len(shape) == 3 and shape[0] == 1 else shape


def candidates(index: Index) -> tuple[TensorInfo, ...]:
    """Return all floating-point matrices: first those named like positions, then in file order."""

    def rank(info: TensorInfo) -> int:
        name = info.name.lower()
        return 0 if "pos" in name or "wpe" in name else 1 if "embed" in name else 2

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
        if why_no_table(index, config):
            return _without_table(index, config)
        return _guess(index, config), ""
    if kind in PARTS:
        return _parts(index, config, PARTS[kind])
    if kind in FAMILIES:
        if config.get("position_embedding_type") in ("rotary", "rope", "alibi"):
            return _without_table(index, config)
        towers = [_match(index, config, kind, stack) for stack in FAMILIES[kind]]
        return [tower for tower in towers if tower is not None], ""
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
    if reason == ALIBI or (reason in (RELATIVE, RELATIVE_IN_TWO) and index):
        if reason == ALIBI:
            found = [find_alibi(config)]
        else:
            find = find_lags if reason == RELATIVE else find_windows
            found = find(index, config)
        stacks = [replace(INSIDE, side=one.side, causal=one.side == "decoder") for one in found]
        towers = [
            Architecture(family, stack, "", one.tensor, config, lags=one, net=one.net)
            for stack, one in zip(stacks, found, strict=True)
        ]
        if reason == RELATIVE_IN_TWO and not towers:  # BEiT may have a table as ViT's instead
            tables = (_match(index, config, "vit", stack) for stack in FAMILIES["vit"])
            towers = [tower for tower in tables if tower is not None]
        return towers, "" if towers else reason
    if reason != ROTARY:
        return [], reason
    rotary = read_rotary(config)
    stack = replace(INSIDE, causal=rotary.causal)
    turned = None
    rows = HEADS if GGUF in config else (turned_stack(family).for_config(config),)
    for heads in rows if rotary.alike else ():
        suffix = heads.query.format(layer=0)
        if names := _ending(index, suffix):
            root = names[0].removesuffix(suffix)
            turned = Architecture(family, heads, root, "", config)
            break
    return [Architecture(family, stack, "", "", config, rotary=rotary, turned=turned)], ""


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
        for name in _ending(index, stack.positions, vision=stack.side == "vision"):
            return Architecture(family, stack, name.removesuffix(stack.positions), name, config)
    if stack.computed is None:
        return None
    for suffix in (stack.query.format(layer=0), *stack.tokens):
        for name in _ending(index, suffix):
            return Architecture(family, stack, name.removesuffix(suffix), "", config)
    return None


def _ending(index: Iterable[str], suffix: str, *, vision: bool = False) -> list[str]:
    """Return names that end in the suffix at a dot, shortest first.

    Without those of a vision tower, unless it is one.
    """
    names = [name for name in index if name == suffix or name.endswith(f".{suffix}")]
    return sorted((name for name in names if vision or "vision" not in name), key=len)


def _guess(index: Index, config: Mapping[str, Any]) -> list[Architecture]:
    """Without a ``model_type``, find the family whose names fit best."""
    scores = {kind: _score(index, config, kind) for kind in FAMILIES}
    best = max(scores, key=lambda kind: scores[kind])
    if scores[best] <= 0:
        return []
    towers = [_match(index, config, best, stack) for stack in FAMILIES[best]]
    note = f"No model_type in a config.json: assumed to be {best} from its tensor names."
    return [
        Architecture(t.family, t.stack, t.root, t.table, config, note)
        for t in towers
        if t is not None
    ]


def _score(index: Index, config: Mapping[str, Any], kind: str) -> float:
    place = _match(index, config, kind, FAMILIES[kind][0])
    if place is None or place.stack is None or not place.table:
        return 0
    stack = place.stack
    names = (*stack.tokens[:1], stack.query, stack.key, stack.out, stack.mlp_norm)
    found = sum(place.root + name.format(layer=0, group=0) in index for name in names if name)
    if not stack.layers_known or (not found and stack.positions == AMBIGUOUS):
        return 0  # the name of the table alone is that of many families
    score = 1.0 + found
    word = kind.replace("-", "").replace("_", "")
    score += 2 * any(word == part.replace("_", "") for part in place.root.split("."))
    # Tables with rows before position 0 have two rows more than a round number.
    shape = index[place.table].shape
    score += 0.5 * ((shape[0] % 8 == 2) == (place.row_of_position_0 == 2)) if shape else 0
    fused = index.get(place.root + stack.query.format(layer=0, group=0))
    if stack.fused and fused and len(fused.shape) == 2 and shape[1:] == fused.shape[:1]:
        score += 0.5 * (stack.conv1d and fused.shape[0] != fused.shape[1])
    return score
