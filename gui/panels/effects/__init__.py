"""Effects: what the network loses by changes of its positions.

`spec` says what is shown, `body` shows it; `gui.services.effects` asks, for lessons too.
"""
