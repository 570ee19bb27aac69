"""The panel "Line or helix": what LayerNorm leaves of curves that are made up.

`spec.py` has the panel, `question.py` makes the curves, `words.py` reads them,
`body.py` is its controls, pictures and table. The curves are in `geometry.measures.synthetic`.
"""
