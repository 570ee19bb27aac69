"""Plugins: what installed packages add, by entry points.

A package names what it adds in the groups ``helixscope.panels``, ``helixscope.claims``,
``helixscope.families`` and ``helixscope.sources``, and the version of the interface for which it is
written in ``helixscope.interface``. What is installed is read from the packages' metadata, once,
when it is first needed; a package is imported when what it adds is needed. One that cannot be used
is left out, with one notice.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import traceback
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import visible

T = TypeVar("T")
Kind = Literal["panels", "claims", "families", "sources"]

INTERFACE = "1.0"
"""Version of the interface for plugins. Those for another major version are left out."""
MAX_S = 2.0
"""How long the import of a plugin may take. An import cannot be interrupted: it goes on, unused."""
SAFE = "HELIXSCOPE_SAFE"
"""Environment variable that leaves out all plugins; also of processes that are started."""
OURS = "This is an error in Helixscope; please report it with the details."
_PREFIX = "helixscope."
_INTERFACE_GROUP = "helixscope.interface"
_ADVICE = "Update or uninstall it; “helixscope --safe” leaves out all plugins."


class PluginError(HelixscopeError):
    """A plugin that cannot be used."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a plugin is left out, or what failed in it.

    Attributes
    ----------
    text
        A sentence with its name.
    advice
        What to do.
    details
        A traceback; may be empty.
    """

    text: str
    advice: str
    details: str = ""


class Plugin:
    """Something that an installed package adds.

    Parameters
    ----------
    kind, name, value
        Of its entry point: the group, without the prefix; the name; "module:object".
    package
        Name and version of the package.

    Attributes
    ----------
    fault
        Why it is left out, or what failed in it first; None if nothing has.
    """

    def __init__(self, kind: str, name: str, value: str, package: str) -> None:
        self.kind, self.name, self.value, self.package = kind, name, value, package
        self.fault: Fault | None = None
        self._turn = threading.Lock()
        self._finished = threading.Event()
        self._deadline: float | None = None
        self._loaded: Any = None
        self._error: PluginError | None = None

    def __str__(self) -> str:
        package = f" of {visible(self.package)}" if self.package else ""
        return f"“{visible(self.name)}”{package}"

    @property
    def loaded(self) -> bool:
        """Whether it is imported, and can be used."""
        return self._finished.is_set() and self._error is None

    def load(self, convert: Callable[[Any], T]) -> T:
        """Import what the plugin adds, once; waits until it is imported, at most 2 s.

        Parameters
        ----------
        convert
            Returns what is used of the imported object; called once, on the importing thread. An
            error that it raises is one of the plugin.

        Raises
        ------
        PluginError
            It is left out; the notice was given before.
        """
        with self._turn:
            if self._deadline is None:
                self._deadline = time.monotonic() + MAX_S
                threading.Thread(
                    target=self._import, args=(convert,), name=f"plugin {self.name}", daemon=True
                ).start()
        if not self._finished.wait(max(0.0, self._deadline - time.monotonic())):
            self._finish(
                error=self.fail(f"takes longer than {MAX_S:g} s to import, and is left out")
            )
        if self._error is not None:
            raise self._error
        loaded: T = self._loaded
        return loaded

    def fail(self, what: str, error: BaseException | None = None) -> PluginError:
        """Return an error that says what is wrong, and give a notice, if this is the first one.

        Parameters
        ----------
        what
            The predicate of a sentence about the plugin.
        error
            Its cause.
        """
        why = "" if error is None else f": {type(error).__name__}: {error}"
        failed = PluginError(f"The plugin {self} {what}{why}".rstrip(".") + ".", _ADVICE)
        details = "" if error is None else "".join(traceback.format_exception(error))
        with _TURN:
            first = self.fault is None
            self.fault = self.fault or Fault(str(failed), _ADVICE, details)
        if first:
            _give(self.fault)
        return failed

    @contextmanager
    def contained(self) -> Iterator[None]:
        """Raise errors of the plugin's code in the block as PluginError, with a notice."""
        try:
            yield
        except HelixscopeError:
            raise
        except Exception as error:
            raise self.fail("failed", error) from error

    def _import(self, convert: Callable[[Any], Any]) -> None:
        try:
            module, _, names = self.value.partition(":")
            loaded: Any = importlib.import_module(module.strip())
            for name in filter(None, names.strip().split(".")):
                loaded = getattr(loaded, name)
            loaded = convert(loaded)
        except BaseException as error:  # also SystemExit, and panics of libraries in Rust
            if not self._finished.is_set():
                self._finish(error=self.fail("could not be imported", error))
            return
        self._finish(loaded)

    def _finish(self, loaded: Any = None, error: PluginError | None = None) -> None:
        with self._turn:
            if not self._finished.is_set():
                self._loaded, self._error = loaded, error
                self._finished.set()


# ---- notices -----------------------------------------------------------------------------

_TURN = threading.RLock()
_held: list[Fault] = []


def _warn(fault: Fault) -> None:
    warnings.warn(f"{fault.text} {fault.advice}", stacklevel=2)


_notify: Callable[[Fault], object] | None = _warn


def listen(notify: Callable[[Fault], object] | None) -> None:
    """Give notices to a function, on any thread; by default they are Python's warnings.

    None keeps them for the next function.
    """
    global _notify
    with _TURN:
        _notify, held = notify, _held.copy()
        _held.clear()
    for fault in held:
        _give(fault)


def _give(fault: Fault) -> None:
    with _TURN:
        notify = _notify
        if notify is None:
            _held.append(fault)
    if notify is not None:
        notify(fault)


def plugin_at_fault(error: BaseException) -> Plugin | None:
    """Return the plugin whose code raised an unexpected error; None for no plugin's."""
    trace, packages = error.__traceback__, set()
    while trace is not None:
        packages.add(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    for plugin in _found or ():
        if plugin.value.partition(":")[0].partition(".")[0].strip() in packages:
            return plugin
    return None


def report_to(error: BaseException, ours: str = OURS) -> str:
    """Return a sentence about whose error an unexpected one is; ``ours`` if of no plugin."""
    plugin = plugin_at_fault(error)
    if plugin is None:
        return ours
    return f"This is an error in the plugin {plugin}; please report it to its authors."


# ---- what is installed -------------------------------------------------------------------

_found: tuple[Plugin, ...] | None = None


def plugins(kind: Kind) -> tuple[Plugin, ...]:
    """Return the installed plugins of a kind that are for this interface.

    None with :data:`SAFE`. Nothing is imported.
    """
    global _found
    with _TURN:
        if _found is None:
            _found = () if os.environ.get(SAFE) else tuple(_discover())
        return tuple(plugin for plugin in _found if plugin.kind == kind)


def _discover() -> Iterator[Plugin]:
    """Yield what is installed, from metadata alone."""
    from importlib.metadata import PathDistribution

    seen: set[str] = set()
    for folder in _with_entry_points():
        try:
            package = PathDistribution(folder)
            title, points = f"{package.name} {package.version}", package.entry_points
            own = [p for p in points if p.group.removeprefix(_PREFIX) in get_args(Kind)]
            versions = [point.name for point in points if point.group == _INTERFACE_GROUP]
        except Exception as error:  # its metadata may be anything
            Plugin("", folder.name, "", "").fail("has metadata that cannot be read", error)
            continue
        if package.name in seen:  # the first is the one that is imported
            continue
        seen.add(package.name)
        for point in own:
            kind = point.group.removeprefix(_PREFIX)
            plugin = Plugin(kind, point.name, point.value, title)
            if not versions:
                plugin.fail("names no version of the interface, and is left out")
            elif all(_major(version) != _major(INTERFACE) for version in versions):
                plugin.fail(
                    f"is for version {versions[0]} of the interface, and this is version "
                    f"{INTERFACE}: it is left out"
                )
            else:
                yield plugin


def _major(version: str) -> str:
    return version.partition(".")[0]


def _with_entry_points() -> Iterator[Path]:
    """Yield the folders of metadata with entry points of ours, in a fifth of importlib's time."""
    for place in dict.fromkeys(sys.path):
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in sorted(names):
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                content = Path(place, name, "entry_points.txt").read_bytes()
            except OSError:
                continue
            if _PREFIX.encode() in content:
                yield Path(place, name)


class Registry(UserDict[str, T]):
    """Built-in entries by name, and after them those of plugins.

    Plugins are looked for when a name is not built in, or all names are asked for.

    Parameters
    ----------
    built_in
        The built-in entries.
    kind
        Of the plugins.
    make
        Returns the entry of a plugin; may raise PluginError, which leaves it out.
    taken
        Further names that a plugin cannot have.
    """

    def __init__(
        self,
        built_in: Mapping[str, T],
        kind: Kind,
        make: Callable[[Plugin], T],
        taken: tuple[str, ...] = (),
    ) -> None:
        super().__init__(built_in)
        self._kind, self._make, self._taken = kind, make, taken

    def _plugins(self) -> Mapping[str, Plugin]:
        named: dict[str, Plugin] = {}
        for plugin in plugins(self._kind):
            if plugin.name in (*self.data, *self._taken, *named):
                plugin.fail("has a name that is taken, and is left out")
            else:
                named[plugin.name] = plugin
        return named

    def __missing__(self, name: str) -> T:
        plugin = self._plugins().get(name)
        if plugin is None:
            raise KeyError(name)
        try:
            return self._make(plugin)
        except PluginError as error:
            raise KeyError(name) from error

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self[name]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        yield from self.data
        yield from (name for name in self._plugins() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
