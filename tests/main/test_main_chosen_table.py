"""The options ``--table``, ``--family`` and ``--first-rows`` of each command that opens sources."""

import json
import shlex

import numpy as np
import pytest
from pyarrow import parquet
from safetensors.numpy import save_file
from typer.main import get_group

import main as command_line
from geometry.models.sources.opening import open_model
from geometry.survey.populations import Entry
from geometry.survey.rows import Access, RowSettings, measure_entry
from tests.bare_models import CHOICE, NAME, write_bare
from tests.command_line import run
from tests.main.test_main import window  # noqa: F401, a fixture

COMMANDS = (
    "export", "intervene", "open", "positions", "render", "report", "survey", "table", "timelapse",
)  # fmt: skip
OPTIONS = ("--table", "--family", "--first-rows")


@pytest.fixture
def bare(tmp_path):
    write_bare(tmp_path / "bare.safetensors")
    return tmp_path / "bare.safetensors"


@pytest.fixture
def two(tmp_path):
    np.savez(tmp_path / "two.npz", **{"a b": np.eye(30, 4), "c": np.eye(20, 4)})
    return tmp_path / "two.npz"


def options_in(text):
    """Return the options in a sentence with their values, as a shell reads them."""
    words = shlex.split(text.replace(",", " ").replace(";", " ").replace("’", ""))
    return [words[at : at + 2] for at, word in enumerate(words) if word in OPTIONS]


def lines(path):
    return len(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("option_name", OPTIONS)
def test_every_command_that_opens_a_table_has_the_same_option(option_name):
    options = {
        name: option
        for name, command in get_group(command_line.app).commands.items()
        for option in command.params
        if option_name in option.opts
    }
    assert sorted(options) == sorted(COMMANDS)
    assert len({option.help for option in options.values()}) == 1


def test_the_options_that_an_error_about_rows_names_can_be_typed(bare, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert run("export", bare, "--out", out) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    found = []
    for option, value in options_in(said):
        if option == "--first-rows":
            assert run("export", bare, "--out", out, option, value, "--positions", "0-27") == 0
            found.append(open_model(bare, first_rows=int(value)).n_positions)
    assert tuple(found) == (42, 41, 40)


def test_the_options_that_an_error_about_tables_names_can_be_typed(two, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert run("export", two, "--out", out) == 1
    said = dict(options_in(capsys.readouterr().err))
    words = [word for option in ("--table", "--first-rows") for word in (option, said[option])]
    assert run("export", two, "--out", out, *words, "--positions", "0-27") == 0
    assert lines(out) == 1 + 28
    assert run("export", two, "--out", out, *words, "--positions", "0-28") == 2


def test_a_family_that_is_none_is_wrong_usage(bare, window, capsys):  # noqa: F811
    for words in (("open",), ("export", "--out", "x.csv"), ("survey", "--out", "x.parquet")):
        assert run(*words, bare, "--family", "gtp2") == 2
        assert "gpt2" in capsys.readouterr().err
    assert window == []


@pytest.mark.parametrize(("family", "first"), [("bert", 0), ("roberta", 2)])
def test_numbers_of_a_chosen_family(family, first, bare, tmp_path):
    out = tmp_path / "out.npz"
    assert run("export", bare, "--out", out, "--family", family, "--positions", "0-39") == 0
    table = open_model(bare, table=f"{NAME}[{first}:]").W_pos[:40]
    with np.load(out) as found:
        np.testing.assert_allclose(found["mean"], table.mean(axis=0), atol=1e-6)


def test_rows_of_files_of_the_same_name_have_their_folders(tmp_path):
    paths = [tmp_path / run_name / "out" / "ckpt.npy" for run_name in "ab"]
    for path in paths:
        path.parent.mkdir(parents=True)
        np.save(path, np.arange(60)[:, None] * np.ones(8))
    assert run("table", *paths, "--out", tmp_path / "x.json") == 0
    found = json.loads((tmp_path / "x.json").read_text("utf-8"))["models"]
    assert [one["model"] for one in found] == ["out", "b/out"]


def test_each_of_several_has_its_own_choice(bare, tmp_path):
    out = tmp_path / "out.json"
    beside = f"table:family=bert,{bare}"
    assert run("table", bare, beside, "sample", "--first-rows", 1, "--out", out) == 0
    found = json.loads(out.read_text("utf-8"))["models"]
    assert [one["positions"] for one in found] == [[1, 40], [1, 41], [1, 253]]
    assert run("table", bare, beside, "--family", "nothing", "--out", out) == 2


def test_error_about_tensors_gives_shapes(tmp_path, capsys):
    tensors = {name: np.ones((5, 3), np.float32) for name in ("a.weight", "b.pe", "c")}
    save_file({**tensors, "b.pe": np.eye(7, 3, dtype=np.float32)}, tmp_path / "x.safetensors")
    assert run("table", tmp_path / "x.safetensors") == 1
    said = capsys.readouterr().err
    assert said.index("b.pe (7 × 3)") < said.index("a.weight (5 × 3)")
    assert run("table", tmp_path / "x.safetensors", "--table", "nothing") == 1
    assert "b.pe (7 × 3)" in capsys.readouterr().err


def test_models_in_a_table_have_it_where_it_is(bare, two, tmp_path, capsys):
    out, line = tmp_path / "out.json", tmp_path / "line.npy"
    np.save(line, np.arange(60)[:, None] * np.ones(8))
    choice = ("--table", CHOICE)
    assert run("table", bare, line, "--out", out, *choice) == 0
    found = json.loads(out.read_text("utf-8"))["models"]
    assert [one["positions"] for one in found] == [[1, 39], [1, 59]]
    assert run("table", line, line, *choice) == 1
    assert NAME in capsys.readouterr().err
    assert run("table", bare, two, *choice) == 1  # of the other one nothing is known
    assert "--table 'a b'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_report_and_those_beside_it_have_it_where_it_is(bare, tmp_path, capsys):
    np.save(tmp_path / "line.npy", np.arange(60)[:, None] * np.ones(8))
    words = ("--no-figures", "--table", f"{NAME}[:-10]")
    for source, beside, told in (
        (bare, "line.npy", {"table": f"{NAME}[:-10]", "n_positions": 32}),
        ("line.npy", bare, {"n_positions": 60}),
    ):
        out = tmp_path / "report"
        paths = (tmp_path / source, "--beside", tmp_path / beside, "--out", out)
        assert run("report", *paths, *words) == 0
        found = json.loads((out / "report.json").read_text("utf-8"))["model"]
        assert {key: found[key] for key in ("table", "n_positions") if key in found} == told
    assert run("report", tmp_path / "line.npy", "--out", out, *words) == 1
    assert "no tensor" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["sinusoidal:30x8", "sample/step 535", "sample/inside"])
def test_what_is_one_table_has_none_to_choose(source, tmp_path, capsys):
    assert run("export", source, "--out", tmp_path / "a.csv", "--table", "wpe.weight") == 1
    assert "no tensor 'wpe.weight'" in capsys.readouterr().err


def test_the_window_opens_with_it(window, bare, two, capsys):  # noqa: F811
    choice = ("--table", CHOICE)
    assert run(bare, *choice) == 0
    assert run("sample", "--beside", bare, *choice) == 0
    assert run("sample", "--beside", f"table:family=bert,{bare}") == 0
    assert run(bare, "--family", "roberta", "--first-rows", 1) == 0
    assert window == [
        (str(bare), None, None, choice[1], False),
        ("sample", None, None, str(bare), choice[1], False),
        ("sample", None, None, f"table:family=bert,{bare}", False),
        (str(bare), None, None, "family=roberta;first-rows=1", False),
    ]
    window.clear()
    assert run(bare, "--positions", "0-40", *choice) == 2  # it has 40 positions
    assert run("sample", *choice) == 1
    assert NAME in capsys.readouterr().err
    assert run("open", *choice) == 2
    assert run("open", "--first-rows", 1) == 2
    assert window == []


@pytest.mark.slow
def test_changes_of_positions_are_made_of_the_chosen_rows(tmp_path, capsys):
    name = open_model("sample").table
    words = ("--length", "32", "--texts-at-most", "4", "--changes", "identity,top 0")
    found = []
    for source, *choice in (
        ("sample",),
        ("sample", "--table", name),
        ("sample", "--table", f"{name}[:32]"),
        ("sample", "--table", f"{name}[8:]"),
        (f"table:{name}[8:],sample",),
    ):
        out = tmp_path / "out.json"
        assert run("intervene", source, *words, "--out", out, *choice) == 0
        same, none = json.loads(out.read_text("utf-8"))["changes"]
        assert same["delta"] == 0
        found.append(none["delta"])
    assert found[1] == found[0]
    assert found[2] == pytest.approx(found[0])
    assert found[3] != pytest.approx(found[0], rel=0.01)  # the first rows stay as they are
    assert found[4] == found[3]
    assert run("intervene", "sample", "--table", name, "--layer", "x/layer 1") == 2
    assert run("intervene", "sample", "--table", "nothing") == 1
    assert "no tensor 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("command_name", ["positions", "intervene"])
def test_first_rows_that_leave_none_are_refused_before_anything_runs(
    command_name, tmp_path, capsys
):
    out = tmp_path / "out.json"
    for words in (("sample", "--first-rows", 256), ("table:first-rows=256,sample",)):
        assert run(command_name, *words, "--out", out) == 1
        assert "256 rows" in capsys.readouterr().err
        assert not out.exists()


def test_a_row_of_a_survey_has_its_own_choice(bare, tmp_path):
    settings = RowSettings(table="family=roberta")
    access = Access(offline=True)
    for source, chosen in (
        (str(bare), "family=roberta"),
        (f"table:first-rows=1,{bare}", "first-rows=1"),
        ("sample", "family=roberta"),
    ):
        row = measure_entry(Entry(source, "group"), settings, access).row
        assert (row["table"], row["n_positions"]) == (
            chosen,
            open_model(source, table=chosen).n_positions,
        )


@pytest.mark.slow
def test_rows_of_a_survey_have_it_where_it_is(command, bare, tmp_path):
    out = tmp_path / "survey.parquet"
    words = ("survey", bare, "sample", "--workers", 1, "--offline")
    choice = ("--table", CHOICE)
    assert command(*words, "--out", out, *choice).returncode == 0
    found = {row["table"]: row["last_position"] for row in parquet.read_table(out).to_pylist()}
    assert found == {CHOICE: 39, None: 254}  # the last row is known to be untrained
    other = command(*words, "--out", out)
    assert "measured with other settings" in other.stderr
    none = command("survey", "sample", "--workers", 1, "--out", tmp_path / "b.parquet", *choice)
    assert none.returncode == 1
    assert NAME in none.stderr
    # Neither rows of an earlier survey count, nor checkpoints that could not be measured.
    assert command("survey", "sample", "--workers", 1, "--out", out, *choice).returncode == 1
    (tmp_path / "torn.npy").write_bytes(b"torn")
    words = ("survey", tmp_path / "torn.npy", "--workers", 1, "--out", tmp_path / "c.parquet")
    torn = command(*words, *choice)
    assert torn.returncode == 0
    assert "1 of 1 checkpoints could not be measured" in torn.stderr
