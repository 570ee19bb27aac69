"""On Windows no path of another computer is looked at because a file names it."""

import os
from dataclasses import replace

import pytest

from geometry.checkpoints.errors import SourceError
from geometry.models.sources.source import Source
from gui.services import foreign_hosts
from gui.services.foreign_hosts import check_hosts
from gui.services.work_files.work_file import write_work
from gui.state.aligned_curve import CurveAlignment, OfOther
from gui.state.session import Session
from gui.state.work import OtherView, Work

ALL, HOST = (1, 9), r"\\nas\models\gpt2"
OTHER = OtherView(Source.parse(HOST), ALL, (1, 2, 3))


@pytest.fixture(autouse=True)
def on_windows(monkeypatch):
    monkeypatch.setattr(foreign_hosts, "ON_WINDOWS", True)


@pytest.fixture
def looked_at(monkeypatch):
    """The paths of another computer that were looked at."""
    seen, stat = [], os.stat

    def watched(path, *arguments, **named):
        if "nas" in str(path):
            seen.append(path)
        return stat(path, *arguments, **named)

    monkeypatch.setattr(os, "stat", watched)
    return seen


def projects(here):
    return {
        "the model": Work(Source.parse(HOST), ALL, {}),
        "its place beside the file": Work(
            Source.parse(f"{here}.moved"), ALL, {}, beside="//nas/models/gpt2"
        ),
        "a model beside it": Work(
            Source.parse(here), ALL, {}, others=(replace(OTHER, source=Source.parse(HOST)),)
        ),
        "a list of tokens": Work(Source.parse(rf"tokens:\\nas\words.txt,{here}"), ALL, {}),
        "what is made of it": Work(Source.parse(f"resampled:20,{HOST}"), ALL, {}),
        "in the system's own form": Work(Source.parse(r"\\?\UNC\nas\models\gpt2"), ALL, {}),
    }


@pytest.mark.parametrize("name", projects(""))
@pytest.mark.parametrize("how", ["opened", "resumed", "a bookmark"])
def test_project_is_not_opened(session, controller, write_table, tmp_path, looked_at, name, how):
    here = str(write_table())
    controller.open(here)
    before = session.model
    work = projects(here)[name]
    if how == "opened":
        write_work(work, tmp_path / "a.helix")
        controller.open(str(tmp_path / "a.helix"))
    else:
        (controller.reopening.show if how == "resumed" else controller.reopening.go_to)(work)
    assert looked_at == []
    assert session.model is before
    assert session.others == ()
    assert "“nas”" in session.notice.text
    assert "yourself" in session.notice.advice


def test_a_curve_laid_over_of_one_is_not_opened(session, controller, write_table, looked_at):
    controller.open(here := str(write_table()))
    work = Work(Source.parse(here), ALL, {}, others=(OTHER,), alignment=CurveAlignment(OfOther(0)))
    controller.reopening.go_to(work)
    assert looked_at == []
    assert session.others == ()
    assert "“nas”" in session.notice.text


@pytest.mark.parametrize("known", [r"\\NAS\other\x", "//nas/a.helix", rf"resampled:9,{HOST}"])
def test_one_from_which_something_has_been_opened_is_known(known):
    check_hosts(Session(recent=(Source.parse(known),)), [HOST, "gpt2", ""], "a.helix")
    check_hosts(Session(), [HOST], r"\\nas\work\a.helix")
    with pytest.raises(SourceError, match="“other”"):
        check_hosts(Session(recent=(Source.parse(known),)), [HOST, r"\\other\x"], "")


def test_elsewhere_a_path_names_no_computer(monkeypatch):
    monkeypatch.setattr(foreign_hosts, "ON_WINDOWS", False)
    check_hosts(Session(), [HOST], "")
