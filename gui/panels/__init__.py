"""Result panels: a spec each, in a file or a folder; `kit` defines one.

Their widgets read the session and emit intents; they compute nothing and know no other panel.
"""
