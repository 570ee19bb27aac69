"""One panel a file: the spec of its question and its plots; `kit` defines what a panel is.

A panel reads the session and emits intents; it computes nothing and knows no other panel.
"""
