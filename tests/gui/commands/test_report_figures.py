"""Figures of a report, of tables that do not vary or whose numbers are of unusual size."""

from contextlib import suppress

import pytest
from matplotlib.figure import Figure

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.claims.measurements import Measurements, Scope
from geometry.models.sources.opening import open_model
from gui.commands.arguments import FIGURES
from gui.commands.report_figures import figure
from gui.panels.kit.views import Reported
from tests.degenerate_tables import FLAT, ODD, write_gpt2_of

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
@pytest.mark.parametrize(
    "table",
    [
        "zeros",
        "equal",
        *(pytest.param(name, marks=pytest.mark.slow) for name in TABLES
          if name not in ("zeros", "equal")),
    ],
)  # fmt: skip
def test_a_figure_is_drawn_or_left_out_with_the_reason(table, name, reported):
    drawn = None
    with suppress(TensorUnavailable, RangeError):
        drawn, _ = figure(name, reported(table))
    assert drawn is None or isinstance(drawn, Figure)
