"""Rows in an order that is not position: their labels, and columns to colour by."""

import numpy as np
import pytest

from geometry.hub.faults import LargeTensor
from geometry.models.sources.locating import located
from geometry.models.sources.source import Source
from gui.export.window_data import WindowData
from gui.scene.scene_state import lasting_labels, point_text, resolve_scene
from gui.services.notices import notice_beside, notice_of
from gui.state.colors import own_scale, shown_column

DAYS = ("Monday", "", "New York")


@pytest.fixture
def days(tmp_path):
    """A table of three rows, one without a label."""
    path = tmp_path / "days.csv"
    path.write_text(
        "day,kind,x0,x1,x2,x3\nMonday,work,1,0,0,2\n,work,0,1,0,3\nNew York,rest,0,0,1,5\n"
    )
    return path


def test_labels_stand_where_tokens_do(session, controller, days):
    controller.open(str(days))
    assert session.positions == (0, 2)
    assert [session.label_at(i) for i in range(4)] == ["Monday", None, "New York", None]
    session.selection = (1,)
    assert lasting_labels(session) == {1: "1", 0: "Monday", 2: "New York"}
    assert point_text(session, 2).startswith("row 2 · norm ")
    assert point_text(session, 2).endswith(" · New York")
    assert resolve_scene(session).caption[0] == "days · rows 0–2 · centred"
    columns = WindowData.of(session).columns()
    assert columns["label"].tolist() == list(DAYS)
    assert "token" not in columns


def test_a_prompt_has_no_effect_on_them(session, controller, days):
    controller.open(str(days))
    session.prompt = "Hello"
    assert session.tokens is None
    assert "no positions of a text" in session.tokens_missing
    assert session.label_at(0) == "Monday"


def test_they_can_be_coloured_by_label_and_by_their_columns(session, controller, days):
    controller.open(str(days))
    controller.color_by("token", 4)
    scale = own_scale(session)
    assert (scale.title, scale.categories) == ("Label", ("Monday", "New York"))
    assert np.isnan(scale.values[1])
    controller.color_by_column(session.model.columns[1])
    assert own_scale(session).categories == ("work", "rest")


def test_own_column_is_the_open_models(session, controller, picture, write_table, helix):
    controller.open(str(picture))
    row = session.model.columns[0]
    controller.color_by_column(row)
    scale = own_scale(session)
    assert (scale.title, scale.labels) == ("Row", ("0", "1"))
    assert scale.values.tolist() == [0, 0, 0, 1, 1, 1]
    controller.open(f"resampled:3x3,{picture}")
    assert shown_column(session).values == (0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0)
    controller.open(str(write_table(helix(90))))
    assert shown_column(session) is None
    assert own_scale(session).title == "Position"


def test_what_is_made_of_a_model_is_remembered_by_its_full_path(days, monkeypatch):
    monkeypatch.chdir(days.parent)
    (days.parent / "weekdays").write_text("not the list")
    assert located(Source.parse("tokens:weekdays,days.csv")).id == f"tokens:weekdays,{days}"
    words = days.parent / "words.txt"
    assert (
        located(Source.parse("tokens:words.txt,gpt2")).id == f"tokens:{words},openai-community/gpt2"
    )
    assert Source.parse("tokens:a/my words.txt,openai-community/gpt2").name == "my words of gpt2"
    assert Source.parse("resampled:20x20,google/vit-base").name == "vit-base at 20 × 20"
    assert Source.parse("tokens:weekdays").name == "tokens:weekdays"


def test_large_embeddings_can_be_agreed_to():
    error = LargeTensor("The token embeddings of gpt2", 154_389_504)
    notice = notice_of(error, "It could not be opened", Source.parse("tokens:weekdays,gpt2"))
    assert notice.text == "The token embeddings of gpt2 take 154 MB from the Hub."
    assert notice.whole == 154_389_504
    beside = notice_beside(error, "It could not be opened")
    assert (beside.whole, beside.advice) == (0, "Open it by itself first.")


def test_rows_are_called_rows_at_the_colour_bar(session, controller, days, picture):
    controller.open(str(days))
    assert own_scale(session).title == "Row"
    controller.open(str(picture))
    assert own_scale(session).title == "Position"
