"""One panel a file: the spec of what it asks and shows; `kit` says what a panel is.

A panel reads the session and emits intents; it computes nothing and knows no other panel.
"""
