"""The kernels panel: where attention heads look by position alone.

`spec.py` has the panel, `question.py` measures, `body.py` is the wall of heads.
"""
