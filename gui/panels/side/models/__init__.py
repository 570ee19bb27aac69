"""The list of models: what is here, what is on the Hub, and what is being opened.

It emits what to open; `services` opens it.
"""
