"""A server on this machine that sends any bytes, also those that are no HTTP."""

import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import repeat

#: After this the connection is closed, or reset; or nothing more is sent until the client leaves.
CLOSE, RESET, STALL = "close", "reset", "stall"

#: What an answer is made of: bytes to send, seconds to wait, or one of the three ends.
Piece = bytes | float | str


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its path with the query, and its headers by their names in lower case."""

    path: str
    headers: dict[str, str]
    port: int


def answer(status: str, body: Iterable[bytes] | bytes = b"", *headers: str) -> Iterator[Piece]:
    """An answer; the length of a body in one piece is announced."""
    length = [f"Content-Length: {len(body)}"] if isinstance(body, bytes) else []
    yield "\r\n".join([f"HTTP/1.1 {status}", *length, *headers, "", ""]).encode("latin-1")
    yield from [body] if isinstance(body, bytes) else body


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces in the transfer coding of that name, without its end."""
    return (b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def endless(piece: bytes) -> Iterator[bytes]:
    """A piece again and again."""
    return repeat(piece)


class RawServer(AbstractContextManager):
    """Answers each request with the pieces that a script gives for it.

    Attributes
    ----------
    script
        What is sent for a request; may be replaced.
    asked
        The requests so far.
    nbytes
        Bytes sent so far.
    """

    def __init__(self, script: Callable[[Asked], Iterable[Piece]] | None = None) -> None:
        self.script = script or (lambda _: answer("404 Not Found"))
        self.asked: list[Asked] = []
        self.nbytes = 0
        self._closing = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, name="raw server", daemon=True)]
        self._threads[0].start()

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(
                target=self._serve, args=(connection,), name="raw server", daemon=True
            )
            with self._lock:
                self._connections.add(connection)
                self._threads = [*(t for t in self._threads if t.is_alive()), thread]
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            while (asked := self._request(lines)) is not None:
                self.asked.append(asked)
                if not self._send(connection, self.script(asked)):
                    break
        with self._lock:
            self._connections.discard(connection)

    def _request(self, lines: Iterable[bytes]) -> Asked | None:
        head = []
        for line in lines:
            if line == b"\r\n":
                break
            head.append(line.decode("latin-1").strip())
        if not head or len(head[0].split()) != 3:
            return None
        fields = (line.partition(":") for line in head[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        return Asked(head[0].split()[1], headers, self.port)

    def _send(self, connection: socket.socket, pieces: Iterable[Piece]) -> bool:
        """Send an answer; whether the connection stays open."""
        for piece in pieces:
            if self._closing.is_set():
                return False
            if isinstance(piece, bytes):
                connection.sendall(piece)
                self.nbytes += len(piece)
            elif isinstance(piece, float):
                self._closing.wait(piece)
            else:
                if piece == STALL:
                    select.select([connection], [], [])
                elif piece == RESET:
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
        return True
