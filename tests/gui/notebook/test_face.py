"""``import helixscope as hx``: what scripts and notebooks get."""

import doctest
import io
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import geometry
import helixscope as hx
from geometry.checkpoints.errors import HelixscopeError, RangeError
from geometry.claims.claims import CLAIMS
from geometry.models.sources.opening import open_model
from geometry.survey.dispatch import HubGivesUp

HEAVY = (
    "numpy",
    "torch",
    "PySide6",
    "vtk",
    "vtkmodules",
    "pyvista",
    "dask",
    "matplotlib",
    "pandas",
)


@pytest.fixture(scope="module")
def model():
    return hx.open("sinusoidal:128x32")


def modules_after(code):
    """The heavy modules that a fresh process has after some code."""
    listed = f"import sys\n{code}\nprint(*(one for one in {HEAVY} if one in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split("\n")[-2].split())


def test_importing_it_imports_nothing_else():
    assert modules_after("import helixscope") == set()
    opened = modules_after("import helixscope as hx; m = hx.open('sinusoidal:64x16'); m.numbers")
    assert opened == {"numpy"}
    shown = "import helixscope as hx; hx.open('sample')._repr_mimebundle_()"
    assert modules_after(shown) == {"numpy"}


def test_the_examples_of_its_docstrings_run():
    found = doctest.testmod(hx)
    assert found.attempted > 4
    assert found.failed == 0


def test_it_has_the_attributes_of_the_model(model):
    whole = open_model("sinusoidal:128x32")
    np.testing.assert_array_equal(model.W_pos, whole.W_pos)
    assert (model.n_positions, model.name, model.warnings) == (128, whole.name, whole.warnings)
    assert {"W_pos", "claims", "weight"} <= set(dir(model))
    with pytest.raises(AttributeError, match="n_horses"):
        assert model.n_horses
    assert model.positions == (1, 127)
    assert model.over(3, 40).positions == (3, 40)
    with pytest.raises(RangeError):
        model.over(3, 400)


def test_its_numbers_are_those_of_the_table(model):
    expected = {one.quantity.key: one.value for one in geometry.scalar_results(model.model)}
    assert model.numbers == expected
    frame = model.table(hx.open("sinusoidal:64x16", name="another"))
    assert list(frame.index) == [model.name, "another"]
    assert frame["variance_3"].iloc[0] == pytest.approx(expected["variance_3"])
    assert list(frame.columns) == list(expected)


def test_claims_are_a_table_with_a_row_for_each():
    small = hx.open("synthetic:helix,n=90,d=12,turns=3")
    frame = small.claims()
    assert list(frame.index) == [one.id for one in CLAIMS]
    assert {"statement", "value", "null", "p", "p_adjusted", "outcome"} <= set(frame.columns)
    by_id = {one.claim.id: one for one in small.verdicts()}
    row = frame.loc["shape.helix"]
    assert (row["outcome"], row["value"]) == (
        by_id["shape.helix"].outcome, pytest.approx(by_id["shape.helix"].value),
    )  # fmt: skip


def test_a_cell_has_a_curve_that_needs_nothing_else():
    bundle = hx.open("sample")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "image/png"}
    assert len(bundle["text/plain"].splitlines()) == 3
    assert sum(map(len, bundle.values())) < 400_000
    assert not re.search(r"https?:|import |fetch\(", bundle["text/html"])
    with Image.open(io.BytesIO(bundle["image/png"])) as picture:
        colors = np.unique(np.array(picture).reshape(-1, 3), axis=0)
    assert len(colors) > 100
    other = hx.open("sample")._repr_mimebundle_()["text/html"]
    names = [re.search(r'id="([\w-]+)"', text)[1] for text in (bundle["text/html"], other)]
    assert names[0] != names[1]
    assert bundle["text/html"].replace(names[0], "") == other.replace(names[1], "")


def test_what_is_printed_has_the_verdict_of_the_rule():
    rows = np.random.default_rng(0).standard_normal((60, 8))
    assert "no helix or circle" in repr(hx.open(rows))
    helix = repr(hx.open("synthetic:helix,n=90,d=12,turns=3"))
    assert f"a helix of {3 * 88 / 89:.1f} turns" in helix  # without position 0


def test_names_are_text_in_a_cell():
    rows = np.random.default_rng(0).standard_normal((20, 4))
    text = hx.open(rows, name="<script>alert(1)</script>")._repr_mimebundle_()["text/html"]
    assert "<script>alert" not in text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_saved_at_a_columns_width(model, ending, tmp_path):
    figure = model.figure("norms", beside=[hx.open("sinusoidal:64x32", name="other")])
    own = tuple(figure.figure.get_size_inches())
    for part, points in (("column", 72 * 3.4), ("page", 72 * 7), ("column", 72 * 3.4), (10, 720)):
        file = figure.save(tmp_path / f"norms.{ending}", part)
        assert file.stat().st_size > 1000
        assert tuple(figure.figure.get_size_inches()) == own
        if ending == "svg":
            text = file.read_text("utf-8")
            assert f'width="{points:g}pt"' in text
            assert "other" in text


def test_a_figure_that_does_not_fit_a_width_says_which_one_it_fits(model, tmp_path):
    figure = model.figure("lookback")
    with pytest.raises(HelixscopeError, match="does not fit") as caught:
        figure.save(tmp_path / "narrow.pdf", 1.5)
    width = float(caught.value.advice.split()[2])
    assert 1.5 < width <= 3.4
    assert figure.save(tmp_path / "fits.pdf", width).is_file()
    for wrong in ("colum", -1, 85):
        with pytest.raises(HelixscopeError, match="is not a width"):
            figure.save(tmp_path / "wrong.pdf", wrong)
    assert not (tmp_path / "narrow.pdf").exists()


def test_all_figures_are_drawn_or_say_why_not(model):
    drawn, left_out = [], {}
    for name in model.figures:
        if name == "claims":  # takes longer
            continue
        try:
            drawn.append(model.figure(name)._repr_png_()[:4])
        except HelixscopeError as error:
            left_out[name] = str(error)
    assert all(left_out.values())
    assert set(drawn) == {b"\x89PNG"}
    assert len(drawn) > 5
    with pytest.raises(HelixscopeError, match="no figure 'nroms'"):
        model.figure("nroms")


def test_it_is_saved_in_the_formats_of_others(model, tmp_path):
    for ending in ("html", "png", "csv", "npy", "tsv"):
        assert model.save(tmp_path / f"tensors.{ending}", small=True).stat().st_size > 0
    assert (tmp_path / "tensors.html").stat().st_size < 300_000
    np.testing.assert_array_equal(np.load(tmp_path / "tensors.npy"), model.W_pos)
    again = hx.open(tmp_path / "tensors.tsv")
    np.testing.assert_allclose(again.W_pos, model.W_pos[1:], atol=1e-8)
    assert again.rows.labels[0] == "1"
    with pytest.raises(HelixscopeError, match=r"\.xyz"):
        model.save(tmp_path / "model.xyz")
    with pytest.raises(HelixscopeError):
        model.save(tmp_path / "no" / "such" / "folder.npy")


def test_results_print_in_a_few_lines(model):
    P, measured = model.W_pos, model.measured
    results = [
        model.numbers, model.report(), model.figure("norms"), model.verdicts(),
        measured.pca, measured.evidence,
        geometry.scalar_results(model.model),
        geometry.fit_shapes(measured.pca.project(P)[:, :3]), geometry.turning_share(P),
        geometry.extension(P, 64), geometry.check_effects(None), geometry.check_groups([]),
    ]  # fmt: skip
    for one in results:
        assert len(repr(one)) < 700, type(one)
        assert repr(one).count("\n") < 5


ROWS = np.random.default_rng(0).standard_normal((6, 3))
WORDS = ("the", "a", "of", "and", "in", "to")
HEADER = "word\tcount\n" + "\n".join(f"{word}\t{n}" for n, word in enumerate(WORDS))


@pytest.mark.parametrize("tensors", ["tensors.tsv", "vectors.tsv", "run_tensors.tsv", "rows.tsv"])
@pytest.mark.parametrize(
    ("metadata", "labels"),
    [
        (None, ()),
        ("\n".join(WORDS), WORDS),  # one column has no header
        ("\r\n".join(WORDS) + "\r\n", WORDS),
        (HEADER, WORDS),
        ("\n".join(WORDS[1:]), ()),  # of another table
    ],
    ids=["none", "one column", "of Windows", "two columns", "another table's"],
)
def test_tables_of_tensorboards_projector(tensors, metadata, labels, tmp_path):
    np.savetxt(tmp_path / tensors, ROWS, delimiter="\t")
    if metadata is not None:
        beside = "run_metadata.tsv" if tensors.startswith("run") else "metadata.tsv"
        (tmp_path / beside).write_bytes(metadata.encode())
    opened = hx.open(tmp_path / tensors)
    np.testing.assert_allclose(opened.W_pos, ROWS)
    assert opened.rows.labels == labels


def test_labels_for_the_projector_have_a_header_if_there_are_two_columns(model, tmp_path):
    file, labels = tmp_path / "rows.tsv", tmp_path / "metadata.tsv"
    model.over(3, 40).save(file)
    assert labels.read_text("utf-8").splitlines() == [str(at) for at in range(3, 41)]
    np.testing.assert_allclose(np.loadtxt(file, delimiter="\t"), model.W_pos[3:41], atol=1e-8)
    labels.write_text("\n".join(f"word {at}" for at in range(38)), "utf-8")
    hx.open(file).save(tmp_path / "vectors.tsv")
    head, first, *_ = labels.read_text("utf-8").splitlines()
    assert (head, first.split("\t")) == ("position\tlabel", ["0", "word 0"])
    with pytest.raises(HelixscopeError, match=r"metadata\.tsv is the name of the labels"):
        model.save(labels)


@pytest.mark.slow
def test_a_report_has_its_files(tmp_path):
    small = hx.open("sinusoidal:64x16")
    found = small.report(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert written["model"] == json.loads(json.dumps(found["model"]))
    assert (tmp_path / "out" / "norms.png").is_file()
    assert small.report()["pca"] == found["pca"]


@pytest.mark.parametrize("positions", [127, (5,), (1.5, 3), "1-3", range(3, 20)])
def test_what_is_no_range_is_refused_in_a_sentence(positions):
    for ask in (hx.open, hx.survey):
        with pytest.raises(hx.HelixscopeError, match="not a range of positions"):
            ask("sinusoidal:64x16", positions=positions)


def test_models_beside_are_opened_whether_one_or_several():
    m, rows = hx.open("sinusoidal:64x16"), np.eye(20)
    assert m.table(rows, "sinusoidal:32x8", m)["n_positions"].tolist() == [64, 20, 32, 64]
    for beside in (rows, [rows], "sinusoidal:32x8", (m.over(2, 20), rows)):
        assert m.figure("norms", beside=beside).name == "norms"
    with pytest.raises(hx.HelixscopeError, match="type int"):
        m.report(beside=3)


def test_a_name_that_is_nearly_right_is_suggested():
    m = hx.open("sinusoidal:64x16")
    with pytest.raises(KeyError, match="variance_3"):
        m.numbers["variance3"]
    with pytest.raises(hx.HelixscopeError) as refused:
        m.figure("norm")
    assert "norms" in refused.value.advice


def test_a_model_is_its_table_for_numpy():
    m = hx.open("sinusoidal:64x16")
    np.testing.assert_array_equal(np.asarray(m), m.W_pos)
    assert np.asarray(m, dtype="float32").dtype == np.float32


def test_the_version_is_that_of_the_project():
    project = Path(hx.__file__).with_name("pyproject.toml").read_text("utf-8")
    assert hx.__version__ == tomllib.loads(project)["project"]["version"]


def test_a_survey_has_a_row_for_each_and_the_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out = tmp_path / "survey.parquet"
    things = ["sinusoidal:64x16", "no/such", np.eye(20), np.array(3.0)]
    frame = hx.survey(things, out=out, positions=(2, 19), workers=1).set_index("source")
    assert frame.loc["sinusoidal:64x16", "n_positions"] == 64
    assert frame.loc["sinusoidal:64x16", "variance_3"] == pytest.approx(
        hx.open("sinusoidal:64x16", positions=(2, 19)).numbers["variance_3"]
    )
    assert "not on this machine" in frame.loc["no/such", "error"]
    assert frame["n_positions"].iloc[2] == 20
    assert frame["error"].notna().tolist() == [True, False, False, True]
    assert out.is_file()


def test_a_survey_of_what_is_in_memory_needs_no_processes(monkeypatch):
    monkeypatch.setattr("gui.notebook.survey.start_own", None)
    assert hx.survey([np.eye(20), np.eye(30)])["n_positions"].tolist() == [20, 30]
    assert hx.survey({"a": np.eye(20), "b": np.eye(30)})["source"].tolist() == ["a", "b"]


def test_a_hub_that_cannot_be_asked_is_an_error_of_its_sources_alone(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")

    class Survey:
        returncode, stderr = HubGivesUp.exit_status, ["helixscope: There is no network.\n"]

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("gui.notebook.survey.start_own", lambda *_, **__: Survey())
    frame = hx.survey(["own/model", np.eye(20)]).set_index("source")
    assert frame.loc["own/model", "error"] == "There is no network."
    assert frame["n_positions"].isna().tolist() == [True, False]
    assert frame["n_positions"].dtype == "float64"
    Survey.returncode = 1
    with pytest.raises(hx.HelixscopeError, match="no network"):
        hx.survey("own/model")


def test_a_survey_of_one_source_is_not_of_its_letters(monkeypatch):
    asked = []
    monkeypatch.setattr("gui.notebook.survey._run", lambda *words: asked.extend(words))
    with pytest.raises(FileNotFoundError):
        hx.survey("sample")
    assert asked[-1] == "sample"


def test_what_was_opened_can_be_refreshed():
    rows = np.random.default_rng(0).standard_normal((40, 8))
    opened = hx.open(rows)
    before = opened.W_pos.copy()
    rows *= 2.0
    np.testing.assert_array_equal(opened.W_pos, before)
    np.testing.assert_array_equal(opened.refresh().W_pos, 2.0 * before)


def test_an_error_has_the_name_that_is_exported():
    with pytest.raises(hx.HelixscopeError):
        hx.open(object())
    with pytest.raises(AttributeError):
        assert hx.show_me


@pytest.mark.parametrize("name", ["geometry.py", "gui/__init__.py", "resources/__init__.py"])
@pytest.mark.parametrize("first", [False, True])
def test_a_module_of_the_user_in_the_way_is_named(name, first, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("", "utf-8")
    module = name.partition("/")[0].removesuffix(".py")
    code = f"{f'import {module}; ' if first else ''}import helixscope as hx; hx.open('sample')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    last = done.stderr.strip().split("\n")[-1]
    assert last.startswith("ImportError: ")
    assert str(file) in last


def test_a_main_of_the_user_is_not_in_the_way(tmp_path):
    (tmp_path / "main.py").write_text("raise SystemExit(3)", "utf-8")
    code = "import helixscope as hx; print(hx.open('sinusoidal:64x16').n_positions)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "64\n"
