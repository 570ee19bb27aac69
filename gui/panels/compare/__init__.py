"""The compare panel: models in numbers, and the controls of a curve laid over the shown one.

Which models are compared is decided in `services`.
"""
