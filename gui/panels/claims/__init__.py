"""The claims panel: the ledger as a table, in words, and as a page for print.

The claims and their measures are in `geometry.claims`.
"""
