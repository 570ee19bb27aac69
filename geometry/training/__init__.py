"""Training a small GPT-2 on any text, and recording its positions as they form.

The only package that imports torch for training.
"""
