"""Published numbers beside ours, and the report's sections about them."""

import json

import numpy as np
import pytest

from geometry.claims.measurements import Measurements
from geometry.claims.published import PUBLISHED, compare_published, is_table, published_for
from geometry.claims.report import report
from geometry.measures.probes import order_probe, position_probe
from geometry.models.sources.opening import open_model


@pytest.fixture(scope="module")
def gpt2(gpt2_folder):
    return open_model(gpt2_folder)


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
    found = report(gpt2, positions=(100, 300))
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
    found = report(open_array(np.random.default_rng(0).normal(size=(19, 4))))
    assert found["probes"] is None
    assert found["missing"]["probes"] == "a probe needs 20 positions, and this table has 19"
    assert found["published"] == []
    line = report(open_array(np.outer(np.arange(20.0), [1.0, 2.0, 3.0])))
    assert line["probes"]["position_mae"] == 0
