"""The file of a survey: whole whatever happens, the same whatever the order, gone on with later."""

import os
import random
from contextlib import nullcontext, suppress

import pyarrow as pa
import pytest
from pyarrow import parquet

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import as_named
from geometry.survey import parts
from geometry.survey.parts import SurveyError, SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey
from geometry.survey.rows import RowSettings, schema
from tests.geometry.survey.survey_stage import ENTRIES, made_row, write_survey
from tools.campaigns.failing_disk import FailingDisk, SmallDisk, failing, largest_file

USUAL = RowSettings()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "survey.parquet"


def steps(out):
    table = parquet.read_table(out)
    return list(zip(*(table.column(name).to_pylist() for name in ("seed", "step")), strict=True))


def written(out, entries, settings=USUAL, *, each=False):
    """Write rows, in parts of one or all; the bytes of the file."""
    return write_survey(out, entries, settings, in_parts=each).read_bytes()


@pytest.mark.parametrize("kept", [0, 3])
def test_the_same_rows_are_the_same_file_byte_for_byte(tmp_path, kept):
    settings, found = RowSettings(kept=kept), set()
    for number in range(6):
        shuffled = list(ENTRIES)
        random.Random(number).shuffle(shuffled)
        out = tmp_path / f"{number}.parquet"
        if number % 2:  # in two surveys
            written(out, shuffled[:3], settings, each=True)
        found.add(written(out, shuffled, settings, each=number % 3 > 0))
    assert len(found) == 1
    table = parquet.read_table(out)
    assert table.schema.remove_metadata() == schema(kept)
    assert steps(out) == [(one.seed, one.step) for one in ENTRIES]
    for entry, row in zip(ENTRIES, table.to_pylist(), strict=True):
        assert row == made_row(entry, kept)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".parquet"] == []


def test_what_is_known_is_not_measured_again(out):
    with SurveyFile(out, USUAL) as file:
        assert file.missing(ENTRIES) == ENTRIES
        file.add(made_row(ENTRIES[0]))
        file.add(made_row(ENTRIES[1], error="It failed.", temporary=True))
        file.add(made_row(ENTRIES[2], error="It failed for good.", temporary=False))
        assert file.missing(ENTRIES) == (ENTRIES[1], *ENTRIES[3:])
    with SurveyFile(out, USUAL) as file:
        assert file.missing(ENTRIES) == (ENTRIES[1], *ENTRIES[3:])
        assert file.known[ENTRIES[2].source].error == "It failed for good."
        assert file.damage_notes == []
        file.add(made_row(ENTRIES[1]))
        moved = Entry(ENTRIES[0].source, "own", commit="d" * 40)
        assert file.missing([moved, ENTRIES[0]]) == (moved,)
        file.add(made_row(ENTRIES[0], commit="d" * 40))
    told = {row["source"]: row for row in parquet.read_table(out).to_pylist()}
    assert len(told) == 3
    assert told[ENTRIES[1].source]["error"] is None
    assert told[ENTRIES[0].source]["commit"] == "d" * 40


def test_what_would_take_too_long_again_is_not_measured_again(out):
    late = "It took too long."
    with SurveyFile(out, USUAL) as file:
        file.add(made_row(ENTRIES[0], error=late, temporary=True))
        file.add(made_row(ENTRIES[1], error="It failed.", temporary=True))
    with SurveyFile(out, USUAL) as file:
        assert file.missing(ENTRIES[:2], given_up=late) == ENTRIES[1:2]
        assert file.missing(ENTRIES[:2], given_up="It took longer still.") == ENTRIES[:2]


def test_names_that_are_no_text_cost_no_row(tmp_path):
    """Neither those of checkpoints nor that of the file itself."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    odd = Entry(f"{folder}/\udcff.npy", folder.name)
    with SurveyFile(folder / "a.parquet", USUAL) as file:
        for entry in (ENTRIES[0], odd, ENTRIES[1]):
            file.add(made_row(entry))
        assert file.missing([odd, *ENTRIES]) == ENTRIES[2:]
        file.announce([odd])
    with SurveyFile(folder / "a.parquet", USUAL) as file:
        assert file.missing([odd, *ENTRIES]) == ENTRIES[2:]
    columns = read_survey(folder / "a.parquet").columns
    assert len(columns["source"].values) == 3
    (found,) = (one for one in columns["source"].values if one.startswith("/"))
    assert found == f"{tmp_path}/caf\\udce9/\\udcff.npy"
    assert as_named(found) == odd.source
    assert "caf\\udce9" in columns["group"].values


def test_rows_are_written_as_they_come(out, monkeypatch):
    with SurveyFile(out, USUAL) as file:
        assert file.due_s is None
        file.add(made_row(ENTRIES[0]))
        assert 0 < file.due_s <= parts.SECONDS_OF_A_PART
        assert [*file.parts.glob("*.parquet")] == []
        file.flush()
        assert (len([*file.parts.glob("*.parquet")]), file.due_s) == (1, None)
        monkeypatch.setattr(parts, "ROWS_OF_A_PART", 2)
        file.add(made_row(ENTRIES[1]))
        file.add(made_row(ENTRIES[2]))
        assert len([*file.parts.glob("*.parquet")]) == 2
        assert not out.exists()
    assert steps(out) == [(3, 0), (3, 5), (3, 40)]


def test_many_small_parts_become_one(out, monkeypatch):
    monkeypatch.setattr(parts, "MAX_PARTS", 4)
    most = 0
    with SurveyFile(out, USUAL) as file:
        for entry in ENTRIES * 3:
            file.add(made_row(entry))
            file.flush()
            most = max(most, len([*file.parts.glob("*.parquet")]))
    assert most == 3  # of four it makes one
    assert len(steps(out)) == len(ENTRIES)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "noise"])
def test_a_damaged_part_is_put_aside_with_a_sentence(out, damage):
    with SurveyFile(out, USUAL) as file:
        for entry in ENTRIES[:3]:
            file.add(made_row(entry))
            file.flush()
        path = sorted(file.parts.glob("*.parquet"))[1]
        data = bytearray(path.read_bytes())
        if damage == "flipped":
            data[200] ^= 1
        short = {"cut": data[: len(data) // 2], "empty": b"", "noise": b"no Parquet" * 9}
        path.write_bytes(short.get(damage, data))
        file.merge = lambda: None  # as if it was killed here
    with SurveyFile(out, USUAL) as file:
        (said,) = file.damage_notes
        assert said == (
            f"{path} was damaged, and is part-000002.parquet.damaged now; its rows are measured "
            "again."
        )
        assert file.missing(ENTRIES[:3]) == ENTRIES[1:2]
        file.add(made_row(ENTRIES[1]))
    assert steps(out) == [(3, 0), (3, 5), (3, 40)]
    assert {one.name for one in file.parts.iterdir()} - {"lock"} == {"part-000002.parquet.damaged"}


def test_a_damaged_file_is_put_aside_too(out):
    whole = written(out, ENTRIES)
    out.write_bytes(whole[:-50])
    with SurveyFile(out, USUAL) as file:
        assert len(file.damage_notes) == 1
        assert file.missing(ENTRIES) == ENTRIES
        file.add(made_row(ENTRIES[0]))
    assert steps(out) == [(3, 0)]
    assert out.with_name("survey.parquet.damaged").read_bytes() == whole[:-50]


HUB, HERE = ENTRIES[:1], (Entry("sinusoidal:64x32", "computed"),)


@pytest.mark.parametrize(
    ("surveys", "fits"),
    [
        ([("mirror", HUB), (None, HERE), ("mirror", HUB)], True),
        ([(None, HERE), ("mirror", HUB), (None, HERE)], True),
        ([("", HUB), (None, HERE), ("", HUB)], True),
        ([("mirror", HUB), (None, HERE), ("", HUB)], False),
        ([("mirror", HUB), ("other", HUB)], False),
        ([("", HUB), (None, HERE), ("mirror", HUB)], False),
    ],
)
def test_only_checkpoints_of_a_hub_have_a_server(surveys, fits, out):
    *before, (server, entries) = surveys
    for earlier, of in before:
        written(out, of, RowSettings(server=earlier))
    with suppress(SurveyError) if not fits else nullcontext():
        written(out, entries, RowSettings(server=server))
        assert fits


def test_files_of_others_and_of_other_settings_are_left_alone(out):
    parquet.write_table(pa.table({"a": [1]}), out)
    before = out.read_bytes()
    with pytest.raises(SurveyError, match="is not the file of a survey"), SurveyFile(out, USUAL):
        pass
    assert out.read_bytes() == before
    assert [one.name for one in out.parent.iterdir()] == [out.name]
    out.unlink()
    before = written(out, ENTRIES[:2])
    for other in (RowSettings((1, 5)), RowSettings(nulls=True), RowSettings(kept=2)):
        with pytest.raises(SurveyError, match="with other settings"), SurveyFile(out, other):
            pass
    assert out.read_bytes() == before


def test_two_surveys_into_one_file(out):
    with (
        SurveyFile(out, USUAL),
        pytest.raises(SurveyError, match=r"Another run is working in .*survey\.parquet"),
        SurveyFile(out, USUAL),
    ):
        pass
    with SurveyFile(out, USUAL) as file:
        assert file.known == {}


def test_after_an_error_the_file_is_whole(out):
    def stopped():
        with SurveyFile(out, USUAL) as file:
            file.add(made_row(ENTRIES[0]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert steps(out) == [(3, 0)]
    assert [one.name for one in out.parent.iterdir()] == [out.name]


@pytest.mark.slow
def test_a_disk_that_fails_at_each_call(tmp_path):
    """Whatever call fails, the file is the old or the new one, and no row that was told is lost."""
    counted = FailingDisk(tmp_path / "counted")
    (tmp_path / "counted").mkdir()
    written(tmp_path / "counted" / "a.parquet", ENTRIES[:2])
    with counted:
        written(tmp_path / "counted" / "a.parquet", ENTRIES, each=True)
    new = (tmp_path / "counted" / "a.parquet").read_bytes()
    assert len(counted.calls) > 40
    for at in range(len(counted.calls)):
        folder = tmp_path / str(at)
        folder.mkdir()
        old = written(folder / "a.parquet", ENTRIES[:2])
        with (
            suppress(HelixscopeError),
            FailingDisk(folder, at, failing(28), lasting=at % 2 == 0),
        ):
            written(folder / "a.parquet", ENTRIES, each=True)
        now = (folder / "a.parquet").read_bytes()
        assert now in (old, new) or len(steps(folder / "a.parquet")) > 2
        assert written(folder / "a.parquet", ENTRIES, each=True) == new
        assert {one.name for one in folder.iterdir()} <= {"a.parquet", "a.parquet.parts"}


def test_a_real_disk_that_is_full(tmp_path):
    disk = SmallDisk.made(tmp_path / "disk")
    if disk is None:
        pytest.skip("no disk may be mounted here")
    try:
        out = disk.folder / "a.parquet"
        old = written(out, ENTRIES[:2])
        disk.fill(0)
        with pytest.raises(HelixscopeError, match="no space is left on the disk"):
            written(out, ENTRIES)
        assert out.read_bytes() == old
        disk.empty()
        assert written(out, ENTRIES) == written(tmp_path / "b.parquet", ENTRIES)
    finally:
        disk.empty()
        disk.close()


def test_a_limit_of_size(out):
    old = written(out, ENTRIES[:2])
    with (
        pytest.raises(HelixscopeError, match="exceeds the maximum file size"),
        largest_file(1000),
        SurveyFile(out, USUAL) as file,
    ):
        file.add(made_row(ENTRIES[5]))
    assert out.read_bytes() == old
