"""Tables of a picture's patches: each family's own module against what we read."""

import numpy as np
import pytest

from geometry.claims.report import report
from geometry.models.families.model_types import FAMILIES
from geometry.models.families.names import by_name, names_in
from geometry.models.matrices import WEIGHTS
from geometry.models.sources.opening import open_model
from tests.geometry import family_cases
from tests.geometry.family_cases import BERT, KOSMOS, SPECIAL
from tests.marks import slow_but
from tests.small_models import saved

VISION = {**family_cases.VISION, "image_size": 12}
TEXT = {**BERT, **SPECIAL, "num_hidden_layers": 1, "max_position_embeddings": 7}
PREFIX = by_name(
    {
        "ijepa siglip_vision_model siglip2_vision_model cosmos3_edge_vision "
        "granite_docling_vision idefics3_vision minicpm_ocr_vision minicpmv4_7_vision "
        "smolvlm_vision aimv2_vision_model glm_image_vision radio sam3_vit_model "
        "sam3_vision_model sam_vision_model sam_hq_vision_model videoprism_vision_model": 0,
        "vit vit_mae vit_msn dinov2 dinov2_with_registers dpt clip_vision_model "
        "chinese_clip_vision_model hunyuan_vl_vision tipsv2_vision_model internvl_vision "
        "qianfan_ocr_vision seggpt timesformer vitdet": 1,
        "deit": 2,
        "pixio": 3,
    }
)
"""Rows before those of the patches."""
SAM = {**VISION, "output_channels": 8, "global_attn_indexes": [0]}
SAM3 = {**VISION, "pretrain_image_size": 12, "global_attn_indexes": [0]}
FRAMES = {**VISION, "tubelet_size": [1, 4, 4], "num_frames": 2, "num_spatial_layers": 1,
          "num_temporal_layers": 1, "num_auxiliary_layers": 1}  # fmt: skip
#: What else a family needs to be so small.
MORE = {
    "dpt": {"is_hybrid": False, "backbone_out_indices": [0, 0, 0, 0]},
    "siglip2_vision_model": {"num_patches": 9},
    "cosmos3_edge_vision": {"num_patches": 9},
    "hunyuan_vl_vision": {"max_image_size": 12, "num_key_value_heads": 2},
    "radio": {"max_img_size": 12},
    "internvl_vision": {"use_absolute_position_embeddings": True},
    "seggpt": {"pretrain_image_size": 12, "image_size": [24, 12]},
    "timesformer": {"num_frames": 2},
    "vitdet": {"pretrain_image_size": 12},
    "pixio": {"n_cls_tokens": 3},
    "sam3_vit_model": SAM3,
    "sam3_vision_model": {"backbone_config": {"model_type": "sam3_vit_model", **SAM3}},
    "sam_vision_model": SAM,
    "sam_hq_vision_model": SAM,
    "videoprism_vision_model": FRAMES,
}
RUNS_ON = {"model_type": "qwen2", **TEXT, "num_key_value_heads": 2}
OPT = {"model_type": "opt", **TEXT, "ffn_dim": 16, "word_embed_proj_dim": 16}
QFORMER = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
           "num_attention_heads": 2, "vocab_size": 30}  # fmt: skip
GROUPS = {"depths": [1, 1, 1], "num_group_tokens": [2, 2, 0], "num_output_groups": [2, 2, 0]}
CLIPS = {"mit_hidden_size": 16, "mit_intermediate_size": 16, "mit_num_attention_heads": 2,
         "mit_num_hidden_layers": 1}  # fmt: skip
DETR = {"d_model": 16, "num_queries": 3, "group_detr": 1, "decoder_layers": 1,
        "projector_scale_factors": [1.0]}  # fmt: skip
#: Models with a tower for pictures, its family, and the configurations of their parts.
COMPOSITE = {
    "clip": ("clip_vision_model", {}),
    "siglip": ("siglip_vision_model", {}),
    "aimv2": ("aimv2_vision_model", {}),
    "altclip": ("altclip_vision_model", {"text_config": {**TEXT, "max_position_embeddings": 9}}),
    "blip": ("blip_vision_model", {}),
    "bridgetower": (
        "bridgetower_vision_model",
        {
            "text_config": {**TEXT, "max_position_embeddings": 9},
            "hidden_size": 64,
            "vision_config": {**VISION, "hidden_size": 64},
        },
    ),
    "chinese_clip": ("chinese_clip_vision_model", {}),
    "clipseg": ("clipseg_vision_model", {}),
    "flava": (
        "flava_image_model",
        {
            "image_config": VISION,
            "multimodal_config": VISION,
            "image_codebook_config": {"hidden_size": 8, "vocab_size": 20},
        },
    ),
    "groupvit": ("groupvit_vision_model", {"vision_config": {**VISION, **GROUPS}}),
    "kosmos-2": (
        "kosmos_2_vision_model",
        {
            "text_config": {**KOSMOS, "max_position_embeddings": 7},
        },
    ),
    "metaclip_2": ("metaclip_2_vision_model", {}),
    "owlv2": ("owlv2_vision_model", {}),
    "owlvit": ("owlvit_vision_model", {}),
    "siglip2": ("siglip2_vision_model", {"vision_config": {**VISION, "num_patches": 9}}),
    "tipsv2": ("tipsv2_vision_model", {}),
    "xclip": ("xclip_vision_model", {"vision_config": {**VISION, **CLIPS}}),
    "paligemma": (
        "siglip_vision_model",
        {
            "text_config": RUNS_ON | {"model_type": "gemma", "head_dim": 8},
            "vision_config": {"model_type": "siglip_vision_model", **VISION},
        },
    ),
    "llava": (
        "clip_vision_model",
        {
            "text_config": RUNS_ON | {"model_type": "llama"},
            "vision_config": {"model_type": "clip_vision_model", **VISION},
        },
    ),
    "idefics2": ("idefics2_vision", {"text_config": RUNS_ON | {"model_type": "mistral"}}),
    "ovis2": ("ovis2_vision", {"text_config": RUNS_ON, "hidden_size": 16}),
    "minicpmv4_6": ("minicpmv4_6_vision", {"text_config": RUNS_ON}),
    "blip-2": ("blip_2_vision_model", {"text_config": OPT, "qformer_config": QFORMER}),
    **{
        kind: (f"{kind}_vision_model", {"text_config": OPT, "qformer_config": QFORMER})
        for kind in ("instructblip", "instructblipvideo")
    },
    "lw_detr": (
        "lw_detr_vit",
        {
            **DETR,
            "backbone_config": {
                "model_type": "lw_detr_vit",
                **VISION,
                "num_windows": 4,
                "image_size": 32,
                "pretrain_image_size": 12,
                "out_indices": [1],
            },
        },
    ),
    "rf_detr": (
        "rf_detr_dinov2",
        {
            **DETR,
            "backbone_config": {
                "model_type": "rf_detr_dinov2",
                **VISION,
                "num_windows": 1,
                "out_indices": [1],
            },
        },
    ),
    "got_ocr2": ("got_ocr2_vision", {"text_config": RUNS_ON, "vision_config": SAM}),
    "janus": (
        "janus_vision_model",
        {
            "text_config": RUNS_ON | {"model_type": "llama"},
            "vq_config": {
                "embed_dim": 8,
                "num_embeddings": 8,
                "base_channels": 32,
                "channel_multiplier": [1],
                "num_res_blocks": 1,
                "projection_dim": 16,
            },
        },
    ),
    "sam3_tracker": (
        "sam3_vision_model",
        {
            "vision_config": {
                "model_type": "sam3_vision_model",
                "backbone_config": {"model_type": "sam3_vit_model", **SAM3},
            }
        },
    ),
    "sam": ("sam_vision_model", {"vision_config": SAM}),
    "sam_hq": ("sam_hq_vision_model", {"vision_config": SAM}),
    "videoprism": ("videoprism_vision_model", {"vision_config": FRAMES}),
}
OF_TEXT = names_in(
    "text_model language_model text_embeddings rel_pos temporal prompt mask_decoder qformer mit."
)


def own_positions(model):
    found = [
        value.detach().reshape(-1, value.shape[-1]).numpy()
        for name, value in model.named_parameters()
        if ("position_embedding" in name or "pos_embed" in name)
        and not any(part in name for part in OF_TEXT)
    ]
    (table,) = found
    return table


@pytest.mark.parametrize("kind", slow_but([*PREFIX][::4], PREFIX))
def test_patches_are_the_rows_after_those_of_class_tokens(kind, tmp_path):
    table = own_positions(saved(kind, tmp_path, **{**VISION, **MORE.get(kind, {})}))
    model = open_model(tmp_path)
    prefix = PREFIX[kind]
    np.testing.assert_array_equal(model.W_pos, table[prefix:])
    assert (model.family, model.grid, model.prefix_rows) == (kind, (3, 3), prefix)
    assert not model.causal
    assert model.place_of(5) == "row 1, column 2"
    assert model.usual_positions == (0, 8)
    check_layers(model)


def check_layers(model):
    """All matrices of a layer are there, or the layers of the family are not read."""
    assert "W_E" in model.missing
    known = FAMILIES[model.family][-1].layers_known
    assert set(model.missing) == ({"W_E"} if known else {"W_E", *WEIGHTS})


@pytest.mark.parametrize("kind", slow_but([*COMPOSITE][::4], COMPOSITE))
def test_towers_of_models_for_pictures(kind, tmp_path):
    family, config = COMPOSITE[kind]
    own = saved(kind, tmp_path, **{"text_config": TEXT, "vision_config": VISION, **config})
    vision = open_model(tmp_path, table="vision")
    assert (vision.family, vision.grid) == (family, (3, 3))
    np.testing.assert_array_equal(vision.W_pos, own_positions(own)[vision.prefix_rows :])
    if kind != "altclip":  # transformers 5.23 saves it with names of layers that none published has
        check_layers(vision)
    first = open_model(tmp_path)
    assert first.sides == vision.sides
    if kind in ("sam", "sam_hq", "sam3_tracker", "videoprism", "lw_detr", "rf_detr"):
        assert vision.sides == ()  # there is no text in them, or none of the kinds that open
    else:
        assert len(vision.sides) == 2
        assert first.side != "vision"
        assert first.n_positions == 7
        assert first.grid is None


def test_detection_tokens_after_the_patches_are_left_out(tmp_path):
    more = {"image_size": [12, 20], "num_detection_tokens": 4, "use_mid_position_embeddings": False}
    table = own_positions(saved("yolos", tmp_path, **{**VISION, **more}))
    model = open_model(tmp_path)
    assert model.grid == (3, 5)
    np.testing.assert_array_equal(model.W_pos, table[1:-4])
    check_layers(model)


def test_a_table_beside_that_of_the_text(tmp_path):
    own = saved("vilt", tmp_path, **{**TEXT, **VISION})
    text, vision = (open_model(tmp_path, table=side) for side in ("text", "vision"))
    assert (text.grid, vision.grid) == (None, (3, 3))
    np.testing.assert_array_equal(vision.W_pos, own_positions(own)[1:])
    check_layers(vision)


@pytest.mark.parametrize(("kind", "config", "grid"), [
    ("hiera", {"image_size": [12, 12], "embed_dim": 16, "depths": [1, 1], "num_heads": [1, 2],
               "patch_size": [3, 3], "patch_stride": [2, 2], "patch_padding": [1, 1],
               "masked_unit_size": [2, 2], "num_query_pool": 1}, (6, 6)),
    ("pvt", {"hidden_sizes": [16, 16, 16, 16], "depths": [1, 1, 1, 1], "image_size": 64,
             "num_attention_heads": [1, 2, 2, 2]}, (16, 16)),
    ("mgp-str", {**VISION, "image_size": [8, 12]}, (2, 3)),
])  # fmt: skip
def test_grids_of_other_sizes(kind, config, grid, tmp_path):
    own = saved(kind, tmp_path, **config)
    tables = [value for name, value in own.named_parameters()
              if "position_embeddings" in name or "pos_embed" in name]  # fmt: skip
    model = open_model(tmp_path)
    assert model.grid == grid
    np.testing.assert_array_equal(model.W_pos, tables[0][0, model.prefix_rows :].detach().numpy())


def test_a_picture_that_is_not_square(written):
    table = np.arange(7 * 4, dtype="f4").reshape(1, 7, 4)
    config = {"model_type": "vit", "hidden_size": 4, "image_size": [8, 12], "patch_size": 4}
    model = open_model(written({"vit.embeddings.position_embeddings": table}, config))
    assert model.grid == (2, 3)
    np.testing.assert_array_equal(model.W_pos, table[0, 1:])
    row, column, away = (one.numbers(6) for one in model.columns)
    assert row.tolist() == [0, 0, 0, 1, 1, 1]
    assert column.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(away, np.hypot(row - 0.5, column - 1))
    scheme = report(model, nulls=False)["scheme"]
    assert scheme == {"kind": "grid", "rows": 2, "columns": 3, "prefix_rows": 1}


@pytest.mark.parametrize(("config", "grid"), [
    ({}, (3, 3)), ({"image_size": 16, "patch_size": 4}, (3, 3)),
    ({"image_size": "12", "patch_size": 0}, (3, 3)),
    ({"image_size": [36, 4], "patch_size": 4}, (9, 1)),
])  # fmt: skip
def test_without_sizes_that_fit_it_is_a_square(written, config, grid):
    tensors = {"embeddings.position_embeddings": np.ones((1, 10, 4), "f4")}
    model = open_model(written(tensors, {"model_type": "vit", "hidden_size": 4, **config}))
    assert model.grid == grid


@pytest.mark.parametrize(("rows", "grid"), [
    ("[1:]", (3, 3)), ("[:]", None), ("[1:5]", None), ("[6:]", None), ("[-9:]", (3, 3)),
    ("[1:10]", (3, 3)), ("[1:-1]", None),
])  # fmt: skip
@pytest.mark.parametrize("config", [
    {"model_type": "vit", "hidden_size": 4, "image_size": 12, "patch_size": 4},
    {"model_type": "vit", "hidden_size": 4}, {},
], ids=repr)  # fmt: skip
def test_part_of_the_patches_has_no_grid(written, config, rows, grid):
    table = np.arange(40, dtype="f4").reshape(1, 10, 4)
    tensors = {"embeddings.position_embeddings": table,
               "embeddings.cls_token": np.ones((1, 1, 4), "f4")}  # fmt: skip
    model = open_model(written(tensors, config), table=f"embeddings.position_embeddings{rows}")
    first = slice(*slice(*(int(n) if n else None for n in rows[1:-1].split(":"))).indices(10))
    np.testing.assert_array_equal(model.W_pos, table[0, first])
    assert (model.grid, model.prefix_rows) == (grid, first.start)


def test_rows_that_are_no_square_have_no_grid(written):
    tensors = {"embeddings.position_embeddings": np.ones((1, 9, 4), "f4")}
    model = open_model(written(tensors, {"model_type": "vit", "hidden_size": 4}))
    assert (model.grid, model.place_of(3)) == (None, "")
    assert not any("square" in note for note in model.warnings)
