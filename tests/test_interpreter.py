"""The Qt binding must not damage the interpreter it runs in."""

import sys

from PySide6.QtCore import QObject, Signal

ROUNDS = 500


class Emitter(QObject):
    """Sends a flag, as half of the window's widgets do."""

    fired = Signal(bool)


def test_signals_keep_the_reference_counts_of_none_and_true(qapp):
    """PySide6 6.12 on Python 3.11 loses one of None for each call, one of True for each signal.

    Nothing is seen of it until one of the counts reaches zero, minutes later, and the
    interpreter aborts. Hence the upper bound of PySide6 in pyproject.toml.
    """
    emitter = Emitter()
    heard = [0]

    def listen(flag):
        heard[0] += flag

    emitter.fired.connect(listen)
    before = sys.getrefcount(None), sys.getrefcount(True)
    for _ in range(ROUNDS):
        emitter.setObjectName("emitter")
        emitter.fired.emit(True)
    after = sys.getrefcount(None), sys.getrefcount(True)

    assert heard == [ROUNDS]
    none_drift, true_drift = (b - a for a, b in zip(before, after, strict=True))
    assert abs(none_drift) < ROUNDS // 10
    assert abs(true_drift) < ROUNDS // 10
