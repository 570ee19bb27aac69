"""Clusters that cannot run a survey: each is refused with its own sentence, before any work."""

import asyncio
import http.server
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask
import pytest
from distributed.core import Server
from distributed.security import Security
from distributed.versions import get_versions

from geometry.survey import cluster
from geometry.survey.cluster import check_scheduler
from geometry.survey.parts import SurveyError, SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, RowSettings
from geometry.survey.run import run_survey
from tests.command_line import assert_refused
from tests.geometry.survey.real_cluster import (
    OTHER_PYTHON,
    OTHER_VERSION,
    Cluster,
    bare_packages,
    serving,
)
from tests.geometry.survey.survey_stage import made


def refused(address: str) -> str:
    """The sentence with which an address is refused."""
    with pytest.raises(SurveyError) as caught:
        check_scheduler(address)
    assert address in str(caught.value)
    assert caught.value.advice
    return str(caught.value)


@pytest.fixture
def soon(monkeypatch):
    """Wait for a shorter time than for a real scheduler, perhaps on a busy machine."""
    assert cluster.ANSWER_S + 2 * cluster.WEB_S + 1 < 15
    monkeypatch.setattr(cluster, "ANSWER_S", 1.2)


@pytest.mark.parametrize(
    "address",
    ["foo", "", "tcp://", "tcp://127.0.0.1", "127.0.0.1", "tcp://127.0.0.1:port", "tcp://:8786",
     "tcp://127.0.0.1:99999", "tcp://127.0.0.1:0", "tcp://127.0.0.1:8786/", "::1:8786",
     "tcp://[::1:8786", "http://127.0.0.1:8786", "nonsense://127.0.0.1:8786", "inproc://here",
     "tcp://tcp://127.0.0.1:8786", "tcp://\udcff:8786"],
)  # fmt: skip
def test_what_is_no_address(address):
    with pytest.raises(SurveyError, match="is not the address of a scheduler"):
        check_scheduler(address)


@pytest.mark.usefixtures("soon")
def test_nothing_is_there():
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    assert "Connection refused" in refused(address)
    assert "There is no scheduler at" in refused("tcp://not a host:8786")


@pytest.mark.usefixtures("soon")
def test_tls_without_certificates_and_with_wrong_ones(tmp_path):
    assert "names none" in refused("tls://127.0.0.1:8786")
    certificate = tmp_path / "certificate.pem"
    names = {"distributed.comm.tls.client.cert": str(certificate),
             "distributed.comm.tls.ca-file": str(certificate)}  # fmt: skip
    with dask.config.set(names):
        with pytest.raises(SurveyError, match=r"cannot be used: .*No such file"):
            check_scheduler("tls://127.0.0.1:8786")
        certificate.write_text("nonsense", "utf-8")
        with pytest.raises(SurveyError, match="cannot be used"):
            check_scheduler("tls://127.0.0.1:8786")
        made = Security.temporary()
        certificate.write_text(f"{made.tls_client_cert}{made.tls_client_key}", "utf-8")
        with serving(b"") as address:
            assert "not answered" in refused(address.replace("tcp:", "tls:"))


@pytest.mark.usefixtures("soon")
def test_a_server_that_says_nothing(monkeypatch):
    monkeypatch.setattr(cluster, "WEB_S", 0.2)
    with serving(b"") as address:
        assert "not answered" in refused(address)


def test_a_server_of_another_kind(monkeypatch):
    monkeypatch.setattr(cluster, "WEB_S", 0.2)
    with serving(b"SSH-2.0-OpenSSH_9.2p1\r\n") as address:
        assert "another kind of server" in refused(address)
    with serving(b"", hangs_up=True) as address:
        assert "closes the connection" in refused(address)


@pytest.mark.usefixtures("soon")
def test_a_web_server():
    handler = http.server.BaseHTTPRequestHandler
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        assert "a web server is there" in refused(f"tcp://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@contextmanager
def answering(kind: str, packages: dict[str, object]) -> Iterator[str]:
    """A server of Dask's that answers what it is, and with these versions; its address."""
    versions = get_versions([cluster._PACKAGE])
    versions["packages"] |= packages
    handlers = {"identity": lambda: {"type": kind}, "versions": lambda packages: versions}
    ready: list[str] = []
    begun, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with Server(handlers) as server:
            await server.listen("tcp://127.0.0.1:0")
            ready.append(server.address)
            begun.set()
            await over.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    begun.wait()
    yield ready[0]
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def test_a_scheduler_like_this_machine():
    with answering("Scheduler", {}) as address:
        check_scheduler(address)
    with answering("Worker", {}) as address:
        assert "a worker is there" in refused(address)


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ({"distributed": "2021.09.1"}, "has Dask 2021.09.1, not"),
        ({"distributed": "2099.1.0"}, "has Dask 2099.1.0, not"),
        ({"python": "3.99.0.final.0", "distributed": "2021.09.1"}, "has Python 3.99, not"),
        ({"helixscope": None}, "has no Helixscope"),
        ({"helixscope": "99.1"}, "has Helixscope 99.1, not"),
    ],
)
def test_a_scheduler_of_other_versions(packages, words):
    with answering("Scheduler", packages) as address:
        assert words in refused(address)


def test_another_patch_of_python_is_the_same():
    version = f"{sys.version_info[0]}.{sys.version_info[1]}.99.final.0"
    with answering("Scheduler", {"python": version}) as address:
        check_scheduler(address)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return bare_packages(tmp_path_factory.mktemp("bare") / "packages")


@contextmanager
def started(**options: object) -> Iterator[Cluster]:
    one = Cluster(**options)
    try:
        yield one
    finally:
        one.close()


@pytest.mark.slow
def test_a_scheduler_without_this_package(command, bare, tmp_path):
    out = tmp_path / "a.parquet"
    with started(path=bare) as of_others:
        done = command("survey", "sample", "--out", out, "--scheduler", of_others.address)
    assert_refused(done, f"The scheduler at {of_others.address} has no Helixscope")
    assert [*tmp_path.glob("a.*")] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mismatched versions")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "bare"}, "has no Helixscope"),
        ({"first": OTHER_VERSION.format(name="helixscope", version="99.1")}, "Helixscope 99.1"),
        ({"first": OTHER_VERSION.format(name="distributed", version="2021.9")}, "Dask 2021.9, not"),
        ({"first": OTHER_PYTHON}, "Python 3.99, not"),
    ],
    ids=["no package", "another version", "another Dask", "another Python"],
)
def test_one_worker_that_cannot_do_it(options, words, command, bare, tmp_path):
    """Whether it is there from the beginning, beside a good one, or comes later."""
    if "path" in options:
        options = {"path": bare}
    with started() as real:
        worker = real.add_worker(**options)
        real.until(worker, "Registered to")
        real.until(real.add_worker(), "Registered to")
        out = tmp_path / "a.parquet"
        done = command("survey", "sample", "--out", out, "--scheduler", real.address)
        assert_refused(done, "The worker at tcp://", words)


def survey(address, folder, count, tell):
    """Survey checkpoints that are made up, by a scheduler."""
    entries = [Entry(f"own/r@checkpoint-{step}", "own", step=step) for step in range(count)]
    with SurveyFile(folder / "a.parquet", RowSettings()) as file:
        run_survey(entries, file, Access(offline=True), scheduler=address, tell=tell, measure=made)


@pytest.mark.slow
def test_a_worker_that_comes_later_is_asked_too(tmp_path):
    other = OTHER_VERSION.format(name="helixscope", version="99.1")
    with started() as real:

        def tell(now):
            if now.waiting == "There is no worker yet." and len(real.processes) == 1:
                real.add_worker(first=other)

        with pytest.raises(SurveyError, match=r"The worker at tcp://.* has Helixscope 99\.1"):
            survey(real.address, tmp_path, 4, tell)


@pytest.mark.slow
def test_a_worker_that_hangs_does_not_hold_up_the_others(tmp_path):
    told = []
    with started() as real:
        hangs = real.add_worker()
        real.until(hangs, "Registered to")
        real.until(real.add_worker(), "Registered to")
        hangs.send_signal(signal.SIGSTOP)

        def tell(now):
            told.append(now)
            if now.done:
                hangs.send_signal(signal.SIGCONT)

        survey(real.address, tmp_path, 40, tell)
    assert told[-1].done == 40


@pytest.mark.parametrize("address", ["foo", "tls://127.0.0.1:8786", "tcp://127.0.0.1:port"])
def test_a_command_says_it_in_one_line(command, tmp_path, address):
    done = command("survey", "sample", "--out", tmp_path / "a.parquet", "--scheduler", address)
    assert_refused(done, address)
