"""Imports Matplotlib with its own settings.

On import it reads ``matplotlibrc``, first of all from the current folder, which may be a
checkpoint's and is not trusted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType


class _Finder(MetaPathFinder):
    """Finds Matplotlib where Python does, and loads it without any user's ``matplotlibrc``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == "matplotlib" else None
        if spec is None or spec.loader is None or spec.origin is None:
            return None
        load = spec.loader.exec_module
        own = Path(spec.origin).with_name("mpl-data") / "matplotlibrc"

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

        spec.loader.exec_module = load_with_defaults  # type: ignore[method-assign]
        return spec


def use_defaults() -> None:
    """Let Matplotlib read only its own settings when it is imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
