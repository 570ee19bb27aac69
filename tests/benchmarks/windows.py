"""Windows to measure: ours, and a bare one with an empty viewport; and the clock for frames."""

import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, QObject, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QMainWindow
from pyvistaqt import QtInteractor

from gui.commands.application import Application
from gui.viewport.viewport import Viewport
from gui.window.settings.settings import Settings

SIZE = (1400, 900)
"""Width and height of the viewports that are compared."""
FRAMES = 8
"""How many are measured before it is the other side's turn: to raise a window repaints it."""
PATIENCE_S = 60.0
QUIET_S = 0.25
"""How long nothing is painted by a window at rest."""


class BareWindow:
    """An empty Qt window with an empty ``QtInteractor``: what a frame costs at least."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.window = QMainWindow()
        # Like ours while it moves, in software rendering: not antialiased.
        self.interactor = QtInteractor(self.window, auto_update=False, multi_samples=0)
        self.window.setCentralWidget(self.interactor)
        self.window.resize(*size)
        self.window.show()

    def close(self) -> None:
        self.interactor.close()
        self.window.close()


def our_window(qt: QApplication, source: str, size: tuple[int, int] = SIZE) -> Application:
    """Open the whole application, with a viewport of a given size, and let it come to rest."""
    settings = Settings(Path(tempfile.mkdtemp(prefix="helixscope-")) / "settings.json")
    application = Application(qt, settings, source)
    rest(qt, application)
    window, interactor = application.window, application.window.viewport.interactor
    for _ in range(3):
        width, height = (want - has for want, has in zip(size, _size(interactor), strict=True))
        window.resize(window.width() + width, window.height() + height)
        rest(qt, application)
    if _size(interactor) != size:
        raise RuntimeError(f"expected a viewport of {size}, got {_size(interactor)}")
    return application


class _Painting(QObject):
    """Notices when anything was painted last."""

    def __init__(self) -> None:
        super().__init__()
        self.last = time.perf_counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Paint, QEvent.Type.Expose, QEvent.Type.UpdateRequest):
            self.last = time.perf_counter()
        return False


def rest(qt: QApplication, application: Application) -> None:
    """Let all work be done, and all that the screen asks for after it be painted.

    A screen that has shown a window in a new size asks it to paint itself some time later.
    """
    painting = _Painting()
    qt.installEventFilter(painting)

    def quiet() -> bool:
        return application.idle and time.perf_counter() - painting.last > QUIET_S

    run_until(qt, quiet)
    qt.removeEventFilter(painting)


def run_until(qt: QApplication, done: Callable[[], bool]) -> None:
    """Run the event loop until something holds, asleep between events as in the application."""
    deadline = time.monotonic() + PATIENCE_S
    waker = QTimer(interval=20)
    waker.start()
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing came within {PATIENCE_S:g} s")
        qt.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    waker.stop()


def rotation(viewport: Viewport) -> tuple[Callable[[], None], Callable[[], None]]:
    """Press the mouse's button; return what moves the mouse, and what lets go of the button."""
    interactor, left = viewport.interactor, Qt.MouseButton.LeftButton
    middle = QPointF(interactor.rect().center())
    steps = count(1)

    def send(kind: QEvent.Type, at: QPointF, button: Qt.MouseButton, held: Qt.MouseButton) -> None:
        event = QMouseEvent(
            kind, at, QPointF(interactor.mapToGlobal(at)), button, held,
            Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(interactor, event)

    def move() -> None:
        at = middle + QPointF(5 * next(steps), 0)
        send(QEvent.Type.MouseMove, at, Qt.MouseButton.NoButton, left)

    send(QEvent.Type.MouseButtonPress, middle, left, left)
    release = QEvent.Type.MouseButtonRelease
    return move, lambda: send(release, middle, left, Qt.MouseButton.NoButton)


class Frames:
    """Waits for a viewport's frames: what is rendered after a change, and then on the screen."""

    def __init__(self, qt: QApplication, interactor: QtInteractor) -> None:
        self._qt = qt
        self._rendered = self._swapped = False
        interactor.ren_win.AddObserver("EndEvent", self._on_rendered)
        interactor.frameSwapped.connect(self._on_swapped)

    def _on_rendered(self, *_: object) -> None:
        self._rendered = True

    def _on_swapped(self) -> None:
        self._swapped = self._rendered

    def after(self, change: Callable[[], object]) -> float:
        """Make a change and return the milliseconds until the frame that shows it is swapped."""
        self._rendered = self._swapped = False
        start = time.perf_counter()
        change()
        while not self._swapped:
            self._qt.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
            if time.perf_counter() - start > PATIENCE_S:
                raise TimeoutError(f"no frame came within {PATIENCE_S:g} s")
        return (time.perf_counter() - start) * 1e3

    def block(self, change: Callable[[], object]) -> list[float]:
        """Make a change some times; return what each took but the first."""
        return [self.after(change) for _ in range(FRAMES)][1:]


def _size(interactor: QtInteractor) -> tuple[int, int]:
    return interactor.width(), interactor.height()
