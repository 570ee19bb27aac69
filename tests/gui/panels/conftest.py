"""Panels and small models that the tests of a module share."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from geometry.claims import ledger
from geometry.evidence.null import FEW_DRAWS
from tests.gui.compare_stage import CompareStage
from tests.gui.conftest import _helix, _write_gpt2
from tests.gui.interference_stage import InterferenceStage, give_tokens
from tests.gui.result_stage import ResultStage
from tests.small_models import write_small_gpt2


@pytest.fixture(scope="session")
def small_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder of a small GPT-2 of random numbers, by its name and sizes."""
    return cache(
        lambda name="small", **sizes: write_small_gpt2(
            tmp_path_factory.mktemp("models") / name, **sizes
        )
    )


@pytest.fixture(scope="session")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny GPT-2 of nothing but positions and a tokenizer."""
    return _write_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2")


@pytest.fixture(scope="session")
def gpt2_with_tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with token embeddings: "hello" is nearly position 30's row."""
    return give_tokens(_write_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2"))


@pytest.fixture(scope="session")
def helix_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a table of 200 positions, a helix."""
    path = tmp_path_factory.mktemp("tables") / "helix.npy"
    np.save(path, _helix())
    return path


@pytest.fixture(scope="module")
def stage_of(qapp: QApplication) -> Iterator[Callable[..., Any]]:
    """Return the stage of a panel with a source open, as it is at first: one for the module.

    It takes the panel's name, the source, its range, the class of the stage, and what that takes.
    """
    made: dict[object, ResultStage] = {}

    def get(
        panel: str,
        source: Path,
        positions: tuple[int, int] | None = None,
        kind: type[ResultStage] = ResultStage,
        **options: Any,
    ) -> Any:
        key = panel, source, positions, *options.items()
        for other in made.values():
            other.panel.hide()
        if key not in made:
            made[key] = kind(None, panel, **options)
        made[key].again(source, positions)
        return made[key]

    yield get
    for one in made.values():
        one.close()


@pytest.fixture
def few_random_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw only as many random curves as a claim needs, where its numbers do not matter."""
    for bound in ("SURE", "MOST"):
        monkeypatch.setattr(ledger, bound, FEW_DRAWS)


@pytest.fixture
def panel(stage: ResultStage) -> Any:
    """The panel of a module's own fixture "stage"."""
    return stage.panel


@pytest.fixture(scope="module")
def beside_helix(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of two tables beside the helix: a shorter one and a random walk."""
    walk = np.random.default_rng(0).normal(size=(150, 10)).cumsum(axis=0)
    folder, tables = tmp_path_factory.mktemp("tables"), {"short": _helix(120, 16, 2), "walk": walk}
    for name, table in tables.items():
        np.save(folder / f"{name}.npy", table)
    return {name: folder / f"{name}.npy" for name in tables}


@pytest.fixture
def three(
    stage_of: Callable[..., Any], helix_table: Path, beside_helix: dict[str, Path]
) -> CompareStage:
    """The table of models with the small helix, a shorter one and a random walk."""
    stage: CompareStage = stage_of("compare", helix_table, kind=CompareStage)
    for name, path in beside_helix.items():
        stage.beside(path, name)
    stage.table.values.horizontalScrollBar().setValue(0)
    stage.panel.activateWindow()
    return stage


@pytest.fixture
def at_two_sums(stage_of: Callable[..., Any]) -> Callable[[Path], InterferenceStage]:
    """Open a model in the LayerNorm panel, on its interference page."""

    def get(source: Path) -> InterferenceStage:
        made = stage_of("layernorm", source, kind=InterferenceStage, size=(1100, 260))
        made.turn_to("interference")
        return made

    return get
