"""What a model adds beside its table, and tables that it stores and does not add."""

import json
import operator
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.models.recognition.beside import beside
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES
from tests.geometry.models.test_families import built, run
from tests.geometry.models.test_grids import (
    COMPOSITE,
    FRAMES,
    MORE,
    PREFIX,
    SAM,
    SAM3,
    TEXT,
    VISION,
)
from tests.geometry.models.test_own_resizing import OTHERS, part_with_table, table_of
from tests.marks import slow_but
from tests.small_models import saved

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


@pytest.mark.parametrize("kind", slow_but(KINDS[::6], KINDS))
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


ABSOLUTE = "use_absolute_position_embeddings"
SPLIT = {"pretrain_image_size": 12, "use_relative_position_embeddings": True}
PROPHET = {"vocab_size": 30, "hidden_size": 16, "num_encoder_layers": 1, "num_decoder_layers": 1,
           "num_encoder_attention_heads": 2, "num_decoder_attention_heads": 2, "ngram": 2,
           "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 9}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "config", "words"),
    [
        ("sam_vision_model", SAM, "rel_pos_h"),
        ("sam_hq_vision_model", SAM, "rel_pos_h"),
        ("vitdet", {**VISION, **SPLIT}, "rel_pos_h"),
        ("seggpt", {**VISION, **SPLIT, "image_size": [24, 12]}, "rel_pos_h"),
        ("sam3_vit_model", SAM3, "turned"),
        ("timesformer", {**VISION, "num_frames": 2}, "time_embeddings"),
        ("videoprism_vision_model", FRAMES, "temporal_embeddings"),
        ("yolos", {**VISION, "image_size": [12, 12], "num_detection_tokens": 4,
                   "use_mid_position_embeddings": True, "num_hidden_layers": 3}, "mid_position"),
        ("layoutlmv3", {**TEXT, "coordinate_size": 3, "shape_size": 2, "visual_embed": False,
                        "max_position_embeddings": 9}, "rel_pos_bias"),
        ("layoutlm", {**TEXT, "max_position_embeddings": 9}, "h_position_embeddings"),
        ("tapas", {**TEXT, "max_position_embeddings": 9}, "each cell"),
        ("tapas", {**TEXT, "max_position_embeddings": 9}, "token_type_embeddings_0"),
        ("prophetnet", PROPHET, "relative_pos_embeddings"),
        ("decision_transformer", {"hidden_size": 16, "n_layer": 1, "n_head": 2}, "position 0"),
        ("pvt", {"hidden_sizes": [16, 16, 16, 16], "depths": [1, 1, 1, 1], "image_size": 64,
                 "num_attention_heads": [1, 2, 2, 2]}, "four stages"),
    ],
)  # fmt: skip
def test_positions_beside_the_table_are_named(kind, config, words, tmp_path):
    saved(kind, tmp_path, **config)
    assert any(words in note for note in open_model(tmp_path).warnings)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("transformer.h.0.attn.rotary_emb.inv_freq", "turning"),
        ("transformer.h.0.attn.slopes", "penalty"),
        ("transformer.h.0.attn.relative_attention_bias.weight", "bias"),
        ("transformer.global_pos_emb", "steps"),
        ("transformer.attn_layers.rel_pos.mlp.0.0.weight", "bias"),
        ("transformer.h.0.attn.mask", ""),
    ],
)
def test_a_table_beside_other_positions_in_a_checkpoint_of_any_family(name, words, written):
    table = np.random.default_rng(0).standard_normal((6, 4)).astype("f4")
    tensors = {"transformer.wpe.weight": table, name: np.ones((4, 2), "f4")}
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert model.scheme == "learned"
    assert [name in note and words in note for note in model.warnings] == [True] * bool(words)


@pytest.mark.parametrize(
    "name",
    [
        "h.0.distance_embedding.weight",
        "rel_embeddings.weight",
        "h.0.relative_attention_bias.weight",
        "h.0.rel_pos_bias.weight",
        "rel_pos.mlp.1.0.weight",
        "h.0.relative_position_bias_table",
        "h.0.continuous_position_bias_mlp.0.weight",
        "h.0.rel_pos_x_bias",
        "h.0.rel_pos_h",
        "relative_pos_embeddings.weight",
        "x_position_embeddings.weight",
        "token_type_embeddings_1.weight",
        "mid_position_embeddings",
        "global_pos_emb",
        "time_embeddings",
        "temporal_embeddings.position_embeddings",
        "rotary_emb.inv_freq",
        "rope.inv_freq",
        "h.0.alibi_bias",
        "alibi",
        "h.0.slopes",
        "slope",
    ],
)
def test_each_kind_of_position_beside_a_table_is_noticed_among_other_names(name):
    others = ["h.0.attn.c_attn.weight", "ln_f.bias"]
    (note,) = beside(None, [others[0], name, others[1]])
    assert name in note
    assert beside(None, others) == []


FLAGGED = {
    "vitdet": ({**VISION, **SPLIT}, ABSOLUTE, True),
    "internvl_vision": (VISION, ABSOLUTE, True),
    "qianfan_ocr_vision": (VISION, ABSOLUTE, True),
    "sam_vision_model": (SAM, "use_abs_pos", True),
    "sam_hq_vision_model": (SAM, "use_abs_pos", True),
    "beit": ({**VISION, ABSOLUTE: True, "out_indices": [1]}, ABSOLUTE, False),
    "data2vec-vision": ({**VISION, ABSOLUTE: True, "out_indices": [1]}, ABSOLUTE, False),
}


TABLES = dict.fromkeys(("sam_vision_model", "sam_hq_vision_model"), "vision_encoder.pos_embed")


@pytest.mark.parametrize("kind", FLAGGED)
def test_a_table_is_shown_only_where_the_family_adds_it(kind, tmp_path):
    config, flag, default = FLAGGED[kind]
    saved(kind, tmp_path, **config)
    file = tmp_path / "config.json"
    told = json.loads(file.read_text())
    for value, added in ((True, True), (False, False), (None, default)):
        file.write_text(json.dumps({**told, flag: value}))
        if added:
            assert open_model(tmp_path).scheme == "grid"
            continue
        with pytest.raises(NoPositionalEmbeddings, match=f"{flag} is not true") as error:
            open_model(tmp_path)
        assert "adds none of its" in str(error.value)
        chosen = open_model(tmp_path, table=TABLES.get(kind, "embeddings.position_embeddings"))
        assert any(f"since {flag} is not true" in note for note in chosen.warnings)
    file.write_text(json.dumps({**told, flag: "false"}))
    with pytest.raises(SourceError, match=f"as {flag}, where true or false"):
        open_model(tmp_path)


def test_the_flag_of_a_part_counts_for_that_part(tmp_path):
    config = COMPOSITE["got_ocr2"][1]
    saved("got_ocr2", tmp_path, **{"text_config": TEXT, **config})
    assert open_model(tmp_path, table="vision").grid == (3, 3)
    file = tmp_path / "config.json"
    told = json.loads(file.read_text())
    told["vision_config"]["use_abs_pos"] = False
    file.write_text(json.dumps(told))
    assert open_model(tmp_path).sides == ()
