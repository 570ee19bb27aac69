"""Items of the command palette, and their search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gui.style.theme import format_count


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the command palette."""

    title: str  # Title, as in a menu
    kind: str  # Category: a menu, the panels, the models
    run: Callable[[], object]
    key: str = ""  # Its shortcut; "" for none


def matching(items: Iterable[Item], text: str) -> list[Item]:
    """Return the items with all words of a text, best matches first.

    A word counts most at the beginning of the title, then at the beginning of one of its words,
    then anywhere in it, and least in the kind. Case is ignored.
    """
    words = text.lower().split()
    found = []
    for item in items:
        scores = [_score(item, word) for word in words]
        if None not in scores:
            found.append((sum(score or 0 for score in scores), item))
    return [item for _, item in sorted(found, key=lambda scored: scored[0])]


def _score(item: Item, word: str) -> int | None:
    title, kind = item.title.lower(), item.kind.lower()
    if title.startswith(word):
        return 0
    if any(part.startswith(word) for part in re.split(r"\W+", title)):
        return 1
    if word in title:
        return 2
    return 3 if word in kind else None


def positions_meant(
    text: str,
    n_positions: int,
    select: Callable[[tuple[int, ...]], None],
    show: Callable[[int, int], None],
) -> list[Item]:
    """Return items for a typed number, or a range, of positions."""
    meant = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-\N{EN DASH}]\s*(\d{1,9})\s*)?", text)
    if meant is None:
        return []
    first, last = int(meant[1]), int(meant[2] or meant[1])
    if not first <= last < n_positions:
        return []
    if meant[2] is None:
        name = format_count(first)
        return [Item(f"Go to position {name}", "Positions", lambda: select((first,)))]
    span = f"{format_count(first)}\N{EN DASH}{format_count(last)}"
    return [Item(f"Show positions {span}", "Positions", lambda: show(first, last))]
