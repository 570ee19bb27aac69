"""Imports pyvista without Matplotlib's pyplot, and without pooch.

Only pyvista's charts need pyplot, and none is drawn here. With it come some 90 modules and, at the
very first start, a search for all fonts of the machine, before any window is there. pooch, which
downloads files, brings FTP, TLS, asyncio and archives.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PYPLOT, AGG = "matplotlib.pyplot", "matplotlib.backends.backend_agg"
LATER = {
    "pyvista.plotting": (PYPLOT, AGG),
    "pyvista.core.utilities.reader_registry": ("pooch",),
}
"""Modules of pyvista, and what is not needed as they are loaded."""


class FigureCanvasAgg:
    """Matplotlib's canvas, imported when one is made."""

    def __new__(cls, *args: object, **options: object) -> FigureCanvasAgg:
        made: FigureCanvasAgg = import_module(AGG).FigureCanvasAgg(*args, **options)
        return made


class _Later(ModuleType):
    """Stands for a module, which is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # asked for by the import itself
            raise AttributeError(name)
        if self.__name__ == AGG and name == FigureCanvasAgg.__name__ and _is_standing_in(self):
            return FigureCanvasAgg
        _step_aside(self)
        return getattr(import_module(self.__name__), name)


def _is_standing_in(module: ModuleType) -> bool:
    return sys.modules.get(module.__name__) is module


def _step_aside(module: ModuleType) -> None:
    if _is_standing_in(module):
        del sys.modules[module.__name__]


class _Finder(MetaPathFinder):
    """Finds modules of pyvista where Python would, to be loaded with stand-ins for others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in LATER else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_without(module: ModuleType) -> None:
            later = [_Later(name) for name in LATER[fullname] if name not in sys.modules]
            sys.modules.update({one.__name__: one for one in later})
            try:
                load(module)
            finally:
                for one in later:
                    _step_aside(one)

        spec.loader.exec_module = load_without  # type: ignore[method-assign]
        return spec


def leave_out_pyplot() -> None:
    """Let pyvista, once it is imported, do without pyplot and pooch until they are needed."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
