"""Objects of Qt in reference cycles are deleted by the event loop, on the GUI thread."""

import gc
import threading

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QTextDocument

from gui.commands.garbage import GarbageCollector


class Cycle:
    """Keeps itself and an object of Qt until a collection."""

    def __init__(self, kept):
        self.kept, self.itself = kept, self


def discard(gone):
    """Make garbage with an object of Qt, which appends the thread that deletes it."""
    document = QTextDocument()
    document.destroyed.connect(
        lambda: gone.append(threading.current_thread()), Qt.ConnectionType.DirectConnection
    )
    Cycle(document)


def allocate():
    """Allocate more than any threshold, as a computation does, and keep no garbage."""
    kept = [[] for _ in range(20 * gc.get_threshold()[0])]
    kept.clear()


@pytest.fixture
def collector(qapp):
    gc.collect()
    owner = QObject()
    collector = GarbageCollector(owner)
    yield collector
    collector.release()


def test_a_computation_on_another_thread_deletes_nothing(qtbot, collector):
    gone = []
    discard(gone)
    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()
    allocate()  # as Python code that Qt calls does, in the middle of its work
    assert gone == []

    collector.start()
    with qtbot.waitSignal(collector.collected):
        kept = [[] for _ in range(2 * gc.get_threshold()[0])]
    assert gone == [threading.main_thread()]
    assert kept


def test_without_it_another_thread_deletes_them(qapp):
    """Python and PySide behave so; if this fails some day, the collector is not needed any more."""
    gc.collect()
    gone = []
    discard(gone)
    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()
    assert len(gone) == 1
    assert gone[0] is not threading.main_thread()


def test_older_generations_are_collected_less_often(collector):
    gone = []
    document = QTextDocument()
    document.destroyed.connect(lambda: gone.append(None), Qt.ConnectionType.DirectConnection)
    cycle = Cycle(document)
    gc.collect(1)  # it is in the oldest generation now
    del document, cycle
    youngest, middle, oldest = gc.get_threshold()
    rounds, kept = 0, []
    while not gone and rounds < 2 * middle * oldest:
        kept += [[] for _ in range(youngest + 1)]
        collector.collect()
        rounds += 1
    assert gone
    assert middle * oldest < rounds < 2 * middle * oldest


def test_released_it_leaves_python_as_it_was(qapp):
    assert gc.isenabled()
    owner = QObject()
    collector = GarbageCollector(owner)
    assert not gc.isenabled()
    collector.release()
    assert gc.isenabled()


def test_one_that_was_off_stays_off(qapp):
    gc.disable()
    try:
        owner = QObject()
        GarbageCollector(owner).release()
        assert not gc.isenabled()
    finally:
        gc.enable()
