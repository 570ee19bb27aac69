"""A project that names models of a Hub looks none of them up before somebody has agreed."""

import numpy as np
import pytest

from geometry.hub.address import endpoint
from geometry.models.sources.source import Source
from gui.services.work_files.work_file import write_work
from gui.state.work import OtherView, Work
from tests.gui.services.hub_opening.hub_models import GPT2, MEDIUM
from tests.stand_ins import positions_of

ALL = (1, 9)


def other(source):
    return OtherView(Source.parse(source), ALL, (1, 2, 3))


@pytest.fixture
def project(tmp_path, hub):
    """Write a project; nothing has been requested for it yet."""

    def write(source, *others, **more):
        path = tmp_path / "a.helix"
        write_work(
            Work(Source.parse(source), ALL, {}, others=tuple(map(other, others)), **more), path
        )
        hub.forget_requests()
        return str(path)

    return write


def test_one_question_names_the_server_and_the_models(session, controller, hub, project):
    path = project(GPT2, MEDIUM)
    controller.open(path)
    assert hub.requests == []
    assert session.model is None
    assert session.others == ()
    notice = session.notice
    assert notice.asks
    assert notice.retry
    assert notice.text.endswith(f": {GPT2}, {MEDIUM}.")
    assert endpoint() in notice.advice
    controller.retry()
    assert session.notice is None
    np.testing.assert_array_equal(session.model.W_pos, positions_of(GPT2))
    (beside,) = session.others
    np.testing.assert_array_equal(beside.session.model.W_pos, positions_of(MEDIUM))
    assert session.positions == ALL
    # What is on this machine now needs no question.
    hub.forget_requests()
    controller.open(path)
    assert session.notice is None
    assert len(session.others) == 1
    assert hub.requests == []


def test_what_is_here_opens_and_the_rest_waits(session, controller, hub, project, write_table):
    controller.open(project(str(write_table()), MEDIUM, str(write_table(name="b")), GPT2))
    assert hub.requests == []
    assert session.model.name == "helix"
    assert [bool(one.failed) for one in session.others] == [True, False, True]
    assert session.notice.asks
    assert session.notice.text.endswith(f": {MEDIUM}, {GPT2}.")
    controller.retry()
    assert session.notice is None
    assert [one.failed for one in session.others] == ["", "", ""]
    names = {one.session.model.name for one in session.others}
    assert names == {"gpt2", "gpt2-medium", "b"}


def test_cached_model_is_shown_others_named(fetched, controller, hub, project, write_table):
    path = project(GPT2, MEDIUM, commit=fetched.model.commit)
    controller.open(str(write_table()))
    controller.open(path)
    assert hub.requests == []
    np.testing.assert_array_equal(fetched.model.W_pos, positions_of(GPT2))
    assert fetched.notice.text.endswith(f": {MEDIUM}.")


def test_what_is_made_of_a_model_of_the_hub_is_asked_for_too(session, controller, hub, project):
    controller.open(project(f"tokens:weekdays,{GPT2}"))
    assert hub.requests == []
    assert session.model is None
    assert session.notice.asks


def test_work_kept_for_the_next_start_asks_too(session, controller, hub):
    controller.reopening.show(Work(Source.parse(GPT2), ALL, {}))
    assert hub.requests == []
    assert session.notice.asks


def test_offline_nothing_is_asked(session, controller, hub, project):
    session.offline = True
    controller.open(project(GPT2))
    assert session.model is None
    assert not session.notice.asks
    assert hub.requests == []


def test_another_source_is_not_part_of_the_project(session, controller, hub, project):
    controller.open(project(GPT2))
    controller.open(MEDIUM)  # asked for by its id
    assert session.notice is None
    assert session.model.name == "gpt2-medium"


def test_a_bookmark_shows_the_model_that_it_names(session, controller, hub, write_table):
    controller.open(str(write_table()))
    controller.reopening.go_to(Work(Source.parse(GPT2), ALL, {}))
    assert session.notice is None
    assert session.model.name == "gpt2"
