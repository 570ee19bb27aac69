"""Tables of one's own, with labels where positions stood."""

import numpy as np
import pytest

from geometry.checkpoints.column_files import PositionColumn, read_rows
from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.models.sources.opening import open_model


@pytest.fixture
def written(tmp_path):
    """Write a table; return its path."""

    def write(content, name="days.csv"):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return write


def test_numbered_columns_are_entries_others_labels(written):
    path = written("day,number,x0,x1,x2,kind\nMonday,1,0.5,-1,2,work\nSunday,7,3,4,5e-1,rest\n")
    model = open_model(path)
    np.testing.assert_array_equal(model.W_pos, [[0.5, -1, 2], [3, 4, 0.5]])
    assert model.rows.labels == ("Monday", "Sunday")
    assert model.columns == (
        PositionColumn("day", "", ("Monday", "Sunday")),
        PositionColumn("number", "", (1.0, 7.0)),
        PositionColumn("kind", "", ("work", "rest")),
    )
    assert (model.name, model.of_text, model.usual_positions) == ("days", False, (0, 1))
    assert model.warnings == ()


@pytest.mark.parametrize(
    ("content", "values", "labels"),
    [
        ("name,a,b\nx,1,2\ny,3,4\n", [[1, 2], [3, 4]], ("x", "y")),  # all columns of numbers
        ("year;e_0;e_1\n1990;1,5;2\n1991;3;4\n", [[1.5, 2], [3, 4]], ("1990", "1991")),
        (",0,1\na,1,2\nb,3,4\n", [[1, 2], [3, 4]], ("a", "b")),  # as pandas writes them
        ("0\t1\n5\t6\n7\t8\n", [[5, 6], [7, 8]], ()),
        ("1.5,2\n3,4\n", [[1.5, 2], [3, 4]], ()),  # as numpy.savetxt writes them
        ("0.0,1.0\n2,3\n", [[0, 1], [2, 3]], ()),
        ("token1,token2,x,y\na,b,1,2\nc,d,3,4\n", [[1, 2], [3, 4]], ("a", "c")),
        ("w10,w9,w2\n1,2,3\n4,5,6\n", [[1, 2, 3], [4, 5, 6]], ()),  # in the file's order
    ],
)
def test_ways_in_which_tables_are_written(written, content, values, labels):
    model = open_model(written(content))
    np.testing.assert_array_equal(model.W_pos, values)
    assert model.rows.labels == labels


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("a,b\n", "has a header but no rows"),
        ("a,b\nx,y\n", "has no columns of numbers"),
        ("a,x0,x1\nx,1,2\ny,1,\n", "has '' in row 2 of the column 'x1', not a number"),
        ("x0,x1\n1,2\n3,nan\n", "has 'nan' in row 2 of the column 'x1', not a number"),
        ("x0,x1\n1,2,3\n", "has 3 cells in line 2, but 2 columns"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(written, content, sentence):
    with pytest.raises(SourceError) as error:
        read_rows(written(content))
    assert str(error.value) == f"days.csv {sentence}."


def test_an_array_has_the_labels_of_the_table_beside_it(written, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((3, 16)))
    assert open_model(tmp_path / "rows.npy").rows is None
    path = written("word,frequency\ncat,3\ndog,2\nhouse,1\n", "rows.csv")
    model = open_model(tmp_path / "rows.npy")
    assert model.rows.labels == ("cat", "dog", "house")
    assert [column.name for column in model.columns] == ["word", "frequency"]
    path.write_text("word\ncat\n")
    with pytest.raises(FileChanged):
        model.check_files()
    for other in ("word\ncat\n", "loss\n1\n2\n3\n", "no table"):
        path.write_text(other)
        assert open_model(tmp_path / "rows.npy").rows is None, "it is about something else"


def test_a_table_that_changed_is_said(written):
    path = written("a,b\n1,2\n3,4\n")
    model = open_model(path)
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(FileChanged):
        model.check_files()
