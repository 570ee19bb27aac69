"""Carries out what a script asks of its window, and says what changes in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal

from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.pca.components import check_range
from gui.channel import messages
from gui.channel.pipes import Gone, Pipes
from gui.commands.script_pipes import Sender, source_of
from gui.state.camera import VIEWS, CameraPose
from gui.state.values import Notice
from gui.style.listening import Listening

if TYPE_CHECKING:
    from gui.commands.application import Application
    from gui.state.session import OpenModel as Listed

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Number of messages that may wait for the GUI thread."""
AGAIN_MS = 30
"""After which time changes are sent if earlier ones are still being written."""
ENDED = Notice(
    "The Python process that showed this window has ended.",
    "What is shown stays, but models that were in its memory cannot be saved in a project.",
)
BROKEN = Notice(
    "The connection to Python was closed, as a message was invalid.",
    "What is shown stays. Show the window again.",
)


class Driver(QObject):
    """Carries out a script's requests, and sends what changes.

    Parameters
    ----------
    application
        What is driven.
    place
        The folder of the window.
    sender
        Sends messages to the script.
    """

    _received = Signal(object)  # A message, or a Notice at the end

    def __init__(self, application: Application, place: Path, sender: Sender) -> None:
        super().__init__(application)
        self._application, self._place, self._sender = application, place, sender
        self._session = session = application.session
        self._sent: dict[str, object] = {}
        self._tells = False  # Whether changes are sent
        self._opening: list[tuple[Callable[[], None], Callable[[], bool]]] = []
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._received.connect(self._on_received)
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._look)
        self._later = QTimer(self, interval=AGAIN_MS, singleShot=True)
        self._later.timeout.connect(self._look)
        self._listening = Listening()
        events = session.events
        for signal in (
            events.positions,
            events.components,
            events.selection,
            events.open_models,
            events.model,
            events.notice,
            events.jobs,
        ):
            self._listening.to(signal, self._on_changed)

    def release(self) -> None:
        """Stop listening, and send what has changed last."""
        self._listening.stop()
        self._soon.stop()
        self._later.stop()
        if self._tells:
            self._tell()

    def begin(self, pipes: Pipes[messages.ToWindow], begin: messages.Begin | None) -> None:
        """Say that the window is ready once no model is loading, and read messages from then on."""

        def ready() -> None:
            if begin is not None and begin.again is not None:
                self._look_again(begin.again)
            self._tells = True
            self._tell()
            notice, advice = self._session.notice, ""
            failed = ""
            if self._session.model is None and notice is not None and not _offers(notice):
                failed, advice = _cut(notice.text), _cut(notice.advice)
            self._sender.put(messages.Ready(failed=failed, advice=advice))
            threading.Thread(
                target=self._read, args=(pipes,), name="helixscope-receive", daemon=True
            ).start()

        self._once_loaded(ready)

    def _look_again(self, look: messages.Look) -> None:
        """Show what a closed window showed, if it is of the same model."""
        session = self._session
        if session.model is not None and look.models[:1] == self._models[:1]:
            self._application.controller.request_positions(*look.positions)
            with suppress(RangeError):
                session.components = self._checked(look.components)
            self._application.controller.select(look.selection)

    def _on_changed(self) -> None:
        self._soon.start()

    # ---- receiving ---------------------------------------------------------------------

    def _read(self, pipes: Pipes[messages.ToWindow]) -> None:
        """Pass on messages to the GUI thread, and wait when many wait there."""
        end = ENDED
        try:
            while True:
                message = pipes.receive()
                self._room.acquire()
                self._received.emit(message)
        except Gone:
            pass
        except messages.BadMessage as error:
            log.warning("invalid message: %s", error)
            end = BROKEN
            pipes.close()
        except RuntimeError:  # this object was deleted: the window is closed
            return
        with suppress(RuntimeError):
            self._received.emit(end)

    def _on_received(self, message: object) -> None:
        if isinstance(message, Notice):
            self._session.notice = message
            with suppress(OSError):  # nothing more is handed over
                self._place.rmdir()
            return
        self._room.release()
        self.carry_out(message)

    def carry_out(self, message: object) -> None:
        """Carry out a request, and answer it; other messages close nothing and change nothing."""
        if not isinstance(message, messages.Requests):
            return
        number = message.number
        try:
            self._carry_out(message)
        except HelixscopeError as error:
            wrong = isinstance(error, RangeError)
            self._sender.put(messages.Failed(number, str(error), error.advice, wrong_range=wrong))

    def _carry_out(self, message: messages.Requests) -> None:
        application, session, number = self._application, self._session, message.number
        window, camera = application.window, application.window.viewport.camera
        match message:
            case messages.ShowPositions(positions=(first, last)):
                check_range((first, last), self._n_positions())
                application.controller.request_positions(first, last)
            case messages.ShowComponents(components=components):
                session.components = self._checked(components)
            case messages.Select(positions=positions):
                for position in positions:
                    check_range((position, position), self._n_positions())
                application.controller.select(positions)
            case messages.ShowPanel(name=name):
                if name not in window.docks:
                    raise HelixscopeError(
                        f"There is no panel {name!r}.", f"There are {', '.join(window.docks)}."
                    )
                window.bring(name)
            case messages.ShowView(view=view):
                if view not in VIEWS:
                    raise HelixscopeError(
                        f"There is no view {view!r}.", f"There are {', '.join(VIEWS)}."
                    )
                camera.view(view)
            case messages.PlaceCamera(pose=pose):
                place = _pose_from(pose)
                if not place.usable:
                    raise HelixscopeError(
                        "Nothing can be seen from this pose of the camera.",
                        "It takes another position than its focal point, and an upward direction "
                        "of length 1 that is not along the view.",
                    )
                camera.stand_at(place)
            case messages.OpenModel(model=model, beside=beside):
                self._open(number, model, beside=beside)
                return
            case messages.RemoveModel(name=name):
                application.controller.comparing.remove(self._key_of(name))
                self._note_given()
            case messages.SavePicture(file=file):
                self._save_picture(number, file)
                return
            case messages.Ask():
                shown = (n for n, d in window.docks.items() if not d.visibleRegion().isEmpty())
                self._answer(messages.Done(number, _pose_to(camera.aim), tuple(shown)))
                return
            case messages.Close():
                self._answer(messages.Done(number))
                application.interrupt()
                QCoreApplication.exit()
                return
        self._answer(messages.Done(number))

    def _answer(self, message: messages.Done) -> None:
        """Send an answer, after all that has changed before it."""
        self._tell()
        self._sender.put(message)

    def _n_positions(self) -> int:
        model = self._session.model
        if model is None:
            raise HelixscopeError("No model is open.", "Open one.")
        return model.n_positions

    def _checked(self, components: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return components, all different and in the table."""
        model, n = self._session.model, self._n_positions()
        assert model is not None
        most = min(n, model.d_model)
        if max(components) > most or len(set(components)) < len(components):
            raise RangeError(
                f"{', '.join(map(str, components))} are not three different components of this "
                f"table, which has {most}.",
                "Components count from 1.",
            )
        return components

    def _key_of(self, name: str) -> int:
        models = self._session.open_models
        key = next((model.key for model in models if model.name == name), None)
        if key is None or len(models) < 2:
            raise HelixscopeError(
                f"{name!r} is none of several models in the window.",
                f"There are {', '.join(self._models)}.",
            )
        return key

    def _open(self, number: int, model: messages.ModelToShow, *, beside: bool) -> None:
        controller = self._application.controller
        source = source_of(model, self._place)
        opened: Callable[[], str]
        if beside:
            key = controller.comparing.add(source, if_there=True)
            if key is None:
                notice = self._session.notice
                raise HelixscopeError("" if notice is None else notice.text)

            def opened() -> str:
                listed = controller.comparing.get(key)
                if listed is None or not listed.failed:
                    return ""
                controller.comparing.remove(key)
                self._session.notice = None  # Python raises it
                return listed.failed
        else:
            controller.open(source)
            wanted = controller.opening.wanted

            def opened() -> str:
                return _failure(controller.opening.failed is wanted, self._session.notice)

        def done() -> None:
            self._note_given()
            why = opened()
            if why:
                self._tell()
                self._sender.put(messages.Failed(number, _cut(why)))
            else:
                self._answer(messages.Done(number))

        self._once_loaded(done)

    def _note_given(self) -> None:
        """Note that the models are the script's, and no work of the user."""
        keys = tuple(model.key for model in self._session.open_models)
        self._application.question.given = keys

    def _save_picture(self, number: int, file: str) -> None:
        """Save a picture once everything is painted."""

        def save() -> None:
            if self._application.window.pictures.save_window(self._place / f"{file}.png"):
                self._session.status = "Saved a picture"
                self._answer(messages.Done(number))
            else:
                notice = self._session.notice
                why = "It could not be saved." if notice is None else notice.text
                self._sender.put(messages.Failed(number, _cut(why)))

        self._once(save, lambda: self._application.idle)
        self._later.start()

    # ---- waiting -----------------------------------------------------------------------

    def _once_loaded(self, then: Callable[[], None]) -> None:
        self._once(then, lambda: not self._loading)

    def _once(self, then: Callable[[], None], when: Callable[[], bool]) -> None:
        self._opening.append((then, when))
        self._soon.start()

    @property
    def _loading(self) -> bool:
        """Whether a model is being opened."""
        session, opening = self._session, self._application.controller.opening
        if session.jobs == 0:
            return False
        wanted = opening.wanted
        own = wanted is not None and wanted is not opening.shown and wanted is not opening.failed
        return own or any(_is_loading(model) for model in session.others)

    def _look(self) -> None:
        """Do what was waited for, and send what has changed."""
        waiting, self._opening = self._opening, []
        for then, when in waiting:
            if when():
                then()
            else:
                self._opening.append((then, when))
        if not self._tells:
            return
        if self._sender.busy:
            self._later.start()
        else:
            self._tell()
        if self._opening:
            self._later.start()

    # ---- sending -----------------------------------------------------------------------

    @property
    def _models(self) -> tuple[str, ...]:
        """The names of the open models, the current one first."""
        session = self._session
        if session.model is None:
            return ()
        return (session.model.name, *(model.name for model in session.others))

    def _tell(self) -> None:
        """Send what differs from what was sent last."""
        session = self._session
        now = {
            "positions": session.positions,
            "components": session.components,
            "selection": session.selection,
            "models": self._models,
            "notice": "" if session.notice is None else _cut(session.notice.text),
        }
        changed = {name: value for name, value in now.items() if self._sent.get(name) != value}
        if changed:
            self._sent = dict(now)
            self._sender.put(messages.Changed(**changed))  # type: ignore[arg-type]


def _is_loading(model: Listed) -> bool:
    return model.session.model is None and not model.failed


def _offers(notice: Notice) -> bool:
    """Return whether a notice offers a way to open the model after all."""
    return bool(notice.candidates or notice.whole or notice.retry or notice.asks or notice.inside)


def _failure(failed: bool, notice: Notice | None) -> str:
    if not failed:
        return ""
    return "It could not be opened." if notice is None else notice.text


def _cut(text: str) -> str:
    return text[: messages.MAX_SENTENCE]


def _pose_from(pose: messages.Pose) -> CameraPose:
    position, focal, up = map(np.array, (pose.position, pose.focal_point, pose.up))
    return CameraPose(position, focal, up, pose.parallel_scale)


def _pose_to(pose: CameraPose) -> messages.Pose:
    position, focal, up = (
        (float(x), float(y), float(z)) for x, y, z in (pose.position, pose.focal_point, pose.up)
    )
    return messages.Pose(position, focal, up, pose.parallel_scale)
