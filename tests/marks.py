"""Parameters of tests of which `make test` takes some, and `make test-all` all."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(fast: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return values as parameters, all but some marked as slow."""
    kept = list(fast)
    return [one if one in kept else pytest.param(one, marks=pytest.mark.slow) for one in values]
