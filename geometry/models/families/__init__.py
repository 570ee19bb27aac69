"""The families of models: how each names its tensors and what it adds to them, as data."""
