"""Films: written whole or not at all, and what they are read back as."""

import os
import stat

import numpy as np
import pytest

from gui.export.film import Film, FilmError, order_of
from tests.films import read_gif, read_mp4

SIZE = (96, 64)


def frames(count=6, size=SIZE):
    """White pictures with a bar that moves down."""
    made = [np.full((size[1], size[0], 3), 255, np.uint8) for _ in range(count)]
    for i, frame in enumerate(made):
        frame[8 * i : 8 * i + 8] = (40, 90, 200)
    return made


def write(out, given, size=SIZE):
    Film(out, size, 5).write(len(given), given.__getitem__)
    return out


def test_mp4_is_what_was_drawn(tmp_path):
    given = frames()
    film, fps = read_mp4(write(tmp_path / "film.mp4", given))
    assert film.shape == (6, 64, 96, 3)
    assert fps == 5
    away = np.abs(film.astype(int) - np.array(given))
    assert away.mean() < 3
    # Frame by frame: the next one is further away.
    assert np.abs(film[:-1].astype(int) - np.array(given[1:])).mean() > 5 * away.mean()


def test_gif_colours_are_exact_if_few(tmp_path):
    """The colours of all frames would fill the memory."""
    film, waits = read_gif(write(tmp_path / "film.GIF", frames()))
    np.testing.assert_array_equal(film, frames())
    assert waits == [200] * 5 + [1000]
    given = [np.full((64, 96, 3), 30 * i, np.uint8) for i in range(5)]
    film, _ = read_gif(write(tmp_path / "film.gif", given))
    assert [int(frame[0, 0, 0]) for frame in film[[0, -1]]] == [0, 120]
    assert {int(frame[0, 0, 0]) for frame in film} == {0, 120}


def test_failed_and_cancelled_films_leave_nothing_new(tmp_path):
    out = tmp_path / "film.mp4"
    out.write_bytes(b"before")
    with pytest.raises(IndexError):
        Film(out, SIZE, 5).write(8, frames(5).__getitem__)
    assert out.read_bytes() == b"before"
    film = Film(tmp_path / "film.gif", SIZE, 5)

    def draw(index):
        if index == 3:
            film.give_up()
        return frames()[index]

    with pytest.raises(FilmError):
        film.write(6, draw)
    assert os.listdir(tmp_path) == ["film.mp4"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_frame_is_drawn_once_and_stands_in_its_place(tmp_path, count):
    drawn = []

    def draw(index):
        drawn.append(index)
        return frames()[index]

    Film(tmp_path / "film.gif", SIZE, 5).write(count, draw)
    assert drawn == order_of(count)
    assert sorted(drawn) == list(range(count))
    film, _ = read_gif(tmp_path / "film.gif")
    np.testing.assert_array_equal(film, frames()[:count])


def test_what_cannot_be_written_says_why(tmp_path):
    for out, size, said in (
        ("none/film.mp4", SIZE, "No such file"),
        ("film.mp4", (95, 64), "width not divisible by 2"),  # what ffmpeg says
    ):
        with pytest.raises(FilmError, match=rf"cannot be written: .*{said}"):
            write(tmp_path / out, frames(size=size), size)
    with pytest.raises(ValueError, match="frames are"):
        write(tmp_path / "film.mp4", frames(size=(10, 10)))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="permissions are another thing there")
def test_a_machine_without_ffmpeg(tmp_path, monkeypatch):
    broken = tmp_path / "ffmpeg"
    broken.write_text("nothing that runs")
    broken.chmod(broken.stat().st_mode & ~stat.S_IXUSR)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    with pytest.raises(FilmError, match="ffmpeg cannot be run: Permission denied"):
        write(tmp_path / "film.mp4", frames())
    assert os.listdir(tmp_path) == ["ffmpeg"]
