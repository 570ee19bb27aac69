"""The two hosts of the loopback Hub: connections, the order of bytes, and how faults spoil it."""

import functools
import select
import socket
import ssl
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, cast

from tests.loopback.answers import CHUNK, Answer
from tests.loopback.faults import Playing

if TYPE_CHECKING:
    from tests.loopback.hub import LoopbackHub

Host = Literal["hub", "storage"]

#: How often a waiting answer looks whether its client has gone.
LOOK_S = 0.02


class Request:
    """One request and what it was answered.

    Attributes
    ----------
    method, path, query
        As they came; the path without its query.
    range
        The Range header, e.g. "bytes=0-98303", or None.
    status
        Of the answer; 0 where there was none.
    sent
        Bytes of the body that went out.
    authorization
        Whether a token came with it, or a name and a password.
    token
        The token; "" if there is none.
    host
        Which of the two hosts was asked.
    """

    def __init__(self, handler: "Handler") -> None:
        self.method = handler.command
        self.path, _, self.query = handler.path.partition("?")
        self.range = handler.headers.get("Range")
        login = handler.headers.get("Authorization") or ""
        self.authorization = bool(login)
        # Of a name and a password a gate before the Hub takes notice, and not the Hub.
        self.token = "" if login.startswith("Basic ") else login.removeprefix("Bearer ")
        self.host: Host = handler.server.host
        self.status = self.sent = 0


class Server(ThreadingHTTPServer):
    """One host: a thread for each connection, all of them ended by :meth:`stop`."""

    request_queue_size = 128

    def __init__(self, site: "LoopbackHub", host: Host, context: ssl.SSLContext | None) -> None:
        self.site, self.host, self._context = site, host, context
        self._connections: set[socket.socket] = set()
        self._workers: list[threading.Thread] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        scheme = "https" if context else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": LOOK_S}, name=host, daemon=True
        )
        self._thread.start()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._context is not None:
            # The handshake is for the connection's own thread: it may fail, or take its time.
            connection = self._context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:
        worker = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._lock:
            self._connections.add(request)
            self._workers = [*(w for w in self._workers if w.is_alive()), worker]
            worker.start()

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        problem = sys.exception()
        # Clients may leave whenever they like, and may not trust us.
        if problem is not None and not isinstance(problem, ConnectionError | ssl.SSLError):
            self.site.errors.append(problem)

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._lock:
            connections, workers = tuple(self._connections), tuple(self._workers)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # It has ended by itself meanwhile.
                continue
        for worker in workers:
            worker.join()


class Handler(BaseHTTPRequestHandler):
    """One connection, kept alive from request to request."""

    protocol_version = "HTTP/1.1"
    server_version = "LoopbackHub"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """The record is in `requests`; nothing is printed."""

    def do_GET(self) -> None:
        self._respond()

    def do_HEAD(self) -> None:
        self._respond()

    def _respond(self) -> None:
        site, record = self.server.site, Request(self)
        site.note(record)
        if site.latency_s:
            site.closing.wait(site.latency_s)
        answer = site.answer(record)
        if self.command == "HEAD":
            # Said as for a GET; there is no body to spoil, to cut or to wait for.
            answer = answer.with_headers({"Content-Length": str(answer.length)}).without_body()
        playing = site.next_fault(record, answer)
        if playing is not None:
            if playing.fault.is_silent:
                playing.reached.set()
                self._end(playing)
                return
            answer = playing.fault.spoil(answer)
        record.status = answer.status
        self.send_response(answer.status)
        length = {"Content-Length": str(answer.length)}
        framing = {"Transfer-Encoding": "chunked"} if answer.chunked else length
        for name, value in {**framing, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self._send_body(record, answer, playing)

    def _send_body(self, record: Request, answer: Answer, playing: Playing | None) -> None:
        fault = playing.fault if playing is not None else None
        ends = fault is not None and fault.kind in ("cut", "stall")
        left = min(answer.length, fault.number or 0) if fault and ends else answer.length
        chunk = fault.number if fault and fault.kind == "slow" and fault.number else CHUNK
        for number, piece in enumerate(answer.pieces(chunk)):
            if fault is not None and fault.kind == "slow" and number and not self._pass(playing):
                return
            if playing is not None and not ends and left <= len(piece):
                playing.reached.set()
            # Counted before it goes: who has received all of it must find it counted.
            piece = piece[:left]
            record.sent += len(piece)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
            left -= len(piece)
            if not left:
                break
        if playing is None:
            return
        if answer.chunked:
            self.wfile.write(b"0\r\n\r\n")
        playing.reached.set()
        if ends:
            self._end(playing)

    def _end(self, playing: Playing) -> None:
        """Break off here, or say nothing more until the client leaves."""
        self.close_connection = True
        if playing.fault.kind == "stall":
            self._wait_for_end()
        elif playing.fault.reset:
            # A linger of no time turns the close into a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _pass(self, playing: Playing | None) -> bool:
        """Wait at the gate; False when the client left meanwhile, or all is being closed."""
        assert playing is not None
        gate = playing.fault.gate
        playing.reached.set()
        while not self._may_pass(gate):
            if self.server.site.closing.is_set() or self._has_left():
                self.close_connection = True
                return False
        return True

    @staticmethod
    def _may_pass(gate: threading.Event | threading.Semaphore | None) -> bool:
        if isinstance(gate, threading.Event):
            return gate.wait(LOOK_S)
        return cast(threading.Semaphore, gate).acquire(timeout=LOOK_S)

    def _has_left(self) -> bool:
        """Whether the client has closed its side: it says nothing while it waits for an answer."""
        return bool(select.select([self.connection], [], [], 0)[0])

    def _wait_for_end(self) -> None:
        select.select([self.connection], [], [])


@functools.cache
def untrusted() -> ssl.SSLContext:
    """Return a server's side of TLS with a certificate by nobody's authority."""
    import trustme

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context
