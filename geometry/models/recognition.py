"""The family of a checkpoint without a ``model_type``, by the names and shapes of its tensors.

Many families have the same names. Where their tables would be read differently, all readings are
returned, and what decides is the table's own numbers or the user.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.stores import TensorInfo
from geometry.models.code_families import CODES
from geometry.models.families import FAMILIES
from geometry.models.stack import Stack, only_table

Index = Mapping[str, TensorInfo]

#: The name of XLM's table, with which those of many families end.
AMBIGUOUS = "position_embeddings.weight"

#: Words in the names of a checkpoint that holds several copies of its weights, best first; averages
#: and the states of optimizers come after names without such a word.
COPIES = ("model", "state_dict", "module", "net", "network", "student", "online")
AVERAGES = ("ema", "swa", "average", "averaged", "avg", "shadow", "momentum", "teacher", "target",
            "optimizer", "old")  # fmt: skip

#: Names of the tokens that stand before the patches of a picture.
_CLASS = re.compile(
    r"(cls|class|dist|distill|distillation|reg|register)_?(tokens?|embeddings?|pos)?", re.IGNORECASE
)
_NOT_NAMED = "the names of its layers are those of no known family"

#: What a mark that no other family has counts, or a missing mark, among names that many have.
_MARK = 10.0
_ALL: Mapping[str, tuple[Stack, ...]] = MappingProxyType({**FAMILIES, **CODES})
_TABLES = tuple({row.positions for rows in _ALL.values() for row in rows if row.positions})


@dataclass(frozen=True, slots=True)
class Match:
    """A row of the family table, and the table of positions that it fits.

    Attributes
    ----------
    kind
        The family.
    stack
        Its row.
    table
        The tensor of positions; "" where it is computed.
    root
        What stands before the names of the row.
    found
        How many other tensors of the row are there.
    score
        The same, less the marks that are not, and with what shapes tell.
    """

    kind: str
    stack: Stack
    table: str
    root: str
    found: int
    score: float


def endings(index: Iterable[str], suffix: str, *, vision: bool = False) -> list[str]:
    """Return names that end in the suffix at a dot, those of the best copy first.

    Without those of a vision tower, unless it is one.
    """
    names = [name for name in index if name == suffix or name.endswith(f".{suffix}")]
    return sorted((name for name in names if vision or "vision" not in name), key=_preference)


def _preference(name: str) -> tuple[int, tuple[int, ...], int]:
    """Return what names of copies of a tensor are sorted by.

    The model before its averages; of copies with numbers, such as those of steps, the last.
    """
    words = re.split(r"[._]", name.lower())
    if average := [AVERAGES.index(word) for word in words if word in AVERAGES]:
        rank = len(COPIES) + 1 + min(average)
    else:
        rank = next((COPIES.index(word) for word in words if word in COPIES), len(COPIES))
    return rank, tuple(-int(word) for word in re.findall(r"\d{1,15}", name)), len(name)


def recognise(
    index: Index, config: Mapping[str, Any], table: str | None = None
) -> list[list[list[Match]]]:
    """Find the families that fit best.

    Parameters
    ----------
    index
        The checkpoint's tensors.
    config
        Settings that decide between variants of a family, if there are any.
    table
        The only tensor to consider as positions; None for all.

    Returns
    -------
    The sides of the model, text or decoder first; of each, the families that fit equally well, and
    of each of these its stacks. Empty if none fits.
    """
    sides: list[list[list[Match]]] = []
    names = tuple(index) if table is None else (table,)
    names = tuple(name for name in names if name.endswith(_TABLES))
    while families := _best(index, config, names, frozenset(_sides_of(sides))):
        sides.append(families)
        taken = {match.table for family in families for match in family}
        names = tuple(name for name in names if name not in taken)
    return sorted(sides, key=lambda families: families[0][0].stack.patches)


def _sides_of(sides: list[list[list[Match]]]) -> Iterator[str]:
    for families in sides:
        yield from (match.stack.side for family in families for match in family)


def _best(
    index: Index, config: Mapping[str, Any], names: tuple[str, ...], sides: frozenset[str]
) -> list[list[Match]]:
    """Return the families that fit these tables best, of sides that are not there yet."""
    scored: list[tuple[float, list[Match]]] = []
    for kind, rows in _ALL.items():
        fits = [_match(index, config, kind, row, names) for row in rows]
        family = [fit for fit in fits if fit is not None]
        if not family or sides & {match.stack.side for match in family}:
            continue
        if sides and max(match.found for match in family) < 2:
            continue  # a second part of the model is more than a name
        score = sum(match.score for match in family) - 0.5 * (len(rows) - len(family))
        scored.append((score + 2 * _is_named(kind, family[0].root, config), family))
    best = max((score for score, _ in scored), default=0)
    return [family for score, family in scored if score == best]


def _is_named(kind: str, root: str, config: Mapping[str, Any]) -> bool:
    """Return whether the root, or the class in a configuration, is that of the family."""
    word = _word(kind)
    classes = config.get("architectures")
    first = classes[0] if isinstance(classes, list) and classes else ""
    if isinstance(first, str) and first:
        longest = max((k for k in _ALL if _word(first).startswith(_word(k))), key=len, default="")
        return longest == kind
    return any(word == _word(part) for part in root.split("."))


def _word(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


def _match(
    index: Index, config: Mapping[str, Any], kind: str, row: Stack, names: tuple[str, ...]
) -> Match | None:
    """Return the best fit of a row, or of its variants that no setting excludes."""
    variants = [stack for setting, _, stack in row.variants if setting not in config]
    fits = [_fit(index, kind, stack, names) for stack in (row.for_config(config), *variants)]
    return max(filter(None, fits), key=lambda fit: fit.score, default=None)


def _fit(index: Index, kind: str, stack: Stack, names: tuple[str, ...]) -> Match | None:
    if not stack.positions or not (stack.layers_known or stack.marks):
        return None
    tables = endings(names, stack.positions, vision=stack.side == "vision")
    fits = [_scored(index, kind, stack, name) for name in tables]
    # Of equally good ones the first, see endings.
    return max(filter(None, fits), key=lambda fit: fit.score, default=None)


def _scored(index: Index, kind: str, stack: Stack, name: str) -> Match | None:
    root = name.removesuffix(stack.positions)
    found = sum(_has(index, root, suffix) for suffix in stack.suffixes)
    if stack.layers_known and not _has(index, root, stack.query.format(layer=0, group=0)):
        # Its layers are of another kind, or not there.
        tokens = tuple(suffix for suffix in stack.tokens if _has(index, root, suffix))
        found, stack = 0, only_table(stack, tokens=tokens, no_tokens=_NOT_NAMED)
    if not found and (kind in CODES or stack.positions == AMBIGUOUS or stack.rows_after):
        return None
    score = 1.0 + found
    if found:
        score += _fused_score(index, stack, root, name)
        for mark in stack.marks:
            if not _has(index, root, mark):
                score -= _MARK
            elif mark.startswith("*"):
                score += _MARK
    return Match(kind, stack, name, root, found, score)


def _has(index: Index, root: str, suffix: str) -> bool:
    """Return whether there is such a tensor; with a star anywhere, and not only below the root."""
    if suffix.startswith("*"):
        return any(name.endswith(suffix[1:]) for name in index)
    return root + suffix in index


def _fused_score(index: Index, stack: Stack, root: str, table: str) -> float:
    """Return whether the matrix that holds W_Q, W_K and W_V has the shape of the row's."""
    fused = index.get(root + stack.query.format(layer=0, group=0)) if stack.fused else None
    width = table_shape(index[table])[1:]
    if fused is None or len(fused.shape) != 2 or width not in (fused.shape[:1], fused.shape[1:]):
        return 0.0
    three = max(fused.shape) == 3 * min(fused.shape)
    if not stack.conv1d and fused.shape[0] < fused.shape[1]:
        return -2.0
    return 0.5 if three is not (stack.fused == "multi-query") else -2.0


def table_shape(info: TensorInfo) -> tuple[int, ...]:
    """Return the shape as rows and columns, without an axis for a batch.

    (1, n, d) and (n, 1, d) are (n, d); (1, rows, columns, d), as SAM has it, (rows · columns, d).
    """
    shape = info.shape
    if len(shape) == 4 and shape[0] == 1 and info.name.endswith(PICTURE):
        return (shape[1] * shape[2], shape[3])
    if len(shape) == 3 and 1 in shape[:2]:
        return (shape[0] * shape[1], shape[2])
    return shape


#: The name of a table that has rows and columns of patches as two axes, as in SAM.
PICTURE = "pos_embed"


def class_rows(index: Index, table: str) -> tuple[int, ...]:
    """Return how many of a table's first rows may be those of class tokens.

    By the class tokens that stand beside it, and the number of patches, which is a square. One
    number where that is certain; (0,) where there are no such tokens.
    """
    shape = table_shape(index[table])
    most = sum(math.prod(index[name].shape) // shape[1] for name in _class_tokens(index, table))
    if not most:
        return (0,)
    square = [n for n in range(most + 1) if math.isqrt(shape[0] - n) ** 2 == shape[0] - n]
    return tuple(square) if len(square) == 1 else tuple(range(most + 1))


def _class_tokens(index: Index, table: str) -> Iterator[str]:
    root = table.removesuffix(".weight").rpartition(".")[0]
    width = table_shape(index[table])[1]
    for name in index:
        place, _, last = name.rpartition(".")
        if place == root and _CLASS.fullmatch(last):
            shape = index[name].shape
            if shape and shape[-1] == width and math.prod(shape[:-1]) <= 64:
                yield name
