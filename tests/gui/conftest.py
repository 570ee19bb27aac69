"""Fixtures for the GUI tests: small models, a session without a window, the whole application."""

import gc
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.commands import qt_start
from gui.commands.application import Application
from gui.commands.qt_start import prepare_qt
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.services.jobs.qt_jobs import QtJobs
from gui.state.session import Session
from gui.style.theme import LIGHT, Theme
from gui.viewport import antialiasing, camera_moves, viewport
from gui.viewport.antialiasing import Antialiasing
from gui.window.settings.settings import Settings
from tests.gui.hand_jobs import HandJobs
from tests.gui.remains import Remains, pool_threads
from tests.gui.scene_stage import Stage
from tests.gui.shared_window import SharedWindow
from tests.small_models import gpt2_config, write_model

N_POSITIONS, D_MODEL = 200, 24
WORDS = ("<|endoftext|>", "[UNK]", "hello", "my", "name", "is", "adam")
TIMEOUT_MS = 60_000
"""How long a test waits for the application before it fails; never how long it takes."""


def _helix(n_positions: int = N_POSITIONS, d_model: int = D_MODEL, seed: int = 5) -> np.ndarray:
    """Return a helix of 3 turns in a random basis, with falling noise; position 0 is an outlier."""
    rng = np.random.default_rng(seed)
    t = np.arange(n_positions) / max(n_positions - 1, 1)
    angle = 6 * np.pi * t
    latent = rng.normal(size=(n_positions, d_model)) * 0.03 * 0.8 ** np.arange(d_model)
    latent[:, :3] += np.column_stack([2.0 * np.cos(angle), 1.5 * np.sin(angle), 2.5 * t])
    basis, _ = np.linalg.qr(rng.normal(size=(d_model, d_model)))
    table = latent @ basis + 0.2
    table[0] *= 4
    return table


@pytest.fixture
def helix() -> Callable[..., np.ndarray]:
    """Make a table: ``helix(n_positions, d_model, seed)``."""
    return _helix


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., Path]:
    """Write a table as a .npy file, the helix if none is given."""

    def write(W_pos: np.ndarray | None = None, name: str = "helix") -> Path:
        path = tmp_path / f"{name}.npy"
        np.save(path, _helix() if W_pos is None else W_pos)
        return path

    return write


@pytest.fixture
def open_table(write_table: Callable[..., Path]) -> Callable[..., PositionalModel]:
    """Open a table as a model, through a real file."""

    def opened(W_pos: np.ndarray | None = None, name: str = "helix") -> PositionalModel:
        return open_model(write_table(W_pos, name))

    return opened


@pytest.fixture
def model(open_table: Callable[..., PositionalModel]) -> PositionalModel:
    """The small helix: 200 positions, 24 dimensions, no tokenizer."""
    return open_table()


def _write_gpt2(folder: Path, W_pos: np.ndarray | None = None) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    table = _helix() if W_pos is None else W_pos
    config = gpt2_config(*table.shape, n_head=2, n_layer=1, vocab_size=len(WORDS))
    write_model(folder, config, {"wpe.weight": table})
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": WORDS[0]}), "utf-8")
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def picture(written: Callable[..., Path]) -> Path:
    """A vision model with 2 × 3 patches."""
    table = np.random.default_rng(0).standard_normal((1, 7, 8)).astype(np.float32)
    config = {"model_type": "vit", "hidden_size": 8, "image_size": [8, 12], "patch_size": 4}
    return written({"vit.embeddings.position_embeddings": table}, config)


@pytest.fixture
def write_gpt2(tmp_path: Path) -> Callable[..., Path]:
    """Write a tiny GPT-2 folder with a tokenizer: ``write_gpt2(name, W_pos)``."""
    return lambda name="tiny-gpt2", W_pos=None: _write_gpt2(tmp_path / name, W_pos)


@pytest.fixture
def hand_jobs() -> HandJobs:
    return HandJobs()


@pytest.fixture
def thread_jobs(qapp: QApplication) -> Iterator[Callable[[Session], QtJobs]]:
    """Jobs of a session on threads, as in the window; shut down however the test ends."""
    made: list[QtJobs] = []

    def make(session: Session) -> QtJobs:
        # With an owner, as in the window: what nobody owns the collector deletes on any thread.
        made.append(QtJobs(session, qapp))
        return made[-1]

    yield make
    for jobs in made:
        jobs.shut_down()
        shiboken6.delete(jobs)


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def controller(session: Session) -> Iterator[Controller]:
    """A controller whose jobs are done before it returns."""
    made = Controller(session, InlineJobs())
    yield made
    made.close()


@pytest.fixture
def opened(session: Session, controller: Controller, write_table: Callable[..., Path]) -> Session:
    """A session with the small helix open, answered by ``controller``."""
    controller.open(str(write_table()))
    assert session.notice is None
    return session


@pytest.fixture
def stage() -> Iterator[Callable[..., Stage]]:
    """Make stages: ``stage(theme, size, scale)``."""
    stages: list[Stage] = []

    def build(
        theme: Theme = LIGHT, size: tuple[int, int] = (640, 480), scale: float = 1.0
    ) -> Stage:
        stages.append(Stage(theme, size, scale))
        return stages[-1]

    yield build
    for made in stages:
        made.close()


class PatientBot(QtBot):
    """pytest-qt's own, which gives up after five seconds: too few where other tests run beside."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = TIMEOUT_MS) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = TIMEOUT_MS, **options: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitExposed(self, widget: Any, *, timeout: int = TIMEOUT_MS) -> Any:
        return super().waitExposed(widget, timeout=timeout)

    def waitActive(self, widget: Any, *, timeout: int = TIMEOUT_MS) -> Any:
        return super().waitActive(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> PatientBot:
    return PatientBot(request)


@pytest.fixture(scope="session")
def qapp() -> Iterator[QApplication]:
    """The QApplication as the application makes it: VTK's surface format has to come first.

    With the last style sheet Qt forgets to hear of the deletion of styled widgets that live on,
    lists of drop-downs for instance, and the second style sheet after that is given to deleted
    ones. The application keeps another widget with one while it changes its own; tests take it
    away, but for one widget.
    """
    made = prepare_qt()
    styled = QWidget()
    styled.setStyleSheet("QWidget {}")
    yield made
    shiboken6.delete(styled)


@pytest.fixture
def dress(qapp: QApplication) -> Iterator[Callable[[Theme], None]]:
    """Give all widgets the style and font of a theme, until the test ends."""
    sheet, font, palette = qapp.styleSheet(), qapp.font(), qapp.palette()
    yield lambda theme: qt_start.dress(qapp, theme)
    qapp.setStyleSheet(sheet)
    qapp.setFont(font)
    qapp.setPalette(palette)


@pytest.fixture(scope="module", autouse=True)
def _font_is_as_before(qapp: QApplication) -> Iterator[None]:
    """Leave the next module the font that this one found: a window sets its own."""
    font = qapp.font()
    yield
    qapp.setFont(font)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings in a file of this test alone."""
    return Settings(tmp_path / "settings.json")


@pytest.fixture(scope="module", autouse=True)
def _what_is_imported_stays() -> None:
    """Leave out what is there by now when garbage is collected and timers are looked for.

    With torch and transformers that is a million objects, which every test would look through.
    """
    gc.collect()
    gc.freeze()


class RoughStills(Antialiasing):
    """The still after a motion is its last frame: to draw it smoothly takes as long once more."""

    _drawn = False

    def rest(self) -> None:
        self._drawn = False
        super().rest()

    def _draw_still(self) -> None:
        self.at_rest = self._drawn or not self._interactor.isVisible()
        if not self.at_rest:
            self._interactor.update()

    def _on_frame_swapped(self) -> None:
        self._drawn = True
        self.at_rest = not self._timer.isActive()


@pytest.fixture(scope="session", autouse=True)
def _motion_is_short() -> Iterator[None]:
    """Let animations take a few frames, and stills follow them at once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(camera_moves, "EASE_MS", 50)
        patched.setattr(antialiasing, "REST_MS", 20)
        patched.setattr(viewport, "Antialiasing", RoughStills)
        yield


@pytest.fixture
def smooth_stills(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stills of windows that are made from now on be antialiased, as for users."""
    monkeypatch.setattr(viewport, "Antialiasing", Antialiasing)


@pytest.fixture(autouse=True)
def _pointer_is_away() -> None:
    """Park the pointer in a corner that no window covers.

    A window that is mapped under it gets an Enter event from the X server in its own time. Between
    two moves of a test, Qt then takes the wrong widget for the one under the mouse.
    """
    if QApplication.instance() is not None:
        QCursor.setPos(QApplication.primaryScreen().geometry().bottomRight())


@pytest.fixture
def nothing_left_behind(qapp: QApplication) -> Iterator[None]:
    """Fail the test if it leaves a top-level widget, a thread of the pool or a running timer."""
    gc.freeze()  # what was there before is not looked through again
    before = Remains.of(qapp)
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    for thread in set(pool_threads()) - before.threads:
        thread.join(TIMEOUT_MS / 1000)  # it stops only between two steps
    gc.collect()
    left = Remains.of(qapp).described(since=before)
    assert not left, f"left behind: {left}"


@pytest.fixture
def new_pool_threads() -> Callable[[], list[threading.Thread]]:
    """Tell which of the jobs' threads came since the test began."""
    before = set(pool_threads())
    return lambda: [one for one in pool_threads() if one not in before]


@pytest.fixture
def wait_until_idle(qtbot: QtBot) -> Callable[[Application], None]:
    """Wait until no job is under way and everything is painted."""

    def wait(application: Application) -> None:
        qtbot.waitUntil(lambda: application.idle, timeout=TIMEOUT_MS)

    return wait


@pytest.fixture
def no_user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user of this machine has in the Hub cache is none of a test's business."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def start_application(
    qapp: QApplication,
    shared_window: SharedWindow,
    settings: Settings,
    no_user_cache: None,
    nothing_left_behind: None,
    wait_until_idle: Callable[[Application], None],
) -> Iterator[Callable[..., Application]]:
    """Start the application with a source, and wait until it is idle; closed after the test.

    Keyword arguments: ``positions``; ``offline``; ``beside``; ``settings``, if other than the
    fixture's; ``safely``; ``greets``; ``pictured``; ``wait``.
    """
    shared_window.close()  # one window has the focus
    palette = qapp.palette()
    started: list[Application] = []

    def start(
        source: str | Path | Source | None = None,
        *,
        positions: tuple[int, int] | None = None,
        offline: bool = False,
        beside: tuple[str, ...] = (),
        settings: Settings = settings,
        safely: bool = False,
        greets: bool = False,
        pictured: bool = False,
        wait: bool = True,
    ) -> Application:
        source = None if source is None else Source.of_any(source)
        application = Application(
            qapp, settings, source, positions, offline=offline, beside=beside, safely=safely,
            greets=greets, pictured=pictured,
        )  # fmt: skip
        started.append(application)
        if wait:
            wait_until_idle(application)
        return application

    yield start
    for application in started:
        if shiboken6.isValid(application):
            application.close()
            application.window.deleteLater()
            application.deleteLater()
    # Windows that are gone need not be styled anew.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qapp.setStyleSheet("")
    qapp.setPalette(palette)


@pytest.fixture(scope="module")
def shared_window(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedWindow]:
    """The window of the module's tests; it leaves nothing behind either."""
    folder = tmp_path_factory.mktemp("shared")
    before = Remains.of(qapp)
    made = SharedWindow(qapp, _write_gpt2(folder / "tiny-gpt2"), folder / "settings.json")
    yield made
    made.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    left = Remains.of(qapp).described(since=before)
    assert not left, f"left behind: {left}"


@pytest.fixture
def show_model(
    shared_window: SharedWindow,
    wait_until_idle: Callable[[Application], None],
    no_user_cache: None,
) -> Callable[[str | Path], Application]:
    """Show a model in the running application as after a start: ``show_model(source)``.

    Its window is that of the module's other tests: for one to close, there is
    ``start_application``.
    """
    application = shared_window.get(wait_until_idle)

    def show(source: str | Path) -> Application:
        application.controller.open(str(source))
        wait_until_idle(application)
        return application

    return show


@pytest.fixture
def application(
    shared_window: SharedWindow,
    wait_until_idle: Callable[[Application], None],
    no_user_cache: None,
) -> Application:
    """The running application as after a start, with a tiny GPT-2 with a tokenizer painted.

    As with ``show_model``, its window is that of the module's other tests.
    """
    return shared_window.get(wait_until_idle)


@pytest.fixture
def settle(
    application: Application, wait_until_idle: Callable[[Application], None]
) -> Callable[[], None]:
    """Wait until the shared window is idle."""
    return lambda: wait_until_idle(application)
