"""Reading surveys: whole files, parts of one that runs, and files that are none."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from geometry.checkpoints.errors import HelixscopeError
from geometry.survey import read
from geometry.survey.parts import RUNNING, SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey, stamp_of, survey_path
from geometry.survey.rows import Access, RowSettings, columns, failed_row
from geometry.survey.run import run_survey
from tests.geometry.survey.survey_stage import ENTRIES, made, made_row, write_survey


@pytest.fixture
def out(tmp_path):
    return tmp_path / "survey.parquet"


def test_all_numbers_and_texts_of_a_file_are_read_and_no_components(out):
    survey = read_survey(write_survey(out, settings=RowSettings(kept=3)))
    kinds = {name: kind for name, kind in columns(3) if kind not in ("bytes", "yes or no")}
    assert {name: column.kind for name, column in survey.columns.items()} == kinds
    table = parquet.read_table(out)
    for name, column in survey.columns.items():
        stored = table.column(name).to_pylist()
        if column.kind == "text":
            assert column.values.tolist() == [one or "" for one in stored]
        else:
            expected = [np.nan if one is None else one for one in stored]
            np.testing.assert_array_equal(column.values, expected)
        assert column.title
    assert len(survey) == len(ENTRIES)
    assert (survey.total, survey.failed, survey.dashboard) == (None, 0, "")
    assert survey.columns["layer"].known.sum() == 0
    assert survey.columns["variance_3"].unit == "%"


def test_runs_are_the_steps_of_each_training(out):
    others = (Entry("own/alone", "own", 7, 3), Entry("own/final", "own", 3, None))
    survey = read_survey(write_survey(out, (*ENTRIES[::-1], *others)))
    seeds, steps = (survey.columns[name].values for name in ("seed", "step"))
    assert [seeds[run].tolist() for run in survey.runs] == [[3.0] * 4, [20.0] * 4]
    assert [steps[run].tolist() for run in survey.runs] == [[0.0, 5.0, 40.0, 300.0]] * 2


def test_a_running_survey_is_read_from_its_parts_and_later_rows_count(out):
    with SurveyFile(out, RowSettings()) as file:
        for entry in ENTRIES:
            file.add(failed_row(entry, "It failed.", temporary=True))
    with SurveyFile(out, RowSettings()) as file:
        file.announce(ENTRIES[:6], "http://127.0.0.1:8787/status")
        for entry in ENTRIES[:3]:
            file.add(made_row(entry))
            file.flush()
        survey = read_survey(out)
        assert len(survey) == len(ENTRIES)
        assert survey.failed == len(ENTRIES) - 3
        assert (survey.total, survey.others) == (6, 2)
        assert survey.dashboard == "http://127.0.0.1:8787/status"
        assert survey.in_parts
        assert [survey_path(path) for path in (file.parts, *file.parts.glob("part-*"))] == [out] * 4
        known = {entry.source for entry in ENTRIES[:3]}
        for source, error in zip(
            *(survey.columns[name].values for name in ("source", "error")), strict=True
        ):
            assert (error == "") == (source in known)
    after = read_survey(out)
    assert not after.in_parts
    assert after.total is None
    for name in ("source", "error", "helix_r2"):
        np.testing.assert_array_equal(after.columns[name].values, survey.columns[name].values)


def test_a_survey_that_has_just_begun_has_all_columns_and_no_rows(out):
    with SurveyFile(out, RowSettings()) as file:
        with pytest.raises(HelixscopeError, match="does not exist"):
            read_survey(out)
        file.announce(ENTRIES)
        survey = read_survey(out)
        assert (len(survey), survey.total, survey.failed, survey.runs) == (0, 8, 0, ())
        file.add(made_row(ENTRIES[0]))
        file.flush()
        assert list(read_survey(out).columns) == list(survey.columns)


def test_a_file_that_is_not_there_yet_is_read_from_parts_alone(out):
    with SurveyFile(out, RowSettings()) as file:
        file.add(made_row(ENTRIES[0]))
        file.flush()
        assert not out.exists()
        assert len(read_survey(out)) == 1


@pytest.mark.slow
def test_a_run_announces_itself_and_its_note_goes_with_it(out):
    seen = []

    def tell(progress):
        path = out.with_name(out.name + ".parts") / RUNNING
        seen.append(json.loads(path.read_text("utf-8")))

    with SurveyFile(out, RowSettings()) as file:
        run_survey(ENTRIES, file, Access(offline=True), workers=1, tell=tell, measure=made)
    assert seen
    assert all(one["total"] == len(ENTRIES) for one in seen)
    assert not out.with_name(out.name + ".parts").exists()


def test_the_stamp_differs_after_each_change(out):
    assert stamp_of(out) == ()
    stamps = [stamp_of(out)]
    with SurveyFile(out, RowSettings()) as file:
        for entry in ENTRIES[:3]:
            file.add(made_row(entry))
            file.flush()
            stamps.append(stamp_of(out))
        assert stamp_of(out) == stamps[-1]
    stamps.append(stamp_of(out))
    assert len(set(stamps)) == len(stamps)


def test_parts_that_become_one_while_they_are_read_are_read_again(out, monkeypatch):
    with SurveyFile(out, RowSettings()) as file:
        for entry in ENTRIES:
            file.add(made_row(entry))
            file.flush()
        before, calls = read._table, []

        def table(path):
            if len(calls) == 2:
                file._compact()
            calls.append(path)
            return before(path)

        monkeypatch.setattr(read, "_table", table)
        survey = read_survey(out)
        assert len(survey) == len(ENTRIES)
        assert survey.stamp == stamp_of(out)
        assert len(calls) == 4  # two of the first parts, one that is gone, and the only one then


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_cut_file_is_one_plain_sentence(out, share):
    data = write_survey(out).read_bytes()
    out.write_bytes(data[: int(share * len(data))])
    with pytest.raises(HelixscopeError, match=r"survey\.parquet is damaged\.") as caught:
        read_survey(out)
    assert caught.value.advice


def test_a_damaged_page_is_found(out):
    data = bytearray(write_survey(out).read_bytes())
    group = parquet.ParquetFile(out).metadata.row_group(0)
    column = next(
        one
        for one in (group.column(at) for at in range(group.num_columns))
        if one.path_in_schema == "helix_r2"
    )
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    out.write_bytes(data)
    with pytest.raises(HelixscopeError, match="is damaged"):
        read_survey(out)


def test_a_foreign_file_is_one_plain_sentence(out, tmp_path):
    parquet.write_table(pa.table({"source": ["a"], "step": [1]}), out)
    with pytest.raises(HelixscopeError, match="is not the file of a survey"):
        read_survey(out)
    write_survey(out.with_name("own.parquet"))
    told = parquet.read_table(out.with_name("own.parquet")).schema.metadata
    parquet.write_table(pa.table({"source": ["a"]}).replace_schema_metadata(told), out)
    with pytest.raises(HelixscopeError, match="is not the file of a survey"):
        read_survey(out)
    later = b'"version": "1"', b'"version": "2"'
    other = {key: value.replace(*later) for key, value in told.items()}
    table = parquet.read_table(out.with_name("own.parquet")).replace_schema_metadata(other)
    parquet.write_table(table, out)
    with pytest.raises(HelixscopeError, match="another version"):
        read_survey(out)
    with pytest.raises(HelixscopeError, match=r"nothing\.parquet does not exist"):
        read_survey(tmp_path / "nothing.parquet")


@pytest.mark.parametrize(
    ("bound", "least"),
    [("MAX_ROWS", 100_000), ("MAX_COLUMNS", 150), ("MAX_TEXT", 10_000_000)],
)
def test_a_file_over_a_bound_is_not_read(out, monkeypatch, bound, least):
    write_survey(out)
    assert getattr(read, bound) > least
    monkeypatch.setattr(read, bound, len(ENTRIES) - 1)
    with pytest.raises(HelixscopeError, match="too large for a survey"):
        read_survey(out)


def test_a_file_that_unpacks_without_end_is_not_read(out, monkeypatch):
    write_survey(out)
    monkeypatch.setattr(read, "MAX_BYTES", 1000)
    monkeypatch.setattr(read, "MAX_RATIO", 0)
    with pytest.raises(HelixscopeError, match="too large for a survey"):
        read_survey(out)


def test_one_long_text_in_many_rows_is_refused_without_unpacking_it(out):
    """Compressed, a megabyte in each of thousands of rows takes a few kilobytes."""
    write_survey(out)
    table = parquet.read_table(out)
    row = table.slice(0, 1)
    many = pa.concat_tables([row] * 5000)
    at = many.schema.get_field_index("error")
    text = pa.array(["x" * 1_000_000]).dictionary_encode()
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5000, np.int32)), text.dictionary)
    parquet.write_table(many.set_column(at, "error", same), out, compression="zstd")
    assert out.stat().st_size < 2_000_000
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    with pytest.raises(HelixscopeError, match="too large for a survey"):
        read_survey(out)
    assert pool.max_memory() - before < 50_000_000


def test_without_pyarrow_the_sentence_names_what_to_install(out, monkeypatch):
    write_survey(out)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(read, "find_spec", lambda name: None)
    with pytest.raises(HelixscopeError, match="pyarrow") as caught:
        read_survey(out)
    assert '".[survey]"' in caught.value.advice


def test_a_note_of_anything_else_is_left_alone(out):
    with SurveyFile(out, RowSettings()) as file:
        file.add(made_row(ENTRIES[0]))
        file.flush()
        note = file.parts / RUNNING
        for text in ("", "[]", '{"total": "many"}', '{"total": 3}', "\udcff"):
            note.write_bytes(text.encode("utf-8", "surrogateescape"))
            assert read_survey(out).total is None
        told = {"total": 3, "others": 0, "dashboard": "javascript:alert(1)"}
        note.write_text(json.dumps(told), "utf-8")
        survey = read_survey(out)
        assert (survey.total, survey.dashboard) == (3, "")
