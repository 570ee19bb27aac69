"""Fixtures for the GUI tests: small models, a session without a window, the whole application."""

import gc
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista as pv
import shiboken6
from PySide6.QtCore import QAbstractAnimation, QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file

from geometry.model import PositionalModel
from geometry.sources import open_source
from gui.app import Application, prepare_qt
from gui.camera import view_pose
from gui.controller import Controller
from gui.jobs import InlineJobs
from gui.scene_state import resolve_scene
from gui.scenes import HelixScene
from gui.session import Session
from gui.settings import Settings
from gui.theme import LIGHT, Theme

N_POSITIONS, D_MODEL = 200, 24
WORDS = ("<|endoftext|>", "[UNK]", "hello", "my", "name", "is", "adam")
TIMEOUT_MS = 20_000
"""How long a test waits for the application before it fails; never how long it takes."""


# ---- models ----------------------------------------------------------------------------


def _helix(n_positions: int = N_POSITIONS, d_model: int = D_MODEL, seed: int = 5) -> np.ndarray:
    """Return a helix of 3 turns in a random basis, with falling noise; its ends are outliers."""
    rng = np.random.default_rng(seed)
    t = np.arange(n_positions) / max(n_positions - 1, 1)
    angle = 6 * np.pi * t
    latent = rng.normal(size=(n_positions, d_model)) * 0.03 * 0.8 ** np.arange(d_model)
    latent[:, :3] += np.column_stack([2.0 * np.cos(angle), 1.5 * np.sin(angle), 2.5 * t])
    basis, _ = np.linalg.qr(rng.normal(size=(d_model, d_model)))
    table = latent @ basis + 0.2
    table[0] *= 4
    table[-1] *= 0.05
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
        return open_source(write_table(W_pos, name))

    return opened


@pytest.fixture
def model(open_table: Callable[..., PositionalModel]) -> PositionalModel:
    """The small helix: 200 positions, 24 dimensions, no tokenizer."""
    return open_table()


@pytest.fixture
def write_gpt2(tmp_path: Path) -> Callable[..., Path]:
    """Write a tiny GPT-2 folder with a tokenizer: ``write_gpt2(name, W_pos)``."""

    def write(name: str = "tiny-gpt2", W_pos: np.ndarray | None = None) -> Path:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        table = _helix() if W_pos is None else W_pos
        folder = tmp_path / name
        folder.mkdir()
        n_positions, d_model = table.shape
        config = {"model_type": "gpt2", "n_positions": n_positions, "n_embd": d_model, "n_head": 2,
                  "n_layer": 1, "vocab_size": len(WORDS)}  # fmt: skip
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": WORDS[0]}), "utf-8")
        vocabulary = {word: i for i, word in enumerate(WORDS)}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(folder / "tokenizer.json"))
        save_file({"wpe.weight": table.astype(np.float32)}, folder / "model.safetensors")
        return folder

    return write


# ---- without a window ------------------------------------------------------------------


class HandJobs:
    """Jobs whose results come when the test says so; superseded ones are stopped and never come."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[Callable[[], Any], ...]] = {}
        self._computed: dict[str, Callable[[], None]] = {}
        self._on_slow: dict[str, Callable[[], None] | None] = {}
        self._stops: dict[str, Callable[[], None]] = {}
        self._on_progress: dict[str, Callable[[Any], None]] = {}
        self.started: list[str] = []

    def start(
        self,
        slot: str,
        function: Any,
        on_result: Any,
        on_error: Any,
        on_slow: Any = None,
        *,
        on_progress: Any = None,
        stop: Any = None,
    ) -> None:
        self.cancel(slot)
        self._on_slow[slot] = on_slow
        self.started.append(slot)
        if stop is not None:
            self._stops[slot] = stop
        work = function
        if on_progress is not None:
            self._on_progress[slot] = on_progress

            def tell(progress: Any) -> None:
                if self.waiting.get(slot) is job:
                    on_progress(progress)

            def work() -> Any:
                return function(tell)

        job = (work, on_result, on_error)
        self.waiting[slot] = job

    def cancel(self, slot: str) -> None:
        self._forget(slot)
        if (stop := self._stops.pop(slot, None)) is not None:
            stop()

    def _forget(self, slot: str) -> None:
        self.waiting.pop(slot, None)
        self._computed.pop(slot, None)

    def tell(self, slot: str, progress: Any) -> None:
        """Let the thread of a job tell how far it is."""
        assert slot in self.waiting
        self._on_progress[slot](progress)

    def drag_on(self, slot: str) -> None:
        """Let a job take so long that the user may wonder."""
        assert slot in self.waiting
        if (announce := self._on_slow[slot]) is not None:
            announce()

    def compute(self, slot: str) -> None:
        """Let the thread of a job finish; its result is not delivered yet."""
        function, on_result, on_error = self.waiting[slot]
        try:
            result = function()
        except Exception as error:
            caught = error
            self._computed[slot] = lambda: on_error(caught)
        else:
            self._computed[slot] = lambda: on_result(result)

    def deliver(self, slot: str) -> None:
        """Let a result arrive on the GUI thread."""
        if slot not in self._computed:
            self.compute(slot)
        arrive = self._computed[slot]
        self._forget(slot)
        self._stops.pop(slot, None)
        arrive()

    def deliver_all(self) -> None:
        """Let everything arrive, what the arrivals start included."""
        while self.waiting:
            self.deliver(next(iter(self.waiting)))


@pytest.fixture
def hand_jobs() -> HandJobs:
    return HandJobs()


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


# ---- the scene, drawn without a window --------------------------------------------------


class Stage:
    """A scene on an off-screen plotter."""

    def __init__(self, theme: Theme, size: tuple[int, int], scale: float) -> None:
        self.plotter = pv.Plotter(off_screen=True, window_size=size)
        self.plotter.render_window.SetMultiSamples(0)
        self.plotter.render_window.SetDPI(round(72 * scale))
        self.scene = HelixScene(self.plotter, theme, scale)

    def show(self, session: Session, view: str | None = "article") -> np.ndarray:
        """Draw a session; return the picture, (height, width, 3), upside up."""
        state = resolve_scene(session)
        self.scene.show(state)
        width, height = self.plotter.window_size
        if state is not None and view is not None:
            pose = view_pose(view, self.scene.displayed_range, self.scene.turn, width / height)
            pose.apply(self.plotter.camera)
        return self.draw()

    def draw(self) -> np.ndarray:
        self.plotter.renderer.ResetCameraClippingRange()
        self.plotter.render_window.Render()
        return np.array(self.plotter.screenshot())

    def pixels(self) -> tuple[np.ndarray, np.ndarray]:
        """Where all positions are: (n, 2) x and y of the picture, (n,) depth."""
        xy, depth = self.scene.projection().to_screen(self.scene.displayed)
        return np.column_stack([xy[:, 0], self.plotter.window_size[1] - 1 - xy[:, 1]]), depth

    def close(self) -> None:
        self.scene.release()
        self.plotter.close()


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


# ---- the application -------------------------------------------------------------------


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    """The QApplication as the application makes it: VTK's surface format has to come first."""
    return prepare_qt()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings in a file of this test alone."""
    return Settings(tmp_path / "settings.ini")


def _moving() -> set[QObject]:
    """Return the timers and animations made in Python that run now."""
    running = QAbstractAnimation.State.Running
    found = set()
    for item in gc.get_objects():
        if not isinstance(item, QTimer | QAbstractAnimation) or not shiboken6.isValid(item):
            continue
        if item.isActive() if isinstance(item, QTimer) else item.state() == running:
            found.add(item)
    return found


@pytest.fixture(scope="module", autouse=True)
def _what_is_imported_stays() -> None:
    """Leave out what is there by now when garbage is collected and timers are looked for.

    With torch and transformers that is a million objects, which every test would look through.
    """
    gc.collect()
    gc.freeze()


def _threads() -> set[str]:
    return {t.name for t in threading.enumerate() if t.name.startswith("helixscope")}


def _described(widget: QWidget) -> str:
    inside = ", ".join(type(child).__name__ for child in widget.children()[:6])
    return f"{widget.metaObject().className()} with {inside or 'nothing'} in it"


@pytest.fixture
def nothing_left_behind(qapp: QApplication) -> Iterator[None]:
    """Fail the test if it leaves a top-level widget, a thread of the pool or a running timer."""
    windows, moving = set(qapp.topLevelWidgets()), _moving()
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    left = {
        "threads": sorted(_threads()),
        "timers": [f"{t!r} of {t.parent()!r}" for t in _moving() - moving],
        "windows": [_described(w) for w in qapp.topLevelWidgets() if w not in windows],
    }
    left = {what: which for what, which in left.items() if which}
    assert not left, f"left behind: {left}"


@pytest.fixture
def wait_until_idle(qtbot: QtBot) -> Callable[[Application], None]:
    """Wait until no job is under way and everything is painted."""

    def wait(application: Application) -> None:
        qtbot.waitUntil(lambda: application.idle, timeout=TIMEOUT_MS)

    return wait


@pytest.fixture
def start_application(
    qapp: QApplication,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nothing_left_behind: None,
    wait_until_idle: Callable[[Application], None],
) -> Iterator[Callable[..., Application]]:
    """Start the application with a source, and wait until it is idle; closed after the test.

    Keyword arguments: ``positions``; ``offline``; ``settings``, if other than the fixture's;
    ``wait``.
    """
    # What the user of this machine has in the Hub cache is none of a test's business.
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    started: list[Application] = []

    def start(
        source: str | Path | None = None,
        *,
        positions: tuple[int, int] | None = None,
        offline: bool = False,
        settings: Settings = settings,
        wait: bool = True,
    ) -> Application:
        source = None if source is None else str(source)
        application = Application(qapp, settings, source, positions, offline=offline)
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
    qapp.setStyleSheet("")


@pytest.fixture
def application(
    start_application: Callable[..., Application], write_gpt2: Callable[..., Path]
) -> Application:
    """The running application, with a tiny GPT-2 with a tokenizer open and painted."""
    return start_application(write_gpt2())
