"""The compare panel: models in numbers, and the controls of a curve laid over the shown one.

The compared models are managed in `services`.
"""
