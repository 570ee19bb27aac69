"""A cache of the values asked for last."""

from geometry.checkpoints.memo import Recent


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
