"""Measurements in a process of their own, for a window that goes on meanwhile.

The process reads a request, one line of JSON, and writes lines of JSON: what is under way, partial
results, and at last the result or an error. It ends when its input does, so that none is left
behind by a window that was closed or killed.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from geometry.checkpoints.children import start_own
from geometry.checkpoints.errors import FileChanged, HelixscopeError
from geometry.inside.settings import InsideError, PositionsSettings

COMMAND = "network-worker"
"""Of the command line, which runs :func:`main`; it is not listed."""
TELL_S = 0.2
"""How often a caller hears of a measurement, also if there is nothing new."""
GRACE_S = 5.0
"""Time to save what was summed after a stop; then the process is killed."""
STDOUT, STDERR = 1, 2
"""File descriptors, also where a library has replaced Python's streams."""
NICE = 10
"""Added to the priority's number where there is one: the window comes first."""
LAST_LINES = 20
"""Of what a process printed before it ended unexpectedly, for the error's details."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a measurement is doing.

    Attributes
    ----------
    what
        In a few words.
    done, total
        Windows or changes.
    found
        A partial result, as JSON has it; None if there is nothing new.
    """

    what: str
    done: int
    total: int
    found: Any = None


def apart(measure: str, **request: Any) -> Generator[Told, None, Any]:
    """Run a measurement in a process of its own, and return its result as JSON has it.

    Closing the generator stops it; what was summed is kept.

    Parameters
    ----------
    measure
        Of :data:`MEASUREMENTS`, with its parameters as JSON has them.

    Yields
    ------
    Told
        At least every :data:`TELL_S` seconds.

    Raises
    ------
    InsideError
        As the measurement; or the process ended unexpectedly, as by lack of memory.
    """
    process = _start()
    readers: list[threading.Thread] = []
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    printed: list[str] = []
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        readers += (
            threading.Thread(target=_read, args=(process.stdout, lines.put), daemon=True),
            threading.Thread(target=_keep_last, args=(process.stderr, printed), daemon=True),
        )
        for reader in readers:
            reader.start()
        with suppress(BrokenPipeError):  # its end is seen below
            process.stdin.write(json.dumps({"measure": measure, **request}) + "\n")
            process.stdin.flush()
        told = Told("Starting", 0, 1)
        while True:
            try:
                line = lines.get(timeout=TELL_S)
            except queue.Empty:
                yield told
                continue
            if not line:
                break
            message = json.loads(line)
            if "result" in message:
                return message["result"]
            if "changed" in message:
                raise FileChanged(message["changed"])
            if "error" in message:
                raise InsideError(message["error"], message["advice"])
            told = Told(**message)
            yield told
            told = Told(told.what, told.done, told.total)
        readers[1].join()
        raise _ended(process.wait(), printed)
    finally:
        _stop(process)
        for reader in readers:
            reader.join()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def _start() -> subprocess.Popen[str]:
    # All files are on this machine: the window has asked before anything is fetched.
    return start_own(
        COMMAND, variables={"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace",
    )  # fmt: skip


def _read(stream: IO[str], put: Callable[[str], None]) -> None:
    """Pass on lines; "" at the end."""
    for line in stream:
        put(line)
    put("")


def _keep_last(stream: IO[str], printed: list[str]) -> None:
    for line in stream:
        printed.append(line.rstrip())
        del printed[:-LAST_LINES]


def _stop(process: subprocess.Popen[str]) -> None:
    """End a process: it gets time to save, if it still runs."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ended(status: int, printed: list[str]) -> InsideError:
    """Return the error of a process that said nothing."""
    by = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    error = InsideError(
        f"The process that runs the network {by}.",
        "What was measured so far is kept. If the memory was not enough, use shorter windows.",
    )
    error.__cause__ = RuntimeError("\n".join(printed))
    return error


# ---- in the process ------------------------------------------------------------------------


class _Stopped(Exception):
    """The window does not wait any more."""


def _positions(
    tell: Callable[..., None], settings: Mapping[str, Any], out: str, device: str
) -> str:
    from geometry.inside.positions_run import measure_positions

    given = {**settings, "counters": tuple(settings["counters"])}
    measure_positions(PositionsSettings(**given), Path(out), device=device, tell=tell)
    return out


def _effects(
    tell: Callable[..., None], source: str, fingerprint: str, texts: str, **options: Any
) -> dict[str, Any]:
    from geometry.inside.intervene import Effects, intervene

    _check_same(options.get("layer") or source, options.get("table"), fingerprint)
    at = ("", 0, 1)

    def told(*now: Any) -> None:
        nonlocal at
        at = now
        tell(*now)

    def found(effects: Effects) -> None:
        tell(*at, asdict(effects))

    return asdict(intervene(source, texts, tell=told, follow=found, **options))


def _prompt(
    tell: Callable[..., None], source: str, fingerprint: str, text: str, **options: Any
) -> dict[str, Any]:
    from geometry.inside.prompt import run_prompt, to_json

    _check_same(source, options.get("table"), fingerprint)
    return to_json(run_prompt(source, text, tell=tell, **options))


def _check_same(source: str, table: str | None, fingerprint: str) -> None:
    """Raise FileChanged if a source is no longer what the window has opened."""
    from geometry.models.sources.opening import open_model

    if open_model(source, table=table).fingerprint != fingerprint:
        raise FileChanged(Path(source).name)


MEASUREMENTS: Mapping[str, Callable[..., Any]] = {
    "positions": _positions, "effects": _effects, "prompt": _prompt
}  # fmt: skip
"""What a process can do, by name; the first parameter is called with what :class:`Told` has."""


def main() -> int:
    """Measure what the first line of the standard input asks for; return the exit status."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    request = json.loads(sys.stdin.readline())
    # Libraries that print do so elsewhere.
    with os.fdopen(os.dup(STDOUT), "w", encoding="utf-8") as out:
        os.dup2(STDERR, STDOUT)
        ended = threading.Event()

        def wait_for_end() -> None:
            sys.stdin.read()
            ended.set()

        threading.Thread(target=wait_for_end, daemon=True).start()

        def write(message: Mapping[str, Any]) -> None:
            out.write(json.dumps(message) + "\n")
            out.flush()

        def tell(what: str, done: int, total: int, found: Any = None) -> None:
            if ended.is_set():
                raise _Stopped
            write({"what": what, "done": done, "total": total, "found": found})

        try:
            write({"result": MEASUREMENTS[request.pop("measure")](tell, **request)})
        except _Stopped:
            return 0
        except FileChanged as error:
            write({"changed": error.name})
            return 1
        except HelixscopeError as error:
            write({"error": str(error), "advice": error.advice})
            return 1
    return 0
