"""Models of transformers' own classes, saved with random parameters."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModel


def saved(kind: str, folder: Any, **config: Any) -> Any:
    """Save a model of transformers' own class with random parameters, and return it."""
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **config))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    model.save_pretrained(folder)
    return model
