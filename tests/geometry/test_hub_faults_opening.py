"""Whatever goes wrong and whenever someone cancels: the cache stays sound, and the model opens."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from geometry.errors import HelixscopeError
from geometry.hub.faults import HubBusy, HubError, WholeDownload
from geometry.hub.transfer import Cancelled, Transfer, TransferProgress
from geometry.sources import open_source
from tests.conftest import ROOT
from tests.geometry.hub_opening import kept, network_of, serve
from tests.loopback_hub import Fault, LoopbackHub

N, D, D_VOCAB = 512, 64, 1000
KINDS = ("safetensors", "bin", "shards")
NAME = "someone/model"


@dataclass(frozen=True)
class Served:
    """One model on a Hub, and what is kept of it when nothing goes wrong."""

    hub: LoopbackHub
    table: np.ndarray
    sound: Mapping[str, bytes]
    fingerprint: str

    def opens(self, root: Path) -> None:
        """An ordinary opening works, gives the right numbers, and keeps what it should."""
        self.hub.clear_faults()
        model = open_source(NAME, network=network_of(self.hub, root))
        np.testing.assert_array_equal(model.W_pos, self.table)
        assert (model.fingerprint, model.n_heads) == (self.fingerprint, 4)
        assert kept(root) == self.sound
        self.hub.forget_requests()
        open_source(NAME, network=network_of(self.hub, root))
        assert self.hub.requests == []


def write_model(folder: Path, kind: str) -> np.ndarray:
    """Write a GPT-2 whose positions are not among the first bytes; its table."""
    random = np.random.default_rng(0)
    shapes = {"h.0.attn.c_attn.weight": (D, 3 * D), "h.0.mlp.c_fc.weight": (D, 4 * D),
              "h.0.mlp.c_proj.weight": (4 * D, D), "wpe.weight": (N, D),
              "wte.weight": (D_VOCAB, D)}  # fmt: skip
    tensors = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    config = {"model_type": "gpt2", "n_embd": D, "n_positions": N, "n_layer": 1, "n_head": 4}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    stem, write = ("model", save_file) if "bin" not in kind else ("pytorch_model", save_torch)
    suffix = "safetensors" if "bin" not in kind else "bin"
    if "shards" not in kind:
        write(tensors, folder / f"{stem}.{suffix}")
        return tensors["wpe.weight"]
    names = list(tensors)
    places = {}
    for number, part in enumerate((names[:1], names[1:4], names[4:])):
        shard = f"{stem}-{number}-of-3.{suffix}"
        write({name: tensors[name] for name in part}, folder / shard)
        places |= dict.fromkeys(part, shard)
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"weight_map": places}), "utf-8")
    return tensors["wpe.weight"]


def save_torch(tensors: Mapping[str, np.ndarray], path: Path) -> None:
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, path)


@pytest.fixture
def serve_kind(loopback_hub: LoopbackHub, tmp_path: Path) -> Callable[[str], Served]:
    """Serve a model of some kind, from a second host."""

    def start(kind: str) -> Served:
        table = write_model(tmp_path / "files", kind)
        serve(loopback_hub, tmp_path / "files", NAME)
        loopback_hub.redirect = True
        model = open_source(NAME, network=network_of(loopback_hub, tmp_path / "reference"))
        sound = kept(tmp_path / "reference")
        return Served(loopback_hub, table, sound, model.fingerprint)

    return start


@pytest.fixture(params=KINDS)
def served(request: pytest.FixtureRequest, serve_kind: Callable[[str], Served]) -> Served:
    return serve_kind(request.param)


def attempt(served: Served, root: Path, **options: object) -> HelixscopeError | None:
    """Open with whatever is in the way; the error, of which nothing is kept, or None."""
    before, error = kept(root), None
    try:
        model = open_source(NAME, network=network_of(served.hub, root, **options))
    except HelixscopeError as raised:
        error = raised
    if error is None:
        np.testing.assert_array_equal(model.W_pos, served.table)
        assert kept(root) == served.sound
        return None
    assert str(error).endswith(".")
    assert "\n" not in str(error)
    assert error.advice.endswith(".")
    assert kept(root) == before
    return error


# ---- every fault at every request ------------------------------------------------------------

#: Times None is for ever. "passes" are those that a second try gets over.
FAULTS: dict[str, tuple[Fault, int | None]] = {
    "500 once": (Fault.status(500), 1),
    "503 for ever": (Fault.status(503), None),
    "429, now": (Fault.status(429, {"Retry-After": "0"}), 1),
    "429, in an hour": (Fault.status(429, {"Retry-After": "3600"}), 1),
    "401": (Fault.status(401), 1),
    "403, gated": (Fault.status(403, error_code="GatedRepo"), 1),
    "404, no repository": (Fault.status(404, error_code="RepoNotFound"), 1),
    "404, no revision": (Fault.status(404, error_code="RevisionNotFound"), 1),
    "404, no file": (Fault.status(404, error_code="EntryNotFound"), 1),
    "418": (Fault.status(418), 1),
    "refused once": (Fault.refuse(), 1),
    "refused for ever": (Fault.refuse(), None),
    "cut before the first byte": (Fault.cut(0), 1),
    "cut after a byte": (Fault.cut(1), 1),
    "reset after 40 bytes": (Fault.cut(40, reset=True), 1),
    "cut after 40 kB": (Fault.cut(40_000), 1),
    "cut for ever": (Fault.cut(1), None),
    "no answer": (Fault.stall(), 1),
    "stalls after 10 bytes": (Fault.stall(10), 1),
    "no ranges once": (Fault.ignore_range(), 1),
    "no ranges": (Fault.ignore_range(), None),
    "a byte too few": (Fault.wrong_length(-1), 1),
    "a byte too many": (Fault.wrong_length(1), 1),
    "another part": (Fault.garble_content_range(), 1),
    "no part at all": (Fault.garble_content_range("bytes */*"), 1),
    "another file": (Fault.other_etag(), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_at_every_request(name: str, served: Served, tmp_path: Path) -> None:
    fault, times = FAULTS[name]
    for after in count():
        served.hub.clear_faults()
        playing = served.hub.fault(fault, times=times, after=after)
        root = tmp_path / f"cache {after}"
        error = attempt(served, root, timeout_s=0.3)
        if not playing.played:
            break
        if name in ("429, in an hour",):
            assert isinstance(error, HubBusy)
        if times is None:
            assert error is not None or fault.kind == "ignore_range"
        served.opens(root)
    assert error is None
    assert after >= 2


@pytest.mark.parametrize("name", ["500 once", "429, now", "refused once", "cut after a byte",
                                  "reset after 40 bytes", "cut after 40 kB", "no answer",
                                  "stalls after 10 bytes"])  # fmt: skip
def test_what_passes_is_got_over(name: str, served: Served, tmp_path: Path) -> None:
    fault, times = FAULTS[name]
    for after in range(4):
        served.hub.clear_faults()
        served.hub.fault(fault, times=times, after=after)
        assert attempt(served, tmp_path / f"cache {after}", timeout_s=0.3) is None


def test_a_server_without_ranges_says_what_it_costs_and_serves_whole_files(
    served: Served, tmp_path: Path
) -> None:
    served.hub.fault(Fault.ignore_range(), times=None)
    error = attempt(served, tmp_path / "cache")
    assert isinstance(error, WholeDownload)
    assert error.nbytes is not None
    assert error.nbytes > 98_304
    network = network_of(served.hub, tmp_path / "cache", whole=True)
    np.testing.assert_array_equal(open_source(NAME, network=network).W_pos, served.table)
    # And what came by on the way.
    assert served.sound.items() <= kept(tmp_path / "cache").items()
    served.hub.clear_faults()
    served.hub.forget_requests()
    open_source(NAME, network=network_of(served.hub, tmp_path / "cache"))
    assert served.hub.requests == []


# ---- cancelled at every stage ----------------------------------------------------------------


def cancelled_at(number: int) -> tuple[Transfer, list[TransferProgress]]:
    """A transfer that is cancelled when it tells of something for the n-th time."""
    told: list[TransferProgress] = []

    def on_progress(progress: TransferProgress) -> None:
        told.append(progress)
        if len(told) == number:
            transfer.cancel()

    transfer = Transfer(on_progress, interval_s=0)
    return transfer, told


def test_cancelled_whenever_something_is_told(served: Served, tmp_path: Path) -> None:
    errors: list[HelixscopeError | None] = []
    for number in count(1):
        transfer, told = cancelled_at(number)
        root = tmp_path / f"cache {number}"
        errors.append(attempt(served, root, transfer=transfer))
        served.opens(root)
        if len(told) < number:
            break
    # All but those that came when everything was there already.
    assert len(errors) > 5
    stopped = [isinstance(error, Cancelled) for error in errors]
    assert all(stopped[:-3])
    assert stopped == sorted(stopped, reverse=True)
    assert all(error is None or isinstance(error, Cancelled) for error in errors)


@pytest.mark.parametrize("after_bytes", [None, 10])
def test_cancelled_from_another_thread_at_every_request(
    after_bytes: int | None, served: Served, tmp_path: Path
) -> None:
    for after in count():
        served.hub.clear_faults()
        playing = served.hub.fault(Fault.stall(after_bytes), after=after)
        root, transfer, ended = tmp_path / f"cache {after}", Transfer(), threading.Event()
        errors: list[HelixscopeError | None] = []
        thread = threading.Thread(
            target=open_and_tell, args=(served, root, transfer, errors, ended, playing.reached)
        )
        thread.start()
        # Set by the server when it stalls, and by the thread when it is done without.
        assert playing.reached.wait(30)
        transfer.cancel()
        thread.join(30)
        assert ended.is_set()
        served.opens(root)
        if not playing.played:
            assert errors == [None]
            break
        assert [type(error) for error in errors] == [Cancelled]
    assert after >= 3


def open_and_tell(
    served: Served, root: Path, transfer: Transfer, errors: list[HelixscopeError | None],
    ended: threading.Event, also: threading.Event,
) -> None:  # fmt: skip
    try:
        errors.append(attempt(served, root, transfer=transfer, timeout_s=30.0))
    finally:
        ended.set()
        also.set()


def test_cancelled_before_it_begins(served: Served, tmp_path: Path) -> None:
    transfer = Transfer()
    transfer.cancel()
    served.hub.forget_requests()
    assert isinstance(attempt(served, tmp_path / "cache", transfer=transfer), Cancelled)
    assert served.hub.requests == []


# ---- many times over -------------------------------------------------------------------------


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from(sorted(FAULTS)), st.integers(0, 8)), max_size=3),
            st.none() | st.integers(1, 12),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_many_openings_that_go_wrong_in_a_row(
    served: Served,
    tmp_path_factory: pytest.TempPathFactory,
    openings: list[tuple[list[tuple[str, int]], int | None, bool]],
) -> None:
    """Faults, cancels and fresh looks in any order over one cache."""
    root = tmp_path_factory.mktemp("cache")
    for faults, cancel, fresh in openings:
        served.hub.clear_faults()
        for name, after in faults:
            fault, times = FAULTS[name]
            served.hub.fault(fault, times=times, after=after)
        transfer = Transfer() if cancel is None else cancelled_at(cancel)[0]
        attempt(served, root, transfer=transfer, fresh=fresh, timeout_s=0.2)
    served.opens(root)


# ---- wrong bytes -----------------------------------------------------------------------------


def test_wrong_bytes_where_they_can_be_told(
    serve_kind: Callable[[str], Served], tmp_path: Path
) -> None:
    """A torch file carries checksums: no bit of its pickle or of P may be another one."""
    served = serve_kind("bin")
    path = tmp_path / "files" / "pytorch_model.bin"
    raw = path.read_bytes()
    first, last = raw.index(served.table.tobytes()), raw.index(b"\x80\x02}")
    for number, offset in enumerate((first, first + 70_000, first + served.table.nbytes - 1,
                                     last + 30, last + 200)):  # fmt: skip
        served.hub.clear_faults()
        playing = served.hub.fault(Fault.flip(offset), path="*.bin")
        root = tmp_path / f"cache {number}"
        error = attempt(served, root)
        assert playing.played
        assert error is not None
        served.opens(root)


def test_a_header_that_makes_no_sense_is_not_kept(
    serve_kind: Callable[[str], Served], tmp_path: Path
) -> None:
    served = serve_kind("safetensors")
    raw = (tmp_path / "files" / "model.safetensors").read_bytes()
    length = 8 + int.from_bytes(raw[:8], "little")
    refused = 0
    for offset in (*range(12), *range(12, length, 7)):
        served.hub.clear_faults()
        served.hub.fault(Fault.flip(offset), path="*.safetensors")
        root = tmp_path / f"cache {offset}"
        try:
            open_source(NAME, network=network_of(served.hub, root))
        except HelixscopeError:
            refused += 1
            assert not kept(root)
            served.opens(root)
    # What is left are names of other tensors, which nobody can tell from right ones.
    assert refused > 20


# ---- faults later ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_faults_while_a_matrix_is_fetched(
    name: str, serve_kind: Callable[[str], Served], tmp_path: Path
) -> None:
    served = serve_kind("safetensors")
    fault, times = FAULTS[name]
    expected = open_source(tmp_path / "files").weight("W_Q")
    for after in range(3):
        root = tmp_path / f"cache {after}"
        for reopened in (False, True):
            served.hub.clear_faults()
            network = network_of(served.hub, root, timeout_s=0.3)
            model = open_source(NAME, network=network)
            before = kept(root)
            served.hub.fault(fault, times=times, after=after)
            try:
                np.testing.assert_array_equal(model.weight("W_Q"), expected)
            except HubError:
                assert kept(root) == before, reopened
                served.hub.clear_faults()
                np.testing.assert_array_equal(model.weight("W_Q"), expected)
            served.hub.clear_faults()
            assert model.bytes_to_fetch("W_Q") == 0


# ---- a process that is killed ----------------------------------------------------------------

OPEN = f"""
import sys
from pathlib import Path
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.hub.transfer import Transfer
from geometry.sources import open_source
network = Network(Hub(endpoint=sys.argv[1]), TensorCache(Path(sys.argv[2])), Transfer())
open_source({NAME!r}, network=network)
"""


@pytest.mark.parametrize(("kind", "requests"), [("safetensors", (1, 2)), ("bin", (2, 4))])
def test_a_process_killed_while_it_opens(
    kind: str, requests: tuple[int, int], serve_kind: Callable[[str], Served], tmp_path: Path
) -> None:
    served = serve_kind(kind)
    root = tmp_path / "cache"
    for after in requests:
        playing = served.hub.fault(Fault.stall(10), after=after)
        child = subprocess.Popen([sys.executable, "-c", OPEN, served.hub.url, root], cwd=ROOT)
        try:
            assert playing.reached.wait(60)
        finally:
            child.kill()
            child.wait(30)
        assert not kept(root)
    served.opens(root)
