"""The panel "Line or helix": LayerNorm of synthetic curves.

`spec.py` has the panel, `question.py` the question, `words.py` the texts, `body.py` the controls,
pictures and table. The curves are in `geometry.measures.synthetic`.
"""
