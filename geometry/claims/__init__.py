"""Measurements of whole models: the claims ledger, reports and scalar results.

The top of `geometry`: no other package here imports it.
"""
