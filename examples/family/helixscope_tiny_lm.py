"""A family of models: the names of the tensors of one's own training code."""

from geometry.models.families.stack import Stack

TINY_LM = Stack(
    positions="tiny.positions",
    tokens=("tiny.tokens",),
    query="tiny.blocks.{layer}.q",
    key="tiny.blocks.{layer}.k",
    value="tiny.blocks.{layer}.v",
    out="tiny.blocks.{layer}.o",
    fan_out="tiny.blocks.{layer}.up",
    attention_norm="tiny.blocks.{layer}.norm_1",
    mlp_norm="tiny.blocks.{layer}.norm_2",
    root_mean_square=True,
)
