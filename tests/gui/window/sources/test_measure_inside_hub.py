"""Measuring inside a model of the Hub: its size first, then the download, then the measurement."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.services.notices import ONLINE
from gui.window.measure_inside import STOPPED_DOWNLOAD
from tests.geometry.inside.conftest import write as write  # a fixture
from tests.loopback.hub import Fault

GPT2, LLAMA = "someone/tiny-gpt2", "someone/tiny-llama"
LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 20_000
SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture
def hub(loopback_hub, write):
    loopback_hub.redirect = True
    for name, kind in ((GPT2, "gpt2"), (LLAMA, "llama")):
        folder = write(kind, head=True)
        loopback_hub.add(name, {path.name: path for path in folder.iterdir()})
    return loopback_hub


@pytest.fixture
def window(hub, start_application):
    window = start_application().window
    yield window
    window.inside.close()


@pytest.fixture
def dialog(window, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text(" ".join(f"w{i * i * 7 % 59}" for i in range(2000)), "utf-8")
    window.inside.ask(GPT2)
    dialog = window.inside.dialog
    dialog.texts.show_value(str(texts))
    dialog.windows.setValue(4)
    dialog.length.setValue(20)
    dialog.control.setChecked(False)
    dialog.out.setText(str(tmp_path / "inside"))
    return dialog


def press(button):
    assert button.isVisible()
    QTest.mouseClick(button, LEFT)


def look_up(dialog, qtbot):
    press(dialog.measure)
    assert dialog.running
    qtbot.waitUntil(lambda: not dialog.running, timeout=WAIT_MS)


@pytest.mark.slow
def test_size_download_measurement(window, dialog, hub, qtbot, tmp_path, hub_home):
    asked = len(hub.requests)
    look_up(dialog, qtbot)
    assert len(hub.requests) == asked + 2  # the list of files, and the configuration
    assert not (hub_home / "hub").exists()
    size = dialog.message.text().removesuffix(" to download.").rpartition(": ")[2]
    assert dialog.message.text() == (f"{GPT2} is not complete on this machine: {size} to download.")
    assert size.endswith(f"{SPACE}kB")
    assert dialog.measure.text() == f"Download {size} and measure"
    said, show = [], dialog.message.setText
    dialog.message.setText = lambda text: (said.append(text), show(text))
    press(dialog.measure)
    with qtbot.waitSignal(window.session.events.shown, timeout=120_000):
        pass
    assert f"Downloading model.safetensors: {size.partition(SPACE)[0]} of {size}" in said
    assert window.session.model.source.text == str(tmp_path / "inside")
    assert window.session.model.name.startswith("tiny-gpt2")
    assert dialog.measure.text() == "Measure"
    with hub.unasked():
        hub.close()
        dialog.show()
        press(dialog.measure)
        with qtbot.waitSignal(window.session.events.shown, timeout=120_000):
            pass


def test_another_model_needs_its_own_agreement(dialog, hub, qtbot):
    look_up(dialog, qtbot)
    assert dialog.measure.text().startswith("Download ")
    QTest.keyClicks(dialog.source, "x")
    assert (dialog.measure.text(), dialog.message.text()) == ("Measure", "")
    dialog.source.setText(GPT2)
    assert dialog.measure.text() == "Measure"
    dialog.source.setText(LLAMA)
    look_up(dialog, qtbot)
    assert dialog.message.text().startswith(f"{LLAMA} is not complete")
    dialog.source.setText("nobody/nothing")
    look_up(dialog, qtbot)
    assert "has no model nobody/nothing" in dialog.message.text()
    assert dialog.measure.text() == "Measure"


def test_a_stopped_download_goes_on(dialog, hub, qtbot, tmp_path):
    playing = hub.fault(Fault.stall(9_000), path="*/model.safetensors", host="storage", after=1)
    look_up(dialog, qtbot)
    before = dialog.measure.text()
    press(dialog.measure)
    qtbot.waitUntil(playing.reached.is_set, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: 0 < dialog.bar.value() < 1000, timeout=WAIT_MS)
    press(dialog.stop)
    assert not dialog.running
    assert dialog.message.text() == STOPPED_DOWNLOAD
    qtbot.waitUntil(lambda: bool(list(tmp_path.rglob("*.incomplete"))), timeout=WAIT_MS)
    assert dialog.measure.text() == "Measure"
    assert not (tmp_path / "inside").exists()
    look_up(dialog, qtbot)
    assert dialog.measure.text().startswith("Download ")
    assert dialog.measure.text() != before  # less is left


def test_offline_says_so(window, dialog, hub, qtbot, hub_home):
    window.session.offline = True
    with hub.unasked():
        look_up(dialog, qtbot)
    assert dialog.message.text() == (
        f"{GPT2} is not complete on this machine, and Helixscope is offline. {ONLINE}"
    )
    assert dialog.measure.text() == "Measure"
    window.session.offline = False
    look_up(dialog, qtbot)
    window.session.offline = True
    press(dialog.measure)
    qtbot.waitUntil(lambda: not dialog.running, timeout=WAIT_MS)
    assert dialog.message.text().startswith(GPT2)
    assert dialog.message.text().endswith(f"cannot be downloaded: Helixscope is offline. {ONLINE}")
    assert not list((hub_home / "hub").rglob("model.safetensors"))
