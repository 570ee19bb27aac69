"""The compare panel: models in numbers, and the controls of the aligned curve.

The compared models are managed in `services`.
"""
