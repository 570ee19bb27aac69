"""Imports pyvista without Matplotlib's pyplot, and without pooch.

Only pyvista's charts need pyplot, and none is drawn here. pyplot imports some 90 modules and, at
the very first start, searches for all fonts of the machine before any window is shown. pooch,
which downloads files, imports FTP, TLS, asyncio and archives.
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
"""Modules of pyvista, and imports that they do not need when they are loaded."""


class FigureCanvasAgg:
    """Matplotlib's canvas, imported when an instance is created."""

    def __new__(cls, *args: object, **options: object) -> FigureCanvasAgg:
        canvas: FigureCanvasAgg = import_module(AGG).FigureCanvasAgg(*args, **options)
        return canvas


class _Later(ModuleType):
    """A stand-in for a module, which is imported on the first access to an attribute."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # requested by the import itself
            raise AttributeError(name)
        if self.__name__ == AGG and name == FigureCanvasAgg.__name__ and _is_standing_in(self):
            return FigureCanvasAgg
        _remove_stand_in(self)
        return getattr(import_module(self.__name__), name)


def _is_standing_in(module: ModuleType) -> bool:
    return sys.modules.get(module.__name__) is module


def _remove_stand_in(module: ModuleType) -> None:
    if _is_standing_in(module):
        del sys.modules[module.__name__]


class _Finder(MetaPathFinder):
    """Finds modules of pyvista where Python does, and loads them with stand-ins for others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in LATER else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_without(module: ModuleType) -> None:
            later = [_Later(name) for name in LATER[fullname] if name not in sys.modules]
            sys.modules.update({stand_in.__name__: stand_in for stand_in in later})
            try:
                load(module)
            finally:
                for stand_in in later:
                    _remove_stand_in(stand_in)

        spec.loader.exec_module = load_without  # type: ignore[method-assign]
        return spec


def leave_out_pyplot() -> None:
    """Let pyvista import pyplot and pooch only when they are needed."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
