"""The ledger, report.json and published numbers of real checkpoints: right, wrong, absent."""

import json
from dataclasses import replace

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.claims.claim import ModelClaim, NotApplicable, at_least, at_most, more_than
from geometry.claims.claims import (
    CLAIMS,
    HELIX,
    NORMS,
    OURS,
    SUBSPACES,
    WHY,
    check,
    check_claims,
)
from geometry.claims.effect_claims import EFFECT_CLAIMS
from geometry.claims.group_claims import GROUP_CLAIMS
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.published import PUBLISHED, compare_published, is_table, published_for
from geometry.claims.report import describe, report
from geometry.evidence.null import OUTCOMES, null_of
from geometry.measures.probes import order_probe, position_probe
from geometry.models.sources.opening import open_model
from tests.marks import slow_but


@pytest.fixture(scope="module")
def gpt2(gpt2_folder):
    return open_model(gpt2_folder)


@pytest.fixture(scope="module")
def of_gpt2(gpt2):
    """All measurements of GPT-2, each measured once, without random tables."""
    return Measurements(gpt2, Scope(nulls=False))


@pytest.fixture
def verdicts(open_array):
    """Check some claims on a table: ``verdicts(W_pos, *ids)``."""

    def checked(W_pos, *ids):
        measured = Measurements(open_array(W_pos))
        return [check(next(one for one in CLAIMS if one.id == name), measured) for name in ids]

    return checked


def test_the_ledger_is_a_ledger():
    assert len(CLAIMS) >= 25
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.article for claim in CLAIMS} == {HELIX, NORMS, SUBSPACES, WHY, OURS}
    for claim in CLAIMS:
        assert claim.statement.endswith((".", ".”", "!”", "…”"))
        assert not claim.quantity.endswith(".")
        assert claim.reason
        assert not claim.reason.endswith(".")


def test_gpt2_has_the_numbers_of_the_articles(of_gpt2):
    found = {verdict.claim.id: verdict for verdict in check_claims(of_gpt2)}
    # E and the MLP are not in this checkpoint.
    for name, verdict in found.items():
        assert (verdict.holds is None) == (verdict.why_null is not None), name
        assert (verdict.holds is None) == (verdict.outcome in ("cannot tell", "not applicable"))
    values = {name: verdict.value for name, verdict in found.items()}
    assert round(100 * values["pca.three"], 2) == 91.06
    assert round(values["norms.stable"], 3) == 0.029
    assert round(values["overlap.W_Q_P"], 2) == 1.65
    assert round(values["overlap.W_K_P"], 2) == 2.76
    assert round(values["lookback.everywhere"], 3) == 0.908
    assert round(values["lookback.far"], 3) == 0.231
    assert round(values["lookback.shift"], 3) == -0.036
    assert round(values["overlap.W_V_P"], 3) == 0.917
    assert values["directions.frequencies"] == 2
    assert 0.14 < values["heads.position_independent"] < 0.77
    # The median error of the position with the nearest norm is 37 positions, by direction 1.
    chance = 1023 * (1 - np.sqrt(0.5))
    assert values["read.norm"] * chance == pytest.approx(37, abs=8)
    assert values["read.direction"] * chance == pytest.approx(1)


@pytest.mark.slow
def test_claims_about_weights_are_of_the_first_layer_whatever_is_shown(gpt2):
    wanted = [claim for claim in CLAIMS if claim.id in ("overlap.W_Q_P", "overlap.W_O_P")]
    first, other = (
        [check(claim, Measurements(gpt2, scope)).value for claim in wanted]
        for scope in (Scope(), Scope(layer=5, rank=7, fold_ln=True))
    )
    assert first == other


def test_a_line_is_no_helix(verdicts):
    line = np.outer(np.arange(300.0), np.ones(8))
    line += 0.01 * np.random.default_rng(0).standard_normal((300, 8))
    helix, explained, bent = verdicts(line, "shape.helix", "entries.explained", "pca.not_a_line")
    assert helix.holds is bent.holds is False
    assert explained.outcome == "not applicable"


def test_short_tables_cannot_tell(verdicts):
    rows = np.random.default_rng(0).standard_normal((40, 8))
    truncated, captured = verdicts(rows, "pca.truncated", "capture.weak")
    assert truncated.holds is None
    assert truncated.why_null == "this table has only 40 positions"
    assert truncated.outcome == "cannot tell"
    assert captured.why_null is not None


def test_a_number_that_the_null_reaches_as_well_is_no_finding(open_array):
    model = open_array(np.random.default_rng(0).standard_normal((60, 8)))
    drawn = null_of("turned", "such tables", np.arange(100.0))

    def claim(value, expected, null=drawn):
        return ModelClaim(
            id="a.b",
            article=HELIX,
            statement="It is so.",
            quantity="number",
            expected=expected,
            reason="a reason",
            measure=lambda _: value,
            null=lambda *_: null,
        )

    def outcome(*about):
        return check(claim(*about), Measurements(model)).outcome

    assert outcome(96.0, at_least(50)) == "holds"
    assert outcome(90.0, at_least(50)) == "as any smooth curve"
    assert outcome(40.0, at_least(50)) == "does not hold"
    for value in (2.0, 52.0):  # whether or not it meets the bound
        worse = null_of("turned", "such tables", np.arange(60.0, 100.0))
        assert outcome(value, at_least(50), worse) == "worse than any such curve"
    assert outcome(3.0, at_most(50)) == "holds"
    assert outcome(20.0, at_most(50)) == "as any smooth curve"
    assert outcome(60.0, at_least(50), None) == "cannot tell"
    assert outcome(np.nan, at_least(50)) == "cannot tell"

    def out_of_place(_):
        raise NotApplicable("this is no curve")

    verdict = check(replace(claim(96.0, at_least(50)), requires=out_of_place), Measurements(model))
    assert (verdict.outcome, verdict.why_null, verdict.holds) == (
        "not applicable", "this is no curve", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "value", "holds", "words"),
    [
        (at_least(2), 2, True, "at least 2"), (at_least(2), 1.9, False, "at least 2"),
        (at_most(0.5), 0.5, True, "at most 0.5"), (at_most(0.5), 0.6, False, "at most 0.5"),
        (more_than(0), 0, False, "more than 0"), (more_than(0), 1e-9, True, "more than 0"),
    ],
)  # fmt: skip
def test_expectations(expected, value, holds, words):
    assert expected.holds(value) is holds
    assert str(expected) == words


@pytest.mark.slow
def test_report_fills_what_the_ledger_reads(minilm_folder):
    measured = report(open_model(minilm_folder))
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured
    assert measured["missing"] == {}
    assert measured["model"]["family"] == "bert"
    assert round(100 * sum(measured["pca"]["explained_variance_ratio"][:3]), 1) == 36.3
    assert measured["norms"]["outliers"] == [0, 127, 510, 511]
    assert len(measured["claims"]) == len(CLAIMS) + len(EFFECT_CLAIMS) + len(GROUP_CLAIMS)
    for claim in measured["claims"]:
        assert claim["outcome"] in OUTCOMES
        assert claim["null"] is None or claim["null"]["p5"] <= claim["null"]["p95"]
    assert measured["capture"]["chance"] == pytest.approx(30 / 384)
    assert len(measured["capture"]["values"]) == 384
    assert set(measured["overlaps"]) == {
        "E_P", "P_E", *(f"W_{w}_{t}" for w in ("Q", "K", "V", "O", "in") for t in "PE"),
    }  # fmt: skip
    overlap = measured["overlaps"]["P_E"]
    assert (overlap["rows"], overlap["columns"], overlap["corner"]) == (384, 384, 30)
    transposed = measured["overlaps"]["E_P"]
    assert overlap["contrast"]["TR"] == pytest.approx(transposed["contrast"]["BL"])
    assert measured["layernorm"]["max_abs_cosine"]["token"] == "[CLS]"
    for error in measured["layernorm"]["error"].values():
        for name in ("median", "p95"):
            low, high = error[f"{name}_interval"]
            assert low < error[name] < high < 1.2 * low
    assert measured["shape"]["best"] == "none"
    assert list(measured["similarity"]["by_lag"]) == [
        "1", "2", "5", "10", "20", "50", "100", "200", "300", "500",
    ]  # fmt: skip
    assert len(measured["directions"]["context"][0]) == 512
    assert len(measured["dimensions"]["after_projection_r2"]) == 384


SECTIONS = """
model scheme missing pca norms spectrum capture overlaps directions similarity dimensions layernorm
shape lookback kernels probes claims published
"""


def test_gpt2(gpt2, of_gpt2, gpt2_folder):
    measured = describe(of_gpt2)
    assert list(measured) == SECTIONS.split()
    assert measured["model"] == {
        "source": str(gpt2_folder), "family": "gpt2", "fingerprint": gpt2.fingerprint,
        "n_positions": 1024, "d_model": 768, "d_vocab": 50257, "n_layers": 12, "n_heads": 12,
        "warnings": [], "notes": [],
    }  # fmt: skip
    pca = measured["pca"]
    assert pca["positions"] == [1, 1023]
    assert pca["centred"] is True
    assert len(pca["explained_variance_ratio"]) >= 10
    assert round(100 * sum(pca["explained_variance_ratio"][:3]), 2) == 91.06
    assert len(pca["off_subspace_residual"]) == 1023
    assert measured["norms"]["outliers"] == [0, 1023]
    assert round(measured["norms"]["mean"], 3) == 3.376
    assert len(measured["norms"]["values"]) == 1024
    assert round(measured["spectrum"]["P"][0], 2) == 61.95
    assert round(100 * measured["spectrum"]["energy_top30"]["P"], 2) == 99.91

    kernels = measured["kernels"]
    assert kernels["layer"] == 0
    near = [head["mass_lag_0_10"] for head in kernels["heads"]]
    assert [number for number, mass in enumerate(near) if mass > 0.9] == [3, 4, 7]
    assert set(kernels["heads"][0]) == {"previous_token", "self", "mass_lag_0_10"}
    assert kernels["heads"][7]["previous_token"] == pytest.approx(0.2517, abs=5e-5)
    assert kernels["heads"][7]["self"] == pytest.approx(0.4453, abs=5e-5)

    # What this partial checkpoint lacks.
    missing = measured["missing"]
    assert missing["overlaps.E_P"] == "no token embeddings in this checkpoint"
    assert missing["spectrum.E"] == "no token embeddings in this checkpoint"
    assert "h.0.mlp.c_fc.weight" in missing["overlaps.W_in_P"]
    assert not {"overlaps.W_Q_P", "kernels"} & set(missing)
    assert measured["spectrum"]["E"] is None


@pytest.mark.slow
def test_another_range_and_layer(gpt2):
    measured = report(gpt2, positions=(100, 1022), layer=3, nulls=False)
    assert measured["kernels"] is None
    assert measured["missing"]["kernels"] == "h.3.ln_1.weight is not in this checkpoint"
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured
    assert measured["pca"]["positions"] == [100, 1022]
    section = measured["lookback"]
    assert section["components"] == 3
    assert list(section["fit_r2"]) == ["1", "5", "10", "20", "50", "100", "200"]
    fifty = section["fit_r2"]["50"]
    assert set(fifty) == {"screw", "translation", "rotation", "halves", "angles_deg"}
    assert round(fifty["screw"], 3) == 0.983
    assert round(fifty["translation"], 3) == 0.726
    assert round(fifty["halves"]["screw"], 3) == 0.942
    assert fifty["angles_deg"] == pytest.approx([33.54], abs=0.01)
    with pytest.raises(RangeError, match="0–1023"):
        report(gpt2, positions=(1, 1024))
    with pytest.raises(RangeError, match="768 directions"):
        report(gpt2, rank=769)


@pytest.mark.parametrize(
    "shape", slow_but([(1, 1), (3, 1)], [(1, 1), (1, 5), (2, 3), (3, 1), (4, 2), (12, 4)])
)
def test_tiny_tables(open_array, shape):
    for table in (np.zeros(shape, np.float32), np.ones(shape), np.arange(np.prod(shape)) + 0.5):
        measured = report(open_array(np.reshape(table, shape)))
        json.dumps(measured, allow_nan=False)
        last = shape[0] - 1
        assert measured["pca"]["positions"] == [min(1, last), last]
        assert measured["model"]["family"] is None
        report(open_array(np.reshape(table, shape)), positions=(0, min(1, last)), nulls=False)
        # All that a bare table lacks is missing for one reason.
        assert measured["missing"]["overlaps.W_Q_P"] == "the source is only a position table"
        assert "capture" in measured["missing"]


@pytest.fixture
def named(written, tmp_path):
    """A checkpoint of a family in a folder of a name, with a random table of a size."""

    def open_it(name, family, tensor, rows, width):
        table = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)
        folder = tmp_path / name
        folder.mkdir()
        for file in written({tensor: table}, {"model_type": family}).glob("*.*"):
            file.rename(folder / file.name)
        return open_model(folder)

    return open_it


@pytest.mark.slow
def test_gpt2_is_within_what_the_papers_allow(gpt2):
    found = compare_published(Measurements(gpt2))
    assert [(one.published.value, one.within) for one in found] == [
        (1.03, True), (1.56, True), (2.05, True),
    ]  # fmt: skip
    assert found[0].ours == position_probe(gpt2.W_pos).error
    assert found[1].ours == order_probe(gpt2.W_pos).error
    assert found[2].ours == pytest.approx(2.054, abs=5e-4)


def test_gpt2_is_known_by_its_numbers_under_any_name(gpt2, open_array):
    assert is_table(open_array(gpt2.W_pos.astype(np.float32)), "GPT-2")
    other = gpt2.W_pos.astype(np.float32)
    other[7, 3] += 0.001
    assert published_for(open_array(other)) == ()


@pytest.mark.parametrize(("size", "known"), [
    ("", True), (":512x768", True), (":511x768", False), (":512x512", False),
])  # fmt: skip
def test_the_sinusoidal_table_of_the_paper(size, known):
    model = open_model(f"sinusoidal{size}")
    assert is_table(model, "sinusoidal") is known
    assert published_for(open_model(f"sinusoidal-fairseq{size}")) == ()


@pytest.mark.slow
def test_the_sinusoidal_table_is_within_what_the_paper_allows():
    found = compare_published(Measurements(open_model("sinusoidal:512x768")))
    assert [(one.published.value, one.within) for one in found] == [(0.0, True), (5.08, True)]


BERT = "embeddings.position_embeddings.weight"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family", "rows", "values"), [
    ("bert-base-uncased", "bert", 512, [34.14, 19.72]),
    ("roberta-base", "roberta", 514, [6.06, 7.23, 50.51, 92.23]),
    ("bert-base-cased", "bert", 512, []),  # not measured by the papers
    ("bert-base-uncased", "bert", 511, []),  # another model of that name
    ("bert-base-uncased", "roberta", 514, []),
    ("my-model", "bert", 512, []),
])  # fmt: skip
def test_models_are_known_by_name_family_and_size(named, name, family, rows, values):
    model = named(name, family, BERT, rows, 768)
    found = compare_published(Measurements(model))
    assert [one.published.value for one in found] == values
    # Random rows are none of theirs.
    assert not any(one.within for one in found)


@pytest.mark.slow
def test_another_model_in_a_folder_of_the_name_has_its_own_numbers(named):
    model = named("gpt2", "gpt2", "wpe.weight", 1024, 768)
    found = compare_published(Measurements(model))
    assert [one.published.value for one in found] == [1.03, 1.56, 2.05]
    assert not any(one.within for one in found)


def test_each_entry_tells_where_its_tolerance_is_from():
    assert len({(one.table, one.quantity) for one in PUBLISHED}) == len(PUBLISHED)
    for one in PUBLISHED:
        assert one.tolerance > 0
        assert one.reason.endswith(".")
        assert "20" in one.source


@pytest.mark.slow
def test_the_report_has_both_sections(gpt2):
    found = report(gpt2, positions=(100, 300), nulls=False)
    probes, published = found["probes"], found["published"]
    assert probes["position_mae"] == pytest.approx(1.02, abs=0.05)
    assert probes["order_error"] == published[1]["ours"]
    assert "probes" not in found["missing"]
    assert len(published) == 3
    assert published[2] == {
        "source": "Song and Zhong 2023, arXiv:2310.04861",
        "quantity": "Stable rank of the rows 1–511, centred",
        "published": 2.05, "tolerance": 0.02, "ours": pytest.approx(2.054, abs=5e-4),
        "within": True,
    }  # fmt: skip
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_small_tables_and_unknown_models(open_array):
    found = report(open_array(np.random.default_rng(0).normal(size=(19, 4))), nulls=False)
    assert found["probes"] is None
    assert found["missing"]["probes"] == "a probe needs 20 positions, and this table has 19"
    assert found["published"] == []
    line = report(open_array(np.outer(np.arange(20.0), [1.0, 2.0, 3.0])), nulls=False)
    assert line["probes"]["position_mae"] == 0
