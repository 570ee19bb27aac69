"""One model in all the layouts that people's codes leave it in: the same numbers, or a question."""

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.families.model_types import TIED
from geometry.models.families.stack import TABLE_ALONE
from geometry.models.matrices import WEIGHTS
from geometry.models.model import PositionalModel
from geometry.models.recognition.candidates import UnknownRows
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES, Case
from tests.geometry.models.test_families import built
from tests.geometry.models.test_grids import MORE, PREFIX, VISION
from tests.marks import slow_but
from tests.small_models import saved

Tensors = dict[str, np.ndarray]
#: Families of which other codes save whole models under other names than transformers, or parts.
WRAPPERS = ("", "model.", "module.", "_orig_mod.", "state_dict.model.", "net.")


#: What follows from a setting that no name tells: it is as usual, and the warnings name it.
ASSUMED = {"pre_norm": "gain", "multi_query": "W_"}


@pytest.fixture(params=CASES, ids=operator.attrgetter("id"))
def case(request) -> Case:
    return request.param


def numbers(model: PositionalModel) -> Iterator[tuple[str, Any]]:
    """All that is read of a model; None for what it lacks."""

    def read(part: Callable[[], Any]) -> Any:
        try:
            return part()
        except TensorUnavailable:
            return None

    yield "P", model.W_pos
    yield "E", read(lambda: model.W_E)
    yield "type", model.token_type
    for layer in range(2):
        for name in WEIGHTS:
            yield f"{name} of layer {layer}", read(lambda n=name, i=layer: model.weight(n, i))
        for reader in ("attention", "mlp"):
            gain = read(lambda r=reader, i=layer: model.layers.norm_gain(r, i))
            yield f"gain before {reader} of layer {layer}", gain


def differences(model: PositionalModel, whole: PositionalModel) -> list[str]:
    """The parts that are not those of the whole model."""
    parts = []
    for (part, got), (_, expected) in zip(numbers(model), numbers(whole), strict=True):
        if got is None and part.startswith("W_") and model.n_heads is None:
            continue  # matrices that only the number of heads can take apart
        if expected is None and whole.missing.get("W_Q") == TABLE_ALONE:
            continue
        if not (got is expected is None) and not np.array_equal(
            [] if got is None else got, [] if expected is None else expected
        ):
            parts.append(part)
    if model.n_heads not in (whole.n_heads, None):
        parts.append("heads")
    return parts


def opened(path: Path, table: str | None, first_row: int) -> PositionalModel:
    """Open a source; answer as the user would if it asks for the first row."""
    try:
        return open_model(path, table=table)
    except UnknownRows as raised:
        question = raised
    assert first_row in question.first_rows
    (candidate,) = question.candidates
    return open_model(path, table=f"{candidate.name}[{first_row}:]")


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_layout(case, tmp_path):
    module = built(case)
    module.save_pretrained(tmp_path / "whole")
    compare_layouts(tmp_path, case.table, ties=bool(module.all_tied_weights_keys))


@pytest.mark.parametrize("kind", slow_but([*PREFIX][::6], PREFIX))
def test_patches_do_not_depend_on_the_layout(kind, tmp_path):
    module = saved(kind, tmp_path / "whole", **{**VISION, **MORE.get(kind, {})})
    compare_layouts(tmp_path, None)
    if kind in ("radio", "tipsv2_vision_model"):  # whose table has another name in memory
        return
    # As a training loop saves it, with the names in memory.
    config = (tmp_path / "whole" / "config.json").read_text()
    state = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    model = open_model(written(tmp_path / "in memory", state, config))
    assert not differences(model, open_model(tmp_path / "whole"))


def compare_layouts(folder: Path, side: str | None, *, ties: bool = False) -> None:
    """Compare a model with copies in other layouts, with and without a configuration."""
    whole = open_model(folder / "whole", table=side)
    tensors = load_file(folder / "whole" / "model.safetensors")
    config = (folder / "whole" / "config.json").read_text()
    for layout, stored in (*averaged(tensors), *(tied(tensors, whole) if ties else ())):
        model = open_model(written(folder / layout, stored, config), table=side)
        assert not differences(model, whole), layout
    for wrapper in WRAPPERS:
        stored = {f"{wrapper}{name}": values for name, values in tensors.items()}
        model = open_model(written(folder / f"{wrapper}1", stored, config), table=side)
        for warnings in zip(model.warnings, whole.warnings, strict=True):
            assert len({warning.replace(wrapper, "") for warning in warnings}) == 1
        assert not differences(model, whole)
        if whole.table in tensors:
            table = wrapper + whole.table
            path = written(folder / f"{wrapper}0", stored, None)
            model = opened(path, table, whole.prefix_rows)
            assert model.table == table
            assumed = " ".join(model.warnings)
            parts = [part for setting, part in ASSUMED.items() if setting in assumed]
            wrong = differences(model, whole)
            assert not [one for one in wrong if not one.startswith(tuple(parts))], (wrong, assumed)


def averaged(tensors: Tensors) -> Iterator[tuple[str, Tensors]]:
    """With averages of the weights: beside them, and as torch's AveragedModel counts them."""
    ema = {f"ema_model.{name}": np.array(values * 2) for name, values in tensors.items()}
    yield "beside", ema | {f"model.{name}": values for name, values in tensors.items()}
    counted = {f"module.{name}": values for name, values in tensors.items()}
    yield "counted", counted | {"n_averaged": np.array(3)}


def tied(tensors: Tensors, whole: PositionalModel) -> Iterator[tuple[str, Tensors]]:
    """With the token embeddings under the name of the output that is tied to them."""
    name = whole.tokens_tensor
    if name is not None and whole.missing.get("W_E") is None:
        others = {key: values for key, values in tensors.items() if not key.endswith(TIED)}
        output = {"lm_head.weight": others.pop(name, tensors[name])}
        yield "tied", others | output


def written(folder: Path, tensors: Tensors, config: str | None) -> Path:
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors")
    if config is not None:
        (folder / "config.json").write_text(config)
    return folder


def test_matrices_by_heads_of_bfloat16(tmp_path):
    """Tensors that are made of stored ones are read once, not as their bits."""
    import torch
    from safetensors.torch import save_file as save_torch

    from geometry.checkpoints.files import open_store
    from geometry.models.recognition.spellings import as_in_torch

    stored = torch.randn(2, 4, 3).bfloat16()
    save_torch({"blocks.0.attn.W_Q": stored}, tmp_path / "model.safetensors")
    matrix = as_in_torch(open_store(tmp_path / "model.safetensors")).read("blocks.0.attn.W_Q")
    expected = stored.float().numpy().transpose(1, 0, 2).reshape(4, 6)
    np.testing.assert_array_equal(matrix, expected)
