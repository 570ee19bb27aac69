"""Windows that scripts and notebooks show: each a process of its own, driven through its pipes."""

from __future__ import annotations

import logging
import math
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET

from geometry.checkpoints.children import start_own
from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.checkpoints.whole_files import reason, write_bytes
from geometry.models.model import PositionalModel
from geometry.models.sources.handed import folder_for, hand_over
from geometry.models.sources.source import Source
from gui.channel import COMMAND, messages
from gui.channel.pipes import Gone, Pipes
from gui.notebook.explained import explained
from gui.notebook.opened import OpenedModel, opener
from gui.state.fields import MAX_MODELS

log = logging.getLogger(__name__)

PATIENCE_S = 120.0
"""How long an answer may take; that to a request to open a model, without limit."""
CLOSING_S = 10.0
"""How long a window may take to close, after which its process is ended."""
CLOSED = "The window is closed."
AGAIN = "Show it again with its method show()."
_FIELDS = ("models", "positions", "components", "selection", "notice")
_TO_WINDOW: Any = messages.decoder(messages.ToWindow)  # type: ignore[arg-type]
_FROM_WINDOW: Any = messages.decoder(messages.FromWindow)  # type: ignore[arg-type]


class Camera(NamedTuple):
    """The pose of a window's camera, in the coordinates of the curve.

    Attributes
    ----------
    position, focal_point
        Where it is, and what it looks at, (3,) each.
    up
        The upward direction on the screen, (3,), of length 1.
    parallel_scale
        Half the height of the view in parallel projection.
    """

    position: tuple[float, float, float]
    focal_point: tuple[float, float, float]
    up: tuple[float, float, float]
    parallel_scale: float = 1.0


class ShownWindow:
    """A window of its own process, which Python and the user both change.

    What is read from it is what it shows now, also what the user has chosen with the mouse; once it
    is closed, what it showed last.

    Parameters
    ----------
    things
        Models to show, as for :func:`helixscope.open`; the first one is the current one.
    positions
        First and last position to show first, both inclusive; None for the usual ones.

    Raises
    ------
    HelixscopeError
        Something cannot be opened, or there is no display.
    """

    def __init__(self, things: Iterable[Any], positions: tuple[int, int] | None = None) -> None:
        models = [_as_model(thing) for thing in things]
        if not 1 <= len(models) <= MAX_MODELS:
            raise HelixscopeError(
                f"A window shows 1 to {MAX_MODELS} models, not {len(models)}.",
                "Give the models as arguments, such as show(m, n).",
            )
        self._listeners: dict[str, list[Callable[[Any], object]]] = {}
        self._state: dict[str, Any] = {}
        self._run = _Run(models, positions or models[0].positions, None, self._on_changed)
        # Those that Python has opened, by their names.
        self._models = dict(zip(self.models, models, strict=False))

    @explained()
    def show(self, *, block: bool = False) -> ShownWindow:
        """Show the window again if it is closed; returns itself.

        The models that Python has opened are opened again, as they are now, with the range,
        components and selection that the window had last.

        Parameters
        ----------
        block
            Whether to wait until it is closed.
        """
        if self.closed:
            models = [*self._models.values()]
            look = messages.Look(*(self._state[name] for name in _FIELDS[:4]))
            self._run = _Run(models, None, look, self._on_changed)
            self._models = dict(zip(self.models, models, strict=False))
        if block:
            self.wait()
        return self

    def wait(self) -> None:
        """Wait until the window is closed; an interrupt (Ctrl+C) closes it."""
        try:
            self._run.ended.wait()
        except KeyboardInterrupt:
            self.close()
            raise

    @explained()
    def close(self) -> None:
        """Close the window; nothing happens if it is closed."""
        self._run.close()

    @property
    def closed(self) -> bool:
        """Whether the window is closed, by Python or by the user."""
        return self._run.ended.is_set()

    # ---- what is shown -----------------------------------------------------------------------

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position shown, both inclusive.

        Raises
        ------
        RangeError
            On setting: the current model has no such range.
        """
        first, last = self._state["positions"]
        return first, last

    @positions.setter
    def positions(self, positions: tuple[int, int]) -> None:
        self._ask(messages.ShowPositions, positions=_integers(positions))

    @property
    def components(self) -> tuple[int, int, int]:
        """The principal components on the three axes, counted from 1.

        Raises
        ------
        RangeError
            On setting: the current model has no such components.
        """
        x, y, z = self._state["components"]
        return x, y, z

    @components.setter
    def components(self, components: tuple[int, int, int]) -> None:
        self._ask(messages.ShowComponents, components=_integers(components))

    @property
    def selection(self) -> tuple[int, ...]:
        """The selected positions in the order of selection; the last one is the current one.

        Raises
        ------
        RangeError
            On setting: the current model has no such position.
        """
        return tuple(self._state["selection"])

    @selection.setter
    def selection(self, positions: int | Iterable[int]) -> None:
        given = positions if isinstance(positions, Iterable) else (positions,)
        self._ask(messages.Select, positions=_integers(given))

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, that of the current one first."""
        return tuple(self._state["models"])

    @property
    def notice(self) -> str:
        """The message that the window shows; "" for none."""
        return str(self._state["notice"])

    @property
    def camera(self) -> Camera:
        """Where the camera is, or to which pose it moves.

        Set it to such a pose, or to the name of a view: "side", "article", "isometric", "xy", "xz",
        "yz".

        Raises
        ------
        HelixscopeError
            The window is closed; on setting: there is no such view, or nothing is seen from there.
        """
        pose = self._ask(messages.Ask).pose
        assert pose is not None
        return Camera(pose.position, pose.focal_point, pose.up, pose.parallel_scale)

    @camera.setter
    def camera(self, camera: Camera | str) -> None:
        if isinstance(camera, str):
            self._ask(messages.ShowView, view=camera)
        else:
            position, focal_point, up, *scale = camera
            parts = (tuple(map(float, part)) for part in (position, focal_point, up))
            self._ask(messages.PlaceCamera, pose=messages.Pose(*parts, *scale or (1.0,)))  # type: ignore[arg-type]

    @property
    def panels(self) -> tuple[str, ...]:
        """The names of the panels that are in front.

        Raises
        ------
        HelixscopeError
            The window is closed.
        """
        return self._ask(messages.Ask).panels

    def panel(self, name: str) -> None:
        """Bring a panel to the front, such as "kernels".

        Raises
        ------
        HelixscopeError
            There is no such panel; the advice names all.
        """
        self._ask(messages.ShowPanel, name=name)

    def open(self, thing: Any) -> None:
        """Open a model in place of the current one, and wait until it is shown.

        Parameters
        ----------
        thing
            As for :func:`helixscope.open`.

        Raises
        ------
        HelixscopeError
            It cannot be opened.
        """
        self._open(thing, beside=False)

    def add(self, thing: Any) -> None:
        """Open a model beside the others, as :meth:`open`."""
        self._open(thing, beside=True)

    def remove(self, name: str) -> None:
        """Close one of several models, by its name in :attr:`models`.

        Raises
        ------
        HelixscopeError
            There is none of this name, or it is the only one.
        """
        self._ask(messages.RemoveModel, name=name)
        self._models.pop(name, None)

    @explained()
    def screenshot(self, file: str | os.PathLike[str]) -> Path:
        """Save a picture of the whole window once everything is painted.

        Parameters
        ----------
        file
            A PNG.

        Raises
        ------
        HelixscopeError
            It cannot be written, or the window is closed.
        """
        path = Path(file)
        if path.suffix.lower() != ".png":
            raise HelixscopeError(f"{path} does not end with .png.", "Use that ending.")
        data = self._running().picture()
        try:
            write_bytes(data, path, durable=False)
        except OSError as error:
            why, advice = reason(error)
            raise HelixscopeError(f"{path} cannot be written: {why}.", advice) from error
        return path

    # ---- events ------------------------------------------------------------------------------

    def on_select(self, call: Callable[[tuple[int, ...]], object]) -> Callable[[], None]:
        """Call a function with the selected positions whenever they change.

        Also when Python has changed them. It is called on a thread of its own, one call at a time,
        with the latest ones only where changes come faster. What it raises is logged.

        Returns
        -------
        callable
            Ends it.
        """
        return self._on("selection", call)

    def on_positions(self, call: Callable[[tuple[int, int]], object]) -> Callable[[], None]:
        """Call a function with the range whenever it changes, as :meth:`on_select`."""
        return self._on("positions", call)

    def on_close(self, call: Callable[[], object]) -> Callable[[], None]:
        """Call a function without arguments once the window is closed, as :meth:`on_select`."""
        return self._on("closed", lambda _: call())

    def _on(self, name: str, call: Callable[[Any], object]) -> Callable[[], None]:
        calls = self._listeners.setdefault(name, [])
        calls.append(call)

        def end() -> None:
            with suppress(ValueError):
                calls.remove(call)

        return end

    def _on_changed(self, name: str, value: Any) -> list[Callable[[], object]]:
        """Take over a change, and return the calls that tell of it."""
        if name != "closed":
            first = name not in self._state
            self._state[name] = value
            if first:
                return []
        return [partial(call, value) for call in tuple(self._listeners.get(name, ()))]

    # ---- requests ----------------------------------------------------------------------------

    @explained()
    def _ask(self, kind: Callable[..., messages.Message], **fields: Any) -> messages.Done:
        return self._running().ask(kind, **fields)

    @explained()
    def _open(self, thing: Any, *, beside: bool) -> None:
        run, before, model = self._running(), self.models, _as_model(thing)
        run.ask(messages.OpenModel, math.inf, model=run.handed(model), beside=beside)
        opened = {name: model for name in self.models if name not in before}
        if beside:
            self._models |= opened
        else:
            self._models = {self.models[0]: model} | {
                name: one for name, one in self._models.items() if name in self.models
            }

    def _running(self) -> _Run:
        if self.closed:
            raise HelixscopeError(CLOSED, AGAIN)
        return self._run

    def __enter__(self) -> ShownWindow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        first, last = self.positions
        state = "closed window" if self.closed else "window"
        return f"<{state} of {', '.join(self.models)}: positions {first}–{last}>"


class _Model(NamedTuple):
    """A model to show: opened from memory in this process, or a source for the window."""

    opened: Callable[[], PositionalModel] | None
    source: str = ""
    table: str | None = None
    positions: tuple[int, int] | None = None


def _as_model(thing: Any) -> _Model:
    if isinstance(thing, str | os.PathLike | Source):
        return _Model(None, Source.of_any(thing).text)
    positions = None
    if isinstance(thing, OpenedModel):
        positions = thing.chosen_positions
        model = thing.model
    else:
        model = opener(thing)(name="")
    if model.source.model.kind != "memory":
        return _Model(None, model.source.id, model.table_choice, positions)
    if isinstance(thing, OpenedModel):  # which may have been refreshed when it is shown again
        return _Model(lambda: thing.model, positions=positions)
    return _Model(lambda: model, positions=positions)


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Return integers, also of NumPy. Raises TypeError, or RangeError: one is negative."""
    integers = tuple(value.__index__() for value in values)
    if any(value < 0 for value in integers):
        raise RangeError(
            f"{min(integers)} is negative.", "Positions count from 0, and components from 1."
        )
    return integers


class _Run:
    """One process of a window, from its start to its end.

    Parameters
    ----------
    models, positions, again
        What it shows.
    on_changed
        Called on a thread with a name and a value whenever something changes; returns calls for
        another thread. The name is "closed" at the end.

    Attributes
    ----------
    ended
        Set once the process has ended.
    """

    def __init__(
        self,
        models: Iterable[_Model],
        positions: tuple[int, int] | None,
        again: messages.Look | None,
        on_changed: Callable[[str, Any], list[Callable[[], object]]],
    ) -> None:
        self.ended = threading.Event()
        self._on_changed = on_changed
        self._requests = Requests()
        self._calls = _Calls()
        models = [*models]
        live = (model.opened() for model in models if model.opened is not None)
        try:
            self._folder = folder_for(live)
        except OSError as error:
            why, advice = reason(error)
            raise HelixscopeError(f"No temporary folder can be made: {why}.", advice) from error
        # Not of the kernel's group, which is killed as a whole when the kernel restarts.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        try:
            self._process = start_own(COMMAND, variables={}, start_new_session=True, **pipes)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise HelixscopeError(f"The window's process cannot be started: {error}.") from error
        reading: Any = self._process.stdout
        writing: Any = self._process.stdin
        self._pipes: Pipes[messages.FromWindow] = Pipes(reading, writing, _FROM_WINDOW)
        try:
            self._start([self.handed(model) for model in models], positions, again)
        except BaseException:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_S)
            self._process.kill()
            self._finish()
            raise
        threading.Thread(target=self._read, name="helixscope-window", daemon=True).start()

    def _start(
        self,
        models: list[messages.ModelToShow],
        positions: tuple[int, int] | None,
        again: messages.Look | None,
    ) -> None:
        """Say what to show, and wait until it is shown."""
        begin = messages.Begin(str(self._folder), tuple(models), positions, again)
        try:
            self._pipes.send(_checked(begin))
            while True:
                message = self._pipes.receive()
                if isinstance(message, messages.Ready):
                    break
                self._take(message)
        except Gone:
            status = self._process.wait()
            raise HelixscopeError(
                f"The window ended while it started, with status {status}.",
                "See what it printed, and its log.",
            ) from None
        except messages.BadMessage as error:
            raise HelixscopeError(f"The window sent an invalid message: {error}.") from error
        if message.failed:
            raise HelixscopeError(message.failed, message.advice)

    def handed(self, model: _Model) -> messages.ModelToShow:
        """Return a model as the window opens it, handed over if it is in memory."""
        if model.opened is None:
            return messages.ModelToShow(model.source, model.table)
        name = os.urandom(8).hex()
        folder = self._folder / name
        try:
            folder.mkdir(mode=0o700)
            hand_over(model.opened(), folder)
        except OSError as error:
            why, advice = reason(error)
            raise HelixscopeError(f"The model cannot be handed over: {why}.", advice) from error
        return messages.ModelToShow(folder=name)

    def ask(
        self, kind: Callable[..., messages.Message], patience: float = PATIENCE_S, **fields: Any
    ) -> messages.Done:
        """Send a request, and wait for its answer; from any thread.

        Raises
        ------
        HelixscopeError
            It could not be carried out, or the window is closed.
        ValueError
            A value is of another kind.
        """
        with self._requests.new() as (number, answers):
            try:
                self._pipes.send(_checked(kind(number, **fields)))
                if self.ended.is_set():  # perhaps before there was somebody to tell
                    raise Gone
                answer = answers.get(timeout=None if patience == math.inf else patience)
            except queue.Empty:
                raise HelixscopeError(
                    f"The window has not answered for {patience:.0f} s.",
                    "Look whether it asks something.",
                ) from None
            except Gone:
                raise HelixscopeError(CLOSED, AGAIN) from None
        if answer is None:
            raise HelixscopeError(CLOSED, AGAIN)
        if isinstance(answer, messages.Failed):
            kind_of_error = RangeError if answer.wrong_range else HelixscopeError
            raise kind_of_error(answer.why, answer.advice)
        return answer

    def picture(self) -> bytes:
        """Return a picture of the window as PNG."""
        name = os.urandom(8).hex()
        self.ask(messages.SavePicture, file=name)
        file = self._folder / f"{name}.png"
        data = file.read_bytes()
        file.unlink()
        return data

    def close(self) -> None:
        """Close the window, and wait for its end."""
        with suppress(HelixscopeError):
            self.ask(messages.Close, CLOSING_S)
        if not self.ended.wait(CLOSING_S):
            self._process.kill()
            self.ended.wait()

    # ---- on the thread -------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                self._take(self._pipes.receive())
        except Gone:
            pass
        except messages.BadMessage as error:
            log.error("The window sent an invalid message: %s", error)
        self._finish()
        self._calls.put("closed", self._on_changed("closed", None))
        self._calls.end()

    def _take(self, message: messages.FromWindow) -> None:
        """Take over what has changed, or pass on an answer.

        Raises
        ------
        BadMessage
            It answers what was not asked.
        """
        match message:
            case messages.Changed():
                for name in _FIELDS:
                    value = getattr(message, name)
                    if value is not UNSET:
                        self._calls.put(name, self._on_changed(name, value))
            case messages.Done() | messages.Failed():
                self._requests.answer(message)
            case messages.Ready() | messages.Closing():
                pass

    def _finish(self) -> None:
        """Wait for the end of the process, and release everybody who waits for an answer."""
        self._pipes.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.ended.set()
        self._requests.release()


Answers = queue.SimpleQueue[messages.Done | messages.Failed | None]


class Requests:
    """Requests that were sent, and those who wait for the answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._waiting: dict[int, Answers] = {}

    @contextmanager
    def new(self) -> Iterator[tuple[int, Answers]]:
        """Yield the number of a new request, and where its answer comes; None for none."""
        answers: Answers = queue.SimpleQueue()
        with self._lock:
            self._last += 1
            number = self._last
            self._waiting[number] = answers
        try:
            yield number, answers
        finally:
            with self._lock:
                del self._waiting[number]

    def answer(self, message: messages.Done | messages.Failed) -> None:
        """Pass on an answer, unless nobody waits for it any more.

        Raises
        ------
        BadMessage
            It answers what was not asked.
        """
        with self._lock:
            if not 0 < message.number <= self._last:
                raise messages.BadMessage(
                    f"an answer to request {message.number}, which was not sent"
                )
            answers = self._waiting.get(message.number)
            if answers is not None:
                answers.put(message)

    def release(self) -> None:
        """Let nobody wait any more."""
        with self._lock:
            for answers in self._waiting.values():
                answers.put(None)


class _Calls:
    """Calls listeners on a thread of their own: of each name the latest ones only."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, list[Callable[[], object]]] = {}
        self._ended = False
        self._thread: threading.Thread | None = None

    def put(self, name: str, calls: list[Callable[[], object]]) -> None:
        """Make these calls, in place of those of the same name that were not made yet."""
        if not calls:
            return
        with self._changed:
            self._waiting[name] = calls
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="helixscope-events", daemon=True
                )
                self._thread.start()

    def end(self) -> None:
        """End the thread once all calls are made."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if not self._waiting:
                    return
                calls = self._waiting.pop(next(iter(self._waiting)))
            for call in calls:
                try:
                    call()
                except Exception:
                    log.exception("A function that a window called has failed.")


def _checked(message: messages.Message) -> messages.Message:
    """Return a message, if the window will take it.

    Raises
    ------
    ValueError
        A value is of another kind, or too large.
    """
    try:
        messages.decode(messages.encode(message), _TO_WINDOW)
    except messages.BadMessage as error:
        raise ValueError(str(error)) from error
    return message


def is_interactive() -> bool:
    """Return whether Python is used interactively, as in a notebook: then nothing blocks."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


@explained()
def show_window(
    things: Iterable[Any], positions: tuple[int, int] | None, *, block: bool | None
) -> ShownWindow:
    """Show models; see :func:`helixscope.show`."""
    window = ShownWindow(things, positions)
    if block or (block is None and not is_interactive()):
        window.wait()
    return window
