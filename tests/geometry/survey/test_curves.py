"""Curves in the file of a survey: read by source, also from parts, and turned alike."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.opening import open_model
from geometry.pca.pca import fit_pca
from geometry.survey import curves as under_test
from geometry.survey.curves import read_curves, turned_alike
from geometry.survey.parts import SurveyFile
from geometry.survey.populations import Entry
from geometry.survey.read import read_survey
from geometry.survey.rows import Access, RowSettings
from geometry.survey.run import run_survey
from tests.geometry.survey.survey_stage import made_row

T = np.linspace(0, 1, 50)
HELIX = np.column_stack([3 * T, np.cos(12 * T), np.sin(12 * T)])
ENTRIES = tuple(Entry(f"own/x{seed}", "own", seed) for seed in range(40))


def with_curve(entry, curve, first=1, last=None, **given):
    """A row whose components are a curve."""
    n = len(curve)
    return (
        made_row(entry, 3)
        | {
            "n_positions": n,
            "first_position": first,
            "last_position": n - 1 if last is None else last,
            "coordinates": np.asarray(curve).astype("<f2").tobytes(),
        }
        | given
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "own.parquet"


def written(path, rows, kept=3):
    with SurveyFile(path, RowSettings(kept=kept)) as file:
        for row in rows:
            file.add(row)
    return read_survey(path)


@pytest.mark.slow
def test_curves_are_the_components_that_were_measured(path):
    """In half precision, of the range of positions, from a survey as the command makes it."""
    found = [Entry(f"sinusoidal:{shape}", "own") for shape in ("64x16", "96x24", "128x32")]
    with SurveyFile(path, RowSettings(kept=4)) as file:
        run_survey(found, file, Access(offline=True), workers=1)
    survey = read_survey(path)
    sources = survey.columns["source"].values.tolist()
    read = read_curves(survey, sources[1:])
    assert list(read) == sources[1:]
    for row, source in enumerate(sources[1:], start=1):
        table = open_model(source).W_pos
        first, last = (
            int(survey.columns[f"{end}_position"].values[row]) for end in ("first", "last")
        )
        expected = fit_pca(table, (first, last), 3).project(table)[first : last + 1, :3]
        np.testing.assert_allclose(read[source], expected, atol=2e-3 * np.abs(expected).max())


def test_the_newest_row_counts_and_others_are_not_read(path, monkeypatch):
    monkeypatch.setattr(under_test, "BATCH", 3)
    first = [with_curve(entry, HELIX * entry.seed, first=5, last=40) for entry in ENTRIES[1:20]]
    written(path, first)
    with SurveyFile(path, RowSettings(kept=3)) as file:
        file.add(with_curve(ENTRIES[7], -HELIX))
        file.add(with_curve(ENTRIES[30], HELIX))
        file.flush()
        survey = read_survey(path)
        read = read_curves(survey, {"own/x7", "own/x9", "own/x30", "own/x31"})
    assert set(read) == {"own/x7", "own/x9", "own/x30"}
    np.testing.assert_allclose(read["own/x7"], -HELIX[1:], atol=2e-3)
    np.testing.assert_allclose(read["own/x9"], 9 * HELIX[5:41], atol=2e-2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"coordinates": b""},
        {"coordinates": b"\0" * 7},
        {"coordinates": None},
        {"n_positions": 49},
        {"n_positions": 0},
        {"first_position": -1},
        {"first_position": 49},
        {"last_position": 50},
        {"last_position": None},
        {"coordinates": np.full((50, 3), np.inf, "<f2").tobytes()},
    ],
)
def test_a_row_without_a_possible_curve_has_none(path, wrong):
    rows = [with_curve(ENTRIES[0], HELIX, **wrong), with_curve(ENTRIES[1], HELIX)]
    survey = written(path, rows)
    assert set(read_curves(survey, ["own/x0", "own/x1"])) == {"own/x1"}


def test_fewer_than_three_components_leave_zeros(path):
    survey = written(path, [with_curve(ENTRIES[0], HELIX[:, :2])])
    (curve,) = read_curves(survey, ["own/x0"]).values()
    assert curve.shape == (49, 3)
    assert not curve[:, 2].any()


def test_a_survey_without_components_has_no_curves(path):
    survey = written(path, [made_row(ENTRIES[0])], kept=0)
    assert read_curves(survey, ["own/x0"]) == {}


def test_a_damaged_file_is_one_sentence(path):
    survey = written(path, [with_curve(entry, HELIX) for entry in ENTRIES])
    data = bytearray(path.read_bytes())
    at = parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    data[at + 40 : at + 400] = bytes(360)
    path.write_bytes(data)
    with pytest.raises(HelixscopeError, match=r"own\.parquet"):
        read_curves(survey, ["own/x3"])


def test_a_column_of_another_type_gives_no_curves(path):
    survey = written(path, [with_curve(ENTRIES[0], HELIX)])
    table = parquet.read_table(path)
    at = table.schema.get_field_index("n_positions")
    parquet.write_table(table.set_column(at, "n_positions", pa.array(["many"])), path)
    with pytest.raises(HelixscopeError, match=r"own\.parquet"):
        read_curves(survey, ["own/x0"])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    lengths=st.lists(st.integers(2, 200), min_size=1, max_size=5),
    scale=st.floats(1e-3, 1e3),
)
def test_curve_is_rotated_onto_itself(seed, lengths, scale):
    rng = np.random.default_rng(seed)
    given = {}
    for at, n in enumerate((*lengths, 300)):
        t = np.linspace(0, 1, n)
        straight = np.column_stack([t, np.zeros(n), np.zeros(n)])
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        given[str(at)] = scale * (at + 1) * straight @ turn.T + rng.normal(size=3)
    turned = turned_alike(given)
    assert list(turned) == list(given)
    ends = np.array([curve[-1] - curve[0] for curve in turned.values()])
    np.testing.assert_allclose(ends / np.linalg.norm(ends, axis=1, keepdims=True),
                               np.tile(ends[-1] / np.linalg.norm(ends[-1]), (len(ends), 1)),
                               atol=1e-6)  # fmt: skip
    for curve in turned.values():
        np.testing.assert_allclose(curve.mean(axis=0), 0, atol=1e-9)
        assert np.square(curve).sum(axis=1).mean() == pytest.approx(1)


def test_signs_and_orders_of_components_do_not_matter():
    flipped = HELIX[:, [2, 0, 1]] * (-1, 1, -1)
    turned = turned_alike({"a": flipped * 7, "b": HELIX})
    np.testing.assert_allclose(turned["a"], turned["b"], atol=1e-12)


def test_a_point_is_no_curve_and_stays_one():
    turned = turned_alike({"a": np.ones((5, 3)), "b": HELIX})
    assert not turned["a"].any()
    assert turned_alike({}) == {}
