"""The list of models: on this machine, on the Hub, and being opened.

It requests models; `services` opens them.
"""
