"""The scripts of a survey: run with pandas, they draw the same points and curves."""

import numpy as np
import pytest

from geometry.survey.curves import read_curves, turned_alike
from geometry.survey.parts import SurveyFile
from geometry.survey.read import read_survey
from geometry.survey.rows import RowSettings
from gui.export.survey_script import curves_script, survey_script
from gui.window.survey.scatter import ScatterChoices, drawn_column, make_scatter
from tests.gui.window.survey.survey_table import entries, row, write_survey


def run(survey, choices, monkeypatch):
    """Run the script of these choices, and return its variables."""
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    columns = survey.columns
    source = survey_script(
        survey.path,
        drawn_column(columns[choices.x], log=choices.log_x),
        drawn_column(columns[choices.y], log=choices.log_y),
        drawn_column(columns[choices.color]),
        lines=choices.lines,
        parts=survey.in_parts,
    )
    names = {"__name__": "__main__"}
    exec(compile(source, "script", "exec"), names)
    return names


def drawn(axes):
    """All points of a figure, sorted."""
    places = [np.asarray(one.get_offsets()) for one in axes.collections]
    return sorted(map(tuple, np.concatenate(places)))


@pytest.mark.parametrize(
    "choices",
    [
        ScatterChoices("step", "turning_share", "seed", log_x=True),
        ScatterChoices("step", "variance_3", "helix_r2"),
        ScatterChoices("verdict", "helix_r2", "variance_3", lines=False),
        ScatterChoices("turning_share", "helix_r2", "verdict", log_y=True, lines=False),
    ],
)
def test_the_script_draws_the_points_that_the_window_shows(tmp_path, monkeypatch, choices):
    survey = read_survey(write_survey(tmp_path / "own.parquet"))
    names = run(survey, choices, monkeypatch)
    axes = names["axes"]
    scatter = make_scatter(survey, choices)
    shown = np.isfinite(scatter.places()[:, 0])
    expected = np.column_stack([scatter.x.values, scatter.y.values])[shown]
    if choices.x == "verdict":  # Matplotlib counts names as they come
        assert len(drawn(axes)) == len(expected)
    else:
        np.testing.assert_allclose(drawn(axes), sorted(map(tuple, expected)))
    if choices.color == "verdict":  # one that failed has no values, and is not drawn
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["helix", "line"]
    assert axes.get_xscale() == ("log" if choices.log_x else "linear")
    assert axes.get_yscale() == ("log" if choices.log_y else "linear")
    assert axes.get_xlabel() == scatter.x.title
    assert axes.get_ylabel() == scatter.y.title
    assert len(axes.lines) == (3 if choices.lines else 0)


def test_the_script_of_a_running_survey_reads_its_parts(tmp_path, monkeypatch):
    path, found = tmp_path / "own.parquet", entries()
    choices = ScatterChoices("step", "turning_share", "seed", log_x=True)
    with SurveyFile(path, RowSettings()) as file:
        for at, entry in enumerate([*found, found[3]]):
            file.add(row(entry, at))
            file.flush()
        names = run(read_survey(path), choices, monkeypatch)
    assert len(names["rows"]) == len(found)
    assert len(drawn(names["axes"])) == len(found) - 4  # the first steps, and the one that failed


@pytest.mark.parametrize("kept", [2, 3, 5])
def test_the_script_draws_the_curves_that_the_window_shows(tmp_path, monkeypatch, kept):
    """Also of a survey that runs, from its parts."""
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    rng = np.random.default_rng(kept)
    path, found = tmp_path / "own.parquet", entries()[:4]
    with SurveyFile(path, RowSettings(kept=kept)) as file:
        for at, entry in enumerate(found):
            curve = np.cumsum(rng.normal(size=(40 + 10 * at, kept)), axis=0).astype("<f2")
            file.add(
                row(entry, at)
                | {"n_positions": len(curve), "first_position": 2, "last_position": len(curve) - 3}
                | {"coordinates": curve.tobytes()}
            )
        file.flush()
        survey = read_survey(path)
        sources = [entry.source for entry in found[1:]]
        read = read_curves(survey, sources)
        view = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, :2]
        script = curves_script(
            path, {source: source[-5:] for source in sources}, view, parts=survey.in_parts
        )
        names = {"__name__": "__main__"}
        exec(compile(script, "script", "exec"), names)
    expected = turned_alike({source: read[source] for source in sources})
    assert list(expected) == sources
    cells = names["cells"].flat
    for axes, source in zip(cells, sources, strict=False):
        (points,) = axes.collections
        np.testing.assert_allclose(points.get_offsets(), expected[source] @ view, atol=1e-4)
        assert axes.get_title() == source[-5:]
    assert sum(bool(axes.collections) for axes in names["cells"].flat) == 3
