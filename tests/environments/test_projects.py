"""Projects from other people, opened by the application as a process."""

from dataclasses import replace

import numpy as np
import pytest

from geometry.models.sources.source import Source
from gui.services.work_files.work_file import write_work
from gui.state.camera import CameraPose, Place
from gui.state.work import OtherView, Work

POSE = CameraPose(np.array([3.0, 4.0, 5.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
SAMPLE = Work(
    Source.parse("sample"), (1, 99), {"keep_turned": False}, place=Place(POSE, follows=False)
)
MODEL = "someone/model"


def at(**parts):
    return replace(SAMPLE, place=Place(replace(POSE, **parts), follows=False))


VIEWS = {
    "a turn of zeros": replace(SAMPLE, turn=np.zeros((3, 3))),
    "at its own focus": at(position=POSE.focal_point),
    "up along the view": at(up=POSE.position / np.linalg.norm(POSE.position)),
    "huge": at(position=POSE.position * 1e300),
    "tiny": at(position=POSE.position * 1e-300),
}


@pytest.mark.slow
@pytest.mark.parametrize("work", VIEWS.values(), ids=VIEWS)
def test_a_view_in_which_nothing_can_be_seen_is_left_out(app, tmp_path, screen, work):
    write_work(work, tmp_path / "a.helix")
    picture = tmp_path / "a.png"
    done = app.run(
        "open", tmp_path / "a.helix", "--picture", picture,
        environment=screen | {"HELIXSCOPE_DEBUG": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.stat().st_size > 20_000


@pytest.mark.slow
def test_a_picture_of_a_project_looks_nothing_up(app, tmp_path, screen, loopback_hub):
    hub = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": loopback_hub.url}
    path, picture = tmp_path / "a.helix", tmp_path / "a.png"
    command = ("open", path, "--picture", picture)
    write_work(Work(Source.parse(MODEL), (1, 9), {}), path)
    done = app.run(*command, environment=screen | hub)
    assert done.returncode == 1
    assert MODEL in done.stderr
    assert loopback_hub.url in done.stderr
    assert not picture.exists()
    write_work(replace(SAMPLE, others=(OtherView(Source.parse(MODEL), (1, 9), (1, 2, 3)),)), path)
    done = app.run(*command, environment=screen | hub)
    assert done.returncode == 0
    assert picture.exists()
    assert loopback_hub.requests == []
