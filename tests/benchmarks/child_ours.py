"""Our side of start and memory: ``main.py open FOLDER``, timed until the curve is painted.

``python child_ours.py FOLDER [--rest]`` prints when the empty window was painted and when the first
frame with the curve was on the screen, by the clock that all processes share, and which slow
modules were imported by then; with ``--rest`` it waits until everything is done and prints the most
memory it ever had.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import main
from gui.commands import run_window

SLOW = (
    "torch", "transformers", "tokenizers", "huggingface_hub", "httpx2", "safetensors.torch",
    "scipy", "pandas", "sklearn", "sympy", "networkx", "plotly", "imageio", "imageio_ffmpeg",
    "IPython", "rich", "requests", "matplotlib.pyplot", "matplotlib.figure",
    "matplotlib.font_manager", "pooch",
)  # fmt: skip
"""What a start does without: none of it may be imported by the first painted curve."""


def time_the_curve() -> None:
    """Let the application print when its first curve is painted, and end then."""
    from PySide6.QtCore import QTimer

    from gui.commands import application

    class Timed(application.Application):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            self.window.viewport.firstPainted.connect(self._on_painted)

        def _on_painted(self) -> None:
            now = time.monotonic()
            imported = [name for name in SLOW if name in sys.modules]
            sys.stdout.write(f"first {now}\nimported {','.join(imported)}\n")
            if "--rest" in sys.argv:
                self._timer = QTimer(self, interval=50)
                self._timer.timeout.connect(self._on_tick)
                self._timer.start()
            else:
                self.window.close()

        def _on_tick(self) -> None:
            if self.idle:
                from memory import peak_megabytes

                self._timer.stop()
                sys.stdout.write(f"peak {peak_megabytes()}\n")
                self.window.close()

    application.Application = Timed


show_empty = run_window._show_empty


def time_both(window: object) -> None:
    """Show the empty window, print when it was painted, and go on as the application does."""
    show_empty(window)
    sys.stdout.write(f"window {time.monotonic()}\n")
    time_the_curve()


run_window._show_empty = time_both
main.main(["open", sys.argv[1]])
