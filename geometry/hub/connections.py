"""HTTP connections that can be aborted from another thread, each used by one thread at a time.

huggingface_hub shares a single HTTP client between all threads, and closes it, even while requests
are active, whenever one of its own requests cannot connect. So ranged reads use private clients of
the same kind, which also follow redirects and drop the authorization for other hosts.
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
from geometry.hub.answers import Budgets, HubAnswer, Pace, check_head, next_request
from geometry.hub.explanations import CONNECTION, host_of, offline
from geometry.hub.faults import BrokenTransfer, NoNetwork
from geometry.hub.headers import headers_for
from geometry.hub.retry_policy import Retries

if TYPE_CHECKING:
    import ssl
    from http.cookiejar import CookieJar

    import httpx2

_CONNECT_S = 5.0
"""Timeout of name lookup and connecting, short because these cannot be interrupted."""

_KEPT = 16
"""Number of idle clients kept, with their open connections."""


class Connections:
    """A pool of HTTP clients, one for each active request.

    Its parameters are those of :class:`geometry.hub.client.Hub`; ``retries`` are used by callers.
    """

    def __init__(
        self, retries: Retries, timeout_s: float | None, offline: bool, budgets: Budgets
    ) -> None:
        self.retries = retries
        self._budgets = budgets
        self._offline = offline
        self._timeout_s = timeout_s
        self._idle: list[_Connection] = []
        self._lent: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closing = weakref.finalize(self, _close_all, self._idle)

    @property
    def offline(self) -> bool:
        """Whether requests are disabled; setting it to True aborts active ones."""
        return self._offline

    @offline.setter
    def offline(self, value: bool) -> None:
        self._offline = value
        if value:
            with self._lock:
                # Under the lock, because a returned connection may be used by another request.
                for connection in self._lent:
                    connection.stop()

    def close(self) -> None:
        """Close idle connections; later requests open new ones."""
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
    ) -> Iterator[HubAnswer]:
        """Send a GET request and yield its answer, before its body is read.

        Parameters
        ----------
        transfer
            Counts the request and allows cancellation.
        url
            The requested URL.
        endpoint
            The Hub's address, the only one to which the access token is sent.
        address
            The model concerned, for messages.
        headers, params
            Further headers; the query.

        Raises
        ------
        Offline
            Requests are disabled, or were disabled meanwhile.
        AccessDenied
            The access token cannot be sent.
        NoNetwork
            The environment names a proxy or certificates that cannot be used.
        BrokenTransfer
            The answer exceeds a limit, or has an unsafe redirect.
        Cancelled
            ``transfer`` was cancelled, before or meanwhile.
        httpx2.HTTPError
            There was no answer, or the connection broke, also later in the block.
        """
        if self.offline or offline_by_environment():
            raise offline(address, by_environment=not self.offline)
        transfer.check()
        # Not earlier: huggingface_hub may renew the token over the network.
        sent = {**headers_for(url, endpoint), **headers}
        connection = self._take()
        try:
            with transfer.interruptible(connection.stop):
                answer = connection.get(url, sent, params, self._timeout(), transfer)
                try:
                    yield answer
                finally:
                    answer.response.close()
        # Once the connection is shut, the reader may fail with any exception; others are raised.
        except Exception:
            if connection.stopped and self._offline and not transfer.cancelled:
                raise offline(address, by_environment=False) from None
            raise
        finally:
            self._give_back(connection)

    def _take(self) -> _Connection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or _Connection(self._budgets)
        with self._lock:
            self._lent.add(connection)
            if self._offline:  # disabled since the check above
                connection.stop()
        return connection

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            self._lent.discard(connection)
            if not connection.stopped and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _timeout(self) -> float:
        if self._timeout_s is not None:
            return self._timeout_s
        from huggingface_hub import constants

        return float(constants.HF_HUB_DOWNLOAD_TIMEOUT)


class _Connection:
    """An HTTP client whose sockets are known, so that another thread can shut them down."""

    def __init__(self, budgets: Budgets) -> None:
        import httpx2

        self.stopped = False
        self._budgets = budgets
        self._pace = Pace(budgets)
        self._lock = threading.RLock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._handshake: socket.socket | None = None
        context = _ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        try:
            self._client = httpx2.Client(verify=context, cookies=_no_cookies())
        # Without the original text: the proxy's URL may contain a password.
        except (ImportError, ValueError, httpx2.InvalidURL):
            raise NoNetwork(
                "The proxy set in this machine's environment cannot be used.",
                "Set HTTPS_PROXY and ALL_PROXY to an address with http://…, or unset them.",
            ) from None

    def get(
        self,
        url: str,
        headers: Mapping[str, str],
        params: Mapping[str, str | int] | None,
        timeout_s: float,
        transfer: Transfer,
    ) -> HubAnswer:
        """Send a GET request, follow redirects, and return the answer without its body."""
        import httpx2

        def on_request(request: httpx2.Request) -> None:
            transfer.check()
            transfer.count_request()
            self._pace.begin(request.url.netloc.decode("ascii", "replace"), timeout_s)

        self._client.event_hooks = {"request": [on_request]}
        request = self._client.build_request(
            "GET",
            url,
            headers=headers,
            params=params,
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S)),
            extensions={"trace": self._on_event},
        )
        return self._follow(request)

    def _follow(self, request: httpx2.Request) -> HubAnswer:
        history: list[httpx2.Response] = []
        while True:
            try:
                response = self._client.send(request, stream=True, follow_redirects=False)
            except UnicodeError as error:  # of an invalid name
                raise NoNetwork(
                    f"The name {request.url.host} could not be looked up.", CONNECTION
                ) from error
            answer = HubAnswer(response, self._pace, self._budgets)
            try:
                check_head(response, self._budgets)
                if not response.has_redirect_location:
                    response.history = history
                    return answer
                if len(history) == self._budgets.redirects:
                    raise BrokenTransfer(f"{host_of(response)} redirects endlessly.")
                request = next_request(response, self._budgets)
            except BaseException:
                response.close()
                raise
            answer.drain()
            history.append(response)

    def stop(self) -> None:
        """Shut down all sockets, from another thread; a blocked reader gets an error at once."""
        with self._lock:
            self.stopped = True
            for sock in self._sockets:
                _shut(sock)

    def close(self) -> None:
        """Close the client and its sockets."""
        self._client.close()

    def _on_event(self, name: str, info: Mapping[str, Any]) -> None:
        """Record new sockets; see "trace" in httpx's documentation."""
        if name.endswith("start_tls.started"):
            self._on_handshake()
            return
        if ".start_tls." in name and self._handshake is not None:
            self._handshake.close()
            self._handshake = None
        stream = info.get("return_value")
        if name.endswith(("connect_tcp.complete", "start_tls.complete")) and stream is not None:
            self._pace.watch(stream)
            self._note(stream.get_extra_info("socket"))

    def _on_handshake(self) -> None:
        # Wrapping a socket for TLS detaches its descriptor from the recorded object.
        with self._lock:
            plain = [sock for sock in self._sockets if sock.fileno() >= 0]
        if plain:
            self._handshake = plain[-1].dup()
            self._note(self._handshake)

    def _note(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.add(sock)
            if self.stopped:
                _shut(sock)


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Not SSLSocket's own method, which removes the cipher while another thread reads.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _close_all(connections: list[_Connection]) -> None:
    while connections:
        connections.pop().close()


def _no_cookies() -> CookieJar:
    """Return a jar that rejects cookies: the Hub needs none, and a server may set any number."""
    from http.cookiejar import CookieJar

    class Empty(CookieJar):
        def extract_cookies(self, response: object, request: object) -> None:
            pass

    return Empty()


@functools.lru_cache(maxsize=1)
def _ssl_context(cert_file: str | None, cert_dir: str | None) -> ssl.SSLContext:
    """Return an SSL context with the certificates of the system or of the environment; cached."""
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise NoNetwork(
            f"The certificates of this machine cannot be read: {error.strerror or error}.",
            "Correct SSL_CERT_FILE and SSL_CERT_DIR, or unset them.",
        ) from error


def offline_by_environment() -> bool:
    """Return whether HF_HUB_OFFLINE is set to a true value."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
