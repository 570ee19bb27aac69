"""The trained network: transformers' GPT-2, without dropout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from geometry.training.settings import TrainingSettings

if TYPE_CHECKING:
    import torch


def new_network(settings: TrainingSettings, end: int) -> Any:
    """Create the network with initial weights.

    Parameters
    ----------
    settings
        Its sizes, and the seed and standard deviation of its weights.
    end
        Id of the token that ends a document.
    """
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=settings.vocabulary,
        n_positions=settings.positions,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.heads,
        # GPT-2's own function, computed in one pass.
        activation_function="gelu_pytorch_tanh",
        initializer_range=settings.std,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=end,
        eos_token_id=end,
    )
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        network = GPT2LMHeadModel(config)
        network.loss_type = "ForCausalLM"  # otherwise transformers guesses it and logs a message
        # Noise as large as the other weights' would take long to decay.
        torch.nn.init.normal_(network.transformer.wpe.weight, std=settings.position_std)
        if settings.factored:
            _factor(network.transformer.wpe, settings)
    return network


def _factor(embedding: Any, settings: TrainingSettings) -> None:
    """Replace P by a product of two matrices, whose entries begin with P's standard deviation."""
    import torch
    from torch.nn.utils.parametrize import register_parametrization

    class Product(torch.nn.Module):
        def forward(self, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
            return rows @ columns

        def right_inverse(self, P: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            d_model = P.shape[1]
            std = math.sqrt(settings.position_std / math.sqrt(d_model))
            return torch.randn_like(P) * std, P.new_empty(d_model, d_model).normal_(std=std)

    register_parametrization(embedding, "weight", Product(), unsafe=True)


def model_weights(network: Any) -> dict[str, torch.Tensor]:
    """Return the weights by their names in GPT-2, without factors."""
    weights = dict(network.named_parameters())
    factors = [name for name in weights if ".parametrizations." in name]
    for name in factors:
        del weights[name]
    if factors:
        weights["transformer.wpe.weight"] = network.transformer.wpe.weight
    return weights


def new_optimizer(network: Any, settings: TrainingSettings) -> torch.optim.AdamW:
    """Create AdamW with decay of all matrices, including P and the token embeddings."""
    import torch

    positions = list(network.transformer.wpe.parameters())
    own = {id(weight) for weight in positions}
    others = [weight for weight in network.parameters() if id(weight) not in own]
    groups = [
        {"params": positions, "weight_decay": position_decay(settings)},
        {
            "params": [one for one in others if one.dim() >= 2],
            "weight_decay": settings.weight_decay,
        },
        {"params": [one for one in others if one.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.95), fused=True)


def position_decay(settings: TrainingSettings) -> float:
    """Return the weight decay of P, or of its factors."""
    own = settings.position_decay
    return settings.weight_decay if own is None else own


def bfloat16_is_faster(device: torch.device) -> bool:
    """Return whether the device has native bfloat16 products."""
    import torch

    if device.type != "cpu":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    abilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(abilities.get("amx_bf16") or abilities.get("avx512_bf16"))
