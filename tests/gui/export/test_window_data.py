"""The numbers behind what a window shows: the same as on the screen, in full precision."""

import csv
import json

import numpy as np
import pytest
from PySide6.QtCore import Qt

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.source import Source
from gui.export.window_data import README, WindowData
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.state.session import OpenModel, Session
from tests.gui.dialogs import answer_file, press_key
from tests.gui.open_models import show_others


@pytest.fixture
def looked_at(opened, controller):
    """A session with a range, other components, colours and a selection."""
    controller.request_positions(20, 150)
    opened.change(components=(2, 1, 4), color_by="component", color_component=5)
    controller.select((30, 7))
    return opened


@pytest.fixture
def beside(looked_at, write_table, helix):
    """The same with another model beside it: 90 positions, in other components."""
    other = Session()
    controller = Controller(other, InlineJobs())
    path = str(write_table(helix(90, 16, 3), "other"))
    controller.open(path)
    other.components = (1, 2, 3)
    show_others(looked_at, OpenModel(1, Source.parse(path), "other", other))
    yield looked_at
    controller.close()


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_arrays_are_what_is_shown(looked_at, tmp_path):
    out = tmp_path / "data.npz"
    WindowData.of(looked_at).write(out)
    assert [file.name for file in tmp_path.glob("*data*")] == ["data.npz"]
    with np.load(out, allow_pickle=False) as arrays:
        readme = json.loads(str(arrays[README]))
        assert set(readme["arrays"]) | {README} == set(arrays.files)
        for name, said in readme["arrays"].items():
            assert said["meaning"]
            assert said["shape"] == list(arrays[name].shape)
        (model,) = readme["models"]
        assert (model["name"], model["positions"]) == ("helix", [20, 150])
        assert model["components"] == [2, 1, 4]
        assert model["fingerprint"] == looked_at.model.fingerprint
        table = looked_at.model.W_pos
        np.testing.assert_array_equal(arrays["table"], table)
        chosen = arrays["components"][[1, 0, 3]]
        expected = (table - arrays["mean"]) @ chosen.T
        np.testing.assert_allclose(arrays["coordinates"], expected, atol=1e-9)
        np.testing.assert_allclose(arrays["norm"], np.linalg.norm(table, axis=1))
        along = (table - arrays["mean"]) @ arrays["components"][4]
        np.testing.assert_allclose(arrays["color"], along, atol=1e-5)
        assert np.flatnonzero(arrays["selected"]).tolist() == [7, 30]
        assert np.flatnonzero(arrays["in_range"]).tolist() == list(range(20, 151))


def test_the_table_has_a_line_for_each_position(looked_at, tmp_path):
    out = tmp_path / "data.csv"
    WindowData.of(looked_at).write(out)
    rows = read_csv(out)
    titles = "position in_range selected token pc_2 pc_1 pc_4 norm residual color_pc_5"
    assert " ".join(rows[0]) == titles
    assert [int(row["position"]) for row in rows] == list(range(200))
    curve = looked_at.curve
    for k, name in enumerate(("pc_2", "pc_1", "pc_4")):
        assert [float(row[name]) for row in rows] == curve.coordinates[:, k].tolist()
    assert [float(row["residual"]) for row in rows] == curve.residual.tolist()
    assert rows[30]["selected"] == rows[20]["in_range"] == "1"
    assert rows[31]["selected"] == rows[19]["in_range"] == "0"


def test_each_further_table_has_a_file_of_its_own(looked_at, tmp_path):
    heads, lags = {"head": np.arange(2)}, {"lag": np.arange(5), "attention": np.ones(5)}
    numbers = {"kernels": {**heads, **lags}}
    data = WindowData.of(looked_at, numbers, {"kernels": {"": heads, "lags": lags}})
    data.write(tmp_path / "data.csv")
    names = {path.name for path in tmp_path.glob("*.csv")}
    further = {"data-components.csv", "data-kernels.csv", "data-kernels-lags.csv"}
    assert names == {"data.csv", *further}
    assert len(read_csv(tmp_path / "data-kernels.csv")) == 2
    assert read_csv(tmp_path / "data-kernels-lags.csv")[4] == {"lag": "4", "attention": "1.0"}
    shares = [
        float(row["explained_variance_ratio"]) for row in read_csv(tmp_path / "data-components.csv")
    ]
    assert shares == looked_at.curve.pca.explained_variance_ratio.tolist()


def test_models_beside_it_come_too(beside, tmp_path):
    data = WindowData.of(beside)
    data.write(tmp_path / "data.npz")
    data.write(tmp_path / "data.csv")
    other = beside.others[0].session
    with np.load(tmp_path / "data.npz") as arrays:
        np.testing.assert_array_equal(arrays["compared_1/coordinates"], other.curve.coordinates)
        np.testing.assert_array_equal(arrays["coordinates"], beside.curve.coordinates)
        models = json.loads(str(arrays[README]))["models"]
        folders = {one["name"]: one["arrays"] for one in models}
        assert folders == {"helix": "", "other": "compared_1/"}
    rows = read_csv(tmp_path / "data.csv")
    assert [row["model"] for row in rows] == ["helix"] * 200 + ["other"] * 90
    assert next(iter(rows[0])) == "model"
    # A component that only the other shows has no number here.
    assert rows[0]["pc_3"] == rows[200]["pc_4"] == ""
    assert float(rows[200]["pc_3"]) == other.curve.coordinates[0, 2]


def test_loading_model_is_left_out_and_failures_reported(looked_at, tmp_path):
    show_others(looked_at, OpenModel(1, Source.parse("x"), "x", Session()))
    data = WindowData.of(looked_at)
    assert len(data.shown) == 1
    with pytest.raises(HelixscopeError, match="nothing to export"):
        WindowData.of(Session())
    for ending in ("csv", "npz"):
        folder = tmp_path / f"folder.{ending}"
        folder.mkdir()
        for out in (tmp_path / "none" / f"data.{ending}", folder):
            with pytest.raises(HelixscopeError, match="cannot be written"):
                data.write(out)
    assert not [file for file in tmp_path.iterdir() if "part" in file.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lookback", "similarity"])
def test_data_of_tokens_and_panel(application, qtbot, tmp_path, monkeypatch, wait_until_idle, name):
    window, session = application.window, application.session
    session.prompt = "hello my name"
    window.bring(name)
    wait_until_idle(application)
    out = tmp_path / "all.npz"
    answer_file(monkeypatch, out)
    press_key(qtbot, window, Qt.Key.Key_D)
    wait_until_idle(application)
    assert session.notice is None
    assert session.status == f"Saved {out}"
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["token"][:4].tolist() == list(session.tokens.texts)[:4]
        shown = {name.split("/")[1] for name in arrays.files if name.startswith("panels/")}
        assert shown == {name}  # and not the norms, behind it
        for column, values in window.panels[name].numbers().items():
            np.testing.assert_array_equal(arrays[f"panels/{name}/{column}"], values)
