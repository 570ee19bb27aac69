"""Whether a cluster can run this survey: what its scheduler and its workers are asked first."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from geometry.survey.parts import SurveyError

if TYPE_CHECKING:
    from distributed import Client

#: Seconds in which a scheduler has to answer, and so long all wait for a worker's answer.
ANSWER_S = 7.0

#: Seconds in which a web server has to answer, to be named as one.
WEB_S = 2.0

_PACKAGE = "helixscope"
_VERSIONS = {"op": "versions", "packages": [_PACKAGE]}
_TITLES = {"python": "Python", "distributed": "Dask", _PACKAGE: "Helixscope"}
_INSTALL = "Install the same versions on all machines."

Versions = Mapping[str, str | None]
"""Of packages, by their names, and of Python."""


def check_scheduler(address: str) -> None:
    """Ask the scheduler at an address for its versions; nothing that it answers is unpickled.

    Raises SurveyError: there is none, or it cannot run this survey.
    """
    host, port, arguments = _place(address)
    found: Future[tuple[str, Versions]] = Future()

    def ask() -> None:
        try:
            found.set_result(_answers(address, host, port, arguments))
        except BaseException as error:  # for the thread that waits
            found.set_exception(error)

    # On a thread, since looking up a name cannot be stopped.
    threading.Thread(target=ask, name="asks a scheduler", daemon=True).start()
    try:
        kind, versions = found.result(ANSWER_S + 2 * WEB_S + 1)
    except TimeoutError as error:
        raise no_scheduler(address, "its name is not found") from error
    if kind != "Scheduler":
        raise no_scheduler(address, f"a {kind.lower()} is there")
    _check_versions(f"The scheduler at {address}", versions)


def no_scheduler(address: str, why: str) -> SurveyError:
    """Return the error for an address without a scheduler."""
    return SurveyError(
        f"There is no scheduler at {address}: {why}.",
        "Check its address, such as tcp://10.0.0.1:8786, and that it runs.",
    )


def _place(address: str) -> tuple[str, int, Mapping[str, Any]]:
    """Return the host and the port of an address, and Dask's arguments for a connection to it."""
    from distributed.comm import parse_address, parse_host_port
    from distributed.comm.registry import get_backend
    from distributed.security import Security

    try:
        scheme, place = parse_address(address)
        get_backend(scheme)
        host, port = parse_host_port(place)
        if not host.encode("idna") or not 0 < port < 2**16:
            raise ValueError(place)
    except (ValueError, ImportError, RuntimeError) as error:
        raise SurveyError(
            f"{address!r} is not the address of a scheduler.",
            "Write one such as tcp://10.0.0.1:8786.",
        ) from error
    try:
        arguments = Security().get_connection_args("client")
    except OSError as error:
        raise SurveyError(
            f"The certificates in Dask’s configuration cannot be used: {error}.",
            "Check distributed.comm.tls there.",
        ) from error
    if scheme == "tls" and arguments.get("ssl_context") is None:
        raise SurveyError(
            f"{address} needs certificates, and Dask’s configuration names none.",
            "Set distributed.comm.tls there.",
        )
    return host, port, arguments


def _answers(
    address: str, host: str, port: int, arguments: Mapping[str, Any]
) -> tuple[str, Versions]:
    """Return what kind of Dask's servers is at an address, and its versions.

    Raises SurveyError: there is none.
    """
    from distributed.comm.core import CommClosedError, FatalCommClosedError

    try:
        socket.getaddrinfo(host, port)
        return asyncio.run(_asked(address, arguments))
    except FatalCommClosedError as error:
        why = f"no TLS connection is possible, {error.__cause__}"
        raise no_scheduler(address, why) from error
    except Exception as error:  # whatever a stranger answers
        try:
            web = _is_web_server(host, port)
        except OSError as refusal:
            why = refusal.strerror or "it does not answer"
        else:
            if web:
                why = "a web server is there"
            elif any(isinstance(e, CommClosedError) for e in (error, error.__cause__)):
                why = "the server there closes the connection, as one does that needs tls://"
            elif isinstance(error, OSError):
                why = "connections are accepted, but not answered"
            else:
                why = "another kind of server is there"
        raise no_scheduler(address, why) from error


async def _asked(address: str, arguments: Mapping[str, Any]) -> tuple[str, Versions]:
    from distributed.core import connect

    async with asyncio.timeout(ANSWER_S):
        connecting = {"timeout": ANSWER_S - 1, "deserialize": False, **arguments}
        comm = await connect(address, **connecting)
        try:
            await comm.write({"op": "identity"})
            kind = (await comm.read())["type"]
            await comm.write(_VERSIONS)
            return kind, (await comm.read())["packages"]
        finally:
            comm.abort()


def _is_web_server(host: str, port: int) -> bool:
    """Return whether a web server is there; raises OSError if there is nothing."""
    with socket.create_connection((host, port), WEB_S) as asking, suppress(OSError):
        asking.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        return asking.recv(5) == b"HTTP/"
    return False


class WorkerCheck:
    """Asks each worker of a cluster for its versions, also those that come later.

    Parameters
    ----------
    client
        Connected to its scheduler.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked: dict[str, tuple[float, Future[Versions]]] = {}

    def ask(self, workers: Mapping[str, int]) -> None:
        """Ask those of the cluster's workers, the keys, that were not asked."""
        self._asked = {one: asked for one, asked in self._asked.items() if one in workers}
        for worker in workers.keys() - self._asked.keys():
            answer = asyncio.run_coroutine_threadsafe(
                self._versions(worker), self._client.loop.asyncio_loop
            )
            self._asked[worker] = time.monotonic(), answer

    async def _versions(self, worker: str) -> Versions:
        answers = await self._client.scheduler.broadcast(msg=_VERSIONS, workers=[worker])
        versions: Versions = answers[worker]["packages"]
        return versions

    def fit(self) -> set[str]:
        """Return the workers that can run the survey; none while some are about to answer.

        Raises SurveyError: a worker cannot run it.
        """
        fit, waiting = set(), False
        for worker, (since, answer) in list(self._asked.items()):
            if not answer.done():
                waiting |= time.monotonic() - since < ANSWER_S
            elif answer.exception() is not None:  # it has left, or is asked again
                del self._asked[worker]
            else:
                _check_versions(f"The worker at {worker}", answer.result())
                fit.add(worker)
        return set() if waiting else fit


def _check_versions(who: str, versions: Versions) -> None:
    from distributed.versions import get_versions

    there, here = _shown(versions), _shown(get_versions([_PACKAGE])["packages"])
    for name, title in _TITLES.items():
        if there[name] is None and here[name] is not None:
            raise SurveyError(f"{who} has no {title}.", _INSTALL)
        if there[name] != here[name]:
            raise SurveyError(f"{who} has {title} {there[name]}, not {here[name]}.", _INSTALL)


def _shown(versions: Versions) -> dict[str, str | None]:
    found = {name: versions.get(name) for name in _TITLES}
    return found | {"python": ".".join(str(found["python"]).split(".")[:2])}
