"""A cache of the values asked for last, and properties that are computed once."""

import threading

import pytest

from geometry.checkpoints.memo import Recent, cached_property


def test_the_values_asked_for_last_are_kept():
    recent, found = Recent(2), []

    def value(key):
        return recent(key, lambda: found.append(key) or key)

    assert [value(key) for key in "abac"] == list("abac")
    assert found == ["a", "b", "c"]
    value("a")
    assert found == ["a", "b", "c"], "it was asked for after b"
    value("b")
    assert found == ["a", "b", "c", "b"]


def test_what_is_none_is_kept_too():
    recent, found = Recent(1), []
    for _ in range(2):
        assert recent("key", lambda: found.append(1)) is None
    assert found == [1]


class _Matrix:
    """Something whose value takes as long as a test wants."""

    def __init__(self, wait=lambda: None):
        self.wait, self.found = wait, 0

    @cached_property
    def value(self):
        """The value."""
        self.wait()
        self.found += 1
        return self.found


def test_one_object_keeps_its_value_while_another_is_still_at_its_own():
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert go_on.wait(60)

    slow, quick, seen = _Matrix(wait), _Matrix(), []
    threads = [threading.Thread(target=lambda: seen.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    other = threading.Thread(target=lambda: seen.append(quick.value), daemon=True)
    other.start()
    other.join(10)
    assert seen == [1]
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert seen == [1, 1, 1]
    assert (slow.found, slow.value) == (1, 1)
    assert set(vars(slow)) == {"wait", "found", "value"}
    assert _Matrix.value.__doc__ == "The value."


def test_what_fails_is_not_kept():
    def fail():
        raise ValueError("no")

    one = _Matrix(fail)
    with pytest.raises(ValueError, match="no"):
        _ = one.value
    one.wait = lambda: None
    assert one.value == 1
