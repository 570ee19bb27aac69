"""Stores of tensors, one for each format of files, and what reads its parts."""
