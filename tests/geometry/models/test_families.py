"""Every family: what we read is what the family's own module in transformers uses."""

import functools
import operator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
import transformers

from geometry.checkpoints.errors import NoPositionalEmbeddings, TensorUnavailable
from geometry.measures.interference import interference
from geometry.models.addable_tokens import addable_tokens
from geometry.models.families.model_types import FAMILIES
from geometry.models.families.stack import TABLE_ALONE
from geometry.models.matrices import WEIGHTS
from geometry.models.sources.opening import UnknownArchitecture, open_model
from tests.geometry.family_cases import CASES, SPECIAL, Case
from tests.geometry.models.test_grids import COMPOSITE, PREFIX


@pytest.fixture(params=CASES, ids=operator.attrgetter("id"))
def case(request) -> Case:
    return request.param


@pytest.fixture
def module(case) -> torch.nn.Module:
    return built(case)


def built(case: Case) -> torch.nn.Module:
    """Make a model of random numbers, the same each time."""
    torch.manual_seed(0)
    kind = getattr(transformers, case.model)
    special = {} if "text_config" in case.config else SPECIAL
    if "encoder_layers" in case.config:
        special = {**special, "decoder_start_token_id": 2}
    model = kind(kind.config_class(**{**special, **case.config})).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name or not case.computed:
                parameter.normal_(std=0.3)
    return model


@dataclass
class Seen:
    """What the parts of a module were first fed and gave, and all that its LayerNorms did."""

    fed: dict[str, torch.Tensor] = field(default_factory=dict)
    given: dict[str, torch.Tensor] = field(default_factory=dict)
    norms: list[tuple[torch.nn.Module, torch.Tensor, torch.Tensor]] = field(default_factory=list)

    def note(self, name: str, part: torch.nn.Module, inputs: tuple, output: object) -> None:
        if inputs:
            self.fed.setdefault(name, inputs[0])
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, torch.Tensor):
            # Longformer divides its queries where they lie.
            self.given.setdefault(name, first.clone())
        if type(part).__name__.endswith(("LayerNorm", "RMSNorm")):
            self.norms.append((part, inputs[0], first))

    def norm_before(self, name: str) -> tuple[torch.nn.Module, torch.Tensor] | None:
        """The LayerNorm whose output a part was fed, and what entered that."""
        place = self.fed[name].data_ptr()
        return next((norm[:2] for norm in self.norms if norm[2].data_ptr() == place), None)


def watched(module: torch.nn.Module) -> Seen:
    """Run a module once."""
    seen = Seen()
    handles = [part.register_forward_hook(functools.partial(seen.note, name))
               for name, part in module.named_modules()]  # fmt: skip
    with torch.no_grad():
        run(module)
    for handle in handles:
        handle.remove()
    return seen


def run(module: torch.nn.Module) -> None:
    ids = torch.arange(3, 3 + 9).reshape(1, -1)
    kind = type(module).__name__
    if kind.startswith("Whisper"):
        module(input_features=torch.zeros(1, 8, 32), decoder_input_ids=ids)
    elif kind.startswith("TrOCR"):
        module(input_ids=ids, encoder_hidden_states=torch.ones(1, 4, 16))
    elif kind.startswith("Vilt"):
        module(input_ids=ids, pixel_values=torch.ones(1, 3, 8, 8))
    elif "text_config" in module.config.to_dict() and "decoder" not in kind:
        module.text_model(input_ids=ids)
    elif kind.startswith("DecisionTransformer"):
        # The whole model places every time step at position 0; its encoder does not.
        module.encoder(inputs_embeds=torch.ones(1, 9, 16))
    elif kind.startswith("Speech2Text"):
        module(input_features=torch.zeros(1, 8, 8), decoder_input_ids=ids)
    elif kind.startswith("Lxmert"):
        module(input_ids=ids, visual_feats=torch.ones(1, 2, 8), visual_pos=torch.ones(1, 2, 4))
    elif getattr(module.config, "pre_norm", False):
        # FlauBERT's module asks the cache for each layer's.
        module(inputs_embeds=module.embeddings(ids), cache={0: None, 1: None})
    elif kind.startswith("Bros"):
        module(input_ids=ids, bbox=torch.zeros(1, 9, 4))
    elif kind.startswith("Tvp"):
        module.embeddings(input_ids=ids)
    elif kind.startswith("Bark"):
        module.semantic(input_ids=ids)
    elif module.config.is_encoder_decoder:
        module(input_ids=ids, decoder_input_ids=ids)
    else:
        module(input_ids=ids)


def expected_qkv(module: torch.nn.Module, case: Case, layer: int) -> list[np.ndarray]:
    """W_Q, W_K, W_V as (d_out, d_in), taken apart as the module's forward pass does."""
    if case.query != case.key:
        names = (case.query, case.key, case.value)
        parts = [module.get_submodule(case.place(name, layer)) for name in names]
        return [part.weight.detach().numpy() for part in parts]
    weight = module.get_submodule(case.place(case.query, layer)).weight.detach()
    if not case.model.startswith("GPTBigCode"):
        return [piece.T.numpy() for piece in weight.split(16, dim=1)]
    if module.config.multi_query:
        return [piece.numpy() for piece in weight.split((16, 8, 8), dim=0)]
    pieces = weight.T.reshape(16, 2, 24).split((8, 8, 8), dim=2)
    return [piece.reshape(16, 16).T.numpy() for piece in pieces]


def linear(module: torch.nn.Module) -> np.ndarray:
    """A weight as (d_out, d_in)."""
    weight = module.weight.detach().numpy()
    return weight.T if type(module).__name__ == "Conv1D" else weight


@pytest.mark.slow
def test_reads_what_the_module_uses(case, module, tmp_path):
    module.save_pretrained(tmp_path)
    model, seen = open_model(tmp_path, table=case.table), watched(module)

    rows = seen.given.get(case.positions)
    if rows is None:  # CTRL has a buffer
        rows = getattr(module, case.positions)
    used = rows.reshape(-1, rows.shape[-1]).double().numpy()
    assert model.d_model == used.shape[1]
    assert model.n_positions == case.n_positions
    tolerance = 1e-6 if case.computed else 0
    np.testing.assert_allclose(model.W_pos[:9], used[:9], atol=tolerance, rtol=0)
    assert model.computed == case.computed
    assert model.causal == case.causal
    assert model.family in FAMILIES

    if case.tokens:
        tokens = module.get_submodule(case.tokens).weight.detach().numpy()
        np.testing.assert_array_equal(model.W_E, tokens)
        assert model.d_vocab == len(tokens)
    else:
        assert "tokens" in model.missing["W_E"]
    if not case.query:
        assert all(model.missing[name] == TABLE_ALONE for name in WEIGHTS)
        with pytest.raises(TensorUnavailable, match="only the table of positions is read"):
            model.weight("W_Q")
        return
    assert (model.n_layers, model.n_heads) == (2, 2)
    for layer in range(2):
        for name, expected in zip(
            ("W_Q", "W_K", "W_V"), expected_qkv(module, case, layer), strict=True
        ):
            np.testing.assert_array_equal(model.weight(name, layer), expected)
        for name, path in (("W_O", case.out), ("W_in", case.fan_out)):
            expected = linear(module.get_submodule(case.place(path, layer)))
            np.testing.assert_array_equal(model.weight(name, layer), expected)
        if "albert" in case.layer and layer == 1:
            continue  # one shared module: its first call was layer 0's
        # What the matrices are fed is the LayerNorm whose gain we read.
        for reader, path in (("attention", case.query), ("mlp", case.fan_out)):
            norm = seen.norm_before(case.place(path, layer))
            gain = model.layers.norm_gain(reader, layer)
            assert (gain is None) == (norm is None), (reader, layer)
            if gain is not None:
                np.testing.assert_array_equal(gain, norm[0].weight.detach().numpy())
    assert set(model.missing) <= {"W_E"}


#: What tells a family to multiply its tokens; LED and Whisper know the setting and heed it not.
SCALED = {
    "BartForConditionalGeneration": "scale_embedding",
    "LEDForConditionalGeneration": "scale_embedding",
    "MarianMTModel": "scale_embedding",
    "WhisperForConditionalGeneration": "scale_embedding",
    "EsmForMaskedLM": "token_dropout",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        *(case for case in CASES if case.tokens and case.name != "OPT-350m" and not case.adds_more),
        *(
            replace(
                case, config={**case.config, SCALED[case.model]: True}, name=f"scaled-{case.id}"
            )
            for case in CASES
            if case.tokens and case.model in SCALED
        ),
    ],
    ids=operator.attrgetter("id"),
    indirect=True,
)
def test_what_is_compared_is_what_the_model_adds_up(case, module, tmp_path):
    """Tokens 3 to 11 stand at positions 0 to 8: their sums are fed to some part of the model."""
    module.save_pretrained(tmp_path)
    model = open_model(tmp_path, table=case.table)
    fed = watched(module).fed
    found = interference(
        addable_tokens(model),
        model.W_pos,
        (3, 0),
        (11, 8),
        token_scale=model.token_scale,
        type_row=model.token_type,
    )
    tensors = [given for given in fed.values() if isinstance(given, torch.Tensor)]
    rows = [
        given.reshape(-1, model.d_model).double()
        for given in tensors
        if given.shape[2:] == (model.d_model,)
    ]
    seen = [
        (float((x[0] - x[8]).norm()), float(torch.cosine_similarity(x[0], x[8], dim=0)))
        for x in rows
        if len(x) > 8
    ]
    expected = pytest.approx((found.distance, found.cosine), abs=1e-5)
    assert any(pair == expected for pair in seen), (found, seen)


def test_every_family_of_the_table_is_proven():
    own = [getattr(transformers, case.model).config_class for case in CASES]
    proven = {config.model_type for config in own}
    proven |= {
        config.sub_configs["text_config"].model_type
        for config in own
        if "text_config" in config.sub_configs
    }
    pictures = {kind for kind, rows in FAMILIES.items() if rows[0].patches}
    # Proven in test_grids.py.
    assert pictures - {"hiera", "mgp-str", "pvt", "yolos"} <= {
        *PREFIX,
        *(kind for kind, _ in COMPOSITE.values()),
    }
    assert set(FAMILIES) - pictures <= proven


@pytest.mark.parametrize(
    ("family", "setting", "words"),
    [
        ("t5", {}, "relative distance"),
        ("xlnet", {}, "relative distance inside attention"),
        ("mamba", {}, "recurrent"),
    ],
)
def test_models_without_a_table_say_what_they_do(written, family, setting, words):
    folder = written({"x.weight": np.zeros((4, 4), "f4")}, {"model_type": family, **setting})
    with pytest.raises(NoPositionalEmbeddings, match=words) as error:
        open_model(folder)
    assert str(error.value).startswith(f"{family} stores no positional embeddings")


def test_the_text_part_of_a_model_of_models(written):
    """TrOCR as it is published: a vision encoder with a text decoder."""
    table = np.arange(56, dtype=np.float32).reshape(14, 4)
    tensors = {
        "encoder.embeddings.position_embeddings": np.ones((1, 5, 4), np.float32),
        "encoder.encoder.layer.0.attention.attention.query.weight": np.ones((4, 4), np.float32),
        "decoder.model.decoder.embed_positions.weight": table,
        "decoder.model.decoder.embed_tokens.weight": np.ones((9, 4), np.float32),
    }
    part = {"model_type": "trocr", "d_model": 4, "max_position_embeddings": 12}
    config = {"model_type": "vision-encoder-decoder", "decoder": part, "encoder": {}}
    model = open_model(written(tensors, config))
    assert model.family == "trocr"
    np.testing.assert_array_equal(model.W_pos, table[2:])
    assert model.W_E.shape == (9, 4)


def test_tied_output_stands_in_for_the_token_embeddings(written):
    tokens, config = np.arange(36, dtype=np.float32).reshape(9, 4), {"model_type": "gpt2"}
    tensors = {"transformer.wpe.weight": np.eye(8, 4, dtype=np.float32), "lm_head.weight": tokens}
    np.testing.assert_array_equal(open_model(written(tensors, config)).W_E, tokens)
    untied = {**config, "tie_word_embeddings": False}
    assert "W_E" in open_model(written(tensors, untied)).missing
    del tensors["transformer.wpe.weight"]
    with pytest.raises(UnknownArchitecture, match=r"stores its positions in wpe.weight, which"):
        open_model(written(tensors, config))


@pytest.mark.parametrize("name", ["pos_embed", "x.position_embeddings.weight"])
def test_a_name_that_many_families_have_is_no_family(written, name):
    tensors = {name: np.ones((6, 4), np.float32), "other.weight": np.ones((4, 4), np.float32)}
    with pytest.raises(UnknownArchitecture, match="2 tensors could be its position table"):
        open_model(written(tensors, {}))
