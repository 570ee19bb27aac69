"""Running the scripts that the app hands out, without a process for each."""

import ast
import contextlib
import io
from typing import Any

import geometry
from gui.export import drawing

ALLOWED = {"cmap", "dataclasses", "helixscope", "json", "matplotlib", "numpy", "pyvista"}
"""What scripts may import besides public names of ``geometry`` and of ``drawing``."""
PUBLIC = {"geometry": set(geometry.__all__), drawing.__name__: set(drawing.__all__)}


def run_script(source: str, names: dict[str, Any] | None = None) -> str:
    """Run a script as the main program and return what it prints.

    Parameters
    ----------
    source
        The script. It may import names in :data:`PUBLIC` and modules in :data:`ALLOWED`.
    names
        Filled with the script's variables, for a closer look.
    """
    check_imports(source)
    names = {} if names is None else names
    names["__name__"] = "__main__"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "script", "exec"), names)
    return printed.getvalue()


def check_imports(source: str) -> None:
    """Fail where a script imports what a reader of the guide does not know."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                assert name.name == "geometry" or name.name.partition(".")[0] in ALLOWED, name.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, ast.unparse(node)
            module = node.module or ""
            if module in PUBLIC:
                # Not a package of it: ``from geometry import pca``.
                assert {name.name for name in node.names} <= PUBLIC[module]
            else:
                assert module.partition(".")[0] in ALLOWED, ast.unparse(node)
