"""Steps of a training history, opened like models."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.history.here import NoHistory, history_here
from geometry.models.sources.history_steps import FILE_NAME
from geometry.models.sources.local_models import locate
from geometry.models.sources.locating import may_ask_hub
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.history_stage import growing, write_checkpoint, write_record

STEPS = [0, 10, 500]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "trained"
    folder.mkdir()
    write_record(folder / FILE_NAME, STEPS)
    return folder


@pytest.mark.parametrize("step", STEPS)
def test_each_step_opens_with_its_positions_in_half_precision(folder, step):
    source = f"{folder}/step {step}"
    model = open_model(source)
    table = growing(STEPS)[STEPS.index(step)]
    np.testing.assert_array_equal(model.W_pos, table.astype(np.float16))
    assert (model.name, model.scheme) == (f"trained · step {step}", "learned")
    assert not may_ask_hub(Source.parse(source))
    assert "W_E" in model.missing
    with pytest.raises(NoHistory, match="one step of a training history") as caught:
        history_here(model)  # it is not the end of it
    assert caught.value.advice == "Open the folder “trained” to see all of it."


def test_steps_of_the_bundled_model_open_by_its_name():
    history = history_here(open_model("sample"))
    step = int(history.steps[-2])
    model = open_model(f"sample/step {step}")
    assert model.name == f"sample · step {step}"
    np.testing.assert_array_equal(model.W_pos, history.table(history.n_snapshots - 2))
    with pytest.raises(SourceError, match="has no step 1"):
        open_model("sample/step 1")


def test_tokens_of_a_prompt_stand_where_the_whole_model_has_them(tmp_path):
    text, whole = "Hello my name is Adam", open_model("sample")
    step = int(history_here(whole).steps[-2])
    begin, *rest = whole.tokenize(text).ids
    assert whole.token_text(begin) == "<|endoftext|>"
    assert open_model(f"sample/step {step}").tokenize(text) == whole.tokenize(text)
    folder = shutil.copytree(locate("sample"), tmp_path / "copy")
    (folder / "model.safetensors").unlink()  # the history alone does not tell
    assert open_model(f"{folder}/step {step}").tokenize(text).ids == tuple(rest)


def test_a_step_that_is_none_is_named_with_the_last(folder):
    with pytest.raises(SourceError, match="has no step 7") as caught:
        open_model(folder / "step 7")
    assert caught.value.advice == "It has 3, up to step 500."


def test_a_folder_of_that_name_is_a_checkpoint(folder):
    write_checkpoint(folder / "step 10", growing([10])[0])
    assert open_model(folder / "step 10").name == "step 10"


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": None},
        {"positions": None},
        {"steps": np.array(STEPS[:2], np.int64)},
        {"steps": np.array(STEPS, np.int32)},
        {"positions": np.zeros((3, 4), np.float16)},
        {"positions": np.zeros((3, 0, 4), np.float16)},
    ],
    ids=["no steps", "no positions", "too few", "of another type", "two axes", "none in it"],
)
def test_a_file_that_is_no_history_is_one_sentence(folder, changed):
    write_record(folder / FILE_NAME, STEPS, None, **changed)
    with pytest.raises(SourceError):
        open_model(folder / "step 10")


def test_a_damaged_or_replaced_file_is_noticed(folder):
    file = folder / FILE_NAME
    model = open_model(folder / "step 10")
    whole = file.read_bytes()
    Path(f"{file}.new").write_bytes(whole)
    Path(f"{file}.new").replace(file)
    with pytest.raises(FileChanged):
        model.check_files()
    file.write_bytes(whole[:-10])
    with pytest.raises(SourceError, match="truncated"):
        open_model(folder / "step 10")
