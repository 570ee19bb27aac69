"""Effects: what the network loses by changes of its positions.

`question` asks, `spec` says what is shown, `body` shows it.
"""
