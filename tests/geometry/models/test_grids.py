"""Tables of a picture's patches: each family's own module against what we read."""

import numpy as np
import pytest

from geometry.claims.report import report
from geometry.models.sources import open_source
from tests.geometry.saved_models import saved

VISION = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 16, "image_size": 12, "patch_size": 4}  # fmt: skip
TEXT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 16, "vocab_size": 30, "max_position_embeddings": 7,
        "eos_token_id": 2, "bos_token_id": 0, "pad_token_id": 1}  # fmt: skip
PREFIX = {"vit": 1, "vit_mae": 1, "vit_msn": 1, "deit": 2, "ijepa": 0, "dinov2": 1,
          "dinov2_with_registers": 1, "dpt": 1, "clip_vision_model": 1,
          "siglip_vision_model": 0}  # fmt: skip


def own_positions(model):
    found = [
        value.detach().reshape(-1, value.shape[-1]).numpy()
        for name, value in model.named_parameters()
        if "position_embedding" in name and "text" not in name
    ]
    (table,) = found
    return table


@pytest.mark.parametrize("kind", PREFIX)
def test_patches_are_the_rows_after_those_of_class_tokens(kind, tmp_path):
    more = {"is_hybrid": False, "backbone_out_indices": [0, 0, 0, 0]} if kind == "dpt" else {}
    table = own_positions(saved(kind, tmp_path, **VISION, **more))
    model = open_source(tmp_path)
    prefix = PREFIX[kind]
    np.testing.assert_array_equal(model.W_pos, table[prefix:])
    assert (model.family, model.grid, model.prefix_rows) == (kind, (3, 3), prefix)
    assert not model.causal
    assert model.place_of(5) == "row 1, column 2"
    assert model.usual_positions == (0, 8)
    assert "W_E" in model.missing


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_both_towers_are_offered(kind, tmp_path):
    own = saved(kind, tmp_path, text_config=TEXT, vision_config=VISION)
    text, vision = (open_source(tmp_path, table=side) for side in ("text", "vision"))
    assert text.sides == vision.sides == ("text", "vision")
    assert open_source(tmp_path).side == "text"
    assert (text.grid, vision.grid) == (None, (3, 3))
    assert text.n_positions == 7
    np.testing.assert_array_equal(vision.W_pos, own_positions(own)[vision.prefix_rows :])


def test_a_picture_that_is_not_square(written):
    table = np.arange(7 * 4, dtype="f4").reshape(1, 7, 4)
    config = {"model_type": "vit", "hidden_size": 4, "image_size": [8, 12], "patch_size": 4}
    model = open_source(written({"vit.embeddings.position_embeddings": table}, config))
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
    model = open_source(written(tensors, {"model_type": "vit", "hidden_size": 4, **config}))
    assert model.grid == grid


def test_rows_that_are_no_square_have_no_grid(written):
    tensors = {"embeddings.position_embeddings": np.ones((1, 9, 4), "f4")}
    model = open_source(written(tensors, {"model_type": "vit", "hidden_size": 4}))
    assert (model.grid, model.place_of(3)) == (None, "")
