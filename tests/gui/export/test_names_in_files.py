"""Names of models, folders and tokens in files for other programs: text, and nothing else."""

import ast
import csv
import html
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from geometry.checkpoints.number_files import cell, write_numbers
from geometry.checkpoints.plain_text import visible
from geometry.models.sources.opening import open_model
from gui.services.snippets import python_script
from gui.side_panels.inspector import selection_text
from gui.state.session import Session
from tests.command_line import assert_silent

FORMULAS = ["=1+1", "@SUM(A1)", "+1+1", "-1+1", "=cmd|' /C calc'!A0", "\t=1", "\r=1", "＝1", "-"]
NAMES = [
    *("=HYPERLINK(1)", "@x", "+x", "-x", "a$\\frac{$b", "<script>alert(1)<\u2215script>", "x\n# y"),
    *('a\'"""b', "\\end{tabular}", "a|b\\", "`x`", "[x](y)", "\u202egnp", "\x1b[2Jx", "{model}"),
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1.5, 3, "-1.5", "+2e-3", "-inf", "", "a=b", "'x", None, "wpe"])
def test_numbers_and_other_texts_stay(value):
    assert cell(value) is value


def test_columns_of_names(tmp_path):
    path = tmp_path / "x.csv"
    texts = np.array([*FORMULAS, "-2.5"])
    write_numbers({"=name": texts, "value": np.linspace(-1, 1, texts.size)}, path)
    with path.open(newline="", encoding="utf-8") as file:
        titles, *rows = csv.reader(file)
    assert titles == ["'=name", "value"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), "-2.5"]
    assert [float(row[1]) for row in rows] == np.linspace(-1, 1, texts.size).tolist()


def test_tokens_that_are_copied(opened, controller, monkeypatch):
    monkeypatch.setattr(Session, "text_at", lambda self, position: FORMULAS[position])
    controller.select(tuple(range(len(FORMULAS))))
    rows = [line.split("\t") for line in selection_text(opened).splitlines()[1:]]
    assert [len(row) for row in rows] == [3] * len(FORMULAS)
    for _, token, norm in rows:
        assert token.startswith(("'", "\\"))
        float(norm)


@pytest.fixture
def named(tmp_path):
    """A table in a file of any name."""

    def write(name):
        path = tmp_path / f"{name}.npy"
        np.save(path, np.random.default_rng(0).normal(size=(40, 8)))
        return path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tables(command, named, tmp_path, name):
    """The same name in every format that `table` writes."""
    path = named(name)
    texts = {}
    for ending in ("csv", "md", "tex", "json"):
        out = tmp_path / f"out.{ending}"
        assert command("table", path, "--out", out).returncode == 0
        texts[ending] = out.read_text("utf-8")
    # Of a bare table the name is that of the file.
    shown = visible(open_model(str(path)).name)
    titles, row = list(csv.reader(io.StringIO(texts["csv"])))
    assert row[0] == cell(shown)
    assert len(row) == len(titles)
    assert json.loads(texts["json"])["models"][0]["model"] == shown
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", texts["md"].splitlines()[0])
    assert len(cells) == 4
    assert not re.search(r"(?<!\\)(?:\\\\)*[<`\[]", texts["md"].splitlines()[0])
    head = texts["tex"].splitlines()[2]
    assert head.count(" & ") == 1
    assert not re.search(r"(?<!\\)[%#$_]", head)
    assert texts["tex"].count("\\end{tabular}") == 1


@pytest.mark.parametrize("name", NAMES)
def test_scripts(named, name):
    """A name is a string in a script, or a comment of one line."""
    path = named(name)
    model = open_model(str(path))
    text = python_script("", model)
    body = ast.parse(text).body
    assert [type(one) for one in body] == [ast.ImportFrom, ast.Assign]
    call = body[1].value
    assert [ast.literal_eval(argument) for argument in call.args] == [str(path)]
    assert visible(text.replace("\n", "")) == text.replace("\n", "")


@pytest.mark.slow
def test_reports(command, named, tmp_path):
    """Every figure of a report, and no formula in any."""
    name = "a$\\frac{$b<b>\x1b[2J\u202e&amp;"
    out = tmp_path / "report"
    done = command("report", named(name), "--out", out, "--positions", "1-20")
    assert_silent(done)
    drawings = list(out.glob("*.svg"))
    assert len(drawings) > 3
    texts = " ".join(
        text for path in drawings for text in ElementTree.parse(path).getroot().itertext()
    )
    assert texts.count(visible(name)) > 3


@pytest.mark.parametrize("name", ["<b>x<img src=x>", "a$\\frac{$b", "&lt;script&gt;"])
def test_scenes(command, named, tmp_path, name):
    out = tmp_path / "x.html"
    done = command("export", named(name), "--out", out)
    assert done.returncode == 0, done.stderr
    page = out.read_text("utf-8")
    assert f"<title>{html.escape(name)}</title>" in page
    assert "<img src=x" not in page


def test_a_table_without_rows_has_its_columns(tmp_path):
    path = tmp_path / "empty.csv"
    write_numbers({"position": np.zeros(0), "components": np.zeros((0, 3))}, path)
    names = "position,components_1,components_2,components_3"
    assert path.read_text("utf-8").splitlines() == [names]
