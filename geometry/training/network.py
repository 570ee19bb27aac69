"""The trained network: transformers' GPT-2, without dropout."""

from __future__ import annotations

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
    return network


def new_optimizer(network: Any, settings: TrainingSettings) -> torch.optim.AdamW:
    """Create AdamW with decay of all matrices, including P and the token embeddings."""
    import torch

    P = network.transformer.wpe.weight
    others = [weight for weight in network.parameters() if weight is not P]
    groups = [
        {"params": [P], "weight_decay": position_decay(settings)},
        {
            "params": [weight for weight in others if weight.dim() >= 2],
            "weight_decay": settings.weight_decay,
        },
        {"params": [weight for weight in others if weight.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.95), fused=True)


def position_decay(settings: TrainingSettings) -> float:
    """Return the weight decay of P."""
    own = settings.position_decay
    return settings.weight_decay if own is None else own


def bfloat16_is_faster(device: torch.device) -> bool:
    """Return whether the device has native bfloat16 products."""
    import torch

    if device.type != "cpu":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    abilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(abilities.get("amx_bf16") or abilities.get("avx512_bf16"))
