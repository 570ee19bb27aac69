"""Columns of a user's own table: what they are, and that anything else is refused in a sentence."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geometry.checkpoints import column_files
from geometry.checkpoints.column_files import PositionColumn, column_named, read_columns
from geometry.checkpoints.errors import SourceError


@pytest.fixture
def table(tmp_path):
    """Write a table; return its path."""

    def write(content):
        path = tmp_path / "a b.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_numbers_and_categories_in_the_order_of_the_rows(table):
    loss, kind = read_columns(table("loss, kind\n0.5,noun\n-2e3,\n,verb\nnan,noun\n"))
    assert loss == PositionColumn("loss", "a b.csv", (0.5, -2000.0, None, None))
    assert kind == PositionColumn("kind", "a b.csv", ("noun", None, "verb", "noun"))
    assert loss.numeric
    assert not kind.numeric
    np.testing.assert_array_equal(loss.numbers(3), [0.5, -2000, np.nan])
    np.testing.assert_array_equal(loss.numbers(6), [0.5, -2000] + 4 * [np.nan])


def test_a_column_of_positions_says_where_each_row_belongs(table):
    (found,) = read_columns(table("value,Position\n7,4\n9,1\n"))
    assert found.values == (None, 9.0, None, None, 7.0)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4\r\n", [(1, 3), (2, 4)]),
        ("x;y\n1,5;2\n", [(1.5,), (2,)]),
        ("x\ty\n\N{MINUS SIGN}1\t2\n", [(-1,), (2,)]),
        ('x,y\n"a, b",1\n', [("a, b",), (1,)]),
        ("x\n3\n4", [(3, 4)]),
        ("x,y\n1\n2,3\n", [(1, 2), (None, 3)]),
        ("x,y\n1_2,-Infinity\n3,4\n", [("1_2", "3"), (None, 4)]),
        ("x,y\n1,infinity\n3,+infinity\n", [(1, 3), (None, None)]),
    ],
)
def test_ways_in_which_tables_are_written(table, content, values):
    assert [column.values for column in read_columns(table(content))] == values


def test_names_are_all_different_and_can_be_shown(table):
    found = read_columns(table("loss,,loss,\x1b[31m\u202ex\n1,2,3,4\n"))
    assert [column.name for column in found] == ["loss", "column 2", "loss (3)", "�[31m�x"]
    long = read_columns(table(f"{'n' * 500},b\n{'v' * 900},1\n"))[0]
    assert max(len(long.name), len(long.values[0])) <= column_files.MAX_TEXT_LENGTH


def test_a_column_by_its_name_and_without_one_the_first_of_numbers(table):
    columns = read_columns(table("kind,loss,norm\na,1,2\n"))
    assert column_named(columns, None).name == "loss"
    assert column_named(columns, "norm").name == "norm"
    assert column_named(columns[:1], None).name == "kind"
    with pytest.raises(SourceError, match=r"a b\.csv has no column “size”") as refused:
        column_named(columns, "size")
    assert refused.value.advice == "Its columns are kind, loss, norm."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b\n", "has a header but no rows"),
        ("1,2\n3,4\n", "has no header: its first line contains only numbers"),
        ("position\n1\n", "has no column other than “position”"),
        ("position,a\n1,2\n1,3\n", "has position 1 twice"),
        ("position,a\n1.5,2\n", "has '1.5' as a position"),
        ("position,a\n-1,2\n", "has '-1' as a position"),
        ("position,a\n9e9,2\n", "has '9e9' as a position"),
        ("position,a\n,2\n", "has '' as a position"),
        ("a,b\n1,2,3\n", "has 3 cells in line 2, but 2 columns"),
        (b"a,b\n\xff\xfe,1\n", "is not text in UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not text in UTF-8"),
        ('a,b\n"' + "x" * 200_000 + '",1\n', "cannot be read as a table at line"),
        ("a" + ",a" * 600 + "\n1\n", "has more than 500 columns"),
    ],
)
def test_what_is_no_such_table_is_refused_in_a_sentence(table, content, why):
    with pytest.raises(SourceError) as refused:
        read_columns(table(content))
    assert str(refused.value).startswith(f"a b.csv {why}")
    assert "\n" not in str(refused.value)
    assert refused.value.advice


def test_what_is_too_large_is_refused(table, monkeypatch):
    for name, value, why in (
        ("MAX_FILE", 8, "is longer than 8 bytes"),
        ("MAX_CELLS", 5, "has more than 5 cells"),
        ("MAX_CELLS", 2, "has more than 2 lines"),
        ("MAX_POSITIONS", 2, "has more than 2 positions"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(column_files, name, value)
            with pytest.raises(SourceError, match=why):
                read_columns(table("a,b\n1,2\n3,4\n5,6\n"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        read_columns(tmp_path / "none.csv")
    with pytest.raises(SourceError, match="is a folder"):
        read_columns(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text('01,;\t\n\r"a.-e', max_size=60)))
def test_any_file_is_a_table_or_is_refused(table, content):
    columns = ()
    with suppress(SourceError):
        columns = read_columns(table(content))
    for column in columns:
        assert len(column.values) <= column_files.MAX_POSITIONS
        if column.numeric:
            found = column.numbers(40)
            assert not np.isinf(found).any()
