"""In any language's locale the application starts, and numbers are the same."""

import pytest

from tests.environments.screens import locale_folder
from tests.marks import slow_but

#: Shows what a locale could change: in fields, and in what the C library writes to files.
NUMBERS = """
import ctypes
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox
from gui.commands.qt_start import prepare_qt

qt = prepare_qt()
fields = QSpinBox(minimum=0, maximum=10**6, value=12345), QDoubleSpinBox(value=1.5)
entered = QDoubleSpinBox()
entered.lineEdit().setText("2.25")
entered.interpretText()
buffer = ctypes.create_string_buffer(20)
ctypes.CDLL(None).snprintf(buffer, 20, b"%.2f", ctypes.c_double(0.5))
print([field.text() for field in fields], entered.value(), buffer.value.decode())
"""
EVERYWHERE = "['12345', '1.50'] 2.25 0.50\n"


def environment_of(name, folder):
    """The environment of a user's desktop in a language."""
    if name in ("C", "POSIX"):
        return {"LC_ALL": name}
    made = {} if name == "xx_XX.UTF-8" else locale_folder(folder, name)
    return {"LANG": name} | made


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["tr_TR.UTF-8"],
        [
            "tr_TR.UTF-8", "az_AZ.UTF-8", "ku_TR.UTF-8", "crh_UA.UTF-8", "ar_EG.UTF-8",
            "fa_IR.UTF-8", "ja_JP.UTF-8", "ja_JP.EUC-JP", "de_DE.UTF-8", "de_DE.ISO-8859-1",
            "hi_IN.UTF-8", "lt_LT.UTF-8", "C", "POSIX", "xx_XX.UTF-8",
        ],
    ),
)  # fmt: skip
def test_the_window_is_the_same(app, screen, tmp_path, name):
    there = screen | environment_of(name, tmp_path)
    out = tmp_path / "window.png"
    done = app.run("open", "sample", "--picture", out, environment=there)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.stat().st_size > 50_000
    numbers = app.run(program=("-c", NUMBERS), environment=there)
    assert (numbers.returncode, numbers.stdout, numbers.stderr) == (0, EVERYWHERE, "")
