"""The command `timelapse`: films and numbers, of files, folders and a Hub."""

import os

import numpy as np
import pytest

from geometry.history.history import History
from tests.command_line import run
from tests.films import read_gif, read_mp4
from tests.geometry.history_stage import N, growing, write_checkpoint, write_record
from tests.gui.gather_stage import NAME, STEPS, serve_checkpoints, write_checkpoints
from tests.stand_ins import positions_of, write_stand_in


@pytest.fixture
def trained(tmp_path):
    """A model with `history.safetensors` beside it."""
    steps = [0, 1, 10, 100, 1000, 3000]
    folder = write_checkpoint(tmp_path / "trained", growing(steps)[-1])
    write_record(folder / "history.safetensors", steps)
    return folder


@pytest.mark.slow
def test_films_of_a_file(trained, tmp_path):
    out = tmp_path / "a.mp4"
    assert run("timelapse", trained, "--out", out, "--size", "160x120", "--fps", "3") == 0
    film, fps = read_mp4(out)
    assert film.shape == (6, 120, 160, 3)
    assert fps == 3
    out = tmp_path / "a.gif"
    arguments = ("--size", "160x120", "--steps", "3", "--theme", "dark", "--basis", "aligned")
    assert run("timelapse", trained, "--out", out, *arguments) == 0
    film, _ = read_gif(out)
    assert film.shape == (3, 120, 160, 3)
    assert film[0, 0, 0].max() < 40


def test_a_film_with_the_colours_over_the_shown_range(trained, tmp_path):
    for span in ("table", "range"):
        out = tmp_path / f"{span}.gif"
        assert run("timelapse", trained, "--out", out, "--size", "160x120", "--positions", "1-9",
                   "--colours", span) == 0  # fmt: skip
        film = read_gif(out)[0][:, :, :110].astype(int)  # without the colour bar
        assert ((film[..., 0] - film[..., 2]) > 100).any() == (span == "range")


def test_numbers(trained, tmp_path):
    out = tmp_path / "a.npz"
    assert run("timelapse", trained, "--out", out, "--positions", "2-40") == 0
    with np.load(out) as file:
        assert file["steps"].tolist() == [0, 1, 10, 100, 1000, 3000]
        assert file["tokens"].tolist() == [0, 100, 1000, 10_000, 100_000, 300_000]
        assert file["coordinates"].shape == (6, N, 3)
        assert file["positions"].tolist() == [2, 40]
        assert str(file["basis"]) == "frozen"


def test_a_history_that_grows_meanwhile(trained, tmp_path, monkeypatch):
    steps, real, left = [0, 1, 10, 100, 1000, 3000, 4000], History.table, [True]

    def disturbed(history, snapshot):
        found = real(history, snapshot)
        if left and left.pop():
            write_record(trained / "new", steps).replace(trained / "history.safetensors")
        return found

    monkeypatch.setattr(History, "table", disturbed)
    out = tmp_path / "a.npz"
    assert run("timelapse", trained, "--out", out) == 0
    with np.load(out) as file:
        assert file["steps"].tolist() == steps
        assert len(file["coordinates"]) == len(steps)


def test_a_folder_of_checkpoints(tmp_path):
    folder = write_checkpoints(tmp_path / "run", [0, 10, 20, 40, 80, 160])
    out = tmp_path / "a.npz"
    assert run("timelapse", folder, "--out", out, "--steps", "4") == 0
    with np.load(out) as file:
        assert len(file["steps"]) == 4
        assert file["steps"][-1] == 160


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--out", "a.avi"), "does not end in .mp4 or .gif or .npz"),
        (("--out", "a.mp4", "--size", "big"), "not a size"),
        (("--out", "a.mp4", "--fps", "0"), "0.5"),
        (("--out", "a.mp4", "--basis", "none"), "aligned"),
        (("--out", "a.npz", "--steps", "0"), "greater than or equal to 1"),
        (("--out", "a.npz", "--positions", "1-999"), "1–999"),
        (("--out", "a.npz", "--offline", "--fresh"), "cannot be combined with"),
    ],
    ids=["ending", "size", "fps", "basis", "steps", "positions", "fresh"],
)
def test_wrong_usage(trained, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert run("timelapse", trained, *arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert os.listdir(tmp_path) == ["trained"]


def test_a_place_that_cannot_be_written_and_a_model_without_a_history(trained, tmp_path, capsys):
    assert run("timelapse", trained, "--out", tmp_path / "none" / "a.gif", "--size", "80x60") == 1
    said = capsys.readouterr().err
    assert said.startswith("helixscope: ")
    assert "none/a.gif cannot be written: No such file" in said
    assert said.count("\n") == 1
    folder = write_checkpoint(tmp_path / "plain", growing([100])[0])
    assert run("timelapse", folder, "--out", tmp_path / "a.gif") == 1
    assert "plain has no training history; " in capsys.readouterr().err


@pytest.fixture
def hub(loopback_hub, tmp_path):
    return serve_checkpoints(loopback_hub, tmp_path / "made")


def test_checkpoints_of_the_hub_and_again_offline(command, hub, tmp_path):
    out = tmp_path / "a.npz"
    done = command("timelapse", NAME, "--out", out, "--steps", "5")
    assert done.returncode == 0, done.stderr
    with np.load(out) as file:
        steps = file["steps"].tolist()
        assert len(steps) == 5
        assert (steps[0], steps[-1]) == (STEPS[0], STEPS[-1])
        first = positions_of(NAME, "checkpoint-0")
        np.testing.assert_allclose(file["norms"][0], np.linalg.norm(first, axis=1), rtol=1e-5)
    with hub.unasked():
        again = command("timelapse", NAME, "--out", tmp_path / "b.npz", "--offline")
        assert again.returncode == 0, again.stderr
        with np.load(tmp_path / "b.npz") as file:
            assert file["steps"].tolist() == steps


def test_a_model_of_the_hub_without_checkpoints(command, loopback_hub, tmp_path):
    loopback_hub.add(NAME, write_stand_in(tmp_path / "made", NAME))
    done = command("timelapse", NAME, "--out", tmp_path / "a.npz")
    assert done.returncode == 1
    assert "gpt2 has no checkpoints of its training: the Hub has none; " in done.stderr
    again = command("timelapse", NAME, "--out", tmp_path / "a.npz", "--offline")
    assert again.returncode == 1
    assert "none are on this machine" in again.stderr


def test_a_server_that_sends_whole_files(command, hub, tmp_path):
    hub.ranges = False
    arguments = ("timelapse", NAME, "--out", tmp_path / "a.npz", "--steps", "3")
    refused = command(*arguments)
    assert refused.returncode == 1
    assert "allow it with --whole" in refused.stderr
    assert command(*arguments, "--whole").returncode == 0
    with np.load(tmp_path / "a.npz") as file:
        assert len(file["steps"]) == 3
