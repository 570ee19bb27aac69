"""The baseline of start and memory: an empty Qt window with an empty ``QtInteractor``.

Prints when its first frame was on the screen, by the clock that all processes share, and after a
second at rest the most memory it ever had.
"""

import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
from pyvistaqt import QtInteractor

first: list[float] = []


def on_frame() -> None:
    if not first:
        first.append(time.monotonic())
        QTimer.singleShot(1000 if "--rest" in sys.argv else 0, qt.quit)


qt = QApplication(sys.argv)
window = QMainWindow()
interactor = QtInteractor(window, auto_update=False, multi_samples=0)
window.setCentralWidget(interactor)
window.resize(1440, 900)
interactor.frameSwapped.connect(on_frame)
window.show()
qt.exec()

if "--rest" in sys.argv:
    from memory import peak_megabytes

    sys.stdout.write(f"peak {peak_megabytes()}\n")
sys.stdout.write(f"first {first[0]}\n")
interactor.close()
