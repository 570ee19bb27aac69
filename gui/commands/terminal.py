"""Terminal output of commands: the only module that writes to standard output and error.

Names of folders and tensors, and answers of servers, are not trusted: control and bidirectional
characters are replaced in every line, and nothing is interpreted as markup.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, TextIO, cast

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from geometry.checkpoints.stores import TensorInfo
    from geometry.models.model import PositionalModel


log = logging.getLogger(__name__)

MAX_CANDIDATES = 8
"""Number of tables that an error lists."""
MAX_PRINTED = 100_000
"""Number of bytes that are logged of what libraries print."""


class OutputFailed(Exception):
    """Standard output is not writable: its disk is full, or its reader has exited."""


class PlainStream(io.TextIOBase):
    """Standard output or error, for lines of untrusted text.

    Characters that the encoding lacks become "?".

    Parameters
    ----------
    stream
        The interpreter's own.
    escapes
        Keep control characters: for rich, which moves the cursor with them, and whose texts have
        none.
    must_arrive
        Raise OutputFailed for what cannot be written, instead of dropping it.
    """

    def __init__(self, stream: TextIO, *, escapes: bool = False, must_arrive: bool = False) -> None:
        self.stream = stream
        self._escapes, self._must_arrive = escapes, must_arrive
        self._failed: Exception | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Name of the encoding."""
        return self.stream.encoding or "utf-8"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        with suppress(ValueError, OSError):  # closed
            return self.stream.isatty()
        return False

    def fileno(self) -> int:
        return self.stream.fileno()

    def write(self, text: str) -> int:
        shown = text if self._escapes else visible_lines(text)
        shown = shown.encode(self.encoding, "replace").decode(self.encoding)
        with self._failures():
            self.stream.write(shown)
        return len(text)

    def close(self) -> None:
        """Leave the interpreter's own stream open."""

    def flush(self) -> None:
        with self._failures():
            self.stream.flush()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            self._failed = self._failed or error
            self._discard_buffer()
        # Also on later calls: typer tests a stream by writing nothing, and ignores errors.
        if self._must_arrive and self._failed is not None:
            raise OutputFailed from self._failed

    def _discard_buffer(self) -> None:
        # What is left in the buffer would fail again, with a traceback, when the interpreter ends.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)


@contextmanager
def plain_output() -> Iterator[None]:
    """Pass all output of the block, also of libraries, through `PlainStream`.

    If standard output fails, the process ends with status 1: silently if its reader has exited, as
    `head` does, otherwise with the reason.
    """
    out, err = sys.stdout, sys.stderr
    if out is not None:  # None if the process was started without it
        sys.stdout = PlainStream(out, must_arrive=True)
    if err is not None:
        sys.stderr = PlainStream(err)
    try:
        try:
            yield
        finally:
            if out is not None:
                sys.stdout.flush()
    except OutputFailed as failed:
        reason = failed.__cause__
        if isinstance(reason, OSError) and reason.errno not in (errno.EPIPE, errno.EINVAL):
            complain(f"the output could not be written: {reason.strerror}.")
        sys.exit(1)
    except Exception:
        traceback.print_exc()  # while the stream is the one that can show any message
        sys.exit(1)
    finally:
        sys.stdout, sys.stderr = out, err


@contextmanager
def libraries_silenced() -> Iterator[None]:
    """Log what libraries print on standard error by themselves, such as panics of Rust.

    What is written to ``sys.stderr`` meanwhile is printed as usual.
    """
    import tempfile

    stream = sys.stderr
    try:
        if not isinstance(stream, PlainStream) or stream.fileno() != 2:
            raise OSError
        printed = tempfile.TemporaryFile()  # noqa: SIM115
    except (OSError, ValueError):  # there is no standard error, or no room
        yield
        return
    own, real = stream.stream, os.dup(2)
    own.flush()
    with printed, open(real, "w", 1, own.encoding, own.errors) as stream.stream:
        os.dup2(printed.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(real, 2)
            text = _beginning(printed)
            if text:
                log.warning("A library printed: %s", text)
            stream.flush()
            stream.stream = own


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_PRINTED).decode("utf-8", "replace")


def has_terminal() -> bool:
    """Return whether standard error is a terminal, on which messages and bars are shown."""
    return sys.stderr is not None and sys.stderr.isatty()


def result(text: str) -> None:
    """Print a command's result on standard output."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Print an error on standard error, after the program's name."""
    _write(sys.stderr, f"helixscope: {text}")


def note(text: str) -> None:
    """Print on standard error what is not a result."""
    _write(sys.stderr, text)


def say(sentence: str) -> None:
    """Print a message that is neither result nor error: on a terminal only."""
    if has_terminal():
        note(sentence)


def can_ask() -> bool:
    """Return whether a question can be asked and answered."""
    return has_terminal() and sys.stdin is not None and sys.stdin.isatty()


def ask(question: str) -> bool:
    """Ask on the terminal; return whether the answer is yes."""
    sys.stderr.write(f"{visible(question)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def say_written(what: str, model: PositionalModel) -> None:
    """Report the written file and the model."""
    commit = f" at commit {model.commit[:7]}" if model.commit else ""
    say(f"Wrote {what}: {model.name}{commit}.")


def sentence(error: HelixscopeError) -> str:
    """Return an error with its advice as one sentence on one line."""
    candidates = getattr(error, "candidates", ())
    if not candidates:
        return joined(str(error), error.advice)
    first_rows = getattr(error, "first_rows", ())
    choice = _row_options(first_rows) if first_rows else _table_options(candidates)
    return joined(str(error), choice)


def _table_options(candidates: Sequence[TensorInfo]) -> str:
    """Name the tensors that could be the table, and the options that choose one."""
    from geometry.models.recognition.names_and_shapes import table_shape

    listed = ((info.name, " × ".join(map(str, table_shape(info)))) for info in candidates)
    shown = ", ".join(f"{name} ({shape})" for name, shape in islice(listed, MAX_CANDIDATES))
    more = len(candidates) - MAX_CANDIDATES
    return (
        f"choose one of {shown}{f' and {more} more' if more > 0 else ''} with --table "
        f"{shlex.quote(candidates[0].name)}; --family names its family, and --first-rows 2 leaves "
        "out 2 first rows that are no positions"
    )


def _row_options(first_rows: Sequence[int]) -> str:
    """Return the options that choose the row of position 0."""
    options = " or ".join(f"--first-rows {first}" for first in first_rows)
    return (
        f"add {options}, name the family as with --family gpt2, or put the model’s config.json "
        "beside the weights"
    )


def joined(text: str, advice: str) -> str:
    """Join a message and its advice to one sentence on one line."""
    text, advice = (" ".join(part.split()).rstrip(".") for part in (text, advice))
    first = advice.partition(" ")[0]
    if first == "A" or first[1:].islower():  # a word, and not the name of a variable
        advice = advice[0].lower() + advice[1:]
    return f"{text}; {advice}." if advice else f"{text}."


def print_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table on standard output; in files and pipes with full cells.

    On a narrow terminal the first column is cut last, as it is the one to copy.
    """
    from rich.table import Column, Table
    from rich.text import Text

    first, *others = (Text(visible(title)) for title in titles)
    table = Table(Column(first, no_wrap=True), *map(Column, others), box=None)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    on_screen = console(sys.stdout)
    (on_screen if on_screen.is_terminal else console(sys.stdout, width=200)).print(table)


def console(stream: TextIO, width: int | None = None) -> Console:
    """Return rich's console on standard output or error.

    What it prints must be `visible`, and be Text, which is not interpreted as markup.
    """
    from rich.console import Console

    if isinstance(stream, PlainStream):
        inner = PlainStream(stream.stream, escapes=True, must_arrive=stream is sys.stdout)
        stream = cast(TextIO, inner)
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:
        stream.write(f"{visible_lines(text)}\n")
        stream.flush()
