"""The family of a checkpoint without a ``model_type``, by the names and shapes of its tensors.

Many families have the same names. If their tables would be read differently, all readings are
returned, and the table's own numbers or the user decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import itemgetter
from typing import Any

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import TensorInfo
from geometry.models.families.code_families import CODES
from geometry.models.families.model_types import FAMILIES
from geometry.models.families.names import names_in
from geometry.models.families.stack import Stack, in_layer, only_table

Index = Mapping[str, TensorInfo]

AMBIGUOUS = "position_embeddings.weight"
"""The name of XLM's table, with which the names of many families end."""

COPIES = ("model", "state_dict", "module", "net", "network", "student", "online")
"""Words in the names of a checkpoint with several copies of its weights, best first; averages and
the states of optimizers come after names without such a word."""
AVERAGES = names_in("""
    ema swa average averaged avg shadow momentum teacher target ref reference init initial old
    optimizer grad grads gradients m v
""")

_SIDE = re.compile(r"\.(en|de)coder\.[^.]+(\.weight)?$")
"""The word for a side directly before the name of a table."""

_VISION = re.compile(r"(^|[._])vision")
"""The word for pictures in a name."""

MAX_CLASS_ROWS = 64
"""Maximum class tokens and registers of a model."""
_REGISTER = re.compile(r"reg(ister)?_?(tokens?|embeddings?)?$", re.IGNORECASE)

_CLASS = re.compile(
    r"(cls|class|dist|distill|distillation|reg|register)_?(tokens?|embeddings?|pos)?", re.IGNORECASE
)
"""Names of the tokens before the patches of a picture."""
_NOT_NAMED = "the names of its layers are those of no known family"

_MARK = 10.0
"""Score of a mark that no other family has, and minus that of a missing mark."""


def _alone(row: Stack) -> Stack:
    """Return the row of a tower that is saved alone, without the word for its side."""
    side = f"{row.positions.partition('.')[0]}."
    changes: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, str):
            changes[field.name] = value.removeprefix(side)
        elif field.name in ("tokens", "marks"):
            changes[field.name] = tuple(text.removeprefix(side) for text in value)
    return replace(row, **changes)


@cache
def _all() -> Mapping[str, tuple[Stack, ...]]:
    """Return all families, also those of plugins, which are imported at the first call."""
    return {**FAMILIES, **CODES}


@cache
def _saved_alone() -> list[tuple[str, tuple[Stack, ...]]]:
    """Return towers of families with two, without the word for their side in their names."""
    return [
        (kind, (_alone(row),))
        for kind, rows in _all().items()
        for row in rows
        if row.positions.startswith(("decoder.", "encoder."))
    ]


@cache
def _tables() -> tuple[str, ...]:
    families = (*_all().items(), *_saved_alone())
    return tuple({row.positions for _, rows in families for row in rows if row.positions})


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
        The tensor of positions; "" if it is computed.
    root
        Prefix of the names of the row.
    n_present
        Number of other tensors of the row that are present.
    score
        The same, minus the missing marks, and adjusted by the shape of the fused matrix.
    """

    kind: str
    stack: Stack
    table: str
    root: str
    n_present: int
    score: float


def endings(index: Iterable[str], suffix: str, *, vision: bool = False) -> list[str]:
    """Return names that end in the suffix after a dot or slash, those of the best copy first.

    Names of a vision tower are included only if ``vision``.
    """
    ends = (f".{suffix}", f"/{suffix}")
    names = [name for name in index if name == suffix or name.endswith(ends)]
    return sorted((name for name in names if vision or not _VISION.search(name)), key=_preference)


def _preference(name: str) -> tuple[int, tuple[int, ...], int]:
    """Return the sort key of names of copies of a tensor.

    The model comes before its averages; of numbered copies, such as steps, the last comes first.
    """
    words = re.split(r"[._]+|(?<=\bema)(?=[a-z])", name.lower().replace("_", "."))
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
        Settings that decide between variants of a family; may be empty.
    table
        The only tensor to consider as positions; None for all.

    Returns
    -------
    list
        The sides of the model, text or decoder first; for each, the families that fit equally well,
        and for each of these its stacks. Empty if none fits.
    """
    sides: list[list[list[Match]]] = []
    names = tuple(index) if table is None else (table,)
    names = tuple(name for name in names if name.endswith(_tables()))
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
    """Return the families that fit these tables best, for sides not in ``sides``."""
    scored: list[tuple[float, int, list[Match]]] = []
    towers = tuple(name for name in names if not _SIDE.search(f".{name}"))
    for kind, rows, own in (
        *((*item, names) for item in _all().items()),
        *((*item, towers) for item in _saved_alone()),
    ):
        fits = [_match(index, config, kind, row, own) for row in rows]
        family = [fit for fit in fits if fit is not None]
        family = [fit for fit in family if fit.score > 0] or family  # not without their marks
        if not family or sides & {match.stack.side for match in family}:
            continue
        if sides and max(match.n_present for match in family) < 2:
            continue  # a second part of the model needs more than a name
        score = sum(match.score for match in family)
        score += 2 * _is_named(kind, family[0].root, config)
        scored.append((score, len(rows) - len(family), family))
    best = max((score for score, _, _ in scored), default=0)
    # Among equally good families, those with all of their towers come first.
    equal = [family for score, _, family in sorted(scored, key=itemgetter(1)) if score == best]
    tables = {match.table for match in equal[0]} if equal else set()
    return [family for family in equal if any(match.table in tables for match in family)]


def _is_named(kind: str, root: str, config: Mapping[str, Any]) -> bool:
    """Return whether the root, or the class in a configuration, is that of the family."""
    word = _word(kind)
    classes = config.get("architectures")
    first = classes[0] if isinstance(classes, list) and classes else ""
    if isinstance(first, str) and first:
        longest = max((k for k in _all() if _word(first).startswith(_word(k))), key=len, default="")
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
    fits = [
        _scored(index, kind, stack, name) for name in tables if len(table_shape(index[name])) == 2
    ]
    # Among equally good fits the first, see endings.
    return max(filter(None, fits), key=lambda fit: fit.score, default=None)


def _scored(index: Index, kind: str, stack: Stack, name: str) -> Match | None:
    match = match_at(index, kind, stack, name, name.removesuffix(stack.positions))
    named_alike = (
        kind in CODES
        or not stack.layers_known
        or stack.positions == AMBIGUOUS
        or match.stack.rows_after
    )
    return None if named_alike and not match.n_present else match


def match_at(index: Index, kind: str, stack: Stack, name: str, root: str) -> Match:
    """Return how well a row fits the tensors below a root, without its layers if these differ."""
    n_present = sum(_has(index, root, suffix) for suffix in stack.suffixes)
    if stack.layers_known and not _has(index, root, in_layer(stack.query, 0)):
        # Its layers are of another kind, or missing.
        tokens = tuple(suffix for suffix in stack.tokens if _has(index, root, suffix))
        n_present, stack = 0, only_table(stack, tokens=tokens, no_tokens=_NOT_NAMED)
    score = 1.0 + n_present
    if n_present:
        score += _fused_score(index, stack, root, name)
        for mark in stack.marks:
            if mark.startswith("!"):
                score -= _MARK * _has(index, root, mark[1:])
            elif not _has(index, root, mark):
                score -= _MARK
            elif mark.startswith("*"):
                score += _MARK
    return Match(kind, stack, name, root, n_present, score)


def _has(index: Index, root: str, suffix: str) -> bool:
    """Return whether there is such a tensor: below the root, or anywhere with a leading star."""
    if suffix.startswith("*"):
        return any(name.endswith(suffix[1:]) for name in index)
    return root + suffix in index


def _fused_score(index: Index, stack: Stack, root: str, table: str) -> float:
    """Return the score of the shape of the fused matrix of W_Q, W_K and W_V."""
    fused = index.get(root + in_layer(stack.query, 0)) if stack.fused else None
    width = table_shape(index[table])[1:]
    if fused is None or len(fused.shape) != 2 or width not in (fused.shape[:1], fused.shape[1:]):
        return 0.0
    three = max(fused.shape) == 3 * min(fused.shape)
    if not stack.conv1d and fused.shape[0] < fused.shape[1]:
        return -2.0
    return 0.5 if three is not (stack.fused == "multi-query") else -2.0


def table_shape(info: TensorInfo) -> tuple[int, ...]:
    """Return the shape as rows and columns, without a batch axis.

    (1, n, d) and (n, 1, d) are (n, d); (1, rows, columns, d), as in SAM, (rows · columns, d).
    SAM 2 has (1, d, rows, columns), which is not a table of rows.
    """
    shape = info.shape
    by_patch = len(shape) == 4 and shape[0] == 1 and shape[3] > max(shape[1:3])
    if by_patch and info.name.endswith(PICTURE):
        return (shape[1] * shape[2], shape[3])
    if len(shape) == 3 and 1 in shape[:2]:
        return (shape[0] * shape[1], shape[2])
    return shape


def rows_and_width(info: TensorInfo) -> tuple[int, int]:
    """Return a table's rows and columns. Raises SourceError if it is not a table."""
    shape = table_shape(info)
    if len(shape) != 2:
        raise SourceError(
            f"{info.name} should have shape (n_positions, d_model), got {info.shape}.",
            "Download or copy the checkpoint again.",
        )
    return shape[0], shape[1]


PICTURE = "pos_embed"
"""The name of a table with rows and columns of patches as two axes, as in SAM."""


def class_rows(index: Index, table: str, patches: int | None = None) -> tuple[int, ...]:
    """Return the possible numbers of rows of class tokens at the beginning of a table.

    Parameters
    ----------
    index, table
        The checkpoint's tensors, and that of positions.
    patches
        The number of patches, if a configuration gives it.

    Returns
    -------
    tuple of int
        A single number if it is certain: the rows in excess of the patches; or the class tokens
        beside the table, if the other rows are a square; or 0, if all rows are a square and there
        are no tokens. Otherwise, all possible numbers.
    """
    n_rows, _ = rows_and_width(index[table])
    if len(index[table].shape) == 4:  # rows and columns of patches are axes of their own
        return (0,)
    if patches is not None and 0 <= n_rows - patches <= MAX_CLASS_ROWS:
        return (n_rows - patches,)
    tokens = list(_class_tokens(index, table))
    own = sum(count for name, count in tokens if not _REGISTER.search(name))
    if _is_square(n_rows - own) and (own or not tokens):
        return (own,)
    highest = min(max(1, sum(count for _, count in tokens)), n_rows - 1)
    return tuple(range(highest + 1)) or (0,)


def _is_square(n: int) -> bool:
    return n > 0 and math.isqrt(n) ** 2 == n


def _class_tokens(index: Index, table: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens beside a table or its tower, with their numbers of rows."""
    root = table.removesuffix(".weight").rpartition(".")[0]
    places = (root, root.rpartition(".")[0])
    _, width = rows_and_width(index[table])
    for name in index:
        place, _, last = name.rpartition(".")
        if place in places and _CLASS.fullmatch(last):
            shape = index[name].shape
            if shape and shape[-1] == width and math.prod(shape[:-1]) <= MAX_CLASS_ROWS:
                yield name, math.prod(shape[:-1])


def of_pictures(names: Iterable[str]) -> bool:
    """Return whether there are class tokens, or convolutions, which create patches."""
    parts = (name.removesuffix(".weight").rpartition(".")[2] for name in names)
    return any("patch" in part or "conv" in part or _CLASS.fullmatch(part) for part in parts)
