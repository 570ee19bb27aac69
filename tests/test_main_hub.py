"""The command line and the Hub: real processes, and a Hub on this machine that plays every fault.

One sentence on standard error and status 1 for whatever goes wrong; 130 for Ctrl+C; silence where
nobody looks; and no request for what was fetched before.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import main as command_line
from geometry.hub.tensor_cache import TensorCache
from tests.loopback_hub import RIGHT_TOKEN, Fault, LoopbackHub, Playing
from tests.stand_ins import positions_of, write_stand_in

ROOT = Path(__file__).resolve().parents[1]
GPT2 = "openai-community/gpt2"
ALIAS = "stanford-crfm/alias-gpt2-small-x21"

Completed = subprocess.CompletedProcess[str]
Command = Callable[..., Completed]


@pytest.fixture
def gpt2_commit(loopback_hub: LoopbackHub, tmp_path: Path) -> str:
    """The stand-in of GPT-2 on the Hub."""
    return loopback_hub.add(GPT2, write_stand_in(tmp_path / "served", GPT2))


@pytest.fixture
def cache(hub_home: Path, tmp_path: Path) -> TensorCache:
    """What the commands keep things in."""
    return TensorCache(tmp_path / "helixscope" / "hub")


@pytest.fixture
def environment(hub_home: Path, tmp_path: Path) -> dict[str, str]:
    """What a command sees besides what all tests see: a home of its own, and little patience."""
    places = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("STATE", "CONFIG")}
    return {**places, "HF_HUB_DOWNLOAD_TIMEOUT": "1"}


@pytest.fixture
def command(environment: dict[str, str]) -> Command:
    """Run the command line as a user does."""

    def run(*arguments: object, **variables: str) -> Completed:
        return subprocess.run(
            [sys.executable, "main.py", *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def assert_silent(done: Completed) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def assert_refused(done: Completed, *words: str) -> None:
    """One sentence in one line, which says what the words do."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("helixscope: ")
    assert done.stderr.endswith(".\n")
    assert done.stderr.count("\n") == 1
    for some in words:
        assert some in done.stderr


def norms_in(path: Path) -> list[float]:
    with path.open(encoding="utf-8", newline="") as file:
        return [float(row["norm"]) for row in csv.DictReader(file)]


def norms_of(name: str, revision: str = "main") -> list[float]:
    """Of the positions that are exported where nothing is said: all but the first."""
    return np.linalg.norm(positions_of(name, revision)[1:].astype(float), axis=1).tolist()


def add_large(hub: LoopbackHub, table: np.ndarray, tokens: int = 2_000) -> bytes:
    """Serve a GPT-2 whose tensors are not in what the index comes with; its weights file."""
    n_positions, width = table.shape
    config = {
        "model_type": "gpt2", "n_positions": n_positions, "n_embd": width, "n_head": 2,
        "n_layer": 1, "vocab_size": tokens,
    }  # fmt: skip
    embeddings = np.random.default_rng(0).standard_normal((tokens, width), np.float32)
    padding = np.zeros(50_000, np.float32)
    content = save({"h.0.attn.bias": padding, "wpe.weight": table, "wte.weight": embeddings})
    files = {"model.safetensors": content, "config.json": json.dumps(config).encode()}
    hub.add(GPT2, files)
    return content


# ---- models of the Hub ---------------------------------------------------------------------


def test_a_model_of_the_hub_and_again_offline(command, loopback_hub, gpt2_commit, tmp_path):
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    assert_silent(command("export", GPT2, "--out", first))
    assert norms_in(first) == pytest.approx(norms_of(GPT2))
    assert len(loopback_hub.requests) == 3
    loopback_hub.forget_requests()
    loopback_hub.close()
    for words in (("--offline",), ()):
        assert_silent(command("export", GPT2, "--out", again, *words))
        assert again.read_bytes() == first.read_bytes()
    # By its short name, too; and where the environment says so.
    assert_silent(command("export", "gpt2", "--out", again, HF_HUB_OFFLINE="1"))
    assert loopback_hub.requests == []


def test_report_and_render(command, loopback_hub, gpt2_commit, tmp_path):
    out, picture = tmp_path / "report", tmp_path / "helix.png"
    assert_silent(command("report", GPT2, "--out", out, "--no-figures"))
    first = (out / "report.json").read_bytes()
    measured = json.loads(first)
    assert (measured["model"]["source"], measured["model"]["commit"]) == (GPT2, gpt2_commit)
    assert measured["missing"] == {}
    loopback_hub.forget_requests()
    # The token embeddings and the weights that it needed are kept as well.
    assert_silent(command("report", GPT2, "--out", out, "--no-figures", "--offline"))
    assert (out / "report.json").read_bytes() == first
    assert_silent(command("render", GPT2, "--out", picture, "--size", "90x60", "--offline"))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert loopback_hub.requests == []


def test_a_revision_of_a_torch_checkpoint(command, loopback_hub, tmp_path):
    revision = "checkpoint-1000"
    files = write_stand_in(tmp_path / "served", ALIAS, revision)
    commit = loopback_hub.add(ALIAS, files, revision=revision)
    out = tmp_path / "out.csv"
    for name in (revision, commit):
        assert_silent(command("export", f"{ALIAS}@{name}", "--out", out))
        assert norms_in(out) == pytest.approx(norms_of(ALIAS, revision))
    assert_refused(command("export", ALIAS, "--out", out), f"{ALIAS} has no revision 'main'")


def test_a_branch_that_moves_on(command, loopback_hub, tmp_path):
    loopback_hub.add(ALIAS, write_stand_in(tmp_path / "served", GPT2))
    out = tmp_path / "out.csv"
    assert_silent(command("export", ALIAS, "--out", out))
    moved = write_stand_in(tmp_path / "served", GPT2, "checkpoint-0")
    loopback_hub.add(ALIAS, moved)
    assert_silent(command("export", ALIAS, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))
    assert_silent(command("export", ALIAS, "--out", out, "--fresh"))
    assert norms_in(out) == pytest.approx(norms_of(GPT2, "checkpoint-0"))
    assert command("export", ALIAS, "--out", out, "--fresh", "--offline").returncode == 2


def test_a_gated_model_and_a_token(command, loopback_hub, tmp_path):
    loopback_hub.add(GPT2, write_stand_in(tmp_path / "served", GPT2), gated=True)
    out = tmp_path / "out.csv"
    assert_refused(command("export", GPT2, "--out", out), "is gated", "ask for access", "HF_TOKEN")
    denied = command("export", GPT2, "--out", out, HF_TOKEN="hf_of_no_use")
    assert_refused(denied)
    assert "hf_of_no_use" not in denied.stderr
    assert_silent(command("export", GPT2, "--out", out, HF_TOKEN=RIGHT_TOKEN))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


def test_a_server_that_ignores_range(command, loopback_hub, gpt2_commit, tmp_path, cache):
    loopback_hub.fault(Fault.ignore_range(), times=None, path="*/model.safetensors")
    out = tmp_path / "out.csv"
    size = (tmp_path / "served" / GPT2.replace("/", "--") / "main" / "model.safetensors").stat()
    refused = command("export", GPT2, "--out", out)
    assert_refused(refused, f"all {size.st_size / 1000:.0f} kB of model.safetensors", "--whole")
    assert cache.usage() == 0
    assert_silent(command("export", GPT2, "--out", out, "--whole"))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


def test_a_report_names_the_option_that_allows_a_whole_download(command, loopback_hub, tmp_path):
    add_large(loopback_hub, positions_of(GPT2))
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv"))
    loopback_hub.ranges = False
    report = ("report", GPT2, "--out", tmp_path / "report", "--no-figures")
    assert_refused(command(*report), "model.safetensors would have to be downloaded", "--whole")
    assert_silent(command(*report, "--whole"))
    # It was all kept.
    loopback_hub.forget_requests()
    assert_silent(command(*report, "--offline"))
    assert loopback_hub.requests == []


# ---- faults --------------------------------------------------------------------------------

BODY = "*/model.safetensors"


@pytest.mark.parametrize(
    ("fault", "times", "path", "words"),
    [
        pytest.param(Fault.status(429, {"Retry-After": "3600"}), 1, "*", "60 minutes", id="429"),
        pytest.param(Fault.status(503), None, "*", "503 Service Unavailable", id="503"),
        pytest.param(Fault.stall(), None, "*", "did not answer in time", id="time-out"),
        pytest.param(Fault.refuse(), None, "*", "The connection to 127.0.0.1", id="no answer"),
        pytest.param(Fault.cut(9), None, BODY, "The connection to 127.0.0.1", id="cut"),
        pytest.param(Fault.wrong_length(-1), None, BODY, "model.safetensors", id="wrong length"),
        pytest.param(Fault.garble_content_range(), 1, BODY, "another part", id="another part"),
    ],
)
def test_faults(command, loopback_hub, gpt2_commit, tmp_path, cache, fault, times, path, words):
    loopback_hub.fault(fault, times=times, path=path)
    out = tmp_path / "out.csv"
    assert_refused(command("export", GPT2, "--out", out), words)
    assert not out.exists()
    assert cache.usage() == 0


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("http://helixscope.invalid", "The name helixscope.invalid could not be looked up"),
        ("http://127.0.0.1:9", "127.0.0.1:9 refuses connections"),
        ("huggingface", "HF_ENDPOINT is no web address"),
    ],
)
def test_no_hub_at_the_address(command, tmp_path, endpoint, words):
    for arguments in (["export", GPT2, "--out", tmp_path / "out.csv"], ["models", "--search", "x"]):
        assert_refused(command(*arguments, HF_ENDPOINT=endpoint), words)


def test_what_is_not_there(command, loopback_hub, gpt2_commit, tmp_path):
    out = tmp_path / "out.csv"
    missing = command("export", "nobody/nothing", "--out", out)
    assert_refused(missing, "no file or folder 'nobody/nothing' here", "no model nobody/nothing")
    missing = command("report", f"{GPT2}@never", "--out", tmp_path / "report")
    assert_refused(missing, "has no revision 'never'")
    assert not (tmp_path / "report").exists()
    missing = command("render", GPT2, "--out", tmp_path / "x.png", "--offline")
    assert_refused(missing, f"{GPT2} is not on this machine", "leave out --offline")
    missing = command("export", GPT2, "--out", out, HF_HUB_OFFLINE="1")
    assert_refused(missing, f"{GPT2} is not on this machine", "unset HF_HUB_OFFLINE")
    assert len(loopback_hub.requests) == 2


def test_a_certificate_that_nobody_trusts(command, serve_hub, tmp_path):
    with_tls = serve_hub(tls=True)
    with_tls.add(GPT2, write_stand_in(tmp_path / "served", GPT2))
    assert_refused(command("export", GPT2, "--out", tmp_path / "out.csv"), "certificate")


def test_wrong_bytes_that_show(command, loopback_hub, tmp_path, cache):
    table = positions_of(GPT2)
    table[-1, -1] = 2.0**96  # one flipped bit of its exponent away from infinity
    content = add_large(loopback_hub, table)
    loopback_hub.fault(Fault.flip(content.index(table[-1].tobytes()) + table[-1].nbytes - 1))
    out = tmp_path / "out.csv"
    assert_refused(command("export", GPT2, "--out", out), "wpe.weight", "finite")
    assert not out.exists()
    assert cache.usage() == 0
    assert_refused(command("export", GPT2, "--out", out, "--offline"), "is not on this machine")
    assert_silent(command("export", GPT2, "--out", out))


def test_a_cache_that_cannot_be_written(command, loopback_hub, gpt2_commit, tmp_path):
    (tmp_path / "helixscope").write_text("in the way")
    out = tmp_path / "out.csv"
    assert_silent(command("export", GPT2, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))
    (log,) = (tmp_path / "state").rglob("helixscope.log")
    assert "Could not write" in log.read_text("utf-8")


# ---- Ctrl+C --------------------------------------------------------------------------------


def _heed_ctrl_c() -> None:
    # What a shell starts in the background ignores Ctrl+C, and so would its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def interrupted(environment: dict[str, str]) -> Callable[..., tuple[int, bytes, bytes]]:
    """Run the command line and press Ctrl+C once a fault is being played: status and output."""

    def run(playing: Playing, *arguments: object) -> tuple[int, bytes, bytes]:
        with subprocess.Popen(
            [sys.executable, "main.py", *map(str, arguments)], cwd=ROOT,
            env=os.environ | environment | {"HF_HUB_DOWNLOAD_TIMEOUT": "60"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_heed_ctrl_c,
        ) as process:  # fmt: skip
            assert playing.reached.wait(60)
            process.send_signal(signal.SIGINT)
            printed = process.communicate(timeout=30)
        return (process.returncode, *printed)

    return run


@pytest.mark.parametrize(
    ("fault", "path", "after"),
    [
        pytest.param(Fault.stall(), BODY, 0, id="before an answer"),
        pytest.param(Fault.stall(100), BODY, 0, id="in the index"),
        pytest.param(Fault.stall(10), "*/config.json", 0, id="in the configuration"),
        pytest.param(Fault.stall(100), BODY, 1, id="in the table"),
        pytest.param(Fault.status(503, {"Retry-After": "50"}), BODY, 1, id="in a wait"),
    ],
)
def test_ctrl_c(command, interrupted, loopback_hub, tmp_path, cache, fault, path, after):
    add_large(loopback_hub, positions_of(GPT2))
    playing = loopback_hub.fault(fault, path=path, times=None, after=after)
    out = tmp_path / "out.csv"
    assert interrupted(playing, "export", GPT2, "--out", out) == (130, b"", b"")
    assert not out.exists()
    assert cache.usage() == 0
    loopback_hub.clear_faults()
    assert_silent(command("export", GPT2, "--out", out))
    assert norms_in(out) == pytest.approx(norms_of(GPT2))


def test_ctrl_c_while_measuring(command, interrupted, loopback_hub, tmp_path):
    add_large(loopback_hub, positions_of(GPT2))
    playing = loopback_hub.fault(Fault.stall(100), path=BODY, times=None, after=2)
    out = tmp_path / "report"
    arguments = ("report", GPT2, "--out", out, "--no-figures")
    assert interrupted(playing, *arguments) == (130, b"", b"")
    assert not out.exists()
    loopback_hub.clear_faults()
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv", "--offline"))
    assert_silent(command(*arguments, "--offline"))
    offline = json.loads((out / "report.json").read_text("utf-8"))
    assert offline["pca"] is not None
    assert offline["overlaps"]["W_Q_E"] is offline["capture"] is offline["spectrum"]["E"] is None
    assert "network may not be used" in offline["missing"]["capture"]
    assert "spectrum.stable_rank.E" in offline["missing"]
    assert_silent(command(*arguments))
    online = json.loads((out / "report.json").read_text("utf-8"))
    assert online["spectrum"]["E"] is not None
    assert "capture" not in online["missing"]


# ---- on a terminal -------------------------------------------------------------------------


class Terminal:
    """A process whose standard error is a terminal, 150 columns wide."""

    def __init__(self, environment: dict[str, str], *arguments: object) -> None:
        pty = pytest.importorskip("pty")
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "main.py", *map(str, arguments)], cwd=ROOT,
            env=os.environ | environment | {"TERM": "xterm", "COLUMNS": "150"},
            stdout=subprocess.DEVNULL, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        self._shown = b""

    def until(self, words: str) -> None:
        """Wait until it shows something."""
        while words not in self._shown.decode("utf-8", "ignore"):
            piece = os.read(self._ours, 65536)
            assert piece, self._shown
            self._shown += piece

    def end(self) -> tuple[int, str]:
        """Wait until the process has ended; its status, and all that it showed."""
        try:
            while piece := os.read(self._ours, 65536):
                self._shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(self._ours)
        return self.process.wait(60), self._shown.decode("utf-8")


@pytest.fixture
def on_terminal(environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Run the command line on a terminal."""
    started: list[Terminal] = []

    def run(*arguments: object) -> Terminal:
        started.append(Terminal(environment, *arguments))
        return started[-1]

    yield run
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()


def test_progress_and_success_on_a_terminal(on_terminal, loopback_hub, tmp_path):
    table = positions_of(GPT2)
    add_large(loopback_hub, table)
    loopback_hub.fault(Fault.status(503), path=BODY)
    gate = threading.Event()
    loopback_hub.fault(Fault.slow(2_000, gate), path=BODY, after=1)
    terminal = on_terminal("export", GPT2, "--out", tmp_path / "out.csv")
    terminal.until("503 Service Unavailable. Trying again in 1 second.")
    terminal.until("Fetching wpe.weight")
    terminal.until(f"2 kB of {table.nbytes / 1000:.0f} kB")
    gate.set()
    status, shown = terminal.end()
    assert status == 0
    (commit,) = {request.path.split("/")[4] for request in loopback_hub.requests[2:]}
    assert f"Wrote {tmp_path / 'out.csv'}: gpt2 at commit {commit[:7]}." in shown


def test_ctrl_c_on_a_terminal(on_terminal, loopback_hub, gpt2_commit, tmp_path):
    loopback_hub.fault(Fault.stall(100), path=BODY)
    terminal = on_terminal("export", GPT2, "--out", tmp_path / "out.csv")
    terminal.until("Fetching model.safetensors")
    terminal.process.send_signal(signal.SIGINT)
    status, shown = terminal.end()
    assert status == 130
    assert "Traceback" not in shown
    assert "helixscope:" not in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the bars are gone


def test_much_is_announced(on_terminal, loopback_hub, tmp_path):
    table = positions_of(GPT2)
    add_large(loopback_hub, table, tokens=21_000_000 // table[0].nbytes)
    terminal = on_terminal("report", GPT2, "--out", tmp_path / "report", "--no-figures")
    terminal.until("The report reads 21.0 MB more of gpt2.")
    assert terminal.end()[0] == 0


# ---- the list of models --------------------------------------------------------------------


def rows_of(done: Completed) -> dict[str, str]:
    assert (done.returncode, done.stderr) == (0, "")
    return {line.split()[0]: line for line in done.stdout.splitlines()}


def test_models_tells_states_and_costs(command, loopback_hub, tmp_path):
    for revision in ("main", "checkpoint-0"):
        files = write_stand_in(tmp_path / "served", GPT2, revision)
        loopback_hub.add(GPT2, files, revision=revision)
    rows = rows_of(command("models"))
    assert " ".join(rows[GPT2].split()).endswith("online 3.1 MB")
    for source in (GPT2, f"{GPT2}@checkpoint-0"):
        assert_silent(command("export", source, "--out", tmp_path / "out.csv"))
    loopback_hub.forget_requests()
    for words in ((), ("--offline",)):
        rows = rows_of(command("models", *words))
        assert rows[GPT2].split()[-1] == "cached"
        assert rows[f"{GPT2}@checkpoint-0"].split()[-1] == "cached"
        assert "6.6 MB" in rows["openai-community/gpt2-xl"]
    assert loopback_hub.requests == []


def test_searching(command, loopback_hub, gpt2_commit, tmp_path):
    loopback_hub.add(ALIAS, write_stand_in(tmp_path / "served", ALIAS))
    assert_silent(command("export", GPT2, "--out", tmp_path / "out.csv"))
    rows = rows_of(command("models", "--search", "gpt2"))
    assert set(rows) == {"Model", GPT2, ALIAS}
    assert rows[GPT2].split()[-1] == "cached"
    assert rows[ALIAS].split()[-1] == "online"
    nothing = command("models", "--search", "quite another")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "No model on the Hub has 'quite another' in its name.\n"
    refused = command("models", "--search", "gpt2", "--offline")
    assert_refused(refused, "The Hub is not asked", "leave out --offline")


# ---- the window ----------------------------------------------------------------------------


def test_the_window_does_not_wait_for_the_hub(monkeypatch, loopback_hub, gpt2_commit):
    import gui.app

    calls = []

    def run_window(*arguments, offline):
        calls.append((*arguments, offline, len(loopback_hub.requests)))
        return 0

    monkeypatch.setattr(gui.app, "run_window", run_window)
    for words in ([GPT2], ["open", f"{GPT2}@v1", "--offline", "--positions", "5-5000"]):
        with pytest.raises(SystemExit) as stop:
            command_line.main(words)
        assert stop.value.code == 0
    assert calls == [(GPT2, None, None, False, 0), (f"{GPT2}@v1", (5, 5000), None, True, 0)]


def test_a_window_with_a_model_of_the_hub(command, loopback_hub, gpt2_commit, tmp_path):
    out, again = tmp_path / "window.png", tmp_path / "again.png"
    assert_silent(command("open", GPT2, "--picture", out))
    assert out.read_bytes().startswith(b"\x89PNG")
    loopback_hub.forget_requests()
    assert_silent(command("open", GPT2, "--offline", "--picture", again))
    assert loopback_hub.requests == []
    missing = command("open", "nobody/nothing", "--picture", tmp_path / "nothing.png")
    assert_refused(missing, "no model nobody/nothing")
    assert not (tmp_path / "nothing.png").exists()


# ---- what is loaded ------------------------------------------------------------------------


def test_nothing_is_loaded_that_is_not_needed(
    command, environment, loopback_hub, gpt2_commit, tmp_path
):
    np.save(tmp_path / "table.npy", positions_of(GPT2))
    assert_silent(command("report", GPT2, "--out", tmp_path / "report", "--no-figures"))
    program = (
        "import sys, main\n"
        "try:\n"
        "    main.main(sys.argv[1:])\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code, stop.code\n"
        "heavy = {'torch', 'transformers', 'huggingface_hub', 'httpx2', 'PySide6'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    for words in (
        ["--help"],
        ["export", tmp_path / "table.npy", "--out", tmp_path / "again.csv"],
        ["export", GPT2, "--out", tmp_path / "again.csv"],
        ["report", GPT2, "--out", tmp_path / "report", "--no-figures"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, words)],
            cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "[]", words
