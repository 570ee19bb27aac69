"""Places of the window and its panels: plain values, and their validated form as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, convert

from gui.state.fields import as_json
from gui.state.values import Fields

Area = Literal["left", "right", "top", "bottom"]
Direction = Literal["row", "column"]
"""Side by side, or one above the other."""
WindowState = Literal["normal", "maximised", "full screen"]

LARGEST = 32_767
"""Maximum coordinate and size in pixels: that of X11, more than four of the widest screens."""
MAX_DOCKS = 200
"""Maximum number of docks in a layout: more than ten times the number of panels."""
DEEPEST = 8
"""Maximum depth of splits within splits; dragging creates two."""
_Coordinate = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
_Length = Annotated[int, Meta(ge=1, le=LARGEST)]
Rectangle: TypeAlias = tuple[_Coordinate, _Coordinate, _Length, _Length]
"""Left, top, width, height in logical pixels."""
Size: TypeAlias = tuple[_Length, _Length]
"""Width and height in logical pixels."""
DockName = Annotated[str, Meta(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class Tabs:
    """Docks that share a place.

    A ``size`` is along the split that the place is a part of; of the outermost of an area it is the
    area's width at the left and right, and its height at the top and bottom. 0 if unknown.
    """

    docks: tuple[str, ...]  # In the order of their tabs, at least one
    front: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """Places beside each other, at least one."""

    direction: Direction
    parts: tuple[Node, ...]
    size: int = 0  # As in Tabs


Node: TypeAlias = Tabs | Split


@dataclass(frozen=True, slots=True)
class Floating:
    """A dock in a separate window."""

    area: Area  # Where it was docked
    rectangle: Rectangle  # On the screen
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of docks, each named at most once; docks that it lacks have their first place."""

    areas: Mapping[Area, Node] = field(default_factory=dict)  # Docks that are not hidden
    hidden: Mapping[str, Area] = field(default_factory=dict)
    floating: Mapping[str, Floating] = field(default_factory=dict)
    window: Size | None = None  # The window for which the sizes are valid; None for any


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """Place, size and state of the window; the first two as it is when not maximised."""

    rectangle: Rectangle
    state: WindowState = "normal"


def docks_in(node: Node) -> Iterator[str]:
    """Iterate over the names of a node's docks."""
    if isinstance(node, Tabs):
        yield from node.docks
    else:
        for part in node.parts:
            yield from docks_in(part)


def along(area: Area) -> Direction:
    """Return the direction in which docks of an area initially follow each other."""
    return "column" if area in ("left", "right") else "row"


# ---- from rectangles to splits ----


def nested(placed: Sequence[tuple[Tabs, Rectangle]], direction: Direction) -> Node:
    """Return the splits that result in given rectangles.

    Parameters
    ----------
    placed
        At least one place, with its rectangle. Overlapping places count as beside each other.
    direction
        The preferred direction of the outermost split.

    Returns
    -------
    Node
        With the sizes of all parts; its own is that across the direction.
    """
    axis = 0 if direction == "column" else 1
    return replace(_nested(placed, direction), size=_extent(placed, axis))


def _extent(placed: Sequence[tuple[Tabs, Rectangle]], axis: int) -> int:
    start = min(rectangle[axis] for _, rectangle in placed)
    end = max(rectangle[axis] + rectangle[axis + 2] for _, rectangle in placed)
    return max(0, min(end - start, LARGEST))


def _nested(placed: Sequence[tuple[Tabs, Rectangle]], direction: Direction) -> Node:
    if len(placed) == 1:
        return placed[0][0]
    orthogonal: Direction = "row" if direction == "column" else "column"
    # Docks that do not fit overlap, but by less than half of one.
    for share in (1.0, 0.5):
        for candidate in (direction, orthogonal):
            strips = _strips(placed, candidate, share)
            if len(strips) > 1:
                return _split(strips, candidate)
    return _split([[place] for place in placed], direction)


def _split(strips: Sequence[Sequence[tuple[Tabs, Rectangle]]], direction: Direction) -> Split:
    axis = 1 if direction == "column" else 0
    orthogonal: Direction = "row" if direction == "column" else "column"
    parts: list[Node] = []
    for strip in strips:
        part = _nested(strip, orthogonal)
        if isinstance(part, Split) and part.direction == direction:
            parts += part.parts
        else:
            parts.append(replace(part, size=_extent(strip, axis)))
    return Split(direction, tuple(parts))


def _strips(
    placed: Sequence[tuple[Tabs, Rectangle]], direction: Direction, share: float
) -> list[list[tuple[Tabs, Rectangle]]]:
    """Return the rectangles between straight cuts through all; ``share`` of each is not cut."""
    axis = 1 if direction == "column" else 0
    strips: list[list[tuple[Tabs, Rectangle]]] = []
    end = 0.0
    for tabs, rectangle in sorted(placed, key=lambda place: place[1][axis]):
        if not strips or rectangle[axis] >= end:
            strips.append([])
            end = rectangle[axis]
        strips[-1].append((tabs, rectangle))
        end = max(end, rectangle[axis] + share * rectangle[axis + 2])
    return strips


# ---- windows of other sizes ----


def in_window(layout: Layout, window: Size, narrow: Collection[str]) -> Layout:
    """Return a layout whose places have the same shares of another window.

    Parameters
    ----------
    window
        The window's size.
    narrow
        Docks whose columns have the same width in any window.
    """
    if layout.window is None or layout.window == window:
        return replace(layout, window=window)
    before = layout.window
    across, down = (new / old for new, old in zip(window, before, strict=True))

    def scaled(node: Node, direction: Direction) -> Node:
        stays = direction == "row" and all(name in narrow for name in docks_in(node))
        factor = 1.0 if stays else across if direction == "row" else down
        size = min(round(factor * node.size), LARGEST)
        if isinstance(node, Tabs):
            return replace(node, size=size)
        return replace(
            node, size=size, parts=tuple(scaled(part, node.direction) for part in node.parts)
        )

    areas = {
        area: scaled(node, "row" if along(area) == "column" else "column")
        for area, node in layout.areas.items()
    }
    return replace(layout, areas=areas, window=window)


# ---- docks that only the layout or only the window has ----


def settled(layout: Layout, homes: Mapping[str, Area], tabbed: Iterable[Area]) -> Layout:
    """Return a layout whose areas have exactly the given docks.

    Parameters
    ----------
    homes
        The first area of each dock, in the order in which they follow each other.
    tabbed
        Areas whose docks are tabs of each other, wherever they have been moved; an additional dock
        in such an area is a tab as well. Any other is beside its neighbour.
    """
    areas = {area: kept for area, node in layout.areas.items() if (kept := _only(node, homes))}
    there = {name for node in areas.values() for name in docks_in(node)}
    order, tabbed = list(homes), frozenset(tabbed)
    for name in order:
        if name in there:
            continue
        floats = layout.floating.get(name)
        area = floats.area if floats is not None else layout.hidden.get(name, homes[name])
        node = areas.get(area)
        if node is None:
            areas[area] = Tabs((name,), name)
            continue
        peers = [dock for dock in docks_in(node) if area in tabbed or homes[dock] in tabbed]
        if peers and (area in tabbed or homes[name] in tabbed):
            areas[area] = _as_tab(node, name, peers, order)
        else:
            areas[area] = _beside(node, name, order, along(area))
    return Layout(
        areas,
        {name: area for name, area in layout.hidden.items() if name in homes},
        {name: place for name, place in layout.floating.items() if name in homes},
        layout.window,
    )


def _only(node: Node, names: Mapping[str, Area]) -> Node | None:
    """Return a node with some of its docks."""
    if isinstance(node, Tabs):
        docks = tuple(name for name in node.docks if name in names)
        front = node.front if node.front in docks else "".join(docks[:1])
        return Tabs(docks, front, node.size) if docks else None
    parts = tuple(kept for part in node.parts if (kept := _only(part, names)) is not None)
    return replace(node, parts=parts) if parts else None


def _neighbour(docks: Iterable[str], name: str, order: Sequence[str]) -> tuple[str, int]:
    """Return a dock's neighbour: the last one before it, 1, or the first one after it, 0."""
    there = sorted(docks, key=order.index)
    before = [dock for dock in there if order.index(dock) < order.index(name)]
    return (before[-1], 1) if before else (there[0], 0)


def _as_tab(node: Node, name: str, peers: Iterable[str], order: Sequence[str]) -> Node:
    neighbour, after = _neighbour(peers, name, order)

    def insert(part: Node) -> Node:
        if isinstance(part, Split):
            return replace(part, parts=tuple(map(insert, part.parts)))
        if neighbour not in part.docks:
            return part
        at = part.docks.index(neighbour) + after
        return replace(part, docks=(*part.docks[:at], name, *part.docks[at:]))

    return insert(node)


def _beside(node: Node, name: str, order: Sequence[str], direction: Direction) -> Node:
    if isinstance(node, Tabs) or node.direction != direction:
        node = Split(direction, (replace(node, size=0),), node.size)
    neighbour, after = _neighbour(docks_in(node), name, order)
    index = next(n for n, part in enumerate(node.parts) if neighbour in docks_in(part))
    at = index + after
    return replace(node, parts=(*node.parts[:at], Tabs((name,), name), *node.parts[at:]))


# ---- JSON ----


def pack_layout(layout: Layout) -> Fields:
    """Return a layout as a JSON object."""
    window = {} if layout.window is None else {"window": list(layout.window)}
    return {
        **window,
        **{area: _pack(node) for area, node in layout.areas.items()},
        "hidden": dict(layout.hidden),
        "floating": {name: as_json(place) for name, place in layout.floating.items()},
    }


def _pack(node: Node) -> Fields:
    if isinstance(node, Tabs):
        return {"tabs": list(node.docks), "front": node.front, "size": node.size}
    return {node.direction: [_pack(part) for part in node.parts], "size": node.size}


def unpack_layout(value: object) -> Layout:
    """Return the layout in a JSON object.

    Raises ValueError: it does not have the form that :func:`pack_layout` writes.
    """
    nodes, others = convert(value, Fields), convert(value, _OtherPlaces)
    areas = {area: _node(nodes[area], 0) for area in get_args(Area) if area in nodes}
    names = [name for node in areas.values() for name in docks_in(node)]
    names += [*others.hidden, *others.floating]
    if len(names) > MAX_DOCKS or len(names) != len(set(names)):
        raise ValueError("a dock has two places, or there are too many docks")
    return Layout(areas, others.hidden, others.floating, others.window)


@dataclass(frozen=True, slots=True)
class _OtherPlaces:
    """What is not an area of a :class:`Layout` in JSON."""

    hidden: Mapping[DockName, Area] = field(default_factory=dict)
    floating: Mapping[DockName, Floating] = field(default_factory=dict)
    window: Size | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A node in JSON: tabs, or the parts of a row or a column."""

    size: Annotated[int, Meta(ge=0, le=LARGEST)]
    tabs: tuple[DockName, ...] = ()
    front: str = ""
    row: tuple[object, ...] = ()
    column: tuple[object, ...] = ()


def _node(value: object, depth: int) -> Node:
    if depth > DEEPEST:
        raise ValueError("places are too deep")
    place = convert(value, _Place)
    match place:
        case _Place(tabs=docks, row=(), column=()) if place.front in docks:
            return Tabs(docks, place.front, place.size)
        case _Place(tabs=(), row=parts, column=()) if parts:
            direction: Direction = "row"
        case _Place(tabs=(), row=(), column=parts) if parts:
            direction = "column"
        case _:
            raise ValueError("a place is neither tabs nor a split")
    return Split(direction, tuple(_node(part, depth + 1) for part in parts), place.size)
