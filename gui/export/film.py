"""Films as MP4 or GIF, written by the ffmpeg of imageio-ffmpeg."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from geometry.checkpoints.children import UNSEEN
from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import not_written, whole_file

FILMS = (".mp4", ".gif")
#: Settings that all H.264 players support, without visible loss.
_MP4 = (
    *("-c:v", "libx264", "-preset", "medium", "-crf", "15", "-pix_fmt", "yuv420p"),
    *("-movflags", "+faststart", "-f", "mp4"),
)
_GIF = ("-lavfi", "[0][1]paletteuse=dither=none", "-loop", "0")
#: The last frame of a GIF is shown for a second.
_STAYS = ("-final_delay", "100")
#: What ffmpeg may report of a disk, in the system's words.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES)


class FilmError(HelixscopeError):
    """A film cannot be written."""


def film_size(size: tuple[int, int], out: Path) -> tuple[int, int]:
    """Return the size of a film's frames: the requested one, even for MP4, as required there.

    The suffix of ``out`` gives the format.
    """
    if out.suffix.lower() == ".gif":
        return size
    return size[0] + size[0] % 2, size[1] + size[1] % 2


class Film:
    """A film, written atomically.

    Parameters
    ----------
    out
        The file, whose suffix gives the format.
    size
        Width and height of each frame, as :func:`film_size` gives them.
    loops
        Whether the film loops smoothly. Otherwise a GIF, which always repeats, shows its last frame
        for a second.
    """

    def __init__(
        self, out: Path, size: tuple[int, int], fps: float, *, loops: bool = False
    ) -> None:
        self._out, self._size, self._fps, self._loops = out, size, fps, loops
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def write(self, count: int, draw: Callable[[int], np.ndarray]) -> None:
        """Write all frames; exceptions of ``draw`` pass through and leave no file.

        Parameters
        ----------
        draw
            Called once for each in the order of :func:`order_of`; returns it, (height, width, 3)
            uint8.

        Raises
        ------
        FilmError
            It cannot be written, or was cancelled.
        """
        try:
            # Fail before drawing if the place is not writable.
            with whole_file(self._out) as part, tempfile.TemporaryDirectory() as folder:
                first = draw(0)
                last = draw(count - 1) if count > 1 else first
                with self._running(self._inputs(Path(folder), first, last), part):
                    self._add(first)
                    for index in range(1, count - 1):
                        self._add(draw(index))
                    if count > 1:
                        self._add(last)
        except OSError as error:
            raise not_written(self._out, error, FilmError) from error

    def give_up(self) -> None:
        """Cancel the writing, from another thread; leaves no file."""
        self._given_up = True
        if self._process is not None:
            self._process.kill()

    def _inputs(self, folder: Path, first: np.ndarray, last: np.ndarray) -> list[str]:
        """Return ffmpeg's further inputs: for a GIF the palette.

        One palette, so that nothing flickers, made from two frames, since all would fill the
        memory; the others have the same colours.
        """
        if self._out.suffix.lower() != ".gif":
            return []
        palette = str(folder / "palette.png")
        frames = b"".join(self._bytes(frame) for frame in (first, last))
        make = [*self._command(), "-vf", "palettegen=stats_mode=full", "-update", "1", palette]
        with self._start(make, subprocess.PIPE) as process:
            _, said = process.communicate(frames)
        if process.returncode != 0:
            raise self._failed(said, process.returncode)
        return ["-i", palette]

    def _command(self) -> list[str]:
        """Return the beginning of a command that reads frames."""
        width, height = self._size
        frames = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}")
        return [_program(), "-y", "-v", "error", *frames, "-r", f"{self._fps:g}", "-i", "-"]

    @contextmanager
    def _running(self, inputs: list[str], part: Path) -> Iterator[None]:
        """Run ffmpeg on a file, and wait until it has finished."""
        gif = (*_GIF, *(() if self._loops else _STAYS), "-f", "gif")
        kind = gif if self._out.suffix.lower() == ".gif" else _MP4
        with tempfile.TemporaryFile() as said:
            place = str(part.absolute())  # ffmpeg takes "a:b" for a protocol
            command = [*self._command(), *inputs, *kind, place]
            process = self._process = self._start(command, said)
            assert process.stdin is not None
            try:
                with suppress(BrokenPipeError):  # it has ended, for a reason found below
                    yield
                    process.stdin.close()
                if process.wait() != 0 or self._given_up:
                    said.seek(0)
                    raise self._failed(said.read(), process.returncode)
            finally:
                process.kill()
                with suppress(OSError):
                    process.stdin.close()
                process.wait()

    def _start(self, command: list[str], errors: IO[bytes] | int) -> subprocess.Popen[bytes]:
        """Start ffmpeg, which reads frames from a pipe; ``errors`` takes what it reports."""
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                creationflags=UNSEEN,
            )
        except OSError as error:
            raise FilmError(
                f"ffmpeg cannot be run: {error.strerror or error}.",
                "Install ffmpeg, or save the numbers (NPZ) instead.",
            ) from error

    def _add(self, frame: np.ndarray) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(self._bytes(frame))

    def _bytes(self, frame: np.ndarray) -> bytes:
        width, height = self._size
        if frame.shape != (height, width, 3) or frame.dtype != np.uint8:
            raise ValueError(f"frames are {(height, width, 3)} uint8, got {frame.shape}")
        return frame.tobytes()

    def _failed(self, said: bytes, status: int) -> HelixscopeError:
        """Return the error for what ffmpeg reported before it ended with a status."""
        text = said.decode("utf-8", "replace")
        if sys.platform != "win32" and status == -signal.SIGXFSZ:
            text = os.strerror(errno.EFBIG)
        for number in _OF_THE_DISK:
            if os.strerror(number) in text:
                return not_written(self._out, OSError(number, os.strerror(number)), FilmError)
        return not_written(self._out, OSError(_first_line(text)), FilmError)


def order_of(count: int) -> list[int]:
    """Return the order in which frames are drawn: first, last, then those in between."""
    return [0, *([count - 1] if count > 1 else []), *range(1, count - 1)]


def _program() -> str:
    import imageio_ffmpeg

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise FilmError(
            "No ffmpeg was found, so films cannot be saved",
            "Install ffmpeg, or save the numbers (NPZ) instead.",
        ) from error


def _first_line(said: str) -> str:
    """Return ffmpeg's first line of output, which names the error; the others are consequences."""
    line = said.strip().partition("\n")[0]
    return re.sub(r"^(\[[^]]*\] )+", "", line) or "ffmpeg ended unexpectedly"
