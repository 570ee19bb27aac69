"""Models on the Hugging Face Hub: single tensors by range requests, kept for the next time.

Knows files and tensors; nothing of families of models, nor of mathematics.
"""
