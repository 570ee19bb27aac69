"""Which family a checkpoint is of, and which of its tensors is the position table."""
