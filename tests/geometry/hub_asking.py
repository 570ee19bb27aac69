"""Asking a loopback Hub for one model's files, in whole and in parts."""

import gc
import re
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.client import Hub, Retries
from geometry.hub.faults import HubError
from tests.loopback.hub import LoopbackHub

ADDRESS = HubAddress("openai-community/gpt2")
WEIGHTS = "model.safetensors"
DATA = np.random.default_rng(3).integers(0, 256, 700_000, dtype=np.uint8).tobytes()
FOREVER = 3600.0
QUICK = Retries(first_wait_s=0.001, longest_wait_s=0.002)

on_one_fixture = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)

#: What asks; all of them have to explain the same faults.
ASKS: dict[str, Callable[[Hub, HubAddress, Transfer], object]] = {
    "open": lambda hub, address, transfer: hub.open_file(address, WEIGHTS, transfer),
    "fetch": lambda hub, address, transfer: hub.fetch(address, "config.json", transfer),
    "list": lambda hub, address, transfer: hub.list_files(address, transfer),
    "search": lambda hub, address, transfer: hub.search("gpt2", transfer=transfer),
}


def ranges(server: LoopbackHub) -> list[tuple[int, int]]:
    """The ranges that were asked for, first and last byte, redirects left out."""
    asked = [r.range.removeprefix("bytes=").split("-") for r in server.requests if r.range]
    kept = [r.status not in (302, 307) for r in server.requests if r.range]
    return [(int(a), int(b)) for (a, b), keep in zip(asked, kept, strict=True) if keep]


def fails(ask: str, hub: Hub, kind: type[HubError], address: HubAddress = ADDRESS) -> HubError:
    """Ask in vain; the error, which is one sentence with an advice and names no token or address
    of a request.
    """
    with pytest.raises(kind) as caught:
        ASKS[ask](hub, address, Transfer())
    error = caught.value
    assert type(error) is kind
    assert re.fullmatch(r"[A-Z0-9a-z].*[^.]\.", str(error)), error
    assert "\n" not in str(error)
    assert error.advice.endswith(".")
    seen = "".join([error.advice, *traceback.format_exception(error)])
    assert "hf_" not in seen
    assert "X-Signature" not in seen
    return error


def open_sockets(server: LoopbackHub) -> list[socket.socket]:
    """This process's sockets that are connected to the server, on the client's side."""
    ports = {int(host.url.rpartition(":")[2]) for host in (server._hub, server._storage)}
    found = []
    for thing in gc.get_objects():
        if issubclass(type(thing), socket.socket) and thing.fileno() >= 0:
            with suppress(OSError):
                if thing.family == socket.AF_INET and thing.getpeername()[1] in ports:
                    found.append(thing)
    return found
