"""Training a small GPT-2 on any text, and keeping its positions as they form.

The only package that imports torch to train; nothing below imports it.
"""
