"""`helixscope report`: which files it writes of which models, and what it says of the others."""

import json
import tracemalloc
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.claims.measurements import Measurements, Scope
from geometry.hub.faults import Offline
from geometry.models.sources.opening import open_model
from gui.commands import report_files
from gui.commands.report_figures import figure
from gui.commands.report_files import FIGURES, FORMATS, ReportFiles, ReportRequest, skipped_text
from gui.panels.kit.views import Reported
from tests.degenerate_tables import FLAT, ODD, write_gpt2_of
from tests.geometry.family_cases import CASES
from tests.geometry.models.test_families import built
from tests.marks import slow_but
from tests.small_models import write_small_gpt2

NEED_E = {"capture", "overlaps-P-E", "layernorm", "interference"}
NEED_WEIGHTS = {"spectra-weights", "overlaps-attention", "overlaps-mlp", "kernels"}
SVG = "{http://www.w3.org/2000/svg}"

LACKS = {
    "BertForMaskedLM": set(),
    "AlbertForMaskedLM": set(),
    # Tokens of another size than positions: they are added after a map of their own.
    "OPT-350m": {"layernorm", "interference"},
    # It reads no tokens.
    "DecisionTransformerModel": NEED_E,
}


def write(model, folder, **options):
    """Write a report; the JSON of it."""
    files = ReportFiles(model, ReportRequest(folder, **options))
    for _, work in files.steps():
        work()
    found = json.loads((folder / "report.json").read_text("utf-8"))
    assert found["figures"] == {"written": files.written, "skipped": files.skipped}
    return found


@pytest.fixture
def only_svg(monkeypatch):
    """Write each figure once; PNG takes another drawing."""
    monkeypatch.setattr(report_files, "FORMATS", ("svg",))


@pytest.fixture
def sketched(only_svg, monkeypatch):
    """Write figures as lists of their texts, where it is asked which there are: that is quick."""

    def sketch(figure, path):
        root = ElementTree.Element(f"{SVG}svg")
        for artist in figure.findobj():
            if isinstance(artist, Text):
                ElementTree.SubElement(root, f"{SVG}text").text = artist.get_text()
            else:
                ElementTree.SubElement(root, f"{SVG}path")
        ElementTree.ElementTree(root).write(path, "utf-8")

    monkeypatch.setattr("gui.plots.figure_base.save_figure", sketch)


def check_files(folder, found, lacks):
    """Whatever is said to be drawn is there and shows something; the rest is said to be lacking."""
    formats = report_files.FORMATS
    written, skipped = found["figures"]["written"], found["figures"]["skipped"]
    assert set(skipped) == lacks
    assert all(skipped.values())
    drawn = [name for name in FIGURES if name not in lacks]
    ledger = ["claims.md", "claims.csv"]
    assert written == [f"{name}.{ending}" for name in drawn for ending in formats] + ledger
    assert {path.name for path in folder.iterdir()} == {"report.json", *written}
    for name in drawn:
        if "png" in formats:
            with Image.open(folder / f"{name}.png") as image:
                assert min(image.size) > 300
                assert sum(map(bool, image.convert("L").histogram())) > 20, name
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag == f"{SVG}svg"
        # The ledger is a page of text, all others have axes.
        least = 0 if name == "claims" else 5
        assert len(root.findall(f".//{SVG}path")) >= least, name
        assert any(text.text for text in root.iter(f"{SVG}text")), name


@pytest.mark.slow
@pytest.mark.parametrize("name", LACKS)
def test_families(name, tmp_path, sketched):
    (case,) = [case for case in CASES if case.id == name]
    built(case).save_pretrained(tmp_path / "model")
    model = open_model(tmp_path / "model", table=case.table)
    found = write(model, tmp_path / "report")
    check_files(tmp_path / "report", found, LACKS[name])


@pytest.mark.slow
def test_minilm(minilm_folder, tmp_path):
    found = write(open_model(minilm_folder), tmp_path)
    check_files(tmp_path, found, set())
    drawn = {path.stem: path.read_text("utf-8") for path in tmp_path.glob("*.svg")}
    attention = drawn["overlaps-attention"]
    for title in ("W_Q × P", "W_Q × E", "W_O × P", "W_O × E", "gain not folded"):
        assert title in attention
    assert attention.count("<image") >= 8
    assert "W_in × E" in drawn["overlaps-mlp"]
    assert "P × E" in drawn["overlaps-P-E"]
    assert "positions 1–511" in drawn["similarity"]
    assert "projected on PC 1, 2, 3" in drawn["dimensions-projected"]
    assert "E(cat) + p₃ and E(apple) + p₆" in drawn["interference"]
    ledger = (tmp_path / "claims.md").read_text("utf-8")
    headings = {one["fact"] for one in found["claims"]}
    assert ledger.count("\n| **") == len(headings)
    assert ledger.count("\n| ") == 1 + len(headings) + len(found["claims"])
    rows = (tmp_path / "claims.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + len(found["claims"])


@pytest.mark.slow
def test_the_part_of_gpt2(gpt2_folder, tmp_path, sketched):
    found = write(open_model(gpt2_folder), tmp_path)
    check_files(tmp_path, found, NEED_E | {"overlaps-mlp"})
    skipped = found["figures"]["skipped"]
    assert "token embeddings" in skipped["capture"]
    assert "h.0.mlp.c_fc.weight" in skipped["overlaps-mlp"]
    # What there is of the eight panels is drawn, and the others say why not.
    attention = (tmp_path / "overlaps-attention.svg").read_text("utf-8")
    assert "W_V × P" in attention
    assert "No token" in attention


@pytest.mark.slow
def test_small_and_large_tables(tmp_path, sketched):
    lacking = NEED_E | NEED_WEIGHTS
    for shape, more in (
        ((1, 1), {"helix", "shape", "lookback", "fourier"}),
        ((4200, 4), set()),
    ):
        table = np.random.default_rng(0).standard_normal(shape)
        np.save(tmp_path / "table.npy", table)
        out = tmp_path / f"{shape[0]}"
        found = write(open_model(tmp_path / "table.npy"), out)
        check_files(out, found, lacking | more)


@pytest.mark.slow
def test_memory_grows_with_rows_not_pairs(tmp_path, write_table, sketched, monkeypatch):
    # Hundreds of random curves would take a minute to trace.
    monkeypatch.setattr(ReportFiles, "_check", lambda self, measured: ())
    monkeypatch.setattr(report_files, "FIGURES", [one for one in FIGURES if one != "claims"])
    table = np.random.default_rng(0).standard_normal((8_000, 12))
    model = open_model(write_table(table))
    files = ReportFiles(model, ReportRequest(tmp_path))
    tracemalloc.start()
    try:
        for _, work in files.steps():
            work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6  # one matrix of all pairs is 512 MB
    assert {"similarity", "similarity-projected"}.isdisjoint(files.skipped)
    drawn = (tmp_path / "similarity.svg").read_text("utf-8")
    assert "each cell the mean of 8 × 8 pairs" in " ".join(drawn.split())


@pytest.mark.slow
def test_what_may_not_be_fetched_is_left_out(tmp_path, monkeypatch):
    model = open_model(write_small_gpt2(tmp_path / "model"))
    weight = type(model).weight

    def no_weights_but_queries(self, name, layer):
        if name != "W_Q":
            raise Offline("It is not on this machine, and Helixscope is offline.")
        return weight(self, name, layer)

    monkeypatch.setattr(type(model), "weight", no_weights_but_queries)
    monkeypatch.setattr(report_files, "FIGURES", ("norms", "overlaps-attention", "overlaps-mlp"))
    found = write(model, tmp_path / "report")["figures"]
    drawn = [f"{name}.{kind}" for name in ("norms", "overlaps-attention") for kind in FORMATS]
    assert found["written"] == drawn
    assert set(found["skipped"]) == {"overlaps-mlp"}
    assert "network" in found["skipped"]["overlaps-mlp"]
    attention = (tmp_path / "report" / "overlaps-attention.svg").read_text("utf-8")
    assert "W_Q × P" in attention
    assert "network" in attention


@pytest.mark.slow
def test_equal_reports_are_equal_files(tmp_path, monkeypatch):
    # One of every kind: the 3D view, an image, curves, a page of text.
    kinds = ("helix", "similarity", "norms", "claims")
    monkeypatch.setattr(report_files, "FIGURES", kinds)
    source = write_small_gpt2(tmp_path / "model")
    for name in ("one", "two"):
        write(open_model(source), tmp_path / name)
    files = sorted((tmp_path / "one").iterdir())
    assert len(files) == 1 + 2 * len(kinds) + 2
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def _without_nulls(scope):
    return lambda request: replace(scope(request), nulls=False)


@pytest.mark.slow
def test_figures_stand_beside_their_nulls(tmp_path, monkeypatch, sketched):
    beside = {
        "similarity": "90 % of smooth random curves", "lookback": "random walks stay below",
        "capture": "90 % of random directions", "kernels": "random rotations of P",
        "directions": "random rotations have less than",
    }  # fmt: skip
    monkeypatch.setattr(report_files, "FIGURES", tuple(beside))
    write(open_model(write_small_gpt2(tmp_path / "model")), tmp_path / "out")
    for name, words in beside.items():
        text = " ".join(
            "".join(element.itertext()).strip()
            for element in ElementTree.parse(tmp_path / "out" / f"{name}.svg").iter()
            if element.tag.endswith("}text")
        )
        assert words in text, (name, text)


@pytest.mark.slow
def test_figures_heed_the_options_and_decompose_nothing_anew(tmp_path, monkeypatch, sketched):
    calls: Counter[str] = Counter()
    for name in ("svd", "eigh", "eigvalsh"):
        plain = getattr(np.linalg, name)

        def counted(*arguments, _name=name, _plain=plain, **options):
            calls[_name] += 1
            return _plain(*arguments, **options)

        monkeypatch.setattr(np.linalg, name, counted)
    # Random tables are decomposed, of course.
    monkeypatch.setattr(ReportRequest, "scope", property(_without_nulls(ReportRequest.scope.fget)))
    model = open_model(write_small_gpt2(tmp_path / "model"))
    out = tmp_path / "report"
    request = ReportRequest(out, positions=(5, 40), layer=1, rank=7, after=20, fold_ln=True)
    files = ReportFiles(model, request)
    steps = files.steps()
    next(steps)[1]()
    assert calls["svd"] + calls["eigh"] > 5
    calls.clear()
    for message, work in steps:
        work()
        assert not calls, message
    assert not files.skipped
    said = {path.stem: path.read_text("utf-8") for path in out.glob("*.svg")}
    assert "positions 5–40" in said["similarity"]
    assert "over 20–62" in said["norms"]
    assert "by the first 7 directions of P" in said["capture"]
    assert "layer 1" in said["overlaps-attention"]
    assert "queries 5–40" in said["kernels"]
    assert "extrapolation: layer 1 does not read positions alone" in said["kernels"]
    assert "gain folded" in said["overlaps-attention"]
    assert "W_Q 1" in said["spectra-weights"]
    assert "LayerNorm gain folded" in said["spectra-weights"]
    assert "weights of layer 0 as they are" in said["claims"]  # as the articles


def test_skipped_figures_in_one_sentence():
    assert skipped_text({}) == ""
    text = skipped_text({"capture": "no E", "shape": "too short", "layernorm": "no E"})
    assert text == "Not drawn: capture, layernorm (no E); shape (too short)."


@pytest.mark.slow
def test_figures_need_no_toolkit(run_python):
    """None but the 3D view, which VTK draws, loads one; and none loads Qt."""
    program = (
        "import sys, gui.commands.report_files, gui.commands.report_figures\n"
        "loaded = {'PySide6', 'pyqtgraph', 'pyvista', 'vtkmodules'}\n"
        "from gui.panels.table import PANELS\n"
        "drawn = {figure for entry in PANELS.values() if entry.spec for figure in entry.figures}\n"
        "print(sorted(loaded & set(sys.modules)), drawn | set(gui.commands.report_figures._DRAW) =="
        " set(gui.commands.report_files.FIGURES))\n"
    )
    assert run_python(program).strip() == "[] True"


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2])
def test_narrow_table_is_drawn_with_missing_columns(columns, tmp_path, write_table, sketched):
    table = np.random.default_rng(columns).standard_normal((60, columns)).cumsum(axis=0)
    found = write(open_model(write_table(table)), tmp_path / "report")
    skipped = found["figures"]["skipped"]
    assert set(skipped) == NEED_E | NEED_WEIGHTS | {"shape", "lookback"}
    lack = f"this table has {columns} column{'s' * (columns > 1)}"
    assert lack in skipped["shape"]
    assert lack in skipped["lookback"]
    drawn = (tmp_path / "report/helix.svg").read_text("utf-8")
    assert f"{lack}: no PC {'2 or PC 3' if columns == 1 else '3'}" in drawn
    assert "PC 3 (none)" in drawn
    assert found["pca"]["explained_variance_ratio"][0] > 0.3


TABLES = {**FLAT, **ODD}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("models"), {}

    def report_of(table: str) -> Reported:
        if table not in made:
            model = open_model(write_gpt2_of(folder / table.replace(" ", "-"), TABLES[table]))
            made[table] = Reported(Measurements(model, Scope(nulls=False)), (), 0, False)
        return made[table]

    return report_of


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("table", slow_but(["zeros", "equal"], TABLES))
def test_a_figure_is_drawn_or_left_out_with_the_reason(table, name, reported):
    drawn = None
    with suppress(TensorUnavailable, RangeError):
        drawn, _ = figure(name, reported(table))
    assert drawn is None or isinstance(drawn, Figure)
