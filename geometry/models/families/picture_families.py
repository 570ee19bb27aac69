"""Rows of the family table for pictures, and for the text models of CLIP and similar models.

The table of a tower for pictures has rows of class tokens first, then the patches, row by row. For
some towers only the table is read, since their layers are arranged differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from geometry.models.families.names import by_name
from geometry.models.families.stack import Stack, families, only_table

_CLIP = Stack(
    positions="embeddings.position_embedding.weight",
    tokens=("embeddings.token_embedding.weight",),
    query="encoder.layers.{layer}.self_attn.q_proj.weight",
    key="encoder.layers.{layer}.self_attn.k_proj.weight",
    value="encoder.layers.{layer}.self_attn.v_proj.weight",
    out="encoder.layers.{layer}.self_attn.out_proj.weight",
    fan_out="encoder.layers.{layer}.mlp.fc1.weight",
    attention_norm="encoder.layers.{layer}.layer_norm1.weight",
    mlp_norm="encoder.layers.{layer}.layer_norm2.weight",
    epsilon=("layer_norm_eps", 1e-5),
    side="text",
)
_SIGLIP = replace(_CLIP, causal=False, epsilon=("layer_norm_eps", 1e-6))

_CLIP_VISION = replace(
    _CLIP,
    tokens=(),
    sum_norm="pre_layrnorm.weight",
    side="vision",
    causal=False,
    row_of_position_0=1,  # after the class token
    patches=True,
    marks=("embeddings.class_embedding",),
    resizing="bicubic",
)
_SIGLIP_VISION = replace(
    _CLIP_VISION,
    sum_norm="",
    row_of_position_0=0,
    epsilon=("layer_norm_eps", 1e-6),
    marks=("embeddings.patch_embedding.weight",),
)
_VIT = Stack(
    positions="embeddings.position_embeddings",
    tokens=(),
    query="encoder.layer.{layer}.attention.attention.query.weight",
    key="encoder.layer.{layer}.attention.attention.key.weight",
    value="encoder.layer.{layer}.attention.attention.value.weight",
    out="encoder.layer.{layer}.attention.output.dense.weight",
    fan_out="encoder.layer.{layer}.intermediate.dense.weight",
    attention_norm="encoder.layer.{layer}.layernorm_before.weight",
    mlp_norm="encoder.layer.{layer}.layernorm_after.weight",
    epsilon=("layer_norm_eps", 1e-12),
    side="vision",
    causal=False,
    row_of_position_0=1,
    patches=True,
    marks=("embeddings.cls_token",),
    resizing="bicubic",
)
_DINOV2 = replace(
    _VIT,
    fan_out="encoder.layer.{layer}.mlp.fc1.weight",
    attention_norm="encoder.layer.{layer}.norm1.weight",
    mlp_norm="encoder.layer.{layer}.norm2.weight",
    epsilon=("layer_norm_eps", 1e-6),
)
_OWLVIT = replace(_CLIP_VISION, sum_norm="pre_layernorm.weight")
_AIMV2 = replace(
    _CLIP,
    query="encoder.layers.{layer}.attention.q_proj.weight",
    key="encoder.layers.{layer}.attention.k_proj.weight",
    value="encoder.layers.{layer}.attention.v_proj.weight",
    out="encoder.layers.{layer}.attention.out_proj.weight",
    fan_out="encoder.layers.{layer}.ffn.up_proj.weight",
    attention_norm="encoder.layers.{layer}.rms_norm1.weight",
    mlp_norm="encoder.layers.{layer}.rms_norm2.weight",
    epsilon=("rms_norm_eps", 1e-5),
    root_mean_square=True,
    without_bias=("W_Q", "W_K"),
)
# Its table fits pictures of a single size.
_AIMV2_VISION = replace(
    _AIMV2,
    tokens=(),
    side="vision",
    causal=False,
    patches=True,
    marks=("embeddings.patch_embed.weight",),
)
_YOLOS = replace(
    _VIT,
    rows_after=("num_detection_tokens", 100),
    marks=(*_VIT.marks, "embeddings.detection_tokens"),
)
_VILT = replace(
    _VIT,
    positions="embeddings.text_embeddings.position_embeddings.weight",
    tokens=("embeddings.text_embeddings.word_embeddings.weight",),
    sum_norm="embeddings.text_embeddings.LayerNorm.weight",
    side="text",
    row_of_position_0=0,
    patches=False,
    marks=(),
)

# Tables alone.
_ABSOLUTE = "use_absolute_position_embeddings"
_CLIP_TABLE = only_table(_CLIP_VISION)
_SIGLIP_TABLE = only_table(_SIGLIP_VISION)
_VIT_TABLE = only_table(_VIT)
_WITHOUT_CLASS = replace(_VIT_TABLE, row_of_position_0=0)
_BLIP = replace(
    _CLIP_TABLE,
    positions="embeddings.position_embedding",
    marks=("embeddings.class_embedding", "post_layernorm.weight"),
)
_SAM = replace(
    _WITHOUT_CLASS,
    positions="pos_embed",
    resizing="",
    used_if=("use_abs_pos", True),
    marks=("neck.conv1.weight", "patch_embed.projection.weight"),
)
_VITDET = replace(_VIT_TABLE, used_if=(_ABSOLUTE, True))
_SAM3 = replace(_WITHOUT_CLASS, resizing="tiled")
_MGP_STR = replace(_VIT_TABLE, positions="embeddings.pos_embed", resizing="")
_HUNYUAN = replace(_CLIP_TABLE, resizing="bilinear")

OF_PICTURES: Mapping[str, tuple[Stack, ...]] = families(
    {
        "clip_text_model clipseg_text_model groupvit_text_model metaclip_2_text_model "
        "owlv2_text_model owlvit_text_model xclip_text_model": _CLIP,
        "siglip_text_model siglip2_text_model": _SIGLIP,
        "aimv2_text_model": _AIMV2,
        "clip_vision_model altclip_vision_model chinese_clip_vision_model clipseg_vision_model "
        "kosmos_2_vision_model metaclip_2_vision_model": _CLIP_VISION,
        "owlv2_vision_model owlvit_vision_model": _OWLVIT,
        "siglip_vision_model granite_docling_vision": _SIGLIP_VISION,
        "cosmos3_edge_vision siglip2_vision_model": replace(
            _SIGLIP_VISION, resizing="bilinear, antialiased"
        ),
        "idefics2_vision idefics3_vision smolvlm_vision": replace(_SIGLIP_VISION, resizing="steps"),
        "minicpm_ocr_vision minicpmv4_6_vision minicpmv4_7_vision": replace(
            _SIGLIP_VISION, resizing="buckets"
        ),
        "aimv2_vision_model": _AIMV2_VISION,
        "vit vit_mae vit_msn flava_image_model": _VIT,
        "dpt": replace(_VIT, resizing="bilinear"),
        "deit": replace(
            _VIT, row_of_position_0=2, marks=(*_VIT.marks, "embeddings.distillation_token")
        ),
        "ijepa": replace(_VIT, row_of_position_0=0, marks=()),
        "yolos": _YOLOS,
        "vilt": (_VILT, replace(_VIT, resizing="bilinear, corners aligned")),
        "dinov2": _DINOV2,
        "dinov2_with_registers": replace(_DINOV2, resizing="bicubic, antialiased"),
        "bridgetower_vision_model xclip_vision_model": _CLIP_TABLE,
        "hunyuan_vl_vision": replace(
            _HUNYUAN,
            variants=(("interpolate_mode", "bicubic", replace(_HUNYUAN, resizing="bicubic")),),
        ),
        "janus_vision_model": _SIGLIP_TABLE,
        "glm_image_vision": replace(_SIGLIP_TABLE, resizing="bilinear"),
        "ovis2_vision": replace(_SIGLIP_TABLE, resizing=""),
        "blip_vision_model blip_2_vision_model instructblip_vision_model "
        "instructblipvideo_vision_model": _BLIP,
        "radio": replace(
            _WITHOUT_CLASS, positions="patch_generator.pos_embed", resizing="bilinear, cut"
        ),
        "tipsv2_vision_model": replace(
            _VIT_TABLE, positions="pos_embed", resizing="bilinear, antialiased"
        ),
        "seggpt": _VIT_TABLE,
        "internvl_vision lw_detr_vit qianfan_ocr_vision vitdet": _VITDET,
        "rf_detr_dinov2": replace(_VIT_TABLE, resizing="bicubic, antialiased"),
        "timesformer": replace(_VIT_TABLE, resizing="nearest"),
        "pixio": replace(_VIT_TABLE, rows_before=("n_cls_tokens", 8)),
        "mgp-str": replace(
            _MGP_STR,
            variants=(("distilled", True, replace(_MGP_STR, row_of_position_0=2)),),
        ),
        "groupvit_vision_model hiera": _WITHOUT_CLASS,
        "sam3_vision_model sam3_vit_model": _SAM3,
        "pvt": replace(  # the first of its four stages
            _WITHOUT_CLASS, positions="patch_embeddings.0.position_embeddings", resizing=""
        ),
        "videoprism_vision_model": replace(
            _WITHOUT_CLASS,
            positions="spatial_embeddings.position_embeddings",
            resizing="bilinear, antialiased",
        ),
        "sam_vision_model sam_hq_vision_model got_ocr2_vision": _SAM,
    }
)
"""Stacks by ``model_type``, as in :data:`geometry.models.families.model_types.FAMILIES`."""

BESIDE_OFFSETS: Mapping[str, Stack] = by_name(
    {
        "beit data2vec-vision": replace(_VIT, used_if=(_ABSOLUTE, False)),
        "swin": replace(_WITHOUT_CLASS, used_if=("use_absolute_embeddings", False)),
    }
)
"""Tables of families that add a bias by offset, in addition or instead."""
