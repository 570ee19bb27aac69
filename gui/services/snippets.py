"""Python code for "Copy as Python"."""

from __future__ import annotations

import ast
from textwrap import fill, indent
from types import ModuleType

import geometry
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject

IMPORTS = {
    "replace": "from dataclasses import replace",
    "np": "import numpy as np",
    "inf": "from numpy import inf",
    "nan": "from numpy import nan",
}
"""Of names that are none of ``geometry``."""
WIDTH = 88
"""Letters in a line."""


def python_script(
    lines: str, model: PositionalModel | None = None, drawing: ModuleType | None = None
) -> str:
    """Return a script of some lines, with the imports of what they use before them.

    Parameters
    ----------
    lines
        They may use all public names of ``geometry``, and those in :data:`IMPORTS`.
    model
        Opened as ``model`` before; None for none.
    drawing
        A module whose public names the lines may use as well.
    """
    lines = ("" if model is None else opening(model)) + lines.strip() + "\n"
    names = [node for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Name)]
    used = {name.id for name in names} - {n.id for n in names if isinstance(n.ctx, ast.Store)}
    imports = [line for name, line in IMPORTS.items() if name in used]
    for module in (geometry, *([] if drawing is None else [drawing])):
        public = ", ".join(sorted(used & {*module.__all__}))
        line = f"from {module.__name__} import "
        if len(line + public) > WIDTH:
            public = f"(\n{indent(fill(public, WIDTH - 4), '    ')},\n)"
        imports += [line + public] if public else []
    return "\n".join([*imports, "", lines])


def opening(model: PositionalModel) -> str:
    """Return the line that opens a model as ``model``, with its end."""
    return f"model = {opened(model)}  # {model.name}\n"


def opened(model: PositionalModel) -> str:
    """Return the ``open_model`` call that opens the same model."""
    source = model.source if model.commit is None else model.source.at_commit(model.commit)
    return f"open_model({source.text!r}{table_argument(model)})"


def table_argument(model: PositionalModel) -> str:
    """Return the argument that names a model's table, after a comma; "" if there is only one."""
    return "" if model.table_choice is None else f", table={model.table_choice!r}"


def written(subject: Subject) -> str:
    """Return the Python expression for a subject, without defaults."""
    default = Subject(subject.name)
    named = ("layer", "head", "side", "fold_ln", "centred")
    differing = [name for name in named if getattr(subject, name) != getattr(default, name)]
    parts = [repr(subject.name), *(f"{name}={getattr(subject, name)!r}" for name in differing)]
    return f"Subject({', '.join(parts)})"
