"""Positions beside a table, and tables that a model stores and does not add."""

import json

import numpy as np
import pytest

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.models.sources.opening import open_model
from tests.geometry.models.test_grids import COMPOSITE, FRAMES, SAM, SAM3, TEXT, VISION
from tests.geometry.saved_models import saved

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
        ("transformer.h.0.attn.mask", ""),
    ],
)
def test_a_table_beside_other_positions_in_a_checkpoint_of_any_family(name, words, written):
    table = np.random.default_rng(0).standard_normal((6, 4)).astype("f4")
    tensors = {"transformer.wpe.weight": table, name: np.ones((4, 2), "f4")}
    model = open_model(written(tensors, {"model_type": "gpt2"}))
    assert model.scheme == "learned"
    assert [name in note and words in note for note in model.warnings] == [True] * bool(words)


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
