"""Films, read back."""

import re
import subprocess
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image


def read_mp4(path: Path) -> tuple[np.ndarray, float]:
    """Return a film's frames, (n, height, width, 3) uint8, and how many there are a second."""
    # Its own readers leave pipes open, which is an error here.
    said = _ffmpeg("-i", str(path), "-f", "null", "-").stderr.decode()
    (stream,) = re.findall(r"Video: h264.*", said)
    size, fps = re.search(r"\b([1-9]\d*)x(\d+)\b", stream), re.search(r"([\d.]+) fps", stream)
    raw = _ffmpeg("-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-").stdout
    film = np.frombuffer(raw, np.uint8).reshape(-1, int(size[2]), int(size[1]), 3)
    return film, float(fps[1])


def _ffmpeg(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", *arguments]
    return subprocess.run(command, capture_output=True, check=True)


def read_gif(path: Path) -> tuple[np.ndarray, list[int]]:
    """Return a film's frames, (n, height, width, 3) uint8, and how long each stays, in ms.

    It has to begin again by itself when it is over.
    """
    film, waits = [], []
    with Image.open(path) as image:
        assert image.info["loop"] == 0
        for i in range(image.n_frames):
            image.seek(i)
            film.append(np.array(image.convert("RGB")))
            waits.append(image.info["duration"])
    return np.stack(film), waits
