"""Tables that do not vary, vary in few dimensions, or have numbers of unusual size."""

import math
from functools import cache

import numpy as np
import pytest

from geometry.claims.report import report
from geometry.claims.scalar_results import scalar_results
from geometry.models.sources.opening import open_model
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, RowSettings, measure_entry
from tests.degenerate_tables import FLAT, SCALED, SCALES, TABLES, helix, leaves, write_gpt2_of
from tests.marks import slow_but

SPACES = ("pca.", "shape.", "lookback.", "directions.", "overlap.", "capture.", "curve.")
"""Claims about components and directions."""
OF_LENGTH = ("norms.values", "norms.mean", "norms.std", "spectrum.P", "shape.helix.radius",
             "shape.helix.climb_per_turn", "shape.interval.radius")  # fmt: skip
BESIDE_TOKENS = ("layernorm.error", "kernels", "probes.order_error", "model.", "missing")
"""What depends on the size of positions beside that of tokens, weights or a penalty."""
CLAIMS_BESIDE_TOKENS = ("layernorm.sum_of_squares", "layernorm.constant", "decoding.", "lookback.h",
                        "lookback.lags", "heads.", "kernels.")  # fmt: skip


@pytest.fixture(scope="module")
def model_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tables = {**TABLES, "helix": helix()}
    return cache(lambda name: open_model(write_gpt2_of(folder / name, tables[name])))


@pytest.fixture(scope="module")
def report_of(model_of):
    return cache(lambda name: report(model_of(name), nulls=False))


@pytest.mark.parametrize("name", slow_but([*TABLES][::5], TABLES))
def test_a_report_ends_with_numbers_or_with_none(name, report_of):
    found = report_of(name)
    numbers = [value for _, value in leaves(found) if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
    shares = (found["pca"]["explained_variance_ratio"], found["pca"]["off_subspace_residual"])
    for share in shares:
        assert share is None or all(0.0 <= one <= 1.0 + 1e-12 for one in share)
    assert {claim["outcome"] for claim in found["claims"]} <= {
        "holds", "does not hold", "not applicable", "cannot tell",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zeros", "equal", "two rows in turn", "a plane", "one huge row",
                                  "rows of all sizes", "times 1e-200", "times 1e+200"])  # fmt: skip
def test_so_it_does_beside_random_curves(name, model_of):
    found = report(model_of(name))
    assert all(math.isfinite(value) for _, value in leaves(found) if isinstance(value, float))


def test_what_does_not_vary_has_no_shares_and_nothing_holds_of_it(report_of, model_of):
    for name in ("zeros", "equal"):
        found = report_of(name)
        assert found["pca"]["explained_variance_ratio"] is None
        assert found["missing"]["pca"] == "all rows of the range are equal"
        assert found["shape"] is found["lookback"] is None
        assert found["missing"]["shape"] == found["missing"]["lookback"] == found["missing"]["pca"]
        assert set(found["dimensions"]["best_sinusoid_r2"]) == {None}
        told = {one.quantity.key: one.value for one in scalar_results(model_of(name))}
        for key in ("variance_3", "residual", "verdict", "turning_share", "loops", "period",
                    "turning_angle", "high_frequency", "high_frequency_rows"):  # fmt: skip
            assert told[key] is None, key
    holds = {claim["id"] for claim in report_of("zeros")["claims"] if claim["holds"]}
    assert holds == set()
    assert report_of("zeros")["spectrum"]["energy_top30"]["P"] is None
    assert report_of("zeros")["capture"] is None
    assert report_of("zeros")["overlaps"]["W_Q_P"] is None
    assert report_of("zeros")["overlaps"]["W_Q_E"] is not None


def test_a_range_that_is_too_short_is_the_reason(model_of):
    missing = report(model_of("helix"), positions=(1, 3), nulls=False)["missing"]
    assert missing["shape"] == missing["lookback"] == "the range has 3 positions"


@pytest.mark.parametrize("name", [name for name in FLAT if name != "zeros"])
def test_no_claim_about_more_directions_than_there_are(name, report_of):
    """Nothing holds of three components, or of five directions, that a table does not have."""
    found = report_of(name)
    P = TABLES[name]
    rank, directions = np.linalg.matrix_rank(P[1:] - P[-1]), np.linalg.matrix_rank(P)
    shares = np.array(found["pca"]["explained_variance_ratio"] or [])
    assert (shares > 0.0).sum() == rank < 3
    assert len(found["directions"]["embedding"]) == len(found["directions"]["context"])
    assert len(found["directions"]["embedding"]) == directions
    if found["capture"] is not None:
        assert found["capture"]["rank"] == directions
        assert np.sum(found["capture"]["values"]) == pytest.approx(directions)
    needs = [
        "pca.three",
        "pca.not_a_line",
        "pca.truncated",
        "curve.curled",
        "directions.few_entries",
    ]
    needs += ["directions.context_waves", "directions.frequencies", "directions.appended"]
    if directions < 3:
        needs += [f"overlap.{name}_P" for name in ("W_Q", "W_K", "W_V", "W_O", "W_in")]
        needs += ["capture.weak", "capture.first", "overlap.P_E.strong", "directions.sparse"]
    if rank < 2:
        needs += ["lookback.everywhere", "lookback.rotation", "lookback.heads"]
    outcomes = {claim["id"]: claim["outcome"] for claim in found["claims"]}
    assert {outcomes[claim] for claim in needs} <= {"cannot tell", "not applicable"}


@pytest.mark.parametrize("scale", SCALES)
def test_the_scale_of_a_table_changes_nothing_but_its_lengths(scale, report_of):
    usual, found = dict(leaves(report_of("helix"))), dict(leaves(report_of(f"times {scale:g}")))
    assert found.keys() - usual.keys() == {"model.warnings.0"}
    for name, value in usual.items():
        if name.startswith(("claims", *BESIDE_TOKENS)):
            continue
        factor = scale if name.startswith(OF_LENGTH) else 1.0
        if isinstance(value, float):
            assert found[name] / factor == pytest.approx(value, rel=1e-9, abs=1e-9), name
        else:
            assert found[name] == value, name
    claims = zip(report_of("helix")["claims"], report_of(f"times {scale:g}")["claims"], strict=True)
    for one, other in claims:
        if not one["id"].startswith(CLAIMS_BESIDE_TOKENS):
            assert other["outcome"] == one["outcome"], one["id"]
            value = one["value"]
            expected = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)
            assert other["value"] == expected, one["id"]


@pytest.mark.parametrize("name", TABLES)
def test_a_row_of_a_survey_has_no_impossible_number(name, tmp_path):
    folder = write_gpt2_of(tmp_path / "model", TABLES[name])
    found = measure_entry(Entry(str(folder), "g"), RowSettings(kept=3), Access(offline=True))
    row, n = found.row, len(TABLES[name])
    assert row["error"] is None
    assert row["period"] is None or 2.0 <= row["period"] <= 2 * n
    assert row["loops"] is None or 0.0 <= row["loops"] <= n / 2
    for key in ("variance_3", "variance_6", "residual", "energy_30", "helix_r2"):
        assert row[key] is None or 0.0 <= row[key] <= 1.0 + 1e-12


def test_a_table_says_what_is_unusual_about_it(model_of, report_of):
    said = {name: " ".join(model_of(name).warnings) for name in TABLES}
    assert "are zero" in said["zeros"]
    assert "All rows are equal" in said["equal"]
    for name, table in FLAT.items():
        rank = np.linalg.matrix_rank(table - table[-1])
        if rank:
            assert f"only {rank} dimension" in said[name], name
    for name in SCALED:
        assert "lost to rounding" in said[name], name
    assert not model_of("helix").warnings
    assert not said["two positions"] + said["two dimensions"] + said["whole numbers"]
    assert report_of("equal")["model"]["warnings"] == list(model_of("equal").warnings)


def test_numbers_whose_differences_are_infinite_are_refused(tmp_path):
    from geometry.checkpoints.errors import SourceError

    huge = np.finfo(float).max * np.where(np.arange(40)[:, None] % 2, 1.0, -1.0) * np.ones((40, 8))
    np.save(tmp_path / "huge.npy", huge)
    with pytest.raises(SourceError, match=r"numbers up to 1\.8e\+308"):
        open_model(tmp_path / "huge.npy")
