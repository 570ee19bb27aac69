"""What a model adds is what is shown: a sum in it changes by as much as a row of the table."""

import operator
from collections.abc import Callable, Iterator

import pytest
import torch

from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES
from tests.geometry.models.test_families import built, run
from tests.geometry.models.test_grids import COMPOSITE, MORE, PREFIX, TEXT, VISION
from tests.geometry.models.test_own_resizing import OTHERS, part_with_table, table_of
from tests.geometry.saved_models import saved

STORED = [case for case in CASES if not case.computed]
#: A position that every table has.
ROW = 4


def tensors_in(module: torch.nn.Module, act: Callable[[], object]) -> Iterator[torch.Tensor]:
    """All that the parts of a module are fed and give while it runs."""
    seen: list[torch.Tensor] = []

    def note(part, inputs, output):
        seen.extend(
            one.clone()
            for one in (*inputs, *(output if isinstance(output, tuple) else (output,)))
            if isinstance(one, torch.Tensor) and one.is_floating_point()
        )

    handles = [part.register_forward_hook(note) for part in module.modules()]
    torch.manual_seed(1)  # some mix their patches
    act()
    for handle in handles:
        handle.remove()
    for one in seen:
        yield one
        yield one.movedim(1, -1) if one.ndim == 4 else one


@torch.no_grad()
def is_added(module, table, row, act) -> bool:
    """Return whether some sum changes by what a row of the table does, and where it does so."""
    table = table.view(-1, table.shape[-1])
    change, alone = torch.linspace(0.1, 0.9, table.shape[1]), table[row].clone()
    before = list(tensors_in(module, act))
    table[row] += change
    for old, new in zip(before, tensors_in(module, act), strict=True):
        if old.shape != new.shape or old.shape[-1:] != change.shape:
            continue
        old, moved = (one.reshape(-1, len(change)) for one in (old, new - old))
        places = moved.abs().amax(dim=1) > 1e-6
        as_much = places.any() and torch.allclose(moved[places], change, atol=1e-4)
        # The row by itself, as it is read, is no sum.
        if as_much and not torch.allclose(old[places][0], alone, atol=1e-4):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("case", STORED, ids=operator.attrgetter("id"))
def test_rows_of_a_text_are_added_as_they_are_shown(case, tmp_path):
    module = built(case)
    module.save_pretrained(tmp_path)
    model = open_model(tmp_path, table=case.table)
    table = module.get_submodule(case.positions).weight
    assert is_added(module, table, model.prefix_rows + ROW, lambda: run(module))


def asked(part: torch.nn.Module) -> Callable[[], object]:
    """Return what runs a module with a table of 3 × 3 patches, by its name."""
    picture, patches, sizes = torch.randn(1, 3, 12, 12), torch.randn(9, 48), [[1, 3, 3]]
    columns = torch.arange(9.0) % 3, torch.arange(9.0) // 3
    inputs = {
        "Cosmos3Edge": (patches, torch.tensor(sizes)),
        "GlmImage": (torch.randn(9, 16), [9], torch.tensor(sizes), columns[1], columns[0]),
        "HunYuan": (patches, sizes),
        "Idefics": (picture, torch.ones(1, 3, 3, dtype=torch.bool)),
        "MiniCPM": (torch.randn(1, 3, 4, 36), torch.tensor([[3, 3]])),
        "Radio": (picture,),
        "Siglip2": (patches[None], torch.tensor([[3, 3]])),
        "SmolVLM": (picture, torch.ones(1, 3, 3, dtype=torch.bool)),
        "Timesformer": (torch.randn(1, 2, 3, 12, 12),),
        "VideoPrism": (torch.randn(1, 2, 3, 12, 12),),
    }
    kind = type(part).__name__
    if kind.startswith("Vilt"):
        return lambda: part.visual_embed(picture, torch.ones(1, 12, 12))
    given = next((one for name, one in inputs.items() if kind.startswith(name)), (picture,))
    return lambda: part(*given)


#: SegGPT adds its table only after resizing, for a picture over another one.
KINDS = [kind for kind in (*PREFIX, *COMPOSITE, *OTHERS) if kind != "seggpt"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_patches_are_added_as_they_are_shown(kind, tmp_path):
    config = OTHERS.get(kind) or {**VISION, **MORE.get(kind, {})}
    if kind in COMPOSITE:
        config = {"text_config": TEXT, "vision_config": VISION, **COMPOSITE[kind][1]}
    own = saved(kind, tmp_path, **config).eval()
    sides = open_model(tmp_path).sides
    model = open_model(tmp_path, table="vision" if len(sides) > 1 else None)
    part = part_with_table(own)
    if kind == "vit_mae":
        part.config.mask_ratio = 0.0
    assert is_added(part, table_of(own)[1], model.prefix_rows + ROW, asked(part))
