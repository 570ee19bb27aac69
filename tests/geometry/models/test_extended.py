"""A model's first rows, continued, and tables of a text for another length."""

import numpy as np
import pytest

from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.measures.extension import extend_table, resample_rows
from geometry.models.sources.extended import extended_source, why_not_extended
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from tests.geometry.models.test_grids import VISION
from tests.small_models import saved


@pytest.fixture
def path(tmp_path):
    """A table of 90 random rows."""
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).standard_normal((90, 16)))
    return tmp_path / "mine.npy"


@pytest.mark.parametrize("method", ["helix", "fourier", "interpolate"])
def test_first_rows_are_taken_to_more_positions(method, path):
    own = open_model(path)
    assert why_not_extended(own) == ""
    source = extended_source(method, 60, 120, own)
    assert source.text == f"extended:{method}:60:120,{path}"
    model = open_model(source)
    np.testing.assert_allclose(model.W_pos, extend_table(own.W_pos[:60], 120, method))
    assert (model.name, model.n_positions, model.of_text) == (f"mine, {method} 60 → 120", 120, True)
    assert model.source == source
    assert extended_source(method, 60, 120, model) is None  # it is made of another one itself
    np.save(path, np.zeros((91, 16)))
    with pytest.raises(FileChanged):
        model.check_files()


def test_all_rows_can_be_kept_and_spaces_typed(path):
    assert open_model(f"extended:fourier:90:100,{path}").n_positions == 100
    assert Source.parse("extended: helix:9:20 , gpt2").text == "extended:helix:9:20,gpt2"


def test_one_of_several_tables_and_too_many_rows_have_no_source(tmp_path, path):
    np.savez(tmp_path / "two.npz", first=np.ones((30, 8)), second=np.eye(20, 8))
    second = open_model(tmp_path / "two.npz", table="second")
    assert extended_source("helix", 9, 20, second) is None
    assert extended_source("helix", 9, 1_000_000, open_model(path)) is None


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("extended:helix:9:20,", "should name a method, two numbers of rows and a model"),
        ("extended:spline:9:20,{text}", "'spline:9:20' is no way to extend a table"),
        ("extended:helix:9,{text}", "'helix:9' is no way to extend a table"),
        ("extended:helix:09:20,{text}", "is no way to extend a table"),
        ("extended:helix:3:20,{text}", "The first 3 positions of mine cannot be extended to 20"),
        ("extended:helix:91:200,{text}", "mine has 90 positions, fewer than the 91 to be kept"),
        ("extended:helix:20:20,{text}", "first 20 positions .* cannot be extended to 20"),
        ("extended:helix:20:9999999,{text}", "9,999,999 positions of .* are too many to make"),
        ("extended:helix:4:9,{picture}", "patches of a picture, which has no next one"),
        ("extended:helix:4:9,{days}", "have labels of their own, and none that comes next"),
    ],
)
def test_what_cannot_be_extended_is_said_in_a_sentence(source, sentence, path, tmp_path):
    saved("vit", tmp_path / "vit", **VISION)
    days = tmp_path / "days.csv"
    days.write_text("day,x0,x1,x2\n" + "".join(f"d{i},{i},{i % 3},1\n" for i in range(12)))
    paths = {"text": path, "picture": tmp_path / "vit", "days": days}
    with pytest.raises(SourceError, match=sentence) as error:
        open_model(source.format(**paths))
    assert error.value.advice


def test_rows_are_between_those_that_there_are():
    table = np.random.default_rng(0).standard_normal((10, 16))
    np.testing.assert_array_equal(resample_rows(table, 10), table)
    twice = resample_rows(table, 20)
    np.testing.assert_array_equal(twice[::2], table)
    np.testing.assert_allclose(twice[1:-1:2], (table[:-1] + table[1:]) / 2)
    np.testing.assert_array_equal(twice[-1], table[-1])
    np.testing.assert_array_equal(resample_rows(table, 5), table[::2])


def test_a_text_of_another_length(path):
    model = open_model(f"resampled:180,{path}")
    np.testing.assert_allclose(model.W_pos, resample_rows(open_model(path).W_pos, 180))
    assert (model.name, model.n_positions, model.of_text) == ("mine at 180", 180, True)
    assert model.source.text == f"resampled:180,{path}"
    np.save(path, np.zeros((91, 16)))
    with pytest.raises(FileChanged):
        model.check_files()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("resampled:20,", "should name a size and a model"),
        ("resampled:big,{text}", "'big' is no size of a table"),
        ("resampled:0,{text}", "'0' is no size of a table"),
        ("resampled:4x4,{text}", "mine has positions of a text, and the size has two"),
        ("resampled:9,{picture}", "has the patches of a picture, and the size has one number"),
        ("resampled:9999999,{text}", "9,999,999 positions of .* numbers are too many to make"),
        ("resampled:9,tokens:weekdays,{text}", "should name a size and a model"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(source, sentence, path, tmp_path):
    saved("vit", tmp_path / "vit", **VISION)
    paths = {"text": path, "picture": tmp_path / "vit"}
    with pytest.raises(SourceError, match=sentence) as error:
        open_model(source.format(**paths))
    assert error.value.advice
