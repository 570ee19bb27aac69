"""Films: written whole or not at all, and what they are read back as."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gui.film import Film, FilmError, film_size
from tests.films import read_gif, read_mp4

SIZE = (96, 64)


def frames(count: int = 6, size: tuple[int, int] = SIZE) -> list[np.ndarray]:
    """White pictures with a bar that moves down."""
    made = [np.full((size[1], size[0], 3), 255, np.uint8) for _ in range(count)]
    for i, frame in enumerate(made):
        frame[8 * i : 8 * i + 8] = (40 * i, 90, 200)
    return made


def write(out: Path, given: Iterable[np.ndarray], size: tuple[int, int] = SIZE) -> Path:
    with Film(out, size, 5) as film:
        for frame in given:
            film.add(frame)
    return out


def missing_one() -> Iterator[np.ndarray]:
    yield frames()[0]
    raise KeyError


def test_mp4_is_what_was_drawn(tmp_path: Path) -> None:
    given = frames()
    film, fps = read_mp4(write(tmp_path / "film.mp4", given))
    assert film.shape == (6, 64, 96, 3)
    assert fps == 5
    away = np.abs(film.astype(int) - np.array(given))
    assert away.mean() < 3
    # Frame by frame: the next one is further away.
    assert np.abs(film[:-1].astype(int) - np.array(given[1:])).mean() > 5 * away.mean()


def test_gif_is_exact_where_colours_are_few(tmp_path: Path) -> None:
    given = frames()
    path = write(tmp_path / "film.GIF", given)
    film, waits = read_gif(path)
    np.testing.assert_array_equal(film, given)
    assert waits == [200] * 5 + [1000]


def test_sizes() -> None:
    assert film_size((801, 600), Path("x.mp4")) == (802, 600)
    assert film_size((801, 601), Path("x.gif")) == (801, 601)


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "film.mp4"
    out.write_bytes(b"before")
    with pytest.raises(KeyError):
        write(out, missing_one())
    assert out.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["film.mp4"]


def test_given_up_leaves_nothing(tmp_path: Path) -> None:
    with Film(tmp_path / "film.gif", SIZE, 5) as film:
        film.add(frames()[0])
        film.give_up()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    out = tmp_path / "none" / "film.mp4"
    with pytest.raises(FilmError, match=r"could not be written to .*No such file"):
        write(out, frames())


def test_what_ffmpeg_says_is_passed_on(tmp_path: Path) -> None:
    out = tmp_path / "film.mp4"
    with pytest.raises(FilmError, match=r"could not be written to .*: width not divisible by 2"):
        write(out, frames(size=(95, 64)), size=(95, 64))
    assert os.listdir(tmp_path) == []


def test_frames_of_another_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frames are"):
        write(tmp_path / "film.mp4", frames(size=(10, 10)))


@pytest.mark.skipif(os.name == "nt", reason="permissions are another thing there")
def test_a_machine_without_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "ffmpeg"
    broken.write_text("nothing that runs")
    broken.chmod(broken.stat().st_mode & ~stat.S_IXUSR)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    with pytest.raises(FilmError, match="film could not be made"):
        write(tmp_path / "film.mp4", frames())
    assert os.listdir(tmp_path) == ["ffmpeg"]
