"""Films: frames in a row, as MP4 or GIF, written by the ffmpeg that comes with imageio-ffmpeg."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from geometry.errors import HelixscopeError

FILMS = (".mp4", ".gif")
#: What H.264 and every player take; lines of a pixel stay clean.
_MP4 = ("-c:v", "libx264", "-preset", "medium", "-crf", "15", "-pix_fmt", "yuv420p",
        "-movflags", "+faststart", "-f", "mp4")  # fmt: skip
#: One palette for all frames, so that nothing flickers; the last frame stays for a second.
_GIF = ("-filter_complex",
        "split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=none",
        "-loop", "0", "-final_delay", "100", "-f", "gif")  # fmt: skip
_KINDS = {".mp4": _MP4, ".gif": _GIF}


class FilmError(HelixscopeError):
    """A film that cannot be written."""


def film_size(size: tuple[int, int], out: Path) -> tuple[int, int]:
    """Return the size of a film's frames: the one asked for, made even for MP4, which needs that.

    Parameters
    ----------
    size
        Width and height in pixels.
    out
        The file; its ending is the format.
    """
    if out.suffix.lower() == ".gif":
        return size
    return size[0] + size[0] % 2, size[1] + size[1] % 2


class Film:
    """A film while it is written; it is at its place once it is whole, or not at all.

    Used as a context: leaving it by an error, or after :meth:`give_up`, leaves no file.

    Parameters
    ----------
    out
        The file; its ending is the format.
    size
        Width and height of each frame, as :func:`film_size` gives them.
    fps
        Frames a second.

    Raises
    ------
    FilmError
        It cannot be written; at the end too.
    """

    def __init__(self, out: Path, size: tuple[int, int], fps: float) -> None:
        self._out, self._size, self._fps = out, size, fps
        self._part = out.with_name(f".{out.name}.part")
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._given_up = False

    def __enter__(self) -> Film:
        self._claim()
        self._said = tempfile.TemporaryFile()
        width, height = self._size
        taken = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
                 "-r", f"{self._fps:g}", "-i", "-")  # fmt: skip
        kind = _KINDS[self._out.suffix.lower()]
        options: dict[str, Any] = {}
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NO_WINDOW
        try:
            self._process = subprocess.Popen(
                [_program(), "-y", "-v", "error", *taken, *kind, str(self._part)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said, **options,
            )  # fmt: skip
        except BaseException as error:
            self._tidy()
            if isinstance(error, OSError):
                raise FilmError(f"The film could not be made: {error}") from error
            raise
        return self

    def add(self, frame: np.ndarray) -> None:
        """Add a frame, (height, width, 3) uint8."""
        width, height = self._size
        if frame.shape != (height, width, 3) or frame.dtype != np.uint8:
            raise ValueError(f"frames are {(height, width, 3)} uint8, got {frame.shape}")
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(frame).data)
        except OSError as error:
            self._process.wait()
            raise self._failed() from error

    def give_up(self) -> None:
        """Leave no file behind; may be called from another thread."""
        self._given_up = True
        if self._process is not None:
            self._process.kill()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            if error is not None:
                self._process.kill()
            with suppress(OSError):  # it has ended already: how, is looked at below
                self._process.stdin.close()
            status = self._process.wait()
            if error is None and not self._given_up:
                if status != 0:
                    raise self._failed()
                self._put_in_place()
        finally:
            self._process.kill()
            self._tidy()

    def _claim(self) -> None:
        """Fail before anything is drawn if the place cannot be written to."""
        try:
            self._part.touch()
        except OSError as error:
            raise _not_written(self._out, error.strerror or str(error)) from error

    def _put_in_place(self) -> None:
        try:
            os.replace(self._part, self._out)
        except OSError as error:
            raise _not_written(self._out, error.strerror or str(error)) from error

    def _failed(self) -> FilmError:
        assert self._said is not None
        self._said.seek(0)
        # The first line says what went wrong, the others what came of it.
        line = self._said.read().decode("utf-8", "replace").strip().partition("\n")[0]
        why = re.sub(r"^(\[[^]]*\] )+", "", line)
        return _not_written(self._out, why or "ffmpeg ended before its time")

    def _tidy(self) -> None:
        if self._said is not None:
            self._said.close()
        self._part.unlink(missing_ok=True)


def _program() -> str:
    import imageio_ffmpeg

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise FilmError(
            "There is no ffmpeg for this machine, so no film can be made",
            "Install ffmpeg, or save the numbers (NPZ) instead.",
        ) from error


def _not_written(out: Path, why: str) -> FilmError:
    return FilmError(
        f"The film could not be written to {out}: {why.rstrip('.')}",
        "Choose another folder or file name.",
    )
