"""Measurements of whole models: the claims ledger, reports and scalar results.

Only surveys, which measure many models, import it.
"""
