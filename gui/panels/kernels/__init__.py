"""The kernels panel: where attention heads look by position alone.

`spec.py` says what it is and draws, `question.py` finds it, `body.py` is the wall of heads.
"""
