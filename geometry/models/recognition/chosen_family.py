"""The towers of a checkpoint read as a family that was chosen, whatever a configuration says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from geometry.models.families.code_families import CODES
from geometry.models.families.model_types import FAMILIES
from geometry.models.families.stack import Stack, in_layer
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.gguf_settings import GGUF
from geometry.models.recognition.names_and_shapes import (
    Index,
    Match,
    endings,
    match_at,
    rows_and_width,
)
from geometry.models.recognition.towers import readings_of, towers_of


def stacks_of(kind: str) -> tuple[Stack, ...]:
    """Return the rows of a family, of transformers and of other codes; () without a table."""
    return (*FAMILIES.get(kind, ()), *CODES.get(kind, ()))


def towers_of_family(
    index: Index, config: Mapping[str, Any], kind: str
) -> tuple[list[Architecture], str]:
    """Return the towers of a chosen family by its own names, and the reason if there are none.

    As :func:`geometry.models.recognition.towers.towers_of`.
    """
    if config.get("model_type") == kind or GGUF in config or not stacks_of(kind):
        towers, reason = towers_of(index, {**config, "model_type": kind})
        note = _contradiction(config, kind)
        return [replace(tower, notes=(*tower.notes, *note)) for tower in towers], reason
    towers = []
    for row in stacks_of(kind):
        fits = [
            match_at(index, kind, stack, name, name.removesuffix(stack.positions))
            for stack in _variants(row, config)
            for name in endings(index, stack.positions, vision=stack.side == "vision")
        ]
        if fits:
            towers.append(_place(index, config, max(fits, key=attrgetter("score"))))
    return towers, ""


def tower_with_table(
    index: Index, config: Mapping[str, Any], kind: str, table: str
) -> Architecture | None:
    """Return the tower of a chosen family with a table of another name; None if it has none.

    Its layers and tokens are those of the family's names, if there are such.
    """
    fits = [
        match_at(index, kind, stack, table, _root(index, stack))
        for row in stacks_of(kind)
        for stack in _variants(row, config)
    ]
    return _place(index, config, max(fits, key=attrgetter("score"))) if fits else None


def _variants(row: Stack, config: Mapping[str, Any]) -> tuple[Stack, ...]:
    """Return a row and its variants that no setting excludes."""
    others = (stack for setting, _, stack in row.variants if setting not in config)
    return (row.for_config(config), *others)


def _root(index: Index, stack: Stack) -> str:
    for suffix in filter(None, (in_layer(stack.query, 0), *stack.tokens)):
        if names := endings(index, suffix, vision=stack.side == "vision"):
            return names[0].removesuffix(suffix)
    return ""


def _place(index: Index, config: Mapping[str, Any], match: Match) -> Architecture:
    """Return the location of a table; with several readings if its first rows are uncertain."""
    own, stack = config.get("model_type"), match.stack
    settings = config if own in (None, match.kind) else {**config, "model_type": match.kind}
    note = _note(config, match.kind, stack)
    place = Architecture(match.kind, stack, match.root, match.table, settings, (note,))
    readings = {one.row_of_position_0: one for one in reversed([*_readings(place, index, own)])}
    if stack.patches and len(readings) > 1:
        n_rows, _ = rows_and_width(index[match.table])
        usual = readings.get(place.row_of_position_0)
        if usual is not None and usual.grid(n_rows - place.row_of_position_0) is not None:
            return usual
    places = tuple(reversed(readings.values()))
    return replace(places[0], readings=places) if len(places) > 1 else places[0]


def _readings(place: Architecture, index: Index, own: object) -> Iterator[Architecture]:
    stack = place.stack
    assert stack is not None
    if stack.row_of_position_0 is None and stack.rows_before is None:
        usual = replace(place, config={**place.config, "pad_token_id": stack.padding})
        if own in (None, place.family) and "pad_token_id" in place.config:
            usual = place
        yield usual
        if own is not None:  # the padding of another family, which need not be that of this one
            yield place
    elif stack.rows_after is not None and not stack.marks:
        yield place
    else:
        yield from readings_of(place, index)


def _contradiction(config: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return a sentence about a configuration that names another family."""
    own = config.get("model_type")
    if own in (None, "", kind):
        return ()
    return (f"Read as {kind}, as chosen, though the configuration says {own!r}.",)


def _note(config: Mapping[str, Any], kind: str, stack: Stack) -> str:
    """Return a sentence about the family, and settings that are not in the configuration."""
    assumed = [key for key in dict.fromkeys(stack.settings) if key not in config]
    usual = f"; usual settings assumed: {', '.join(assumed)}" if assumed else ""
    against = _contradiction(config, kind)
    return f"{against[0].removesuffix('.') if against else f'Read as {kind}, as chosen'}{usual}."
