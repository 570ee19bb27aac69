"""HTTP connections that can be cut from another thread, each used by one thread at a time.

huggingface_hub shares one HTTP client between all threads, and closes it, under requests that are
under way, whenever one of its own requests cannot connect. So the ranged reads go through clients
of the same kind that nobody else knows; they follow redirects and drop the authorization off-host
as that one does.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import threading
import weakref
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.transfer import Transfer
from geometry.hub.address import HubAddress
from geometry.hub.explanations import offline
from geometry.hub.faults import NoNetwork
from geometry.hub.headers import headers_for
from geometry.hub.retry_policy import Retries

if TYPE_CHECKING:
    import ssl

    import httpx2

#: Looking up a name and connecting cannot be interrupted, so it is not waited for longer.
_CONNECT_S = 5.0

#: Clients kept for the next request, with their open connections.
_KEPT = 16


class Connections:
    """Asks, one request at a time and thread; keeps connections open for the next request.

    Parameters
    ----------
    retries
        How failures are borne by those who ask.
    timeout_s
        How long the server may stay silent; huggingface_hub's HF_HUB_DOWNLOAD_TIMEOUT if None.
    offline
        No request leaves; HF_HUB_OFFLINE in the environment has the same effect.
    """

    def __init__(self, retries: Retries, timeout_s: float | None, offline: bool) -> None:
        self.retries = retries
        self._offline = offline
        self._timeout_s = timeout_s
        self._idle: list[_Line] = []
        self._lent: weakref.WeakSet[_Line] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closing = weakref.finalize(self, _close_all, self._idle)

    @property
    def offline(self) -> bool:
        """Whether no request leaves; switching it on cuts those that are under way."""
        return self._offline

    @offline.setter
    def offline(self, value: bool) -> None:
        self._offline = value
        if value:
            with self._lock:
                # Not after the lock: a line that is given back may be lent to another.
                for line in self._lent:
                    line.stop()

    def close(self) -> None:
        """Close the connections that are kept; others are opened when needed."""
        with self._lock:
            _close_all(self._idle)

    @contextlib.contextmanager
    def answer(
        self,
        transfer: Transfer,
        url: str,
        endpoint: str,
        address: HubAddress | None = None,
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        params: Mapping[str, str | int] | None = None,
    ) -> Iterator[httpx2.Response]:
        """Send a GET and give its answer while the block lasts; the body is not read yet.

        Parameters
        ----------
        transfer
            What counts the request, and stops it.
        url
            What is asked for.
        endpoint
            The Hub's address: to it alone the access token is sent.
        address
            The model that this is about, for messages.
        headers, params
            What is told besides who asks; the query.

        Raises
        ------
        Offline
            The network may not be used, or no longer.
        AccessDenied
            The access token cannot be sent.
        NoNetwork
            The environment names a proxy or certificates that cannot be used.
        Cancelled
            Someone cancelled ``transfer``, before or meanwhile.
        httpx2.HTTPError
            Nobody answered, or the connection broke, also later in the block.
        """
        if self.offline or offline_by_environment():
            raise offline(address, by_environment=not self.offline)
        transfer.check()
        # Not earlier: to tell the token, huggingface_hub may renew it over the network.
        told = {**headers_for(url, endpoint), **headers}
        line = self._take()
        try:
            with transfer.interruptible(line.stop):
                response = line.get(url, told, params, self._timeout(), transfer)
                try:
                    yield response
                finally:
                    response.close()
        # Once the line is cut, whoever reads may fail in the client's words, in the socket's or in
        # his own; all else goes on as it was.
        except Exception:
            if line.stopped and self._offline and not transfer.cancelled:
                raise offline(address, by_environment=False) from None
            raise
        finally:
            self._give_back(line)

    def _take(self) -> _Line:
        with self._lock:
            line = self._idle.pop() if self._idle else None
        line = line or _Line()
        with self._lock:
            self._lent.add(line)
            if self._offline:  # since it was looked at
                line.stop()
        return line

    def _give_back(self, line: _Line) -> None:
        with self._lock:
            self._lent.discard(line)
            if not line.stopped and len(self._idle) < _KEPT:
                self._idle.append(line)
                return
        line.close()

    def _timeout(self) -> float:
        if self._timeout_s is not None:
            return self._timeout_s
        from huggingface_hub import constants

        return float(constants.HF_HUB_DOWNLOAD_TIMEOUT)


class _Line:
    """An HTTP client whose sockets are known, so that another thread can shut them."""

    def __init__(self) -> None:
        import httpx2

        self.stopped = False
        self._lock = threading.RLock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._handshake: socket.socket | None = None
        context = _ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        try:
            self._client = httpx2.Client(verify=context, follow_redirects=True)
        # Not their texts: the proxy's address may hold a password.
        except (ImportError, ValueError, httpx2.InvalidURL):
            raise NoNetwork(
                "The proxy that this machine's environment names cannot be used.",
                "Name one with http://… in HTTPS_PROXY and ALL_PROXY, or unset them.",
            ) from None

    def get(
        self,
        url: str,
        headers: Mapping[str, str],
        params: Mapping[str, str | int] | None,
        timeout_s: float,
        transfer: Transfer,
    ) -> httpx2.Response:
        """Send one GET, follow redirects, and return the answer without its body."""
        import httpx2

        def on_request(_: httpx2.Request) -> None:
            transfer.check()
            transfer.count_request()

        self._client.event_hooks = {"request": [on_request]}
        request = self._client.build_request(
            "GET",
            url,
            headers=headers,
            params=params,
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S)),
            extensions={"trace": self._on_event},
        )
        return self._client.send(request, stream=True)

    def stop(self) -> None:
        """Shut all sockets, on another thread: whoever waits for one gets an error at once."""
        with self._lock:
            self.stopped = True
            for one in self._sockets:
                _shut(one)

    def close(self) -> None:
        """Close the client and its sockets."""
        self._client.close()

    def _on_event(self, name: str, info: Mapping[str, Any]) -> None:
        """Note new sockets; the client tells of each step, see "trace" in httpx's documentation."""
        if name.endswith("start_tls.started"):
            self._on_handshake()
            return
        if ".start_tls." in name and self._handshake is not None:
            self._handshake.close()
            self._handshake = None
        stream = info.get("return_value")
        if name.endswith(("connect_tcp.complete", "start_tls.complete")) and stream is not None:
            self._note(stream.get_extra_info("socket"))

    def _on_handshake(self) -> None:
        # Wrapping a socket for TLS takes its descriptor away from the object that is known here.
        with self._lock:
            plain = [one for one in self._sockets if one.fileno() >= 0]
        if plain:
            self._handshake = plain[-1].dup()
            self._note(self._handshake)

    def _note(self, one: socket.socket) -> None:
        with self._lock:
            self._sockets.add(one)
            if self.stopped:
                _shut(one)


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Not SSLSocket's own method, which takes the cipher from under the thread that reads.
        socket.socket.shutdown(one, socket.SHUT_RDWR)


def _close_all(lines: list[_Line]) -> None:
    while lines:
        lines.pop().close()


@functools.lru_cache(maxsize=1)
def _ssl_context(cert_file: str | None, cert_dir: str | None) -> ssl.SSLContext:
    """Return the system's certificates, or those that the environment names; read once."""
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise NoNetwork(
            f"The certificates of this machine cannot be read: {error.strerror or error}.",
            "Correct SSL_CERT_FILE and SSL_CERT_DIR, or unset them.",
        ) from error


def offline_by_environment() -> bool:
    """Whether HF_HUB_OFFLINE is set to something that means yes."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
