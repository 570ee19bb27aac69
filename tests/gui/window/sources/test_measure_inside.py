"""The dialog that measures positions inside a model, and opens the result."""

import threading
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from safetensors.numpy import save_file

from geometry.inside import worker
from geometry.inside.settings import InsideError, PositionsSettings
from geometry.inside.worker import WorkerProgress
from gui.widgets.texts_choice import TextsChoice

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(application):
    window = application.window
    yield window
    window.inside.close()


@pytest.fixture
def texts(tmp_path):
    place = tmp_path / "texts"
    place.mkdir()
    for i in range(4):
        (place / f"{i}.txt").write_text(
            "A sentence about a curve of positions, and so on. " * (9 + i)
        )
    return place


@pytest.fixture
def asked(monkeypatch):
    """Record requests, and answer with the last iterable that a test puts into the list."""
    requests, answers = [], []

    def run_in_subprocess(measure, **request):
        requests.append(request)
        for one in answers[-1]:
            if isinstance(one, Exception):
                raise one
            yield one
        return request["out"]

    monkeypatch.setattr(worker, "run_in_subprocess", run_in_subprocess)
    # All is on this machine.
    monkeypatch.setattr("geometry.inside.network.to_download", lambda *_: None)
    return requests, answers


def press(button):
    QTest.mouseClick(button, LEFT)


@pytest.mark.slow
def test_it_measures_in_a_process_and_opens_what_it_found(window, settle, texts, tmp_path, qtbot):
    window.commands.by_name["measure_inside"].trigger()
    dialog, out = window.inside.dialog, tmp_path / "inside"
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert dialog.source.text() == window.session.model.source.text
    dialog.source.setText("sample")
    dialog.texts.show_value(str(texts))
    dialog.windows.setValue(4)
    dialog.length.setValue(24)
    dialog.control.setChecked(False)
    dialog.counters["sentence"].setChecked(False)
    dialog.out.setText(str(out))
    said = []
    dialog.message.setText, real = (
        lambda text: (said.append(text), real(text)),
        dialog.message.setText,
    )
    press(dialog.measure)
    assert dialog.running
    assert not dialog.measure.isVisible()
    with qtbot.waitSignal(window.session.events.shown, timeout=120_000):
        pass
    settle()
    assert not dialog.isVisible()
    assert window.session.model.source.text == str(out)
    assert window.docks["training"].isVisible()
    panel = window.built_panels["training"]
    assert panel.header.formula.text() == "pos(layer)"
    assert "4 windows of text" in panel.header.caption.text()
    assert "Running sample: 4 of 4 windows" in said


def test_a_stop_a_failure_and_settings_as_they_were(window, asked, qtbot, tmp_path):
    requests, answers = asked
    dialog = window.inside.dialog
    window.inside.ask("some/model")
    assert dialog.source.text() == "some/model"
    assert Path(dialog.out.text()).name == "model inside"
    pause = threading.Event()
    answers.append(
        WorkerProgress("Running", n % 9, 9) for n in count() if not pause.wait(0.01)
    )  # until it is stopped
    press(dialog.measure)
    qtbot.waitUntil(lambda: "of 9 windows" in dialog.message.text())
    assert dialog.bar.maximum() == 9
    press(dialog.stop)
    assert not dialog.running
    assert "Measure goes on" in dialog.message.text()
    qtbot.waitUntil(lambda: window.session.jobs == 0)
    assert "Measure goes on" in dialog.message.text()
    answers.append([InsideError("The texts are too short.", "Use longer texts.")])
    press(dialog.measure)
    qtbot.waitUntil(lambda: dialog.message.text() == "The texts are too short. Use longer texts.")
    assert not dialog.running
    assert dialog.isVisible()
    settings = PositionsSettings(**{**requests[-1]["settings"]})
    assert settings == dialog.settings()
    assert settings.source == "some/model"
    assert window.session.model is not None  # the open one stays
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


@pytest.mark.parametrize(
    ("opened", "source"),
    [("resampled:100,sample", "sample"), ("sample/inside", "sample"), ("sample", "sample")],
)
def test_it_measures_the_network_of_what_is_open(window, settle, opened, source):
    window.controller.open(opened)
    settle()
    window.inside.ask()
    assert window.inside.dialog.source.text() == source


@pytest.mark.parametrize("source", ["tokens:days,a/b", 'c:d*e?f"g', "org/model@step 3", "  "])
def test_the_proposed_folder_has_a_name_for_every_system(window, source):
    window.inside.ask("some/model")
    window.inside.dialog.source.setText(source)
    name = Path(window.inside.dialog.out.text()).name
    assert name.endswith(" inside")
    assert not set(name) & set('<>:"|?*@')


def test_a_model_without_a_table_leads_there(window, settle, tmp_path):
    source = tmp_path / "mamba"
    source.mkdir()
    (source / "config.json").write_text('{"model_type": "mamba", "max_position_embeddings": 64}')
    weights = {"model.embed_tokens.weight": np.zeros((10, 8), np.float32)}
    save_file(weights, source / "model.safetensors")
    window.controller.open(str(source))
    settle()
    bar = window.notice_bar
    assert bar.inside_button.isVisible()
    press(bar.inside_button)
    assert window.inside.dialog.isVisible()
    assert window.inside.dialog.source.text() == str(source)
    window.controller.open("no such file")
    settle()
    assert not bar.inside_button.isVisible()


def test_texts_are_chosen_or_typed(qtbot, monkeypatch, tmp_path):
    box = TextsChoice()
    qtbot.addWidget(box)
    chosen, failed = [], []
    box.chosen.connect(chosen.append)
    box.failed.connect(failed.append)
    where = "gui.widgets.texts_choice."

    def choose(text):
        index = box.findText(text)
        box.setCurrentIndex(index)
        box.activated.emit(index)

    monkeypatch.setattr(f"{where}QFileDialog.getOpenFileName", lambda *_, **__: ("", ""))
    choose("Text file…")
    assert (chosen, box.value, box.currentText()) == ([], "sample", "Sample texts")
    monkeypatch.setattr(f"{where}QFileDialog.getExistingDirectory", lambda *_: str(tmp_path))
    choose("Folder…")
    assert (chosen, box.currentText()) == ([str(tmp_path)], tmp_path.name)
    monkeypatch.setattr(f"{where}user_data_path", lambda *_, **__: tmp_path / "data")
    ask = f"{where}QInputDialog.getMultiLineText"
    monkeypatch.setattr(ask, lambda *_: ("  ", True))
    choose("Type or paste…")
    assert box.value == str(tmp_path)
    monkeypatch.setattr(ask, lambda *_: ("Some text.", True))
    choose("Type or paste…")
    assert Path(box.value).read_text("utf-8") == "Some text."
    assert chosen[-1] == box.value
    choose("Sample texts")
    assert chosen[-1] == "sample"
    (tmp_path / "data" / "texts").rename(tmp_path / "data" / "old")
    (tmp_path / "data" / "texts").write_text("a file")
    choose("Type or paste…")
    assert "cannot be written" in failed[0]
    assert box.value == "sample"


@pytest.mark.parametrize("typed", ["a\0b", "~nobody/here", "\ud800", "/no/such/folder", ""])
def test_a_folder_is_chosen_beginning_where_there_is_one(window, monkeypatch, tmp_path, typed):
    """Qt warns of a name that no file can have."""
    window.commands.by_name["measure_inside"].trigger()
    dialog, began = window.inside.dialog, []
    monkeypatch.setattr(
        "gui.window.inside_dialog.QFileDialog.getExistingDirectory",
        lambda _parent, _title, start: began.append(start) or str(tmp_path),
    )
    buttons = [one for one in dialog.findChildren(QPushButton) if one.text() == "Folder…"]
    for button, field in zip(buttons, (dialog.source, dialog.out), strict=True):
        field.setText(typed)
        press(button)
        assert field.text() == str(tmp_path)
        press(button)
    assert began == ["", str(tmp_path)] * 2
