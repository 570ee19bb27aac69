"""Make the guide's page of families from the tables that the app itself uses.

    python -m tools.make_families [FILE]

FILE is resources/guide/families.md unless another is named.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from geometry.models.families.left_out import BY_REASON
from geometry.models.families.model_types import FAMILIES, PARTS

PAGE = Path(__file__).parents[1] / "resources" / "guide" / "families.md"
INTRODUCTION = """\
# Families of models

Which `model_type` of transformers opens with its table of positions, and which is left out. A
model's `config.json` says which it is. Rotary models and others without a table, which open as
well, are in [Ways to know a position](schemes.md); for a model of any other kind, and for one that
is left out but has a table, every tensor that could be the table is offered.

`tools/make_families.py` generates this page from the tables of the app.
"""
OPENED = """\
## Opened with their layers

Table, token embeddings, and the matrices and norms of the layers are read.
"""
TABLES = """\
## Opened with their table alone

The table is read, and the token embeddings where they are added to it as they are stored; the
layers are arranged in another way, so that panels that need a layer do not apply.
"""
SEVERAL = """\
## Opened by their parts

The parts of these are families of their own: a text model with a tower for pictures, or one of
both. Models that read pictures with a rotary text model, such as LLaVA, are further ones.
"""
LEFT_OUT = """\
## Left out

Models of these types are refused, for the reason given.
"""


def families_page() -> str:
    """Return the page in Markdown."""
    whole = [kind for kind, rows in FAMILIES.items() if all(row.layers_known for row in rows)]
    alone = [kind for kind in FAMILIES if kind not in whole]
    parts = [INTRODUCTION, OPENED, _names(whole), TABLES, _names(alone), SEVERAL, _names(PARTS),
             LEFT_OUT]  # fmt: skip
    for reason, kinds in BY_REASON.items():
        parts += [f"### {reason[0].upper()}{reason[1:]}\n", _names(kinds)]
    return "\n".join(parts)


def _names(kinds: Iterable[str]) -> str:
    return textwrap.fill(", ".join(f"`{kind}`" for kind in sorted(kinds)), 100,
                         break_long_words=False, break_on_hyphens=False) + "\n"  # fmt: skip


if __name__ == "__main__":
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    page.write_text(families_page(), "utf-8")
