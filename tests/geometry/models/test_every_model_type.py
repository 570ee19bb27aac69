"""Every model type that transformers knows is opened, or stands in the table of those left out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModel
from transformers.core_model_loading import revert_weight_conversion
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from geometry.checkpoints.errors import NoPositionalEmbeddings, SourceError
from geometry.checkpoints.stores import TensorInfo
from geometry.models.families.left_out import BY_REASON, LEFT_OUT, WITHOUT_TABLE_OF_ANY_KIND
from geometry.models.families.model_types import FAMILIES, PARTS
from geometry.models.recognition.candidates import UnknownArchitecture
from geometry.models.recognition.finding import find_architecture

#: What a configuration needs before its model can be built, or has positions at all.
SETTINGS: Mapping[str, dict[str, Any]] = {
    "beit": {"use_relative_position_bias": True},
    "data2vec-vision": {"use_relative_position_bias": True},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "gemma4_assistant": {"text_config": {
        "model_type": "gemma4_text", "hidden_size_per_layer_input": 0,
        "vocab_size_per_layer_input": 0, "enable_moe_block": False, "use_double_wide_mlp": False,
    }},
    # By default they have heads of which no whole number fits.
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe": {"text_config": {"head_dim": 128}},
    "glm4v_moe_text": {"head_dim": 128},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "qwen3_omni_moe_thinker": {"text_config": {"head_dim": 128}},
    "encoder-decoder": {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert"}},
    "vitmatte": {
        "convstream_hidden_sizes": (48, 96, 192), "fusion_hidden_sizes": [256, 128, 64, 32],
    },
    "vision-encoder-decoder": {"encoder": {"model_type": "vit"}, "decoder": {"model_type": "gpt2"}},
    "speech-encoder-decoder": {
        "encoder": {"model_type": "wav2vec2"}, "decoder": {"model_type": "bart"},
    },
}  # fmt: skip
#: Models without an entry among those of ``AutoModel``.
CLASSES = {
    "depth_anything": "DepthAnythingForDepthEstimation",
    "encoder-decoder": "EncoderDecoderModel",
    "pix2struct": "Pix2StructForConditionalGeneration",
    "pix2struct_text_model": "Pix2StructTextModel",
    "pop2piano": "Pop2PianoForConditionalGeneration",
    "prompt_depth_anything": "PromptDepthAnythingForDepthEstimation",
    "speech-encoder-decoder": "SpeechEncoderDecoderModel",
    "vision-encoder-decoder": "VisionEncoderDecoderModel",
    "vitmatte": "VitMatteForImageMatting",
}
#: transformers had it up to version 4.
OLD = {"transfo-xl"}
TO_DO = (
    "transformers knows {kind!r}, and Helixscope neither opens it ({error}) nor says why not. Add "
    "a row to geometry/models/families/model_types.py or picture_families.py with a case in "
    "family_cases.py or test_grids.py, or put it into "
    "geometry/models/families/left_out.py with its reason."
)


def settings_of(config: Any) -> dict[str, Any]:
    """What its config.json would hold, with defaults."""
    settings: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    return settings


def index_of(model: torch.nn.Module) -> dict[str, TensorInfo]:
    """The tensors of a model without numbers, by the names under which it is saved."""
    state = revert_weight_conversion(model, model.state_dict())
    return {
        name: TensorInfo(name, tuple(one.shape), "F32" if one.is_floating_point() else "I64", 0)
        for name, one in state.items()
    }


def ask(kind: str) -> None:
    """Find the positions of a model by default settings; SourceError if there are none."""
    make = CONFIG_MAPPING[kind]
    config = make(**SETTINGS.get(kind, {}))
    try:
        find_architecture({}, {"model_type": kind, **settings_of(config)}, None)
    except (NoPositionalEmbeddings, UnknownArchitecture):
        pass  # it depends on its tensors
    else:
        return
    with torch.device("meta"):
        own = getattr(transformers, CLASSES[kind], None) if kind in CLASSES else None
        model = AutoModel.from_config(config) if own is None else own(config)
    settings = settings_of(model.config) | WITH_POSITIONS.get(kind, {})
    find_architecture(index_of(model), {"model_type": kind, **settings}, None)


#: Settings without which the attention of a family has no positions.
WITH_POSITIONS = {"granitemoehybrid": {"position_embedding_type": "rope"}}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")  # of LW-DETR
@pytest.mark.parametrize(
    "kind", [kind for kind in CONFIG_MAPPING_NAMES if kind not in LEFT_OUT and kind not in FAMILIES]
)
def test_it_is_opened(kind):
    """Families with a row of their own are proven with numbers, in the tests beside this one."""
    try:
        ask(kind)
    except (SourceError, ValueError, TypeError, ImportError, AttributeError) as error:
        pytest.fail(TO_DO.format(kind=kind, error=str(error).strip().splitlines()[0][:200]))


def test_none_is_left_out_twice_or_for_nothing():
    kinds = [kind for kinds in BY_REASON.values() for kind in kinds]
    assert len(kinds) == len(set(kinds)) == len(LEFT_OUT)
    assert not set(LEFT_OUT) & {*FAMILIES, *PARTS}
    assert set(LEFT_OUT) - OLD <= set(CONFIG_MAPPING_NAMES)
    assert set(FAMILIES) <= set(CONFIG_MAPPING_NAMES)
    assert set(PARTS) <= set(CONFIG_MAPPING_NAMES)


@pytest.mark.parametrize("kind", ["levit", "resnet", "mamba", "glm4v_vision", "inkling_text"])
def test_one_without_a_table_is_refused_with_its_reason(kind):
    index = {"x.weight": TensorInfo("x.weight", (4, 4), "F32", 64)}
    assert LEFT_OUT[kind] in WITHOUT_TABLE_OF_ANY_KIND
    with pytest.raises(NoPositionalEmbeddings, match=LEFT_OUT[kind]):
        find_architecture(index, {"model_type": kind, "rope_theta": 1e4}, None)


@pytest.mark.parametrize("kind", ["vivit", "depth_pro", "wav2vec2"])
def test_of_the_others_a_table_can_be_chosen(kind):
    index = {"pos.weight": TensorInfo("pos.weight", (4, 4), "F32", 64)}
    says = f"{kind} is not opened, since {LEFT_OUT[kind]}; 1 tensor"
    with pytest.raises(UnknownArchitecture, match=says) as error:
        find_architecture(index, {"model_type": kind}, None)
    assert [one.name for one in error.value.candidates] == ["pos.weight"]
    assert find_architecture(index, {"model_type": kind}, "pos.weight").table == "pos.weight"


@pytest.mark.slow
def test_a_new_one_is_noticed(monkeypatch):
    class NewConfig(transformers.PreTrainedConfig):
        model_type = "new"

    monkeypatch.setitem(CONFIG_MAPPING._extra_content, "new", NewConfig)
    with pytest.raises(pytest.fail.Exception, match="knows 'new', and Helixscope neither opens"):
        test_it_is_opened("new")
