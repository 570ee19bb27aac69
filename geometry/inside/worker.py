"""Measurements in a subprocess, so that the window stays responsive.

The process reads a request, one line of JSON, and writes lines of JSON: progress, partial results,
and finally the result or an error. It ends when its input does, so that none is left behind by a
window that was closed or killed.
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
"""Name of the command that runs :func:`main`; it is not listed."""
REPORT_S = 0.2
"""Maximum time between reports of progress, also if there is nothing new."""
GRACE_S = 5.0
"""Time to save the sums after a stop; then the process is killed."""
STDOUT, STDERR = 1, 2
"""File descriptors, even if a library has replaced Python's streams."""
NICE = 10
"""Niceness of the process, so that the window has priority."""
LAST_LINES = 20
"""Number of last printed lines of a process that ended unexpectedly, for the error's details."""


@dataclass(frozen=True, slots=True)
class WorkerProgress:
    """Progress of a measurement.

    Attributes
    ----------
    what
        The current step, in a few words.
    done, total
        Number of windows or changes.
    found
        A partial result, as from JSON; None if there is nothing new.
    """

    what: str
    done: int
    total: int
    found: Any = None


def run_in_subprocess(measure: str, **request: Any) -> Generator[WorkerProgress, None, Any]:
    """Run a measurement in a subprocess, and return its result as from JSON.

    Closing the generator stops it; the sums are kept.

    Parameters
    ----------
    measure
        Key of :data:`MEASUREMENTS`.

    request
        Parameters of the measurement, for JSON.

    Yields
    ------
    WorkerProgress
        At least every :data:`REPORT_S` seconds.

    Raises
    ------
    InsideError
        As the measurement; or the process ended unexpectedly, for example by lack of memory.
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
        with suppress(BrokenPipeError):  # its end is detected below
            process.stdin.write(json.dumps({"measure": measure, **request}) + "\n")
            process.stdin.flush()
        progress = WorkerProgress("Starting", 0, 1)
        while True:
            try:
                line = lines.get(timeout=REPORT_S)
            except queue.Empty:
                yield progress
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
            progress = WorkerProgress(**message)
            yield progress
            progress = WorkerProgress(progress.what, progress.done, progress.total)
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
    # All files are on this machine: the window has asked the user before any download.
    return start_own(
        COMMAND,
        variables={"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )


def _read(stream: IO[str], put: Callable[[str], None]) -> None:
    """Pass each line to ``put``, and "" at the end."""
    for line in stream:
        put(line)
    put("")


def _keep_last(stream: IO[str], printed: list[str]) -> None:
    for line in stream:
        printed.append(line.rstrip())
        del printed[:-LAST_LINES]


def _stop(process: subprocess.Popen[str]) -> None:
    """Stop a process; it gets time to save if it is still running."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ended(status: int, printed: list[str]) -> InsideError:
    """Return the error of a process that ended without a result."""
    by = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    error = InsideError(
        f"The process that runs the network {by}.",
        "What was measured so far is kept. If the memory was not enough, use shorter windows.",
    )
    error.__cause__ = RuntimeError("\n".join(printed))
    return error


# ---- in the subprocess ---------------------------------------------------------------------


class _Stopped(Exception):
    """The window no longer waits for the result."""


def _positions(
    report: Callable[..., None], settings: Mapping[str, Any], out: str, device: str
) -> str:
    from geometry.inside.positions_run import measure_positions

    given = {**settings, "counters": tuple(settings["counters"])}
    measure_positions(PositionsSettings(**given), Path(out), device=device, report=report)
    return out


def _effects(
    report: Callable[..., None], source: str, fingerprint: str, texts: str, **options: Any
) -> dict[str, Any]:
    from geometry.inside.effects import Effects
    from geometry.inside.intervene import intervene

    _check_same(options.get("layer") or source, options.get("table"), fingerprint)
    at = ("", 0, 1)

    def report_step(*now: Any) -> None:
        nonlocal at
        at = now
        report(*now)

    def report_effects(effects: Effects) -> None:
        report(*at, asdict(effects))

    return asdict(intervene(source, texts, tell=report_step, follow=report_effects, **options))


def _prompt(
    report: Callable[..., None], source: str, fingerprint: str, text: str, **options: Any
) -> dict[str, Any]:
    from geometry.inside.prompt import run_prompt, to_json

    _check_same(source, options.get("table"), fingerprint)
    return to_json(run_prompt(source, text, report=report, **options))


def _check_same(source: str, table: str | None, fingerprint: str) -> None:
    """Raise FileChanged if a source is no longer what the window has opened."""
    from geometry.models.sources.opening import open_model

    if open_model(source, table=table).fingerprint != fingerprint:
        raise FileChanged(Path(source).name)


MEASUREMENTS: Mapping[str, Callable[..., Any]] = {
    "positions": _positions,
    "effects": _effects,
    "prompt": _prompt,
}
"""Measurements by name; their first parameter takes the fields of :class:`WorkerProgress`."""


def main() -> int:
    """Run the measurement requested in the first line of standard input; return the exit status."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    request = json.loads(sys.stdin.readline())
    # The output of libraries is redirected to standard error.
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

        def report(what: str, done: int, total: int, found: Any = None) -> None:
            if ended.is_set():
                raise _Stopped
            write({"what": what, "done": done, "total": total, "found": found})

        try:
            write({"result": MEASUREMENTS[request.pop("measure")](report, **request)})
        except _Stopped:
            return 0
        except FileChanged as error:
            write({"changed": error.name})
            return 1
        except HelixscopeError as error:
            write({"error": str(error), "advice": error.advice})
            return 1
    return 0
