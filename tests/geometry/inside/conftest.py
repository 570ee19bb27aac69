"""Networks and texts for the tests of positions inside a model."""

import pytest
import torch

from geometry.inside.network import RunnableNetwork, load_network
from tests.geometry.inside.small_networks import ARCHITECTURES


@pytest.fixture(scope="module")
def sample_network() -> RunnableNetwork:
    """The bundled model."""
    return load_network("sample")


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Write a random network with a tokenizer: ``write(kind, head=False)``, its folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        AutoConfig,
        AutoModel,
        AutoModelForCausalLM,
        PreTrainedTokenizerFast,
    )

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(60)} | {"?": 60}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    def make(kind, *, head=False):
        folder = tmp_path_factory.mktemp(kind)
        torch.manual_seed(0)
        network = (AutoModelForCausalLM if head else AutoModel).from_config(
            AutoConfig.for_model(kind, **ARCHITECTURES[kind])
        )
        network.save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?").save_pretrained(folder)
        return folder

    return make
