"""Effects of changes of the positions on the network's loss.

`spec.py` has the panel, `body.py` its table and plots; the question is in `gui.services.effects`.
"""
