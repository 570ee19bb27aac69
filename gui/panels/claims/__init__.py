"""The claims panel: the ledger as a table, in words, and as a page for print.

What is claimed and how it is checked is in `geometry.claims`.
"""
