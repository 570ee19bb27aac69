"""Imports Matplotlib with its own settings, and pyvista without pyplot and pooch.

On import Matplotlib reads ``matplotlibrc``, first of all from the current folder, which may be a
checkpoint's and is not trusted.

Only pyvista's charts need pyplot, and none is drawn here. pyplot imports some 90 modules and, at
the very first start, searches for all fonts of the machine before any window is shown. pooch,
which downloads files, imports FTP, TLS, asyncio and archives.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PYPLOT, AGG = "matplotlib.pyplot", "matplotlib.backends.backend_agg"
LATER = {
    "pyvista.plotting": (PYPLOT, AGG),
    "pyvista.core.utilities.reader_registry": ("pooch",),
}
"""Modules of pyvista, and imports that they do not need when they are loaded."""
Load = Callable[[ModuleType], None]


def change_imports() -> None:
    """Let Matplotlib read only its own settings, and pyvista import pyplot and pooch if needed."""
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds Matplotlib and modules of pyvista where Python does, and loads them in another way."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "matplotlib" and fullname not in LATER:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None or spec.origin is None:
            return None
        load: Load = spec.loader.exec_module
        if fullname in LATER:
            changed = _without(LATER[fullname], load)
        else:
            changed = _with_defaults(Path(spec.origin), load)
        spec.loader.exec_module = changed  # type: ignore[assignment, method-assign]
        return spec


def _with_defaults(matplotlib: Path, load: Load) -> Load:
    """Load Matplotlib without any user's ``matplotlibrc``."""
    own = matplotlib.with_name("mpl-data") / "matplotlibrc"

    def load_with_defaults(module: ModuleType) -> None:
        exists = os.path.exists

        # Matplotlib calls this for each place where the file may be. Unlike a change of the
        # folder or the environment, it does not affect other threads.
        def exists_here(path: object) -> bool:
            is_settings = isinstance(path, str) and os.path.basename(path) == own.name
            return exists(path) and (not is_settings or Path(str(path)) == own)  # type: ignore[arg-type]

        os.path.exists = exists_here
        try:
            load(module)
        finally:
            os.path.exists = exists

    return load_with_defaults


def _without(names: Sequence[str], load: Load) -> Load:
    """Load a module with stand-ins for others."""

    def load_without(module: ModuleType) -> None:
        later = [_Later(name) for name in names if name not in sys.modules]
        sys.modules.update({stand_in.__name__: stand_in for stand_in in later})
        try:
            load(module)
        finally:
            for stand_in in later:
                _remove_stand_in(stand_in)

    return load_without


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
