"""A small part of the campaign of mutated files: some cases of each kind, in this process."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from geometry.checkpoints.errors import HelixscopeError
from tools.campaigns import mutations
from tools.campaigns.campaign import Fault
from tools.campaigns.kinds import KINDS, Kind
from tools.campaigns.mutating import mutate_json
from tools.campaigns.mutations import isolated, run

CASES = 25


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_open_or_are_refused_in_a_sentence(kind: str) -> None:
    counts = run(kind, seed=0, cases=CASES)
    assert counts.faults == []
    assert counts.outcomes.total() == CASES


def test_a_case_can_be_run_again_alone() -> None:
    sound = json.dumps({"a": [1, 2, {"b": None}], "c": "d"}).encode()
    once = [mutate_json(random.Random(f"3:{n}"), sound) for n in range(20)]
    assert once == [mutate_json(random.Random(f"3:{n}"), sound) for n in range(20)]
    assert len(set(once)) > 10


def _opens(what: str, kept: list[IO[str]]) -> Callable[[Path], object]:
    def open_(_: Path) -> object:
        if what == "crash":
            raise KeyError(what)
        if what == "panic":
            raise BaseException(what)
        if what == "long":
            error = HelixscopeError("x")
            error.args = ("x" * 500,)
            raise error
        if what == "file":
            kept.append(open(__file__))  # noqa: SIM115
        if what == "another file":
            Path(__file__).read_bytes()
        if what == "import":
            sys.modules.pop("this", None)
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module("this")
        if what == "code":
            exec("1")
        if what == "program":
            subprocess.run([sys.executable, "--version"], stdout=subprocess.DEVNULL, check=True)
        return None

    return open_


@pytest.mark.parametrize(
    "what",
    ["crash", "panic", "long", "file", "another file", "import", "code", "program"],
)
def test_what_must_not_happen_is_a_fault(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[IO[str]] = []
    kind = Kind(lambda: {"a.json": b"{}"}, ("a.json",), _opens(what, kept), watched=True)
    monkeypatch.setitem(KINDS, what, kind)
    mutations._sound.cache_clear()
    mutations._hear()
    expected = KeyError if what == "crash" else Fault
    with pytest.raises(expected):
        mutations.case_of(what)(random.Random(0))
    for file in kept:
        file.close()


@pytest.mark.slow
def test_batches_run_in_other_processes() -> None:
    counts = isolated("lesson", seed=0, cases=3)
    assert counts.outcomes.total() == 3
    assert counts.faults == []
