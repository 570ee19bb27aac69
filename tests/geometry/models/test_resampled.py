"""Tables of a text for another length, and what is no size of a table."""

import numpy as np
import pytest

from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.measures.extension import resample_rows
from geometry.models.sources.opening import open_model
from tests.geometry.models.test_grids import VISION
from tests.geometry.saved_models import saved


@pytest.fixture
def helix():
    """Make a table of random rows."""
    return lambda n: np.random.default_rng(0).standard_normal((n, 16))


@pytest.fixture
def write_table(tmp_path):
    """Write a table as a .npy file."""

    def write(table, name):
        np.save(tmp_path / f"{name}.npy", table)
        return tmp_path / f"{name}.npy"

    return write


def test_rows_are_between_those_that_there_are(helix):
    table = helix(10)
    np.testing.assert_array_equal(resample_rows(table, 10), table)
    twice = resample_rows(table, 20)
    np.testing.assert_array_equal(twice[::2], table)
    np.testing.assert_allclose(twice[1:-1:2], (table[:-1] + table[1:]) / 2)
    np.testing.assert_array_equal(twice[-1], table[-1])
    np.testing.assert_array_equal(resample_rows(table, 5), table[::2])


def test_a_text_of_another_length(write_table, helix):
    path = write_table(helix(90), "mine")
    model = open_model(f"resampled:180,{path}")
    np.testing.assert_allclose(model.W_pos, resample_rows(open_model(path).W_pos, 180))
    assert (model.name, model.n_positions, model.of_text) == ("mine at 180", 180, True)
    assert model.source == f"resampled:180,{path}"
    np.save(path, helix(91))
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
def test_what_cannot_be_made_is_said_in_a_sentence(source, sentence, write_table, helix, tmp_path):
    saved("vit", tmp_path / "vit", **VISION)
    paths = {"text": write_table(helix(90), "mine"), "picture": tmp_path / "vit"}
    with pytest.raises(SourceError, match=sentence) as error:
        open_model(source.format(**paths))
    assert error.value.advice
