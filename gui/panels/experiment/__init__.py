"""The panel "Line or helix": LayerNorm of synthetic curves.

`spec.py` has the panel, `question.py` makes the curves, `words.py` has the texts,
`body.py` is its controls, pictures and table. The curves are in `geometry.measures.synthetic`.
"""
