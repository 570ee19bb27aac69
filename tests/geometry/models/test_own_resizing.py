"""Tables of patches for pictures of another size: each family's own module against ours."""

import numpy as np
import pytest
import torch

from geometry.models.families.model_types import FAMILIES
from geometry.models.families.names import names_in
from geometry.models.sources.opening import open_model
from tests.geometry.models.test_grids import COMPOSITE, MORE, OF_TEXT, PREFIX, TEXT, VISION
from tests.marks import slow_but
from tests.small_models import saved

#: Families whose own code takes pictures of one size only, or cannot resize its table.
OF_ONE_SIZE = set(
    names_in("""
    aimv2_vision_model got_ocr2_vision mgp-str ovis2_vision pvt sam_hq_vision_model
    sam_vision_model
""")
)
SIZES = [(5, 7), (2, 6)]
OTHERS = {
    "hiera": {"image_size": [12, 12], "embed_dim": 16, "depths": [1, 1], "num_heads": [1, 2],
              "patch_size": [3, 3], "patch_stride": [2, 2], "patch_padding": [1, 1],
              "masked_unit_size": [2, 2], "num_query_pool": 1},
    "yolos": {**VISION, "image_size": [12, 12], "num_detection_tokens": 4,
              "use_mid_position_embeddings": False},
    "vilt": {**TEXT, **VISION},
    "beit": {**VISION, "use_absolute_position_embeddings": True, "out_indices": [1]},
    "data2vec-vision": {**VISION, "use_absolute_position_embeddings": True, "out_indices": [1]},
}  # fmt: skip


def alone(part):
    """Set all weights but the positions to zero, so that the output is what those add."""
    for name, weight in part.named_parameters():
        if "position_embedding" not in name:
            torch.nn.init.zeros_(weight)
    return part


def of_vilt(part, rows, columns, _):
    seen = torch.ones(1, 4 * rows, 4 * columns)
    made, _, (places, _) = alone(part).visual_embed(torch.zeros(1, 3, *seen.shape[1:]), seen)
    return made[0, 1:][torch.argsort(places[0, :, 0] * columns + places[0, :, 1])]  # it mixes them


def of_glm_image(part, rows, columns, _):
    at = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    count = rows * columns
    shapes = torch.tensor([[1, rows, columns]])
    return part(torch.zeros(count, 16), [count], shapes, *(one.flatten().float() for one in at))


def of_idefics(part, rows, columns, _):
    pictures = torch.zeros(1, 3, 4 * rows, 4 * columns)
    return alone(part)(pictures, torch.ones(1, rows, columns, dtype=torch.bool))


def of_minicpm(part, rows, columns, _):
    return alone(part)(torch.zeros(1, 3, 4, 4 * rows * columns), torch.tensor([[rows, columns]]))


def of_siglip_2(part, rows, columns, _):
    table, shapes = part.position_embedding.weight.reshape(3, 3, 16), [[rows, columns]]
    return part.resize_positional_embeddings(table, torch.tensor(shapes), rows * columns)


def of_cosmos(part, rows, columns, _):
    table = part.position_embedding.weight.reshape(3, 3, 16)
    return part.resize_positional_embeddings(table, torch.tensor([[1, rows, columns]]), 1)


def of_absolute(part, rows, columns, _):
    return part.get_absolute_positions(part.position_embeddings, True, rows, columns)


def in_pixels(part, rows, columns, model):
    """Ask by the usual method, which is given the picture's size."""
    tokens = torch.zeros(1, model.prefix_rows + rows * columns, model.d_model)
    return part.interpolate_pos_encoding(tokens, 4 * rows, 4 * columns)[:, model.prefix_rows :]


#: How modules of other forms are asked, by their names.
ASKED = {
    "Cosmos3EdgeVisionEmbeddings": of_cosmos,
    "DPTViTEmbeddings": lambda part, rows, columns, _: part._resize_pos_embed(
        part.position_embeddings, rows, columns
    )[:, 1:],
    "GlmImageVisionEmbeddings": of_glm_image,
    "HieraEmbeddings": lambda part, rows, columns, _: part.interpolate_pos_encoding(
        torch.zeros(1, 1, 16), part.position_embeddings, 2 * rows, 2 * columns
    ),
    "HunYuanVLVisionPatchEmbed": lambda part, rows, columns, _: part.interpolate_pos_encoding(
        torch.zeros(1), rows, columns
    ),
    "Idefics2VisionEmbeddings": of_idefics,
    "Idefics3VisionEmbeddings": of_idefics,
    "LwDetrViTEmbeddings": of_absolute,
    "MiniCPMOcrVisionEmbeddings": of_minicpm,
    "MiniCPMV4_6VisionEmbeddings": of_minicpm,
    "MiniCPMV4_7VisionEmbeddings": of_minicpm,
    "RadioPatchEmbeddings": lambda part, rows, columns, _: part._interpolate_position_embedding(
        (rows, columns), torch.float32
    ),
    "Sam3ViTEmbeddings": lambda part, rows, columns, _: part._tile_position_embeddings(
        part.position_embeddings, rows, columns
    ),
    "SegGptEmbeddings": lambda part, rows, columns, _: part.interpolate_pos_encoding(rows, columns),
    "Siglip2VisionEmbeddings": of_siglip_2,
    "SmolVLMVisionEmbeddings": of_idefics,
    "TimesformerEmbeddings": lambda part, rows, columns, _: alone(part)(
        torch.zeros(1, 1, 3, 4 * rows, 4 * columns)
    )[:, 1:],
    "ViltEmbeddings": of_vilt,
    "VitDetEmbeddings": of_absolute,
    "YolosEmbeddings": lambda part, rows, columns, _: part.interpolation(
        part.position_embeddings, (4 * rows, 4 * columns)
    )[:, 1:-4],
}


def table_of(model):
    """Return the name and the numbers of the only table of patches."""
    (found,) = [
        (name, table)
        for name, table in model.named_parameters()
        if ("position_embedding" in name or "pos_embed" in name)
        and not any(other in name for other in OF_TEXT)
    ]
    return found


def part_with_table(model):
    """Return the module that adds the table of patches."""
    return model.get_submodule(table_of(model)[0].removesuffix(".weight").rpartition(".")[0])


KINDS = [*PREFIX, *COMPOSITE, *OTHERS]


@pytest.mark.parametrize("kind", slow_but([*KINDS[::6], "radio"], KINDS))
def test_a_picture_of_another_size_has_what_the_model_itself_would_use(kind, tmp_path):
    if kind in COMPOSITE:
        config = {"text_config": TEXT, "vision_config": VISION, **COMPOSITE[kind][1]}
    else:
        config = OTHERS.get(kind) or {**VISION, **MORE.get(kind, {})}
    own = saved(kind, tmp_path, **config).eval()
    table = "vision" if len(open_model(tmp_path).sides) > 1 else None
    plain = open_model(tmp_path, table=table)
    assert (plain.resizing == "") == (plain.family in OF_ONE_SIZE)
    for rows, columns in SIZES:
        model = open_model(f"resampled:{rows}x{columns},{tmp_path}", table=table)
        assert (model.grid, model.n_positions) == ((rows, columns), rows * columns)
        if plain.family in OF_ONE_SIZE:
            assert "bicubic" in model.warnings[0]
            continue
        assert model.warnings == ()
        part = part_with_table(own)
        ask = ASKED.get(type(part).__name__, in_pixels)
        with torch.no_grad():
            made = ask(part, rows, columns, plain)
        np.testing.assert_allclose(
            model.W_pos, made.reshape(-1, plain.d_model).numpy(), rtol=1e-5, atol=1e-5
        )


def test_every_family_of_pictures_is_compared():
    tested = {*PREFIX, *(family for family, _ in COMPOSITE.values()), *OTHERS}
    pictures = {kind for kind, rows in FAMILIES.items() if any(row.patches for row in rows)}
    assert pictures - tested == {"mgp-str", "pvt"} <= OF_ONE_SIZE


@pytest.mark.parametrize("size", [1, 3, 14, 27, 32, 70])
@pytest.mark.parametrize("kind", ["idefics3_vision", "minicpmv4_7_vision"])
def test_fractions_at_the_edge_of_a_bucket_fall_as_in_the_module(kind, size, tmp_path):
    part = part_with_table(
        saved(kind, tmp_path, **{**VISION, "image_size": 28 * 4, "patch_size": 4})
    )
    for rows in (size, 28, 56, 98):
        model = open_model(f"resampled:{rows}x{size},{tmp_path}")
        with torch.no_grad():
            ask = of_idefics if kind == "idefics3_vision" else of_minicpm
            made = ask(part, rows, size, model).reshape(-1, 16)
        np.testing.assert_array_equal(model.W_pos, made.numpy())


@pytest.mark.parametrize(
    ("config", "size"), [({"image_size": 24}, "6x6"), ({"image_size": [12, 20]}, "3x5"), ({}, "")]
)
def test_a_table_of_other_pictures_than_the_configuration_has_says_so(config, size, tmp_path):
    saved("vitdet", tmp_path, **{**VISION, "pretrain_image_size": 12, **config})
    model = open_model(tmp_path)
    assert model.grid == (3, 3)
    assert any(f"resampled:{size}," in note for note in model.warnings) == bool(size)
