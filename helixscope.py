"""Helixscope from Python: open what is in memory or in files, and measure what it shows.

>>> import helixscope as hx
>>> m = hx.open("sinusoidal:128x32")
>>> m.W_pos.shape
(128, 32)
>>> round(m.numbers["variance_3"], 3)
0.383

This module imports only what the interpreter has loaded anyway, as the current folder may have
modules of any name; the rest is imported when it is used. It is also the entry point of the
installed command, independent of the current folder: unlike `main`, no module of a user has its
name.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import Any

    from pandas import DataFrame

    from geometry.checkpoints.errors import HelixscopeError as HelixscopeError
    from geometry.history.position_log import PositionLog as PositionLog
    from gui.notebook.callbacks import LightningCallback as LightningCallback
    from gui.notebook.callbacks import TrainerCallback as TrainerCallback
    from gui.notebook.opened import OpenedModel
    from gui.notebook.show import ShownWindow as ShownWindow

__all__ = [
    "HelixscopeError",
    "LightningCallback",
    "PositionLog",
    "ShownWindow",
    "TrainerCallback",
    "open",
    "show",
    "survey",
]


def open(
    thing: "Any",
    *,
    name: str = "",
    positions: "tuple[int, int] | None" = None,
    table: str | None = None,
    family: str | None = None,
    first_rows: int | None = None,
) -> "OpenedModel":
    """Open a model from a source or from memory.

    Parameters
    ----------
    thing
        A source, as on the command line: a folder, a file, a model of the Hub, "sample",
        "sinusoidal:512x128"; or what is in memory: a module of torch (of transformers, nanoGPT,
        timm, open_clip, TransformerLens and others), a state dict, rows as an array or tensor of
        any floating dtype and device, or a data frame of pandas. Nothing of a module is run, and
        what is read is as it was when it was opened: later training changes nothing.
    name
        For captions; that of the source, or of its class, if empty.
    positions
        First and last position, both inclusive, of what depends on a range; by default without
        position 0, and without last rows that are known to be untrained.
    table, family, first_rows
        The tensor to use as positions, the family as which it is read, and the rows before
        position 0, where they are not recognised.

    Returns
    -------
    gui.notebook.opened.OpenedModel
        With the attributes of :class:`geometry.PositionalModel`; in a notebook, a curve to turn.

    Raises
    ------
    HelixscopeError
        It cannot be opened.
    ImportError
        A module of another project has the name of one of ours.

    Examples
    --------
    >>> import helixscope as hx
    >>> import numpy as np
    >>> angles = np.linspace(0, 12, 200)
    >>> rows = np.stack([np.cos(angles), np.sin(angles), angles / 12], axis=1)
    >>> hx.open(rows, name="a helix").numbers["verdict"]
    'helix'
    """
    from functools import partial

    with _explained():
        from gui.notebook.opened import OpenedModel, opener

        chosen = {"table": table, "family": family, "first_rows": first_rows}
        return OpenedModel(partial(opener(thing), name=name, **chosen), positions)


def survey(
    sources: "Iterable[Any] | str",
    *,
    out: "str | os.PathLike[str] | None" = None,
    positions: tuple[int, int] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> "DataFrame":
    """Measure many models on many processes, by Dask; what is in memory in this process.

    Parameters
    ----------
    sources
        What :func:`open` opens, one or several, or by names; and what ``helixscope survey`` takes:
        folders, ids of the Hub with patterns, populations.
    out
        A Parquet file for the rows, as they come: after an interruption, the same call goes on
        where it was. None keeps no file.
    positions
        First and last position, both inclusive; None for each model's usual ones.
    workers
        Number of processes; one for each core if None.
    scheduler
        Address of a Dask cluster that is used instead, such as ``"tcp://10.0.0.1:8786"``.

    Returns
    -------
    pandas.DataFrame
        A row for each, with the numbers of ``helixscope table``, or the error; what is in memory
        comes last.

    Raises
    ------
    HelixscopeError
        A package is missing (``pip install "helixscope[notebook]"`` brings all), or the cluster
        cannot be used.
    """
    with _explained():
        from gui.notebook.survey import survey_of

        return survey_of(sources, out, positions, workers=workers, scheduler=scheduler)


def show(
    *models: "Any",
    positions: "tuple[int, int] | None" = None,
    block: "bool | None" = None,
) -> "ShownWindow":
    """Show models in a window, which stays in step with what is returned.

    The window is a process of its own: a notebook goes on while it is open, and it stays open when
    the kernel restarts. Of what is in memory it shows the snapshot that was taken when it was
    opened; the weights are handed over in memory as well.

    Parameters
    ----------
    models
        1 to 9 of them, as for :func:`open`: what that returned, a source, or what is in memory.
    positions
        First and last position to show first, both inclusive; by default those with which the first
        model was opened, or the usual ones.
    block
        Whether to wait until the window is closed; None to wait in scripts, and not in notebooks
        and interactive sessions.

    Returns
    -------
    ShownWindow
        Once the models are shown. Range, components, selection, camera and panels are its
        attributes.

    Raises
    ------
    HelixscopeError
        A model cannot be opened, or there is no display.

    Examples
    --------
    ::

        v = hx.show(m, n, block=False)
        v.positions = 1, 99
        v.on_select(print)
        v.panel("kernels")
        v.screenshot("window.png")
        v.close()
    """
    with _explained():
        from gui.notebook.show import show_window

        return show_window(models, positions, block=block)


_ELSEWHERE = {
    "HelixscopeError": "geometry.checkpoints.errors",
    "PositionLog": "geometry.history.position_log",
    "ShownWindow": "gui.notebook.show",
    "TrainerCallback": "gui.notebook.callbacks",
    "LightningCallback": "gui.notebook.callbacks",
}
"""Names that are imported once they are used, and the modules that have them."""


def __dir__() -> "list[str]":
    return __all__


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        return _version()
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'helixscope' has no attribute {name!r}")
    _check_names()
    from importlib import import_module

    return getattr(import_module(_ELSEWHERE[name]), name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("helixscope")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        project = Path(__file__).with_name("pyproject.toml").read_text("utf-8")
        return str(tomllib.loads(project)["project"]["version"])


def _explained() -> "AbstractContextManager[None]":
    """Return what names the packages that are missing, once our own are known to be found."""
    _check_names()
    from gui.notebook.explained import explained

    return explained()


_OURS: set[str] = set()
"""Packages that are known to be those of Helixscope."""


def _check_names() -> None:
    """Raise ImportError if our packages are hidden by modules of another project."""
    from importlib.util import find_spec

    here = os.path.dirname(os.path.abspath(__file__))
    if here not in sys.path:  # an editable install: folders without code would hide our packages
        sys.path.append(here)
    for name in ("geometry", "gui", "resources"):
        if name in _OURS:
            continue
        module = sys.modules.get(name)
        spec = find_spec(name) if module is None else getattr(module, "__spec__", None)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        place = next((place for place in places if place), None)
        if place is not None and not os.path.abspath(place).startswith(here + os.sep):
            raise ImportError(
                f"{place} has the name of a package of Helixscope, and is found first. Run from "
                "another folder, or rename it."
            )
        if place is not None:
            _OURS.add(name)


def main() -> None:
    """Run the command line and exit."""
    begin()
    from main import main as run

    run()


def begin() -> None:
    """Prepare the process, before anything else is imported."""
    leave_out_current_folder()
    import signal

    # Until the command line handles it, Ctrl+C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave_out_current_folder() -> None:
    """Search neither modules nor programs in folders relative to the current one.

    These include empty entries of PYTHONPATH and PATH. Python would search them before the
    installed packages.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        left_out = {os.path.abspath(entry) for entry in ("", *entries) if not os.path.isabs(entry)}
    except OSError:  # the current folder was deleted
        return
    left_out.discard(os.path.dirname(os.path.abspath(__file__)))
    library = os.path.dirname(os.__file__)
    before = sys.path.index(library) if library in sys.path else 0
    sys.path[:before] = [e for e in sys.path[:before] if os.path.abspath(e) not in left_out]
    programs = os.environ.get("PATH", "").split(os.pathsep)
    absolute = [entry for entry in programs if os.path.isabs(entry.strip('"'))]
    os.environ["PATH"] = os.pathsep.join(absolute) or os.defpath
