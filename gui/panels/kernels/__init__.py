"""The kernels panel: attention of heads by position alone.

`spec.py` has the panel, `question.py` the questions, `body.py` the wall of heads.
"""
